//! Two plans compared without running either: what came, what went, what got another name; which fields differ, and what that
//! means for runs that were begun with the earlier plan. That it means so, the runs themselves show.

mod support;

use hermes_workflows::{
    plan::{Became, Difference, OnResume, PlanDiff},
    prelude::*,
};
use proptest::{prelude::*, test_runner::Config};
use support::*;

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Post {
    title: String,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Post")]
struct Tagged {
    title: String,
    tags: Option<Vec<String>>,
}

/// One agent, as this makes it.
fn one<T: Data>(build: impl Fn(Step<String>) -> Step<T>) -> Plan<String, T> {
    Plan::new("one", build).unwrap()
}

/// Makes a plan of one agent.
type Build = fn(Step<String>) -> Step<String>;

/// The one field that differs, what that means, and how it is told.
fn only(diff: &PlanDiff) -> (String, OnResume, String) {
    assert!(diff.plan.is_empty() && diff.steps.len() == 1, "{diff}");
    assert_eq!((diff.steps[0].became, diff.steps[0].fields.len()), (Became::Changed, 1), "{diff}");
    let field = &diff.steps[0].fields[0];
    (field.field.clone(), field.on_resume, diff.to_string())
}

#[test]
fn equal_plans_have_no_differences() {
    let plan = || {
        Plan::new("post", |items: Step<Vec<String>>| {
            let drafts = parallel_each("drafts", items, |item: Step<String>| {
                agent("draft").input("item", item).prompt_with(|item| format!("Draft {item}.")).text()
            });
            let drafts = drafts.key_by(String::clone).limit(4).all();
            review("look", drafts.map(|drafts| drafts.join(" "))).approved()
        })
        .unwrap()
    };
    let diff = plan().diff(&plan());
    assert!(diff.is_empty(), "{diff}");
    assert_eq!(diff.to_string(), "no differences");
}

#[test]
fn each_field_of_an_agent_is_named_with_what_it_means() {
    let base = || one(|topic| agent("a").input("topic", topic).prompt("Go.").text());
    let with = |build: fn(Step<String>) -> Step<String>| only(&one(build).diff(&base()));
    let conflict = OnResume::Conflict;
    let cases: [(Build, &str, OnResume); 9] = [
        (|t| agent("a").input("topic", t).prompt("Go now.").text(), "prompt", conflict),
        (|t| agent("a").input("topic", t).prompt("Go.").tools(["search"]).text(), "tools", conflict),
        (|t| agent("a").input("topic", t).prompt("Go.").model("big").text(), "model", conflict),
        (|t| agent("a").input("topic", t).prompt("Go.").version(2).text(), "version", OnResume::RunsAgain),
        (
            |t| agent("a").input("topic", t).prompt("Go.").effect(Effect::Pure).text(),
            "effect",
            OnResume::Reused,
        ),
        (|t| agent("a").input("topic", t).prompt("Go.").runner("fast").text(), "runner", OnResume::Reused),
        (|t| agent("a").input("topic", t).prompt("Go.").repair(2).text(), "repair", OnResume::Reused),
        (
            |t| agent("a").input("topic", t).prompt("Go.").timeout(Duration::from_secs(9)).text(),
            "timeout",
            OnResume::Reused,
        ),
        (
            |t| agent("a").input("topic", t.map(|t| t.to_uppercase())).prompt("Go.").text(),
            "input topic",
            OnResume::IfValuesDiffer,
        ),
    ];
    for (build, field, on_resume) in cases {
        let (found, means, text) = with(build);
        assert_eq!((found.as_str(), means), (field, on_resume), "{text}");
    }
}

#[tokio::test]
async fn what_it_says_of_a_resume_is_what_a_resume_does() {
    let base = || one(|topic| agent("a").input("topic", topic).prompt("Go.").text());
    let plans: [fn(Step<String>) -> Step<String>; 4] = [
        |t| agent("a").input("topic", t).prompt("Go now.").text(),
        |t| agent("a").input("topic", t).prompt("Go.").version(2).text(),
        |t| agent("a").input("topic", t).prompt("Go.").runner("fast").text(),
        |t| agent("a").input("topic", t.map(|t| t.trim().to_owned())).prompt("Go.").text(),
    ];
    for build in plans {
        let (store, (runner, _)) = (Store::new(), echo());
        start(&store.executor(runner), &base(), "tea".to_owned()).await.completed();
        let plan = one(build);
        let (_, means, text) = only(&plan.diff(&base()));
        let preview = store.replayer().preview(&plan, &run_id()).unwrap();
        let expected = match means {
            OnResume::Conflict => (1, 0, 0),
            OnResume::RunsAgain => (0, 1, 0),
            // The value is the same here.
            _ => (0, 0, 1),
        };
        let counts = (preview.counts.conflict, preview.counts.run_again, preview.counts.reuse);
        assert_eq!(counts, expected, "{text}");
    }
}

#[test]
fn a_type_is_told_place_by_place_and_a_prompt_line_by_line() {
    let before = one(|topic| agent("a").input("topic", topic).prompt("Write.\nBe brief.").returns::<Post>());
    let after =
        one(|topic| agent("a").input("topic", topic).prompt("Write.\nBe very brief.").returns::<Tagged>());
    let diff = after.diff(&before);
    let fields: Vec<_> = diff.steps[0].fields.iter().map(|field| field.field.as_str()).collect();
    assert_eq!(fields, ["prompt", "schema"]);
    assert!(
        matches!(&diff.steps[0].fields[1].difference, Difference::Schema { changes } if changes.len() == 1)
    );
    assert_eq!(diff.plan[0].field, "output");
    drawing::assert_drawing("plan-diff", &diff.to_string());
}

#[test]
fn steps_come_go_and_get_other_names() {
    let before = one(|topic| {
        let facts = agent("facts").input("topic", topic).prompt("Facts.").text();
        let spare = agent("spare").prompt("Spare.").text();
        agent("draft").input("facts", facts).input("spare", spare).prompt("Draft.").text()
    });
    let after = one(|topic| {
        let facts = agent("research").renamed_from("facts").input("topic", topic).prompt("Facts.").text();
        let draft = agent("draft").input("facts", facts).prompt("Draft.").text();
        agent("title").input("draft", draft).prompt("A title.").text()
    });
    let diff = after.diff(&before);
    drawing::assert_drawing("plan-diff-steps", &diff.to_string());
    let json = diff.to_json().unwrap();
    assert_eq!(json["format"], 1);
    assert_eq!(json["steps"][0]["renamed_from"], "facts");
    assert_eq!(json["steps"][2]["became"], "added");
    assert_eq!(json["steps"][3]["became"], "removed");
}

#[test]
fn groups_commands_questions_and_files_have_their_fields() {
    let before = Plan::new("all", |items: Step<Vec<String>>| {
        let sources = files("sources", ["src/**/*.rs"]).texts();
        let built = command("build").argv(["make"]).env("MODE", "fast").stdout();
        let drafts = parallel_each("drafts", items, |item: Step<String>| item).limit(2).all();
        let sure = ask("sure").title("Sure?").assign_to("ada").returns::<bool>();
        join((sources.map(Vec::len), built, drafts, sure)).map(|all| format!("{all:?}"))
    });
    let after = Plan::new("all", |items: Step<Vec<String>>| {
        let sources = files("sources", ["src/**/*.rs", "tests/*.rs"]).texts();
        let built = command("build").argv(["make", "all"]).env("MODE", "slow").stdout();
        let drafts = parallel_each("drafts", items, |item: Step<String>| item).limit(8).all();
        let sure = ask("sure").title("Really?").assign_to("bob").returns::<bool>();
        join((sources.map(Vec::len), built, drafts, sure)).map(|all| format!("{all:?}"))
    });
    let diff = after.unwrap().diff(&before.unwrap());
    drawing::assert_drawing("plan-diff-kinds", &diff.to_string());
    assert!(!diff.to_string().contains("slow"), "what a variable holds may be a secret");
}

/// A chain of agents, some of whose fields are set.
fn chain(prompts: &[u8], versions: &[bool], tools: &[bool]) -> Plan<String, String> {
    Plan::new("chain", |topic: Step<String>| {
        let mut last = topic;
        for (at, ((prompt, version), tool)) in prompts.iter().zip(versions).zip(tools).enumerate() {
            let agent = agent(format!("s{at}")).input("last", last);
            let agent = if *version { agent.version(1) } else { agent };
            let agent = if *tool { agent.tools(["search"]) } else { agent };
            last = agent.prompt(format!("Take {prompt}.")).text();
        }
        last
    })
    .unwrap()
}

proptest! {
    #![proptest_config(Config { cases: 64, failure_persistence: None, ..Config::default() })]

    #[test]
    fn exactly_what_was_edited_differs(
        prompts in proptest::collection::vec(0_u8..3, 5),
        versions in proptest::collection::vec(any::<bool>(), 5),
        tools in proptest::collection::vec(any::<bool>(), 5),
        (at, field) in (0_usize..5, 0_usize..3),
    ) {
        let before = chain(&prompts, &versions, &tools);
        let (mut prompts, mut versions, mut tools) = (prompts, versions, tools);
        match field {
            0 => prompts[at] += 1,
            1 => versions[at] ^= true,
            _ => tools[at] ^= true,
        }
        let after = chain(&prompts, &versions, &tools);
        let diff = after.diff(&before);
        let (found, _, _) = only(&diff);
        prop_assert_eq!(&diff.steps[0].path, &format!("s{at}"));
        prop_assert_eq!(found, ["prompt", "version", "tools"][field]);
        prop_assert!(after.diff(&after).is_empty());
    }
}
