//! Templates: prompts with the inputs as variables, compiled in or read by the executor. What is wrong with them is found
//! before anything is spent; what changed of them is named, and never silently reused.

mod support;

use hermes_workflows::{
    core::{digest::Digest, ids::Seq, journal::Event, request::Request},
    executor::DriveError,
    plan::{PlanErrorKind, assert_layout},
    prelude::*,
};
use std::{
    collections::BTreeMap,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use support::*;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Section {
    slug: String,
    title: String,
    claims: Vec<Claim>,
    note: Option<String>,
    #[serde(default)]
    extra: BTreeMap<String, u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Claim {
    text: String,
    sure: f64,
}

fn section() -> Section {
    Section {
        slug: "intro".to_owned(),
        title: "Tides & <moons>".to_owned(),
        claims: vec![
            Claim { text: "There are two a day.".to_owned(), sure: 0.5 },
            Claim { text: "The moon makes \"them\".".to_owned(), sure: 1.0 },
        ],
        note: None,
        extra: BTreeMap::from([("words".to_owned(), 300)]),
    }
}

/// A runner that answers with the text it was sent.
fn repeats() -> (FnRunner, Calls) {
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::sync(move |call| {
        counted.add();
        Ok(AgentReply::text(call.text.clone()))
    });
    (runner, calls)
}

/// An executor in memory whose template files all have this source.
fn with_source(source: &'static str) -> Executor {
    let loader = move |_: &str| Ok::<_, String>(source.to_owned());
    Executor::builder()
        .ledger(Ledger::in_memory().unwrap())
        .runner(repeats().0)
        .template_loader(loader)
        .build()
}

/// An executor over the store that reads templates from its folder.
fn over(store: &Store, runner: FnRunner) -> Executor {
    Executor::builder().ledger(store.open()).runner(runner).templates(store.directory()).build()
}

fn write(store: &Store, source: &str) {
    fs::write(store.directory().join("draft.md"), source).unwrap();
}

/// One agent whose prompt is a file, with a topic and a constant as inputs.
fn drafting(tone: &'static str) -> Plan<String, String> {
    Plan::new("drafting", move |topic: Step<String>| {
        agent("draft")
            .input("topic", topic)
            .input_value("tone", &tone.to_owned())
            .prompt(Template::file("draft.md"))
            .text()
    })
    .unwrap()
}

/// One agent whose prompt is a file, with a section as its input.
fn on_section() -> Plan<Section, String> {
    Plan::new("on-section", |section: Step<Section>| {
        agent("draft").input("section", section).prompt(Template::file("draft.md")).text()
    })
    .unwrap()
}

fn topic() -> String {
    "tides".to_owned()
}

/// The mistakes because of which a run does not start.
#[track_caller]
fn refused<O: std::fmt::Debug>(outcome: Result<Outcome<O>, DriveError>) -> PlanErrors {
    match outcome {
        Err(DriveError::Plan(errors)) => errors,
        other => panic!("expected mistakes of the plan, got {other:?}"),
    }
}

/// The mistakes of a section's template with this source.
fn mistakes_in(source: &str) -> Vec<String> {
    match on_section().check_templates(|_| Ok::<_, String>(source)) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.iter().map(|error| error.message.clone()).collect(),
    }
}

// Rendering.

#[tokio::test]
async fn a_template_compiled_in_is_sent_as_rendered_with_no_input_after_it() {
    let plan = Plan::new("p", |topic: Step<String>| {
        agent("draft")
            .input("topic", topic)
            .input_value("tone", &"short".to_owned())
            .prompt(template!("tests/prompts/draft.md"))
            .text()
    })
    .unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(repeats().0).build();
    let (text, _) = start(&executor, &plan, topic()).await.completed();
    assert_eq!(text, "Write about tides, short.");
}

#[tokio::test]
async fn a_file_is_read_from_the_folder_of_the_executor() {
    let store = Store::new();
    write(&store, "On {{ topic }}: {{ tone }}\n");
    let (text, _) = start(&over(&store, repeats().0), &drafting("short"), topic()).await.completed();
    assert_eq!(text, "On tides: short");
}

#[tokio::test]
async fn of_a_folder_and_a_loader_the_last_one_counts() {
    let store = Store::new();
    write(&store, "from the folder, {{ tone }}");
    let loader = |path: &str| Ok::<_, String>(format!("{path} from the loader, {{{{ tone }}}}"));
    let builder = || Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(repeats().0);
    let executor = builder().templates(store.directory()).template_loader(loader).build();
    let (text, _) = start(&executor, &drafting("short"), topic()).await.completed();
    assert_eq!(text, "draft.md from the loader, short");
    let executor = builder().template_loader(loader).templates(store.directory()).build();
    let (text, _) = start(&executor, &drafting("short"), topic()).await.completed();
    assert_eq!(text, "from the folder, short");
}

#[tokio::test]
async fn values_of_every_shape_are_rendered_and_nothing_is_escaped() {
    let executor = with_source(
        "{{ section.title }} {{ section.extra.words + 1 }}\n\
         {%- for claim in section.claims %}\n{{ loop.index }}. {{ claim.text }} ({{ claim.sure }}){% endfor %}\n\
         {% if section.note %}note{% else %}no note{% endif %} {{ section.extra | tojson }}\n\
         {{ section.claims[0] | tojson(indent=2) }} {{ section.title | tojson }}",
    );
    let (text, _) = start(&executor, &on_section(), section()).await.completed();
    assert_eq!(
        text,
        "Tides & <moons> 301\n1. There are two a day. (0.5)\n2. The moon makes \"them\". (1.0)\nno note {\"words\":300}\n\
         {\n  \"sure\": 0.5,\n  \"text\": \"There are two a day.\"\n} \"Tides & <moons>\""
    );
}

#[tokio::test]
async fn each_item_of_a_fan_out_has_its_own_prompt() {
    let plan = Plan::new("fan", |words: Step<Vec<String>>| {
        parallel_each("each", words, |word| {
            agent("draft").input("word", word).prompt(Template::file("draft.md")).text()
        })
        .all()
    })
    .unwrap();
    let words = vec!["a".to_owned(), "b".to_owned()];
    let (texts, _) = start(&with_source("<{{ word }}>"), &plan, words).await.completed();
    assert_eq!(texts, ["<a>", "<b>"]);
}

// Mistakes.

#[test]
fn a_mistake_in_the_syntax_is_one_of_the_plan_with_its_line() {
    let line = line!() + 2;
    let errors = Plan::new("p", |topic: Step<String>| {
        agent("draft").input("topic", topic).prompt(template!("tests/prompts/unclosed.md")).text()
    })
    .unwrap_err();
    let error = errors.iter().next().unwrap();
    assert_eq!((error.kind, error.at.line()), (PlanErrorKind::TemplateSyntax, line), "{errors}");
    assert!(error.at.file().ends_with("templates.rs"));
    assert!(error.message.contains("tests/prompts/unclosed.md:4: syntax error"), "{error}");
}

#[test]
fn an_unknown_variable_and_an_unknown_field_are_mistakes_with_all_there_is() {
    let line = line!() + 2;
    let errors = Plan::new("p", |section: Step<Section>| {
        agent("draft").input("section", section).prompt(template!("tests/prompts/misspelt.md")).text()
    })
    .unwrap_err();
    let errors: Vec<_> = errors.iter().collect();
    assert!(
        errors.iter().all(|error| error.kind == PlanErrorKind::TemplateVariable && error.at.line() == line)
    );
    assert_eq!(
        errors[0].message,
        "the template `tests/prompts/misspelt.md:1` of `draft` reads `section.titel`: `section` is `Section` and has no \
         `titel`; it has `claims`, `extra`, `note`, `slug`, `title`"
    );
    assert_eq!(
        errors[1].message,
        "the template `tests/prompts/misspelt.md:3` of `draft` reads `sektion.title`: no input has that name; its inputs \
         are `section`"
    );
    assert!(errors[1].mend.contains(".input(\"sektion\", ..)"), "{}", errors[1].mend);
    assert_eq!(errors.len(), 2);
}

#[test]
fn fields_are_followed_as_deep_as_the_schema_tells() {
    for known in ["section.extra.words", "section.claims", "section.note", "section['anything']"] {
        assert_eq!(mistakes_in(&format!("{{{{ {known} }}}}")), [""; 0], "{known}");
    }
    let mistakes = mistakes_in("{{ section.extra.words.many }}");
    assert!(mistakes[0].contains("`section.extra.words` is `integer` and has no `many`"), "{mistakes:?}");
    assert!(mistakes_in("{{ section.claims.first }}")[0].contains("`[Claim]` and has no `first`"));

    let any = Plan::new("any", |input: Step<serde_json::Value>| {
        agent("a").input("input", input).prompt(Template::file("x")).text()
    });
    any.unwrap().check_templates(|_| Ok::<_, String>("{{ input.what.ever }}")).unwrap();
}

#[test]
fn what_a_template_sets_itself_or_has_built_in_is_no_mistake() {
    for source in [
        "{% for claim in section.claims %}{{ loop.index }} {{ claim.text }}{% endfor %}",
        "{% set title = section.title %}{{ title | upper }}",
        "{% with s = section.slug %}{{ s }}{% endwith %}",
        "{% for n in range(3) %}{{ n }}{% endfor %}{{ dict(a=1).a }}",
        "{# {{ nothing }} #}{% raw %}{{ nothing }}{% endraw %}{{ section }}",
    ] {
        assert_eq!(mistakes_in(source), [""; 0], "{source}");
    }
    let mistakes = mistakes_in("{% for claim in section.claims %}{% endfor %}\n{{ claim.text }}");
    assert!(mistakes[0].contains("`draft.md:2` of `draft` reads `claim.text`"), "{mistakes:?}");
    assert!(mistakes_in("{% include 'other.md' %}")[0].contains("syntax error"));
}

#[test]
fn mistakes_of_templates_stand_beside_all_others() {
    let kinds = |errors: &PlanErrors| -> Vec<_> { errors.iter().map(|error| error.kind).collect() };
    let errors = Plan::new("p", |section: Step<Section>| {
        let _forgotten = agent("forgotten").prompt("Go.");
        agent("draft").input("section", section).prompt(template!("tests/prompts/misspelt.md")).text()
    })
    .unwrap_err();
    let variable = PlanErrorKind::TemplateVariable;
    assert_eq!(kinds(&errors), [PlanErrorKind::Unfinished, variable, variable]);

    // Nobody knows what a handle would be that may not be used here: nothing is said of its fields.
    let mut other = None;
    let _ = Plan::new("other", |text: Step<String>| {
        other = Some(text);
        text
    });
    let errors = Plan::new("p", |_: Step<Section>| {
        agent("draft").input("section", other.unwrap()).prompt(template!("tests/prompts/misspelt.md")).text()
    })
    .unwrap_err();
    assert_eq!(kinds(&errors), [PlanErrorKind::ForeignHandle], "{errors}");
}

#[tokio::test]
async fn a_missing_file_refuses_the_start_and_nothing_is_written() {
    let store = Store::new();
    let executor = over(&store, refuses());
    let errors = refused(start(&executor, &drafting("short"), topic()).await);
    let error = errors.iter().next().unwrap();
    assert_eq!(error.kind, PlanErrorKind::TemplateUnreadable);
    let file = store.directory().join("draft.md").display().to_string();
    let text = errors.to_string();
    assert!(
        text.contains("templates.rs:") && text.contains("`draft.md` of `draft`") && text.contains(&file),
        "{text}"
    );
    assert!(executor.ledger().find(&run_id()).unwrap().is_none());
}

#[tokio::test]
async fn a_folder_in_the_place_of_a_file_cannot_be_read() {
    let store = Store::new();
    fs::create_dir(store.directory().join("draft.md")).unwrap();
    let errors = refused(start(&over(&store, refuses()), &drafting("short"), topic()).await);
    assert_eq!(errors.iter().next().unwrap().kind, PlanErrorKind::TemplateUnreadable, "{errors}");
}

#[tokio::test]
async fn an_executor_without_templates_says_how_to_give_it_some() {
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(refuses()).build();
    let text = refused(start(&executor, &drafting("short"), topic()).await).to_string();
    assert!(text.contains("was given no templates") && text.contains("`.templates(folder)`"), "{text}");
}

#[tokio::test]
async fn a_loader_that_panics_is_a_mistake_not_a_crash() {
    let loader = |_: &str| -> Result<String, String> { panic!("no luck") };
    let executor = Executor::builder()
        .ledger(Ledger::in_memory().unwrap())
        .runner(refuses())
        .template_loader(loader)
        .build();
    let text = refused(start(&executor, &drafting("short"), topic()).await).to_string();
    assert!(text.contains("the loader panicked: no luck"), "{text}");
}

#[test]
fn every_mistake_of_every_file_is_listed_at_the_step_that_has_it() {
    let plan = Plan::new("p", |topic: Step<String>| {
        let step = |name: &str, path: &str| {
            agent(name).input("topic", topic).prompt(Template::file(path)).text();
        };
        step("one", "variable.md");
        step("two", "variable.md");
        step("three", "syntax.md");
        step("four", "missing.md");
        step("five", "good.md");
        step("six", "blank.md");
        topic
    })
    .unwrap();
    let reads = Calls::default();
    let errors = plan
        .check_templates(|path| {
            reads.add();
            match path {
                "variable.md" => Ok("{{ topik }}"),
                "syntax.md" => Ok("\n{{ topic"),
                "good.md" => Ok("{{ topic }}"),
                "blank.md" => Ok(" \n"),
                _ => Err("it is not there"),
            }
        })
        .unwrap_err();
    let mut found: Vec<_> = errors.iter().map(|error| error.kind.code()).collect();
    found.sort_unstable();
    let codes =
        ["blank_prompt", "template_syntax", "template_unreadable", "template_variable", "template_variable"];
    assert_eq!(found, codes, "{errors}");
    assert!(errors.to_string().contains("syntax.md:2: syntax error"), "{errors}");
    assert_eq!(reads.count(), 5, "each file is read once");
}

#[test]
fn a_blank_template_and_a_blank_path_are_mistakes() {
    let errors = Plan::new("p", |topic: Step<String>| {
        agent("draft").input("topic", topic).prompt(Template::file(" ")).text()
    })
    .unwrap_err();
    assert_eq!(errors.iter().next().unwrap().kind, PlanErrorKind::BlankOption, "{errors}");
    assert!(mistakes_in(" \n ")[0].contains("`draft.md` of `draft` is blank"));
}

#[tokio::test]
async fn a_mended_file_is_read_again_by_the_executor_that_refused_it() {
    let store = Store::new();
    write(&store, "{{ topik }}");
    let executor = over(&store, repeats().0);
    refused(start(&executor, &drafting("short"), topic()).await);
    write(&store, "{{ topic }}");
    let (text, _) = start(&executor, &drafting("short"), topic()).await.completed();
    assert_eq!(text, "tides");
}

// Failures.

#[tokio::test]
async fn a_template_that_cannot_be_rendered_fails_its_step_and_is_mended_by_a_retry() {
    let plan = Plan::new("p", |section: Step<Section>| {
        let before = agent("before").input("section", section).prompt("Go.").text();
        agent("draft")
            .input("section", section)
            .input("before", before)
            .prompt(Template::file("draft.md"))
            .text()
    })
    .unwrap();
    let store = Store::new();
    write(&store, "{{ section.title }}\n\n{{ section.claims[7].text }}\n");
    let (runner, calls) = repeats();
    let failure = start(&over(&store, runner), &plan, section()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::TemplateFailed, "draft"));
    assert!(failure.message.starts_with("draft.md:3: undefined value"), "{failure}");
    assert!(failure.message.contains("section.claims[7]"), "{failure}");
    assert!(failure.location.as_ref().unwrap().contains("templates.rs:"), "{failure}");
    assert_eq!(calls.count(), 1);

    write(&store, "{{ section.title }}");
    let (runner, calls) = repeats();
    let (text, _) = retry(&over(&store, runner), &plan).await.completed();
    assert_eq!((text.as_str(), calls.count()), ("Tides & <moons>", 1), "what succeeded before is reused");
}

#[tokio::test]
async fn an_unknown_filter_and_a_field_that_is_not_there_fail_the_step() {
    for (source, says) in [
        ("{{ section.title | shout }}", "draft.md:1: unknown filter: filter shout is unknown"),
        ("{% for claim in section.claims %}\n{{ claim.txt }}{% endfor %}", "draft.md:2: undefined value"),
        ("{{ section.extra.pages }}", "`section.extra.pages` is undefined"),
        ("{{ section.extra.pages | tojson }}", "draft.md:1: undefined value"),
        ("{{ section | tojson(indend=2) }}", "unknown keyword argument"),
    ] {
        let failure = start(&with_source(source), &on_section(), section()).await.failed();
        assert_eq!(failure.class, FailureClass::TemplateFailed, "{source}");
        assert!(failure.message.contains(says), "{failure}");
    }
}

#[tokio::test]
async fn a_prompt_that_is_rendered_blank_is_no_prompt() {
    let failure = start(&with_source("{{ section.note or '' }}\n"), &on_section(), section()).await.failed();
    assert_eq!((failure.class, failure.message.as_str()), (FailureClass::BlankPrompt, "draft.md"));
}

#[tokio::test]
async fn a_failed_rendering_that_the_plan_turned_into_a_value_is_tried_again_by_a_retry() {
    let plan = Plan::new("p", |numbers: Step<Vec<u32>>| {
        let all = parallel_each("each", numbers, |number| {
            agent("draft").input("number", number).prompt(Template::file("draft.md")).text()
        });
        all.results()
            .map(|all: &Vec<Result<String, Failure>>| all.iter().flatten().cloned().collect::<Vec<_>>())
    })
    .unwrap();
    let store = Store::new();
    write(&store, "{{ ['a', 'b'][number] | upper }}");
    let (texts, counts) = start(&over(&store, repeats().0), &plan, vec![0, 1, 2]).await.completed();
    assert_eq!((texts, counts.failed), (vec!["A".to_owned(), "B".to_owned()], 1));
    // Looked at again it is the same, tried again without having been mended as well.
    let (texts, counts) = resume(&over(&store, refuses()), &plan).await.completed();
    assert_eq!((texts.len(), counts.failed), (2, 1));
    let (texts, counts) = retry(&over(&store, refuses()), &plan).await.completed();
    assert_eq!((texts.len(), counts.failed), (2, 1));

    write(&store, "{{ ['a', 'b', 'c'][number] | upper }}");
    let (runner, calls) = repeats();
    let (texts, counts) = retry(&over(&store, runner), &plan).await.completed();
    assert_eq!((texts.len(), counts.failed, calls.count()), (3, 0, 1));
}

// Replay.

#[tokio::test]
async fn an_unchanged_template_is_reused_without_a_call() {
    let store = Store::new();
    write(&store, "{{ topic }}, {{ tone }}");
    start(&over(&store, repeats().0), &drafting("short"), topic()).await.completed();
    let (text, counts) = resume(&over(&store, refuses()), &drafting("short")).await.completed();
    assert_eq!((text.as_str(), counts.calls, counts.reused), ("tides, short", 0, 1));
}

#[tokio::test]
async fn an_edited_source_is_a_conflict_that_names_the_template() {
    let store = Store::new();
    write(&store, "{{ topic }}, {{ tone }}");
    start(&over(&store, repeats().0), &drafting("short"), topic()).await.completed();
    write(&store, "On {{ topic }}, {{ tone }}");
    let executor = over(&store, repeats().0);
    let needs = resume(&executor, &drafting("short")).await.parked();
    assert_eq!(changed_fields(&needs), ["draft: prompt", "draft: template `draft.md`"]);
    assert_eq!(needs[0].title, "prompt, template `draft.md` changed since it was recorded");
    let NeedKind::Conflict { fields, .. } = &needs[0].kind else { panic!("{needs:?}") };
    let hash = |source: &str| Some(Digest::of_bytes(source.as_bytes()).short());
    assert_eq!(fields[1].old, hash("{{ topic }}, {{ tone }}"));
    assert_eq!(fields[1].new, hash("On {{ topic }}, {{ tone }}"));

    decide_all(&executor, Decision::Rerun).await;
    let (text, counts) = resume(&executor, &drafting("short")).await.completed();
    assert_eq!((text.as_str(), counts.calls), ("On tides, short", 1));
}

#[tokio::test]
async fn a_changed_variable_is_a_conflict_that_names_the_input_and_not_the_template() {
    let store = Store::new();
    write(&store, "{{ topic }}, {{ tone }}");
    start(&over(&store, repeats().0), &drafting("short"), topic()).await.completed();
    let executor = over(&store, refuses());
    let needs = resume(&executor, &drafting("long")).await.parked();
    assert_eq!(changed_fields(&needs), ["draft: prompt", "draft: input `tone`"]);

    decide_all(&executor, Decision::Keep).await;
    let (text, counts) = resume(&executor, &drafting("long")).await.completed();
    assert_eq!((text.as_str(), counts.calls), ("tides, short", 0), "kept by hand");
}

#[tokio::test]
async fn source_and_variable_changed_are_both_named() {
    let store = Store::new();
    write(&store, "{{ topic }}, {{ tone }}");
    start(&over(&store, repeats().0), &drafting("short"), topic()).await.completed();
    write(&store, "On {{ topic }}, {{ tone }}");
    let needs = resume(&over(&store, refuses()), &drafting("long")).await.parked();
    assert_eq!(
        changed_fields(&needs),
        ["draft: prompt", "draft: template `draft.md`", "draft: input `tone`"]
    );
}

#[tokio::test]
async fn an_edit_that_changes_no_prompt_changes_nothing() {
    let store = Store::new();
    write(&store, "{{ topic }}, {{ tone }}");
    start(&over(&store, repeats().0), &drafting("short"), topic()).await.completed();
    write(&store, "{# Mind the tone. #}{{ topic }}, {{ tone }}\n");
    let (_, counts) = resume(&over(&store, refuses()), &drafting("short")).await.completed();
    assert_eq!((counts.calls, counts.reused), (0, 1));
}

#[tokio::test]
async fn a_template_in_the_place_of_a_text_is_named_and_a_moved_one_is_not() {
    let plan = |moved: &'static str| {
        Plan::new("drafting", move |topic: Step<String>| {
            let draft = agent("draft").input("topic", topic);
            let draft =
                if moved.is_empty() { draft.prompt("Go.") } else { draft.prompt(Template::file(moved)) };
            draft.text()
        })
        .unwrap()
    };
    let store = Store::new();
    write(&store, "On {{ topic }}");
    fs::copy(store.directory().join("draft.md"), store.directory().join("moved.md")).unwrap();
    start(&over(&store, repeats().0), &plan("draft.md"), topic()).await.completed();
    let (_, counts) = resume(&over(&store, refuses()), &plan("moved.md")).await.completed();
    assert_eq!(counts.reused, 1);
    let needs = resume(&over(&store, refuses()), &plan("")).await.parked();
    assert_eq!(changed_fields(&needs), ["draft: prompt", "draft: template `draft.md`"]);
}

#[tokio::test]
async fn a_file_is_read_once_by_an_executor_and_anew_by_the_next() {
    let plan = Plan::new("two", |topic: Step<String>| {
        let one = agent("one").input("topic", topic).prompt(Template::file("x.md")).text();
        agent("two").input("topic", one).prompt(Template::file("x.md")).text()
    })
    .unwrap();
    let store = Store::new();
    let reads = Calls::default();
    let executor = |runner: FnRunner| {
        let counted = reads.clone();
        let loader = move |_: &str| Ok::<_, String>(format!("{}: {{{{ topic }}}}", counted.add()));
        Executor::builder().ledger(store.open()).runner(runner).template_loader(loader).build()
    };
    let first = executor(repeats().0);
    let (text, _) = start(&first, &plan, topic()).await.completed();
    assert_eq!(text, "1: 1: tides");
    resume(&first, &plan).await.completed();
    let other = first.start(&plan, topic()).id("other").await.unwrap().outcome().await;
    assert_eq!(other.completed().0, "1: 1: tides");
    assert_eq!(reads.count(), 1);

    drop(first);
    let needs = resume(&executor(refuses()), &plan).await.parked();
    assert_eq!(reads.count(), 2);
    assert_eq!(
        changed_fields(&needs),
        ["one: prompt", "one: template `x.md`", "two: prompt", "two: template `x.md`"]
    );
}

#[tokio::test]
async fn an_edit_between_two_steps_reaches_the_step_that_has_not_run() {
    let plan = Plan::new("halfway", |topic: Step<String>| {
        let approved = review("approve", topic).approved();
        agent("draft").input("topic", approved).prompt(Template::file("draft.md")).text()
    })
    .unwrap();
    let store = Store::new();
    write(&store, "old {{ topic }}");
    start(&over(&store, refuses()), &plan, topic()).await.waiting();
    write(&store, "new {{ topic }}");
    let executor = over(&store, repeats().0);
    approve(&executor, "approve[1]").await;
    assert_eq!(resume(&executor, &plan).await.completed().0, "new tides");
}

#[tokio::test]
async fn a_broken_edit_refuses_resume_and_retry_and_writes_nothing() {
    let store = Store::new();
    write(&store, "{{ topic }}{{ [1][tone | length] }}");
    start(&over(&store, refuses()), &drafting("short"), topic()).await.failed();
    write(&store, "{{ topic");
    let executor = over(&store, refuses());
    let run = executor.ledger().find(&run_id()).unwrap().unwrap();
    let records = executor.ledger().records(run).unwrap();
    for outcome in [resume(&executor, &drafting("short")).await, retry(&executor, &drafting("short")).await] {
        assert_eq!(refused(outcome).iter().next().unwrap().kind, PlanErrorKind::TemplateSyntax);
    }
    assert_eq!(executor.ledger().records(run).unwrap(), records);
}

#[tokio::test]
async fn the_journal_has_the_template_and_its_hash_beside_the_prompt() {
    let source = "On {{ section.slug }}";
    let executor = with_source(source);
    start(&executor, &on_section(), section()).await.completed();
    let run = executor.ledger().find(&run_id()).unwrap().unwrap();
    let count = executor.ledger().records(run).unwrap();
    let started =
        (1..=count).find_map(|seq| match executor.ledger().record(run, Seq(seq)).unwrap().event().unwrap() {
            Event::Started(started) => Some(started.request),
            _ => None,
        });
    let Some(Request::Agent(request)) = started else { panic!("{started:?}") };
    assert_eq!(request.prompt, "On intro");
    let template = request.template.unwrap();
    assert_eq!((template.id.as_str(), template.source), ("draft.md", Digest::of_bytes(source.as_bytes())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_that_start_at_the_same_moment_share_what_was_read_first() {
    let gate = Arc::new(std::sync::Barrier::new(2));
    let reads = Calls::default();
    let (meet, counted) = (Arc::clone(&gate), reads.clone());
    let loader = move |_: &str| {
        let number = counted.add();
        meet.wait();
        Ok::<_, String>(format!("{number}: {{{{ topic }}}}"))
    };
    let executor = Executor::builder()
        .ledger(Ledger::in_memory().unwrap())
        .runner(repeats().0)
        .template_loader(loader)
        .build();
    let plan = drafting("short");
    let run = |id: &'static str| {
        let (executor, plan) = (executor.clone(), plan.clone());
        tokio::spawn(async move { executor.start(&plan, topic()).id(id).await?.outcome().await })
    };
    let (one, other) = (run("one"), run("other"));
    let texts = [one.await.unwrap().completed().0, other.await.unwrap().completed().0];
    assert_eq!(texts[0], texts[1]);
    assert_eq!(reads.count(), 2);
}

// Parts that are built while the plan runs.

/// Builds a step at run time, with a template that reads a handle from around it.
fn grown(compiled_in: bool) -> Plan<Section, String> {
    Plan::new("grown", move |section: Step<Section>| {
        section.then("more", move |_| {
            let draft = agent("draft").input("section", section);
            let draft = if compiled_in {
                draft.prompt(template!("tests/prompts/misspelt.md"))
            } else {
                draft.prompt(Template::file("draft.md"))
            };
            draft.text()
        })
    })
    .unwrap()
}

#[tokio::test]
async fn a_part_built_at_run_time_has_its_templates_checked_when_it_is_built() {
    let failure = start(&with_source(""), &grown(true), section()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::InvalidPlan, "more"));
    assert!(failure.message.contains("`section` is `Section` and has no `titel`"), "{failure}");

    let store = Store::new();
    write(&store, "{{ section.titel }}");
    let failure = start(&over(&store, refuses()), &grown(false), section()).await.failed();
    assert_eq!(failure.class, FailureClass::InvalidPlan);
    assert!(failure.message.contains("`draft.md:1` of `draft` reads `section.titel`"), "{failure}");

    write(&store, "{{ section.title }}");
    let (text, _) = retry(&over(&store, repeats().0), &grown(false)).await.completed();
    assert_eq!(text, "Tides & <moons>");
    let (_, counts) = resume(&over(&store, refuses()), &grown(false)).await.completed();
    assert_eq!((counts.calls, counts.reused), (0, 1));
    write(&store, "{{ section.slug }}");
    let needs = resume(&over(&store, refuses()), &grown(false)).await.parked();
    assert_eq!(changed_fields(&needs), ["more/draft: prompt", "more/draft: template `draft.md`"]);
}

#[tokio::test]
async fn a_recursive_part_and_a_called_plan_render_their_templates() {
    let shorter = Plan::new("shorter", |text: Step<String>| {
        recursive("cut", text, 3, |again, text| {
            let cut = agent("cut").input("text", text).prompt(Template::file("draft.md")).text();
            branch("enough", cut)
                .when("long", |cut: &String| cut.len() > 2, |cut| again.call(cut))
                .otherwise(|cut| cut)
        })
    })
    .unwrap();
    let plan = Plan::new("outer", |text: Step<String>| shorter.call("inner", text)).unwrap();
    let (text, counts) = start(&with_source("{{ text[1:] }}"), &plan, "tide".to_owned()).await.completed();
    assert_eq!((text.as_str(), counts.calls), ("de", 2));
}

// Layouts.

#[test]
fn a_layout_can_be_asserted_together_with_the_template_files() {
    let plan = Plan::new("template-files", |topic: Step<String>| {
        agent("draft")
            .input("topic", topic)
            .input_value("tone", &"short".to_owned())
            .prompt(Template::file("draft.md"))
            .text()
    })
    .unwrap();
    assert_layout!(plan, templates = "tests/prompts");
    let wrong = Plan::new("template-files", |topic: Step<String>| {
        agent("draft").input("topic", topic).prompt(Template::file("draft.md")).text()
    })
    .unwrap();
    let asserted = AssertUnwindSafe(|| assert_layout!(wrong, templates = "tests/prompts"));
    let panic = catch_unwind(asserted).unwrap_err();
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains("`draft.md:1` of `draft` reads `tone`: no input has that name"), "{said}");
}
