//! An explanation says of each conflicting step what differs, field by field, with what was recorded and what is there today; and
//! writes and calls nothing.

mod support;

use hermes_workflows::{
    core::{compare::JsonChange, digest::Digest, effect::Isolation, request::Field},
    executor::{Change, Explained, PromptSource},
    prelude::*,
};
use serde_json::{Value, json};
use std::fs;
use support::*;

/// Answers texts with `text(path)`, and JSON with what is made up from nothing: `{}` plus what the tests need.
fn answers() -> FnRunner {
    FnRunner::sync(|call| {
        Ok(match call.path.as_str() {
            "count" => AgentReply::json(json!(2)),
            "story" => AgentReply::json(json!({ "title": "Tides", "words": 3 })),
            "names" => AgentReply::json(json!(["ada", "ben", "cy"])),
            path => AgentReply::text(format!("<{path}>")),
        })
    })
}

/// An executor that works in the store's directory, and may call nobody.
fn reading(store: &Store) -> Executor {
    let ledger = Ledger::open_read_only(store.path()).unwrap();
    let executor = Executor::builder().ledger(ledger).base_dir(store.directory());
    executor.templates(store.directory()).runner(refuses()).build()
}

fn writing(store: &Store) -> Executor {
    let executor = Executor::builder().ledger(store.open()).base_dir(store.directory());
    executor.templates(store.directory()).runner(answers()).build()
}

/// Runs `before` as far as it goes, and explains it against `after`, after everything was closed. The file stays as it is.
async fn against<I: Data, O: Data, P>(
    store: &Store,
    before: &Plan<I, O>,
    after: &Plan<I, P>,
    input: I,
) -> Explained {
    start(&writing(store), before, input).await.unwrap();
    explain(store, after)
}

fn explain<I: Data, P>(store: &Store, after: &Plan<I, P>) -> Explained {
    let bytes = fs::read(store.path()).unwrap();
    let explained = reading(store).explain(after, &run_id()).unwrap();
    assert!(bytes == fs::read(store.path()).unwrap(), "the file was written to");
    // Opened for writing, nothing is written either.
    let executor = Executor::builder()
        .ledger(store.open())
        .base_dir(store.directory())
        .templates(store.directory())
        .runner(refuses())
        .build();
    let before = executor.ledger().stats();
    assert_eq!(executor.explain(after, &run_id()).unwrap(), explained);
    assert_eq!(executor.ledger().stats(), before);
    explained
}

/// The one field that differs of the one step that does.
#[track_caller]
fn only(explained: &Explained) -> (&Field, &Change) {
    let [step] = explained.steps.as_slice() else { panic!("{explained}") };
    let [changed] = step.changes.as_slice() else { panic!("{explained}") };
    (&changed.field, &changed.change)
}

fn text() -> String {
    "tea".to_owned()
}

/// One agent, from nothing.
fn draft<O: Data>(build: impl FnOnce(Step<String>) -> Step<O>) -> Plan<String, O> {
    Plan::new("post", build).unwrap()
}

#[tokio::test]
async fn nothing_differs() {
    let store = Store::new();
    let plan = draft(|topic| agent("draft").input("topic", topic).prompt("Write.").text());
    let explained = against(&store, &plan, &plan, text()).await;
    assert!(explained.steps.is_empty());
    assert_eq!(explained.to_string(), "no step of run r conflicts with plan post");
}

#[tokio::test]
async fn a_prompt_is_shown_as_a_unified_diff() {
    let plan = |prompt: &str| {
        let prompt = format!("Write a draft.\n{prompt}\nGive sources.");
        draft(|topic| agent("draft").input("topic", topic).prompt(prompt).text())
    };
    let store = Store::new();
    let explained = against(&store, &plan("Be brief."), &plan("Be very brief."), text()).await;
    assert_eq!((explained.steps[0].path.as_str(), explained.steps[0].kind.as_str()), ("draft", "agent"));
    let (Field::Prompt, Change::Text { diff, source }) = only(&explained) else { panic!("{explained}") };
    assert_eq!(
        diff.unified,
        "@@ -1,3 +1,3 @@\n Write a draft.\n-Be brief.\n+Be very brief.\n Give sources.\n"
    );
    let source = source.as_ref().unwrap();
    assert_eq!(*source, PromptSource { template: None, source_changed: false, inputs_changed: Vec::new() });
    drawing::assert_drawing("explain-prompt", &explained.to_string());
}

#[tokio::test]
async fn a_prompt_says_whether_its_template_or_an_input_made_it_differ() {
    let plan = |tone: &str| {
        let tone = tone.to_owned();
        draft(move |topic| {
            let draft = agent("draft").input("topic", topic).input_value("tone", &tone);
            draft.prompt(Template::file("draft.md")).text()
        })
    };
    let store = Store::new();
    fs::write(store.directory().join("draft.md"), "Write about {{ topic }}.\nBe {{ tone }}.").unwrap();
    // Another input, and the same source.
    let explained = against(&store, &plan("brief"), &plan("kind"), text()).await;
    let step = &explained.steps[0];
    assert_eq!(step.changes.len(), 2, "{explained}");
    let Change::Text { source: Some(source), diff } = &step.changes[0].change else { panic!("{explained}") };
    let expected = PromptSource {
        template: Some("draft.md".to_owned()),
        source_changed: false,
        inputs_changed: vec!["tone".to_owned()],
    };
    assert_eq!(*source, expected);
    assert!(diff.unified.contains("-Be brief.\n+Be kind.\n"), "{explained}");
    assert!(explained.to_string().contains("1 removed; input `tone` differs\n"), "{explained}");
    // Another source, and the same input.
    fs::write(store.directory().join("draft.md"), "Write on {{ topic }}.\nBe {{ tone }}.").unwrap();
    let explained = explain(&store, &plan("brief"));
    let [prompt, template] = explained.steps[0].changes.as_slice() else { panic!("{explained}") };
    let Change::Text { source: Some(source), .. } = &prompt.change else { panic!("{explained}") };
    assert!(source.source_changed && source.inputs_changed.is_empty(), "{explained}");
    assert_eq!(template.field, Field::TemplateSource("draft.md".to_owned()));
    let hash = |text: &str| Some(Digest::of_bytes(text.as_bytes()));
    let (old, new) = ("Write about {{ topic }}.\nBe {{ tone }}.", "Write on {{ topic }}.\nBe {{ tone }}.");
    assert_eq!(template.change, Change::Hash { old: hash(old), new: hash(new) });
    drawing::assert_drawing("explain-template", &explained.to_string());
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Story {
    title: String,
    words: u32,
}

#[tokio::test]
async fn an_input_is_compared_by_its_places_with_the_recorded_value() {
    let before = draft(|topic| {
        let story = agent("story").input("topic", topic).prompt("Write.").returns::<Story>();
        agent("title").input("story", story).prompt("A title.").text()
    });
    let after = draft(|topic| {
        let story = agent("story").input("topic", topic).prompt("Write.").returns::<Story>();
        let story = story.map(|story| Story { title: format!("{}!", story.title), words: story.words });
        agent("title").input("story", story).prompt("A title.").text()
    });
    let store = Store::new();
    let explained = against(&store, &before, &after, text()).await;
    let (Field::Input(name), Change::Json { changes }) = only(&explained) else { panic!("{explained}") };
    let expected =
        JsonChange::Changed { path: ".title".to_owned(), old: "Tides".into(), new: "Tides!".into() };
    assert_eq!((name.as_str(), changes.as_slice()), ("story", [expected].as_slice()));
    drawing::assert_drawing("explain-input", &explained.to_string());
}

#[tokio::test]
async fn old_inputs_are_found_inside_of_values_and_in_lists_that_fan_outs_made() {
    // A field of an output, and what the items of a fan-out yielded, are recorded nowhere as such.
    let plan = |before: bool| {
        draft(move |topic| {
            let story = agent("story").input("topic", topic).prompt("Write.").returns::<Story>();
            let names = agent("names").input("topic", topic).prompt("Names.").returns::<Vec<String>>();
            let greetings = parallel_each("greet", names, |name| {
                agent("greeting").input("name", name).prompt("Greet.").text()
            })
            .all();
            let count = agent("count").input("topic", topic).prompt("Count.").returns::<u32>();
            let (title, all) =
                if before { (story.get(|story| &story.title), greetings) } else { (topic, names) };
            agent("end").input("title", title).input("all", all).input("count", count).prompt("End.").text()
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan(true), &plan(false), text()).await;
    let [title, all] = explained.steps[0].changes.as_slice() else { panic!("{explained}") };
    let change = |path: &str, old: &str, new: &str| JsonChange::Changed {
        path: path.to_owned(),
        old: old.into(),
        new: new.into(),
    };
    assert_eq!(title.change, Change::Json { changes: vec![change(".", "Tides", "tea")] });
    let greeting = |index: usize, name: &str| {
        change(&format!(".[{index}]"), &format!("<greet[{index}]/greeting>"), name)
    };
    assert_eq!(
        all.change,
        Change::Json { changes: vec![greeting(0, "ada"), greeting(1, "ben"), greeting(2, "cy")] }
    );
}

#[tokio::test]
async fn an_old_value_that_is_not_recorded_is_never_guessed() {
    let plan = |mark: &'static str| {
        draft(move |topic| {
            let topic = topic.map(move |topic| format!("{topic}{mark}"));
            agent("draft").input("topic", topic).prompt("Write.").text()
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan("?"), &plan("!"), text()).await;
    let (Field::Input(name), Change::OldUnknown { new, why, .. }) = only(&explained) else {
        panic!("{explained}")
    };
    assert_eq!((name.as_str(), new), ("topic", &Some(json!("tea!"))));
    assert!(why.contains("not among the recorded values"), "{explained}");
}

#[tokio::test]
async fn an_old_constant_is_kept_unless_it_is_very_long() {
    let plan = |tone: String| {
        draft(move |topic| {
            agent("draft").input("topic", topic).input_value("tone", &tone).prompt("Write.").text()
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan("brief".to_owned()), &plan("kind".to_owned()), text()).await;
    let expected = JsonChange::Changed { path: ".".to_owned(), old: "brief".into(), new: "kind".into() };
    assert_eq!(
        only(&explained),
        (&Field::Input("tone".to_owned()), &Change::Json { changes: vec![expected] })
    );
    // What a resume kept of a changed plan is known to the next one.
    let executor = writing(&store);
    resume(&executor, &plan("kind".to_owned())).await.parked();
    decide_all(&executor, Decision::Rerun).await;
    resume(&executor, &plan("kind".to_owned())).await.completed();
    drop(executor);
    let explained = explain(&store, &plan("dry".to_owned()));
    let expected = JsonChange::Changed { path: ".".to_owned(), old: "kind".into(), new: "dry".into() };
    assert_eq!(only(&explained).1, &Change::Json { changes: vec![expected] });
    let store = Store::new();
    let explained = against(&store, &plan("long".repeat(5000)), &plan("kind".to_owned()), text()).await;
    assert!(matches!(only(&explained).1, Change::OldUnknown { .. }), "{explained}");
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Before {
    title: String,
    words: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct After {
    title: String,
    words: Option<u32>,
    tags: Option<Vec<String>>,
}

#[tokio::test]
async fn a_schema_is_compared_in_words_by_its_places() {
    fn plan<T: Data>() -> Plan<String, String> {
        draft(|topic| {
            let story = agent("story").input("topic", topic).prompt("Write.").returns::<T>();
            step("end").input("story", story).run(|_| "end".to_owned())
        })
    }
    let store = Store::new();
    let explained = against(&store, &plan::<Before>(), &plan::<After>(), text()).await;
    let (Field::Schema, Change::Schema { changes }) = only(&explained) else { panic!("{explained}") };
    assert!(changes.iter().any(|change| change.path() == ".tags"), "{explained}");
    drawing::assert_drawing("explain-schema", &explained.to_string());
}

#[tokio::test]
async fn text_in_the_place_of_json_is_said_in_words() {
    let before = draft(|topic| {
        let story = agent("story").input("topic", topic).prompt("Write.").returns::<Story>();
        story.map(|_| String::new())
    });
    let after = draft(|topic| agent("story").input("topic", topic).prompt("Write.").text());
    let store = Store::new();
    let explained = against(&store, &before, &after, text()).await;
    let expected = Change::Plain { old: Some(json!("JSON: Story")), new: Some(json!("text")) };
    assert_eq!(only(&explained), (&Field::Schema, &expected));
    assert!(explained.steps[0].not_kept.is_some(), "{explained}");
}

#[tokio::test]
async fn files_are_shown_by_path_and_hash() {
    let plan = draft(|topic| {
        agent("draft").input("topic", topic).files(["notes.md", "gone.md"]).prompt("Write.").text()
    });
    let store = Store::new();
    fs::write(store.directory().join("notes.md"), "old").unwrap();
    fs::write(store.directory().join("gone.md"), "gone").unwrap();
    start(&writing(&store), &plan, text()).await.completed();
    fs::write(store.directory().join("notes.md"), "new").unwrap();
    fs::remove_file(store.directory().join("gone.md")).unwrap();
    let explained = explain(&store, &plan);
    let hash = |text: &str| Some(Digest::of_bytes(text.as_bytes()));
    let changes = &explained.steps[0].changes;
    assert_eq!(changes[0].field, Field::File("notes.md".to_owned()));
    assert_eq!(changes[0].change, Change::Hash { old: hash("old"), new: hash("new") });
    assert_eq!(changes[1].change, Change::Hash { old: hash("gone"), new: None });
    drawing::assert_drawing("explain-files", &explained.to_string());
}

#[tokio::test]
async fn lists_words_and_numbers() {
    let before = draft(|topic| {
        agent("draft")
            .input("topic", topic)
            .tools(["read", "search"])
            .skills(["write"])
            .model("small")
            .prompt("Write.")
            .effect(Effect::Unsafe)
            .version(1)
            .text()
    });
    let after = draft(|topic| {
        agent("draft")
            .input("topic", topic)
            .tools(["search", "fetch"])
            .skills(["write", "cite"])
            .variant("high")
            .isolation(Isolation::None)
            .prompt("Write.")
            .effect(Effect::Unsafe)
            .version(2)
            .text()
    });
    let store = Store::new();
    let explained = against(&store, &before, &after, text()).await;
    let changes = &explained.steps[0].changes;
    let of = |field: Field| &changes.iter().find(|changed| changed.field == field).unwrap().change;
    let Change::List(tools) = of(Field::Tools) else { panic!("{explained}") };
    assert_eq!(
        (tools.added.as_slice(), tools.removed.as_slice()),
        (["fetch".to_owned()].as_slice(), ["read".to_owned()].as_slice())
    );
    let Change::List(skills) = of(Field::Skills) else { panic!("{explained}") };
    assert_eq!((skills.added.len(), skills.removed.len()), (1, 0));
    let plain = |old: Value, new: Value| Change::Plain {
        old: Some(old).filter(|old| !old.is_null()),
        new: Some(new).filter(|new| !new.is_null()),
    };
    assert_eq!(*of(Field::Model), plain("small".into(), Value::Null));
    assert_eq!(*of(Field::Variant), plain(Value::Null, "high".into()));
    assert_eq!(*of(Field::Isolation), plain("workspace".into(), "none".into()));
    assert_eq!(*of(Field::Version), plain(1.into(), 2.into()));
    drawing::assert_drawing("explain-lists", &explained.to_string());
}

#[tokio::test]
async fn a_command_is_explained_too() {
    let plan = |word: &str, script: &str, stdin: &str, variable: &str| {
        let (word, script, stdin, variable) =
            (word.to_owned(), script.to_owned(), stdin.to_owned(), variable.to_owned());
        draft(move |_| {
            let one = command("one").argv(["echo".to_owned(), word]).effect(Effect::Pure).stdout();
            let two = command("two").shell(script).stdin(stdin).env("TONE", variable).effect(Effect::Pure);
            join((one, two.stdout())).map(|(one, two)| format!("{one}{two}"))
        })
    };
    let store = Store::new();
    let (before, after) = (plan("a", "cat\n", "in", "dull"), plan("b", "cat\ntrue\n", "out", "gay"));
    let explained = against(&store, &before, &after, text()).await;
    let Change::List(argv) = &explained.steps[0].changes[0].change else { panic!("{explained}") };
    assert_eq!(
        (argv.old.as_slice(), argv.new.as_slice()),
        (["echo".to_owned(), "a".to_owned()].as_slice(), ["echo".to_owned(), "b".to_owned()].as_slice())
    );
    let two = &explained.steps[1].changes;
    let Change::Text { diff, source: None } = &two[0].change else { panic!("{explained}") };
    assert_eq!((&two[0].field, diff.unified.as_str()), (&Field::Shell, "@@ -1 +1,2 @@\n cat\n+true\n"));
    let Change::Text { diff, .. } = &two[1].change else { panic!("{explained}") };
    assert_eq!((&two[1].field, diff.unified.as_str()), (&Field::Stdin, "@@ -1 +1 @@\n-in\n+out\n"));
    assert_eq!(two[2].field, Field::Variable("TONE".to_owned()));
    assert_eq!(two[2].change, Change::Plain { old: Some("dull".into()), new: Some("gay".into()) });
    drawing::assert_drawing("explain-command", &explained.to_string());
}

#[tokio::test]
async fn a_question_is_compared_with_what_was_shown_and_its_choices() {
    let plan = |title: &'static str, more: &'static str| {
        draft(move |topic| {
            let names = agent("names").input("topic", topic).prompt("Names.").returns::<Vec<String>>();
            let shown = topic.map(move |topic| format!("{topic}{more}"));
            let names =
                names.map(move |names| names.iter().map(|name| format!("{name}{more}")).collect::<Vec<_>>());
            ask("who").title(title).input("shown", shown).choose_from(names).one()
        })
    };
    let store = Store::new();
    start(&writing(&store), &plan("Who?", ""), text()).await.waiting();
    let executor = writing(&store);
    answer(&executor, "who", &"ben".into()).await;
    drop(executor);
    let explained = explain(&store, &plan("Who is it?", "!"));
    let [title, shown, choices] = explained.steps[0].changes.as_slice() else { panic!("{explained}") };
    assert_eq!(title.change, Change::Plain { old: Some("Who?".into()), new: Some("Who is it?".into()) });
    let expected = JsonChange::Changed { path: ".".to_owned(), old: "tea".into(), new: "tea!".into() };
    assert_eq!(shown.change, Change::Json { changes: vec![expected] });
    let Change::List(choices) = &choices.change else { panic!("{explained}") };
    assert_eq!((choices.old[0].as_str(), choices.new[0].as_str(), choices.added.len()), ("ada", "ada!", 3));
    drawing::assert_drawing("explain-question", &explained.to_string());
}

#[tokio::test]
async fn another_input_of_the_run_is_compared_by_its_places() {
    let plan = Plan::new("post", |stories: Step<Vec<Story>>| {
        agent("draft").input("stories", stories).prompt("Write.").text()
    })
    .unwrap();
    let story = |title: &str| Story { title: title.to_owned(), words: 1 };
    let store = Store::new();
    start(&writing(&store), &plan, vec![story("a"), story("b")]).await.completed();
    let executor = reading(&store);
    let explained = executor.explain_with(&plan, &run_id(), &vec![story("a"), story("c")]).unwrap();
    let expected = JsonChange::Changed { path: ".[1].title".to_owned(), old: "b".into(), new: "c".into() };
    assert_eq!(only(&explained), (&Field::RunInput, &Change::Json { changes: vec![expected] }));
    assert_eq!(explained.steps[0].path, "input");
    drawing::assert_drawing("explain-run-input", &explained.to_string());
    // The same input differs in nothing.
    let explained = executor.explain_with(&plan, &run_id(), &vec![story("a"), story("b")]).unwrap();
    assert!(explained.steps.is_empty(), "{explained}");
}

#[tokio::test]
async fn an_arm_is_shown_as_it_was_decided_and_is_today() {
    let plan = |least: u32| {
        draft(move |topic| {
            let count = agent("count").input("topic", topic).prompt("Count.").returns::<u32>();
            branch("size", count)
                .when("many", move |count| *count >= least, |_| value("many".to_owned()))
                .otherwise(|_| value("few".to_owned()))
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan(1), &plan(5), text()).await;
    let expected = Change::Plain { old: Some("many".into()), new: Some("else".into()) };
    assert_eq!(only(&explained), (&Field::Arm, &expected));
    drawing::assert_drawing("explain-arm", &explained.to_string());
}

#[tokio::test]
async fn the_value_that_a_decision_was_made_from_is_shown_with_the_decision() {
    let plan = |more: u32| {
        draft(move |topic| {
            let count = agent("count").input("topic", topic).prompt("Count.").returns::<u32>();
            let count = if more == 0 { count } else { count.map(move |count| count + more) };
            branch("size", count)
                .when("many", |count| *count > 2, |_| value("many".to_owned()))
                .otherwise(|_| value("few".to_owned()))
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan(0), &plan(1), text()).await;
    let [on, arm] = explained.steps[0].changes.as_slice() else { panic!("{explained}") };
    let expected = JsonChange::Changed { path: ".".to_owned(), old: 2.into(), new: 3.into() };
    assert_eq!(on.change, Change::Json { changes: vec![expected] });
    assert_eq!(arm.change, Change::Plain { old: Some("else".into()), new: Some("many".into()) });
}

#[tokio::test]
async fn keys_are_shown_as_a_list() {
    let plan = |mark: &'static str| {
        draft(move |topic| {
            let names = agent("names").input("topic", topic).prompt("Names.").returns::<Vec<String>>();
            let all = parallel_each("greet", names, |name| {
                agent("greeting").input("name", name).prompt("Greet.").text()
            });
            all.key_by(move |name| if name == "ben" { format!("{name}{mark}") } else { name.clone() })
                .all()
                .map(|all| all.join(" "))
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan(""), &plan("-2"), text()).await;
    let (Field::Keys, Change::List(keys)) = only(&explained) else { panic!("{explained}") };
    assert_eq!(
        (keys.added.as_slice(), keys.removed.as_slice()),
        (["ben-2".to_owned()].as_slice(), ["ben".to_owned()].as_slice())
    );
}

#[tokio::test]
async fn items_of_a_list_that_is_not_recorded_are_told_by_their_keys() {
    let plan = |mark: &'static str| {
        draft(move |topic| {
            let names = agent("names").input("topic", topic).prompt("Names.").returns::<Vec<String>>();
            let names = names.map(move |names| {
                names
                    .iter()
                    .map(|name| format!("{name}{}", if name == "cy" { mark } else { "." }))
                    .collect::<Vec<_>>()
            });
            let all = parallel_each("greet", names, |name| {
                agent("greeting").input("name", name).prompt("Greet.").text()
            });
            all.key_by(|name| name[..2].to_owned()).all().map(|all| all.join(" "))
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan("."), &plan("!"), text()).await;
    let greet = explained.steps.iter().find(|step| step.path == "greet").unwrap();
    let expected = Change::Items { added: Vec::new(), removed: Vec::new(), changed: vec!["cy".to_owned()] };
    assert_eq!(greet.changes[0].change, expected, "{explained}");
}

#[tokio::test]
async fn what_a_then_built_is_shown_by_its_steps() {
    let plan = |name: &'static str| {
        draft(move |topic| {
            topic.then("grow", move |_| agent(name).input("topic", topic).prompt("Say it.").text())
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan("say"), &plan("sing"), text()).await;
    let (Field::Structure, Change::List(steps)) = only(&explained) else { panic!("{explained}") };
    assert_eq!(steps.removed, ["grow/say: agent -> string"]);
    assert_eq!(steps.added, ["grow/sing: agent -> string"]);
    assert!(explained.steps[0].not_kept.is_some());
}

#[tokio::test]
async fn every_copy_is_explained_and_its_step_named() {
    let plan = |prompt: &'static str| {
        draft(move |topic| {
            let names = agent("names").input("topic", topic).prompt("Names.").returns::<Vec<String>>();
            let all = parallel_each("greet", names, move |name| {
                agent("greeting").input("name", name).prompt(prompt).text()
            });
            all.key_by(String::clone).all().map(|all| all.join(" "))
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan("Greet."), &plan("Greet warmly."), text()).await;
    let paths: Vec<_> = explained.steps.iter().map(|step| step.path.as_str()).collect();
    assert_eq!(paths, ["greet[ada]/greeting", "greet[ben]/greeting", "greet[cy]/greeting"]);
    assert!(explained.steps.iter().all(|step| step.step == "greet[*]/greeting"));
}

#[tokio::test]
async fn a_huge_run_is_explained_up_to_a_bound_and_says_what_is_left_out() {
    let plan = |mark: &'static str| {
        Plan::new("wide", move |items: Step<Vec<u32>>| {
            parallel_each("each", items, move |item| {
                let item = item.map(move |item| format!("{item}{mark}"));
                step("say").input("item", item).run(String::clone)
            })
            .all()
        })
        .unwrap()
    };
    let store = Store::new();
    let explained = against(&store, &plan(""), &plan("!"), (0..1010).collect()).await;
    assert_eq!((explained.steps.len(), explained.left_out), (1000, 10));
    let text = explained.to_string();
    assert!(text.starts_with("1010 steps of run r conflict with plan wide\n"), "{text}");
    assert!(text.ends_with("\n\nand 990 more"), "{text}");
}

#[tokio::test]
async fn long_texts_are_cut_in_text_with_what_is_left_out_and_whole_in_json() {
    let plan = |word: &'static str| {
        let prompt: Vec<_> = (0..100).map(|line| format!("{word} {line}")).collect();
        draft(move |topic| agent("draft").input("topic", topic).prompt(prompt.join("\n")).text())
    };
    let store = Store::new();
    let explained = against(&store, &plan("old"), &plan("new"), text()).await;
    let text = explained.to_string();
    assert!(text.ends_with("\n    … and 141 more lines"), "{text}");
    let json = explained.to_json().unwrap();
    let diff = json["steps"][0]["changes"][0]["change"]["diff"]["unified"].as_str().unwrap();
    assert_eq!(diff.lines().count(), 201);
}

#[tokio::test]
async fn as_json() {
    let plan = |model: &'static str, version: u32| {
        draft(move |topic| {
            let draft = agent("draft").input("topic", topic).prompt("Write.").model(model);
            let draft = draft.effect(Effect::Unsafe).version(version).text();
            agent("title").input("draft", draft).prompt("A title.").text()
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan("small", 1), &plan("large", 1), text()).await;
    let expected = json!({
        "format": 1, "run": "r", "plan": "post", "left_out": 0,
        "steps": [{
            "path": "draft", "step": "draft", "kind": "agent",
            "changes": [{ "field": "model", "change": { "form": "plain", "old": "small", "new": "large" } }],
        }],
    });
    assert_eq!(explained.to_json().unwrap(), expected);
}

#[tokio::test]
async fn what_was_taken_over_from_another_run_is_explained_too() {
    let plan =
        |prompt: &'static str| draft(move |topic| agent("draft").input("topic", topic).prompt(prompt).text());
    let store = Store::new();
    let executor = writing(&store);
    executor.start(&plan("Write."), text()).id("parent").await.unwrap().outcome().await.completed();
    let parent = RunId::new("parent").unwrap();
    let run = executor.start(&plan("Write."), text()).id("r").fork_of(&parent).await.unwrap();
    run.outcome().await.completed();
    assert!(kinds(executor.ledger()).contains(&"Adopted".to_owned()));
    drop(executor);
    let explained = explain(&store, &plan("Write more."));
    assert!(matches!(only(&explained), (Field::Prompt, Change::Text { .. })), "{explained}");
}

#[tokio::test]
async fn a_flow_is_shown_with_what_it_was_made_from() {
    let plan = |done: bool| {
        draft(move |topic| {
            repeat("loop", topic, 2, move |text| {
                let next = agent("next").input("text", text).prompt("Next.").text();
                if done { next.done() } else { next.again() }
            })
            .or_else(|last| last)
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan(true), &plan(false), text()).await;
    let [state, flow] = explained.steps[0].changes.as_slice() else { panic!("{explained}") };
    assert_eq!((explained.steps[0].path.as_str(), &flow.field), ("loop[1]", &Field::Flow));
    assert_eq!(flow.change, Change::Plain { old: Some("done".into()), new: Some("again".into()) });
    let said = "<loop[1]/next>";
    let removed = JsonChange::Removed { path: ".Done".to_owned(), old: said.into() };
    let added = JsonChange::Added { path: ".Again".to_owned(), new: said.into() };
    assert_eq!(state.change, Change::Json { changes: vec![added, removed] });
}

#[tokio::test]
async fn members_are_told_by_their_keys() {
    let plan = |enough: u32| {
        draft(move |topic| {
            let names = agent("names").input("topic", topic).prompt("Names.").returns::<Vec<String>>();
            let all = parallel_each("greet", names, |name| {
                agent("greeting").input("name", name).prompt("Greet.").text()
            });
            all.key_by(String::clone).limit(1).at_least(enough).map(|all| all.join(" "))
        })
    };
    let store = Store::new();
    let explained = against(&store, &plan(2), &plan(1), text()).await;
    let expected = Change::Members { old: vec!["ada".to_owned(), "ben".to_owned()] };
    assert_eq!(only(&explained), (&Field::Members, &expected));
    assert!(explained.to_string().contains("ada, ben were chosen"), "{explained}");
}

#[tokio::test]
async fn a_step_of_another_kind_says_so_first() {
    let before = draft(|topic| agent("draft").input("topic", topic).prompt("Write.").text());
    let after = draft(|topic| step("draft").input("topic", topic).run(String::clone));
    let store = Store::new();
    let explained = against(&store, &before, &after, text()).await;
    let kind = &explained.steps[0].changes[0];
    assert_eq!(kind.field, Field::Kind);
    assert_eq!(kind.change, Change::Plain { old: Some("agent".into()), new: Some("step".into()) });
}

#[tokio::test]
async fn a_very_long_line_is_cut_around_what_differs() {
    let plan = |word: &str| {
        let prompt = format!("{}{word}{}", "a".repeat(5000), "z".repeat(3000));
        draft(move |topic| agent("draft").input("topic", topic).prompt(prompt).text())
    };
    let store = Store::new();
    let explained = against(&store, &plan("OLD"), &plan("NEW"), text()).await;
    let text = explained.to_string();
    let (before, after) = ("a".repeat(100), "z".repeat(897));
    for (mark, word) in [('-', "OLD"), ('+', "NEW")] {
        let line = format!("    {mark}(4900 characters) …{before}{word}{after}… and 2103 more characters\n");
        assert!(format!("{text}\n").contains(&line), "{text}");
    }
}
