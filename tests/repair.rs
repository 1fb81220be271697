//! Answers that are refused: told to the runner in the next turn of the same attempt, and durable before it begins.

#[path = "repair/crashes.rs"]
mod crashes;
#[path = "support/store.rs"]
mod store;
mod support;

use hermes_workflows::{
    core::{
        ids::Seq,
        journal::{
            Event,
            Kind::{self, Ended, Named, Refused, RunStarted, Started, Succeeded},
        },
        receipt::{Cost, Receipt, Usage},
    },
    prelude::*,
};
use serde_json::json;
use std::sync::{Arc, Mutex};
use support::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Verdict {
    score: u8,
    why: String,
}

/// One agent whose score must be even and whose reason must be short, with this many turns to mend it.
fn plan(repair: u32) -> Plan<String, Verdict> {
    Plan::new("judge", move |text: Step<String>| {
        agent("judge")
            .input("text", text)
            .prompt("Judge it.")
            .check(|verdict: &Verdict| match verdict.score % 2 {
                0 => Ok(()),
                _ => Err(format!("{} is odd", verdict.score)),
            })
            .check(|verdict| if verdict.why.len() < 9 { Ok(()) } else { Err("too long a reason".into()) })
            .repair(repair)
            .returns()
    })
    .unwrap()
}

fn verdict(score: u8, why: &str) -> serde_json::Value {
    json!({ "score": score, "why": why })
}

fn memory(runner: impl Runner + 'static) -> Executor {
    Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build()
}

async fn judged(executor: &Executor, plan: &Plan<String, Verdict>) -> Result<Outcome<Verdict>, String> {
    start(executor, plan, "text".to_owned()).await.map_err(|error| error.to_string())
}

fn events(executor: &Executor) -> Vec<Event> {
    let ledger = executor.ledger();
    let run = ledger.find(&run_id()).unwrap().unwrap();
    (1..=ledger.records(run).unwrap())
        .map(|seq| ledger.record(run, Seq(seq)).unwrap().event().unwrap())
        .collect()
}

fn kinds(executor: &Executor) -> Vec<Kind> {
    events(executor).iter().map(Event::kind).collect()
}

#[tokio::test]
async fn each_violation_is_told_in_the_next_turn_of_the_same_attempt() {
    let said = |answer: serde_json::Value| AgentReply {
        raw: Some(format!("<{answer}>")),
        session: Some("s-1".to_owned()),
        ..AgentReply::json(answer)
    };
    let script = Scripted::new()
        .on("judge", said(json!({ "score": 2 })))
        .then(AgentReply::text("not JSON"))
        .then(said(verdict(3, "it is too long for anybody")))
        .then(said(verdict(4, "short")));
    let executor = memory(script.clone());
    let (value, counts) = start(&executor, &plan(3), "text".to_owned()).await.completed();
    assert_eq!(value, Verdict { score: 4, why: "short".to_owned() });
    assert_eq!((counts.calls, counts.ok, counts.failed), (1, 1, 0));

    let turns = script.seen();
    assert_eq!(turns.iter().map(AgentCall::turn).collect::<Vec<_>>(), [1, 2, 3, 4]);
    for turn in &turns {
        assert_eq!((turn.attempt, &turn.cookie, &turn.text), (1, &turns[0].cookie, &turns[0].text));
        assert_eq!(turn.idempotency_key, turns[0].idempotency_key);
    }
    assert_eq!((turns[0].session.as_deref(), turns[0].previous.len()), (None, 0));
    // A turn that names no session leaves the one before.
    assert!(turns[1..].iter().all(|turn| turn.session.as_deref() == Some("s-1")));
    let last = &turns[3].previous;
    assert_eq!(last[0].answer, "<{\"score\":2}>");
    assert!(last[0].violations[0].contains("why"), "{last:?}");
    assert!(last[1].violations[0].contains("not JSON"), "{last:?}");
    assert_eq!(last[2].violations, ["3 is odd", "too long a reason"]);
    assert!(last[2].feedback.contains("- 3 is odd\n- too long a reason"), "{}", last[2].feedback);
    assert_eq!(turns[2].previous, last[..2]);
    let expected = [RunStarted, Named, Started, Refused, Refused, Refused, Succeeded, Ended];
    assert_eq!(kinds(&executor), expected);
}

#[tokio::test]
async fn every_refused_answer_is_durable_before_the_next_turn() {
    let ledger = Ledger::in_memory().unwrap();
    let (seen, read) = (Arc::new(Mutex::new(Vec::new())), ledger.clone());
    let noted = Arc::clone(&seen);
    let runner = FnRunner::sync(move |call| {
        let run = read.find(&run_id()).unwrap().unwrap();
        let state = read.state(run).unwrap();
        let (_, cell) = state.begun().next().unwrap();
        let kept = cell.refused.iter().map(|seq| read.record(run, *seq).unwrap().event().unwrap());
        let kept: Vec<_> = kept
            .map(|event| match event {
                Event::Refused(refused) => (refused.turn, refused.raw, refused.violations),
                other => panic!("{other:?}"),
            })
            .collect();
        noted.lock().unwrap().push(kept.len());
        for (turn, (number, raw, violations)) in call.previous.iter().zip(&kept) {
            assert_eq!((&turn.answer, &turn.violations), (raw, violations));
            assert!(*number >= 1);
        }
        assert_eq!(kept.len() + 1, call.turn());
        Ok(AgentReply::json(verdict(if call.turn() < 4 { 1 } else { 2 }, "")))
    });
    let executor = Executor::builder().ledger(ledger).runner(runner).build();
    start(&executor, &plan(5), "text".to_owned()).await.completed();
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2, 3]);
    let refused = executor.refused_answers(&run_id(), "judge").unwrap();
    let numbers: Vec<_> = refused.iter().map(|refused| (refused.attempt, refused.turn)).collect();
    assert_eq!(numbers, [(1, 1), (1, 2), (1, 3)]);
    assert_eq!(refused[0].raw, "{\"score\":1,\"why\":\"\"}");
    assert_eq!(refused[0].violations, ["1 is odd"]);
    assert!(executor.refused_answers(&run_id(), "nobody").unwrap().is_empty());
    assert!(executor.refused_answers(&RunId::new("other").unwrap(), "judge").is_err());
}

#[tokio::test]
async fn without_repair_the_first_answer_counts() {
    let script = Scripted::new().on("judge", verdict(1, "")).then(verdict(2, ""));
    let executor = memory(script.clone());
    let failure = start(&executor, &plan(0), "text".to_owned()).await.failed();
    assert_eq!((failure.class, &*failure.message), (FailureClass::InvalidOutput, "1 is odd"));
    assert_eq!(script.count("judge"), 1);
    assert!(executor.refused_answers(&run_id(), "judge").unwrap().is_empty());
}

#[tokio::test]
async fn what_is_refused_to_the_end_fails_with_what_the_check_said() {
    let script = Scripted::new().on("judge", verdict(1, "")).then(verdict(3, "")).then(verdict(5, ""));
    let executor = memory(script.clone());
    let failure = start(&executor, &plan(2), "text".to_owned()).await.failed();
    assert_eq!((failure.class, &*failure.path), (FailureClass::InvalidOutput, "judge"));
    assert_eq!(failure.message, "5 is odd (in the last of 3 turns)");
    assert_eq!(failure.raw.as_deref(), Some("{\"score\":5,\"why\":\"\"}"));
    let location = failure.location.unwrap();
    assert!(location.starts_with("tests/repair.rs:"), "{location}");
    assert_eq!(script.count("judge"), 3);
    let refused = executor.refused_answers(&run_id(), "judge").unwrap();
    assert_eq!(
        refused.iter().map(|refused| &*refused.violations[0]).collect::<Vec<_>>(),
        ["1 is odd", "3 is odd"]
    );

    // A resume is told the same and pays for nothing; a retry is a new attempt, with all its turns.
    let again = resume(&executor, &plan(2)).await.failed();
    assert_eq!(again.message, "5 is odd (in the last of 3 turns)");
    assert_eq!(script.count("judge"), 3);
    retry(&executor, &plan(2)).await.failed();
    assert_eq!(script.count("judge"), 6);
    assert_eq!(executor.refused_answers(&run_id(), "judge").unwrap().len(), 4);
}

#[tokio::test]
async fn tokens_and_money_are_those_of_all_turns() {
    let turn = |score, tokens, usd| AgentReply {
        usage: Some(Usage { input_tokens: tokens, output_tokens: 1 }),
        cost: Cost::Known { usd },
        tools: vec![format!("tool {score}")],
        ..AgentReply::json(verdict(score, ""))
    };
    let script = Scripted::new().on("judge", turn(1, 10, 0.5)).then(turn(3, 20, 0.25)).then(turn(4, 30, 1.0));
    let executor = memory(script);
    start(&executor, &plan(2), "text".to_owned()).await.completed();
    let receipt = receipt(&executor);
    assert_eq!(receipt.usage, Some(Usage { input_tokens: 60, output_tokens: 3 }));
    assert_eq!(receipt.cost, Some(Cost::Known { usd: 1.75 }));
    assert_eq!(receipt.tools, ["tool 1", "tool 3", "tool 4"]);
    // The receipt names the records of what was refused; each has what its own turn cost.
    assert_eq!(receipt.refused, [Seq(4), Seq(5)]);
    let refused = executor.refused_answers(&run_id(), "judge").unwrap();
    assert_eq!(refused[1].receipt.cost, Some(Cost::Known { usd: 0.25 }));
    assert_eq!(refused[1].receipt.runner.as_ref().unwrap().name, "scripted");

    // A call that failed has spent it too.
    let script = Scripted::new().on("judge", turn(1, 10, 0.5)).then(turn(3, 20, 0.25));
    let executor = memory(script);
    start(&executor, &plan(1), "text".to_owned()).await.failed();
    let failed = events(&executor).into_iter().find_map(|event| match event {
        Event::Failed(failed) => failed.receipt,
        _ => None,
    });
    let failed = failed.unwrap();
    assert_eq!((failed.cost, failed.refused), (Some(Cost::Known { usd: 0.75 }), vec![Seq(4)]));
    // What one turn does not know, nobody knows of all.
    let unknown = Scripted::new().on("judge", verdict(1, "")).then(turn(2, 20, 0.25));
    let executor = memory(unknown);
    start(&executor, &plan(1), "text".to_owned()).await.completed();
    let receipt = self::receipt(&executor);
    assert_eq!((receipt.usage, receipt.cost), (None, None));
}

fn receipt(executor: &Executor) -> Receipt {
    let succeeded = events(executor).into_iter().find_map(|event| match event {
        Event::Succeeded(succeeded) => succeeded.receipt,
        _ => None,
    });
    succeeded.unwrap()
}

#[tokio::test]
async fn a_panic_in_a_check_fails_at_its_line_and_is_no_matter_for_repair() {
    let at = line!() + 6;
    let plan = Plan::new("panics", |text: Step<String>| {
        agent("a")
            .input("text", text)
            .prompt("Go.")
            .repair(3)
            .check(|text: &String| if text.is_empty() { Ok(()) } else { panic!("I cannot look at {text}") })
            .text()
    });
    let script = Scripted::new().text("a", "that");
    let failure = start(&memory(script.clone()), &plan.unwrap(), "t".to_owned()).await.failed();
    assert_eq!((failure.class, &*failure.message), (FailureClass::Panicked, "I cannot look at that"));
    assert_eq!(failure.location, Some(format!("tests/repair.rs:{at}")));
    assert_eq!((failure.raw.as_deref(), script.count("a")), (Some("that"), 1));
}

#[tokio::test]
async fn an_error_of_the_runner_ends_the_attempt_and_what_was_refused_stays() {
    let limited = |_: &AgentCall| Err(RunnerError::new(RunnerErrorKind::NotBegun, "nobody is there"));
    let script = Scripted::new().on("judge", verdict(1, "")).then(limited);
    let executor = memory(script.clone());
    let failure = start(&executor, &plan(5), "text".to_owned()).await.failed();
    // The attempt has begun, whatever the runner says of its second turn.
    assert_eq!((failure.class, &*failure.message), (FailureClass::RunnerError, "nobody is there"));
    assert_eq!(script.count("judge"), 2);
    assert_eq!(executor.refused_answers(&run_id(), "judge").unwrap().len(), 1);
}

#[tokio::test]
async fn how_often_and_by_what_it_is_mended_changes_no_request() {
    let store = Store::new();
    let script = Scripted::new().on("judge", verdict(1, "")).then(verdict(2, ""));
    start(&store.executor(script), &plan(1), "text".to_owned()).await.completed();
    let unchecked = Plan::new("judge", |text: Step<String>| {
        agent("judge").input("text", text).prompt("Judge it.").returns::<Verdict>()
    });
    for plan in [plan(0), plan(9), unchecked.unwrap()] {
        let (_, counts) = resume(&store.replayer(), &plan).await.completed();
        assert_eq!((counts.calls, counts.reused), (0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_for_all_turns_together() {
    let plan = Plan::new("slow", |text: Step<String>| {
        agent("a")
            .input("text", text)
            .prompt("Go.")
            .timeout(Duration::from_secs(10))
            .check(|_: &String| Err("never".to_owned()))
            .repair(100)
            .text()
    });
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::new(move |_| {
        counted.add();
        async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok(AgentReply::text("x"))
        }
    });
    let failure = start(&memory(runner), &plan.unwrap(), "t".to_owned()).await.failed();
    // A paused clock may also run on while the ledger writes: then there are fewer turns, never more.
    assert_eq!(failure.class, FailureClass::TimedOut);
    assert!((1..=3).contains(&calls.count()), "{} turns of 4 seconds", calls.count());
}

#[tokio::test]
async fn a_cancelled_call_takes_no_other_turn() {
    let script = Scripted::new().on("judge", verdict(1, ""));
    let gate = script.gate("judge");
    let executor = memory(script.clone());
    let run = executor.start(&plan(1_000), "text".to_owned()).id("r").await.unwrap();
    gate.let_through(2);
    gate.reached(3).await;
    executor.cancel(&run_id(), Actor::default()).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled(_)));
    assert_eq!(script.count("judge"), 3);
    assert_eq!(executor.refused_answers(&run_id(), "judge").unwrap().len(), 2);
}

#[tokio::test]
async fn the_next_turn_finds_the_workspace_as_the_last_one_left_it() {
    let store = Store::new();
    let runner = FnRunner::sync(|call| {
        let directory = call.workspace.prepare().unwrap();
        let left = std::fs::read_to_string(directory.join("turn")).unwrap_or_default();
        std::fs::write(directory.join("turn"), format!("{left}{}", call.turn())).unwrap();
        let score = if call.turn() < 3 { 1 } else { 2 };
        Ok(AgentReply::json(verdict(score, &left)))
    });
    let (value, _) = start(&store.executor(runner), &plan(2), "text".to_owned()).await.completed();
    assert_eq!(value.why, "12");
}

#[tokio::test]
async fn an_answer_that_is_far_too_long_is_not_sent_back() {
    let long = "x".repeat(9 << 20);
    let script = Scripted::new().on("judge", verdict(2, &long)).then(verdict(2, ""));
    let outcome = judged(&memory(script.clone()), &plan(3)).await.unwrap();
    let Outcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!((failure.class, script.count("judge")), (FailureClass::InvalidOutput, 1));
    assert!(failure.message.contains("too long a reason (an answer of more than 8388608 bytes"), "{failure}");
}

#[tokio::test]
async fn what_is_said_to_be_wrong_is_cut_where_it_says_everything() {
    let plan = Plan::new("talks", |text: Step<String>| {
        agent("a").input("text", text).prompt("Go.").check(|text: &String| Err(text.clone())).repair(1).text()
    });
    let script = Scripted::new().text("a", "é".repeat(50_000));
    let failure = start(&memory(script.clone()), &plan.unwrap(), "t".to_owned()).await.failed();
    assert_eq!(script.seen()[1].previous[0].violations, ["é".repeat(4096) + " …"]);
    assert!(failure.message.len() < 10_000, "{} bytes", failure.message.len());
}

#[tokio::test]
async fn whoever_watches_is_told_of_each_refused_answer_and_where() {
    let script = Scripted::new().on("judge", verdict(1, "")).then(verdict(2, ""));
    let executor = memory(script);
    let mut watch = executor.watch();
    start(&executor, &plan(1), "text".to_owned()).await.completed();
    let mut told = Vec::new();
    while let Some(Seen::Event(event)) = watch.try_next() {
        told.push((event.seq, event.kind, event.path));
    }
    assert!(told.contains(&(Seq(4), Refused, "judge".to_owned())), "{told:?}");
}
