//! A preview says what a resume would do, and why, and writes nothing: what it says is what the resume then does.

mod support;

use hermes_workflows::{
    core::receipt::Cost,
    executor::{Preview, ledger::LedgerError},
    prelude::*,
};
use support::*;

/// `facts` → `draft` → `title`.
fn post(prompt: &str, version: Option<u32>) -> Plan<String, String> {
    let prompt = prompt.to_owned();
    Plan::new("post", |topic: Step<String>| {
        let facts = agent("facts").input("topic", topic).prompt("Facts.");
        let facts = version.into_iter().fold(facts, hermes_workflows::plan::AgentBuilder::version).text();
        let draft = agent("draft").input("facts", facts).prompt(prompt).text();
        agent("title").input("draft", draft).prompt("A title.").text()
    })
    .unwrap()
}

/// Answers with its path, at a price.
fn priced() -> FnRunner {
    FnRunner::sync(|call| {
        let mut reply = AgentReply::text(format!("<{}>", call.path));
        reply.cost = Cost::Known { usd: 0.25 };
        Ok(reply)
    })
}

async fn finished(store: &Store) {
    start(&store.executor(priced()), &post("Write.", None), "tea".to_owned()).await.completed();
}

/// The fates of the steps that are not simply reused.
fn fates(preview: &Preview) -> Vec<String> {
    preview.steps.iter().map(|step| format!("{}: {}", step.path, step.fate)).collect()
}

fn reading(store: &Store) -> Executor {
    Executor::builder().ledger(Ledger::open_read_only(store.path()).unwrap()).build()
}

#[tokio::test]
async fn an_unchanged_run_is_reused_as_a_whole() {
    let store = Store::new();
    finished(&store).await;
    let preview = reading(&store).preview(&post("Write.", None), &run_id()).unwrap();
    assert_eq!((preview.counts.reuse, preview.steps.len(), preview.ended), (3, 0, true));
    assert!(!preview.parks());
}

#[tokio::test]
async fn a_changed_step_is_a_conflict_and_what_is_below_it_is_compared() {
    let store = Store::new();
    finished(&store).await;
    let preview = reading(&store).preview(&post("Write better.", None), &run_id()).unwrap();
    assert_eq!(fates(&preview), ["draft: conflict"]);
    assert_eq!((preview.counts.reuse, preview.counts.conflict), (2, 1));
    assert!(preview.parks());
    assert_eq!(preview.steps[0].says, ["prompt"]);
    drawing::assert_drawing("preview-conflict", &preview.to_string());
}

#[tokio::test]
async fn a_version_that_the_plan_gives_explains_what_runs_again_and_what_it_cost() {
    let store = Store::new();
    finished(&store).await;
    let preview = reading(&store).preview(&post("Write.", Some(2)), &run_id()).unwrap();
    assert_eq!(fates(&preview), ["draft: unknown", "facts: run again", "title: unknown"]);
    assert!((preview.last_cost.usd - 0.25).abs() < 1e-9);
    drawing::assert_drawing("preview-version", &preview.to_string());
}

#[tokio::test]
async fn what_people_asked_for_is_in_the_preview_before_it_is_done() {
    let store = Store::new();
    finished(&store).await;
    let plan = post("Write.", None);
    let executor = store.executor(priced());
    executor.set(&plan, &run_id(), "draft", &"My own.".to_owned()).by(Actor::claimed("ada")).await.unwrap();
    executor.invalidate(&run_id(), "facts").why("stale").await.unwrap();
    let before = executor.ledger().stats();
    let preview = executor.preview(&plan, &run_id()).unwrap();
    assert_eq!(executor.ledger().stats(), before);
    assert_eq!(fates(&preview), ["draft: unknown", "facts: run again", "title: unknown"]);
    assert_eq!(preview.steps[1].because[0].to_string(), "run again on request at facts: stale");
    drop(executor);
    // And without the invalidation, the output that was given explains the title.
    let other = Store::new();
    finished(&other).await;
    let executor = other.executor(priced());
    executor.set(&plan, &run_id(), "draft", &"My own.".to_owned()).by(Actor::claimed("ada")).await.unwrap();
    let preview = executor.preview(&plan, &run_id()).unwrap();
    assert_eq!(fates(&preview), ["title: run again"]);
    assert_eq!(preview.steps[0].because[0].to_string(), "an output was given by hand at draft, by ada");
    let (_, counts) = resume(&executor, &plan).await.completed();
    assert_eq!(counts.calls, 1);
}

#[tokio::test]
async fn another_input_is_a_conflict_and_once_accepted_a_cause() {
    let store = Store::new();
    finished(&store).await;
    let (plan, executor) = (post("Write.", None), store.executor(priced()));
    let preview = executor.preview_with(&plan, &run_id(), &"coffee".to_owned()).unwrap();
    assert_eq!(fates(&preview), ["input: conflict"]);
    let needs = start(&executor, &plan, "coffee".to_owned()).await.parked();
    executor.decide(&run_id(), &needs[0], Decision::Accept).by(Actor::claimed("ada")).await.unwrap();
    let preview = executor.preview(&plan, &run_id()).unwrap();
    assert_eq!(fates(&preview), ["draft: unknown", "facts: run again", "title: unknown"]);
    assert_eq!(preview.steps[1].because[0].to_string(), "another input was accepted, by ada");
}

#[tokio::test]
async fn a_dropped_step_a_new_one_and_a_grown_plan() {
    let store = Store::new();
    finished(&store).await;
    let plan = Plan::new("post", |topic: Step<String>| {
        let facts = agent("facts").input("topic", topic).prompt("Facts.").text();
        let draft = agent("draft").input("facts", facts).prompt("Write.").text();
        agent("tweet").input("draft", draft).prompt("A tweet.").text()
    })
    .unwrap();
    let executor = store.replayer();
    let preview = executor.preview(&plan, &run_id()).unwrap();
    assert_eq!(fates(&preview), ["title: dropped", "tweet: run"]);
    resume(&executor, &plan).await.parked();
    decide_all(&executor, Decision::Drop).await;
    let preview = executor.preview(&plan, &run_id()).unwrap();
    assert_eq!(fates(&preview), ["tweet: run"]);
    assert!(preview.ended && preview.to_string().contains("extend"), "{preview}");
}

#[test]
fn a_call_in_doubt_is_named_with_its_reason() {
    let plan = Plan::new("send", |topic: Step<String>| {
        agent("send").input("topic", topic).prompt("Send.").effect(Effect::Unsafe).text()
    })
    .unwrap();
    let store = Store::new();
    crash_in_call(&store, &plan);
    let preview = reading(&store).preview(&plan, &run_id()).unwrap();
    assert_eq!(fates(&preview), ["send: in doubt"]);
    assert!(preview.steps[0].says[0].contains("unsafe"), "{preview}");
}

#[tokio::test]
async fn items_are_counted_on_the_line_of_their_step() {
    let plan = |prompt: &str| {
        let prompt = prompt.to_owned();
        Plan::new("items", |items: Step<Vec<String>>| {
            parallel_each("drafts", items, move |item: Step<String>| {
                let draft = agent("draft").input("item", item).prompt("Draft.").text();
                agent("title").input("draft", draft).prompt(prompt.clone()).text()
            })
            .key_by(String::clone)
            .all()
        })
        .unwrap()
    };
    let store = Store::new();
    let items: Vec<_> = ('a'..='e').map(String::from).collect();
    start(&store.executor(priced()), &plan("A title."), items.clone()).await.completed();
    let executor = store.replayer();
    executor.invalidate(&run_id(), "drafts[b]/draft").await.unwrap();
    let preview = executor.preview(&plan("A title."), &run_id()).unwrap();
    assert_eq!(fates(&preview), ["drafts[b]/draft: run again", "drafts[b]/title: unknown"]);
    drawing::assert_drawing("preview-items", &preview.to_string());
    // An item that is gone with another input is left out.
    let preview = executor.preview_with(&plan("A title."), &run_id(), &items[1..].to_vec()).unwrap();
    assert_eq!(preview.counts.conflict, 1, "{preview}");
}

#[tokio::test]
async fn a_question_stays_open_and_an_arm_not_taken_is_not_awaited() {
    let plan = Plan::new("ask", |topic: Step<String>| {
        let good = agent("judge").input("topic", topic).prompt("Good?").returns::<bool>();
        let draft = branch("so", good)
            .when(
                "yes",
                |good| *good,
                move |_| agent("praise").input("topic", topic).prompt("Praise.").text(),
            )
            .otherwise(|_| agent("mend").prompt("Mend.").text());
        ask("publish").title("Publish?").input("draft", draft).returns::<bool>()
    })
    .unwrap();
    let store = Store::new();
    let runner = FnRunner::sync(|call| match call.path.as_str() {
        "judge" => Ok(AgentReply::json(true.into())),
        path => Ok(AgentReply::text(path.to_owned())),
    });
    let executor = store.executor(runner);
    start(&executor, &plan, "tea".to_owned()).await.waiting();
    let preview = executor.preview(&plan, &run_id()).unwrap();
    assert_eq!(fates(&preview), ["publish: stays open"]);
    assert_eq!((preview.counts.reuse, preview.counts.unknown), (2, 0), "{preview}");
}

#[tokio::test]
async fn a_preview_leaves_the_file_as_it_is_to_the_byte() {
    let store = Store::new();
    finished(&store).await;
    let before = std::fs::read(store.path()).unwrap();
    let executor = reading(&store);
    executor.preview(&post("Write better.", Some(3)), &run_id()).unwrap();
    let refused = start(&executor, &post("Write.", None), "tea".to_owned()).await;
    assert!(refused.is_err(), "{refused:?}");
    drop(executor);
    assert!(std::fs::read(store.path()).unwrap() == before);
    assert!(matches!(
        Ledger::open_read_only(store.directory().join("none.redb")),
        Err(LedgerError::NotALedger { .. })
    ));
    let held = store.open();
    assert!(matches!(Ledger::open_read_only(store.path()), Err(LedgerError::Held { .. })));
    drop(held);
}

#[tokio::test]
async fn its_json_has_what_it_says() {
    let store = Store::new();
    finished(&store).await;
    let preview = reading(&store).preview(&post("Write.", Some(2)), &run_id()).unwrap();
    let json = preview.to_json().unwrap();
    assert_eq!(json["format"], 1);
    assert_eq!(json["counts"]["run_again"], 1);
    assert_eq!(json["steps"][1]["path"], "facts");
    assert_eq!(json["steps"][1]["because"][0]["cause"], "version");
    assert_eq!(json["steps"][1]["last_cost"]["usd"], 0.25);
}
