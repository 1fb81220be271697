//! `Scripted` and `FnRunner`, driven by a real executor.
#![expect(clippy::unwrap_used, reason = "an unwrap in a test is an assertion")]

mod support;

use hermes_executor::{
    AgentCall, AgentReply, CallWatch, Executor, Ledger, Outcome, Runner, RunnerError, RunnerErrorKind,
};
use hermes_plan::prelude::*;
use hermes_runners::{FnRunner, Scripted};
use serde_json::json;
use support::*;
use tokio_util::sync::CancellationToken;

fn over(runner: impl Runner + 'static) -> Executor {
    Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build()
}

fn each() -> Plan<Vec<String>, Vec<Result<String, Failure>>> {
    Plan::new("each", |items: Step<Vec<String>>| {
        parallel_each("each", items, |item| {
            agent("a").input("item", item).retry(Retry::never()).prompt("Go.").text()
        })
        .key_by(String::clone)
        .results()
    })
    .unwrap()
}

async fn results(executor: &Executor, items: &[&str]) -> Vec<Result<String, String>> {
    let items: Vec<_> = items.iter().map(|item| (*item).to_owned()).collect();
    let run = executor.start(&each(), items).await.unwrap();
    let Outcome::Completed(done) = run.outcome().await.unwrap() else { panic!("it must complete") };
    done.value.into_iter().map(|result| result.map_err(|failure| failure.message)).collect()
}

fn limited() -> RunnerError {
    RunnerError::new(RunnerErrorKind::RateLimited, "come back later")
}

async fn ask(script: &Scripted, call: &AgentCall) -> Result<AgentReply, RunnerError> {
    script.run(call.clone(), CallWatch::new(CancellationToken::new())).await
}

fn text(reply: Result<AgentReply, RunnerError>) -> String {
    match reply.unwrap().answer {
        hermes_executor::Answer::Text(text) => text,
        hermes_executor::Answer::Json(json) => json.to_string(),
    }
}

#[tokio::test]
async fn the_exact_path_wins_then_the_pattern_given_last() {
    let script = Scripted::new()
        .text("each[x]/a", "exact")
        .text("each[*]/a", "first")
        .on("each[*]/a", |call: &AgentCall| Ok(AgentReply::text(format!("last {}", call.path))));
    let answers = results(&over(script.clone()), &["x", "y"]).await;
    assert_eq!(answers, [Ok("exact".to_owned()), Ok("last each[y]/a".to_owned())]);
    let mut calls = script.calls();
    calls.sort();
    assert_eq!(calls, ["each[x]/a", "each[y]/a"]);
    assert_eq!((script.count("each[*]/a"), script.count("each[x]/a"), script.count("b")), (2, 1, 0));
}

#[tokio::test]
async fn answers_come_in_sequence_and_the_last_stays() {
    let call = text_call("x").await.call;
    let script = Scripted::new().text("a", "one").then(json!("two")).then(AgentReply::text("three"));
    for expected in ["one", "\"two\"", "three", "three"] {
        assert_eq!(text(ask(&script, &call).await), expected);
    }
}

#[tokio::test]
async fn failures_come_first_and_for_each_path_by_itself() {
    let script = Scripted::new().text("each[*]/a", "ok").fail_once("each[*]/a", limited());
    let answers = results(&over(script.clone()), &["x", "y"]).await;
    assert_eq!(answers, [Err("come back later".to_owned()), Err("come back later".to_owned())]);
    assert_eq!(results(&over(script), &["x", "y"]).await, [Ok("ok".to_owned()), Ok("ok".to_owned())]);

    let call = text_call("x").await.call;
    let script = Scripted::new().fail("a", 2, limited()).text("a", "one").then(json!("two"));
    let script = script.fail_once("a", RunnerError::new(RunnerErrorKind::CutOff, "half"));
    for kind in [RunnerErrorKind::RateLimited, RunnerErrorKind::RateLimited, RunnerErrorKind::CutOff] {
        assert_eq!(ask(&script, &call).await.unwrap_err().kind, kind);
    }
    assert_eq!(text(ask(&script, &call).await), "one");
    assert_eq!(text(ask(&script, &call).await), "\"two\"");
}

#[tokio::test]
async fn an_unknown_path_names_the_known_ones() {
    let call = text_call("x").await.call;
    let script = Scripted::new().text("b", "x").text("each[*]/c", "x");
    let error = ask(&script, &call).await.unwrap_err();
    assert_eq!(error.kind, RunnerErrorKind::NotBegun);
    for part in ["`a`", "`b`, `each[*]/c`", ".otherwise"] {
        assert!(error.message.contains(part), "{error}");
    }
    let script = script.otherwise(|call| Ok(AgentReply::text(format!("<{}>", call.path))));
    assert_eq!(text(ask(&script, &call).await), "<a>");
    assert_eq!(script.seen()[0].text, call.text);
}

#[tokio::test]
async fn a_gate_holds_calls_until_it_is_opened() {
    let script = Scripted::new().text("each[*]/a", "ok");
    let gate = script.gate("each[*]/a");
    let executor = over(script.clone());
    let (answers, ()) = tokio::join!(results(&executor, &["x", "y", "z"]), async {
        gate.reached(3).await;
        assert_eq!((script.running(), script.most_at_once(), gate.arrived()), (3, 3, 3));
        gate.let_through(1);
        gate.open();
    });
    assert_eq!(answers.len(), 3);
    assert_eq!((script.running(), script.most_at_once()), (0, 3));
}

#[tokio::test]
async fn a_call_held_at_a_gate_can_be_cancelled() {
    let call = text_call("x").await.call;
    let script = Scripted::new().text("a", "ok");
    let gate = script.gate("a");
    let cancel = CancellationToken::new();
    let (result, ()) = tokio::join!(script.run(call, CallWatch::new(cancel.clone())), async {
        gate.reached(1).await;
        cancel.cancel();
    });
    assert_eq!(result.unwrap_err().kind, RunnerErrorKind::Cancelled);
    assert_eq!(script.running(), 0);
}

#[test]
#[should_panic(expected = "a [ has no ]")]
fn a_path_that_is_none_panics_at_once() {
    let _ = Scripted::new().text("a[", "x");
}

#[test]
#[should_panic(expected = "there is none")]
fn a_sequence_needs_a_beginning() {
    let _ = Scripted::new().then(json!(1));
}

#[tokio::test]
async fn a_function_is_a_runner_async_or_not() {
    let call = text_call("x").await.call;
    let watch = || CallWatch::new(CancellationToken::new());
    let echo = FnRunner::new(|call| async move { Ok(AgentReply::text(call.path)) });
    assert_eq!(text(echo.run(call.clone(), watch()).await), "a");
    let echo = FnRunner::sync(|call| Ok(AgentReply::text(call.path.clone()))).name("echo");
    assert_eq!(text(echo.run(call.clone(), watch()).await), "a");
    assert_eq!(echo.identity().name, "echo");
    let logs = FnRunner::watching(|call, watch| async move {
        watch.log("begun");
        Ok(AgentReply::text(format!("{} {}", call.path, watch.last_line())))
    });
    assert_eq!(text(logs.run(call, watch()).await), "a begun");
}

#[tokio::test]
async fn a_function_that_never_answers_ends_when_it_is_cancelled() {
    let call = text_call("x").await.call;
    let cancel = CancellationToken::new();
    let runner = FnRunner::new(|_| std::future::pending());
    let running = runner.run(call, CallWatch::new(cancel.clone()));
    cancel.cancel();
    assert_eq!(running.await.unwrap_err().kind, RunnerErrorKind::Cancelled);
}
