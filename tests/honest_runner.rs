//! An agent whose reply is not valid never completes; a runner that panics, hangs or does not exist fails by name.

mod support;

use hermes_workflows::{executor::DriveError, prelude::*};
use serde_json::json;
use support::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Verdict {
    ok: bool,
    score: u8,
}

fn plan() -> Plan<String, Verdict> {
    Plan::new("judge", |text: Step<String>| agent("judge").input("text", text).prompt("Judge it.").returns())
        .unwrap()
}

async fn failure_of(runner: impl Runner + 'static) -> Failure {
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    start(&executor, &plan(), "text".to_owned()).await.failed()
}

#[tokio::test]
async fn a_reply_that_is_not_valid_never_completes_and_is_kept() {
    for (reply, place) in [
        (json!({"ok": true}), "score"),
        (json!({"ok": "yes", "score": 1}), "/ok"),
        (json!({"ok": true, "score": 300}), "/score"),
        (json!([1]), "object"),
        (json!(null), "object"),
    ] {
        let shown = reply.to_string();
        let failure = failure_of(Scripted::new().on("judge", reply)).await;
        assert_eq!(failure.class, FailureClass::InvalidOutput, "{shown}");
        assert_eq!(failure.path, "judge");
        assert!(failure.message.contains(place), "{shown}: {}", failure.message);
        assert_eq!(failure.raw, Some(shown));
    }
}

#[tokio::test]
async fn text_that_is_not_json_never_completes() {
    let failure = failure_of(FnRunner::sync(|_| Ok(AgentReply::text("Sure! Here it is: {")))).await;
    assert_eq!(failure.class, FailureClass::InvalidOutput);
    assert!(failure.message.contains("not JSON"), "{failure}");
}

#[tokio::test]
async fn json_in_a_text_reply_is_read() {
    let runner = FnRunner::sync(|_| Ok(AgentReply::text(r#"{"score": 7, "ok": true, "extra": 1}"#)));
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    let (value, _) = start(&executor, &plan(), "text".to_owned()).await.completed();
    assert_eq!(value, Verdict { ok: true, score: 7 });
}

#[tokio::test]
async fn a_panicking_runner_fails_the_step_and_nothing_else() {
    let failure = failure_of(FnRunner::sync(|_| panic!("boom"))).await;
    assert_eq!(failure.class, FailureClass::Panicked);
    assert!(failure.message.contains("the runner panicked: boom"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_hanging_runner_is_cut_off_at_the_timeout() {
    let plan = Plan::new("slow", |text: Step<String>| {
        agent("slow").input("text", text).prompt("Go.").timeout(Duration::from_secs(5)).text()
    })
    .unwrap();
    let runner = FnRunner::new(|_| std::future::pending());
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    let failure = start(&executor, &plan, "x".to_owned()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::TimedOut, "slow"));
    assert!(failure.message.contains("5s"), "{failure}");
}

#[tokio::test]
async fn a_missing_runner_is_named_before_anything_is_written() {
    let store = Store::new();
    let plan = Plan::new("p", |text: Step<String>| {
        agent("a").input("text", text).prompt("Go.").runner("fast").text()
    })
    .unwrap();
    let executor = store.executor(refuses());
    let error = executor.start(&plan, "x".to_owned()).id("r").await.unwrap_err();
    assert!(matches!(&error, DriveError::NoRunner { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("`a`") && text.contains("honest_runner.rs:") && text.contains("`fast`"), "{text}");
    assert!(executor.ledger().find(&run_id()).unwrap().is_none());
}

#[tokio::test]
async fn a_named_runner_gets_the_steps_that_name_it() {
    let plan = Plan::new("p", |text: Step<String>| {
        let a = agent("a").input("text", text).prompt("Go.").runner("fast").text();
        agent("b").input("a", a).prompt("Go.").text()
    })
    .unwrap();
    let executor = Executor::builder()
        .ledger(Ledger::in_memory().unwrap())
        .runner(Scripted::new().text("b", "default"))
        .named_runner("fast", Scripted::new().text("a", "fast"))
        .build();
    assert_eq!(start(&executor, &plan, "x".to_owned()).await.completed().0, "default");
}

#[tokio::test]
async fn a_blank_rendered_prompt_fails_before_any_call() {
    let plan = Plan::new("p", |text: Step<String>| {
        agent("a").input("text", text).prompt_with(|text| text.trim().to_owned()).text()
    })
    .unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(refuses()).build();
    let failure = start(&executor, &plan, "  ".to_owned()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::BlankPrompt, "a"));
    assert!(failure.location.unwrap().contains("honest_runner.rs:"));
}

#[tokio::test]
async fn the_receipt_names_who_answered() {
    let store = Store::new();
    let executor = store.executor(Scripted::new().on("judge", json!({"ok": true, "score": 1})));
    start(&executor, &plan(), "text".to_owned()).await.completed();
    let ledger = executor.ledger();
    let run = ledger.find(&run_id()).unwrap().unwrap();
    let state = ledger.state(run).unwrap();
    let at = state.find(&"judge".parse().unwrap()).unwrap();
    let record = ledger.record(run, state.cell(at).unwrap().outcome).unwrap();
    let body = String::from_utf8(record.body).unwrap();
    assert!(body.contains("\"runner\":{\"name\":\"scripted\""), "{body}");
}
