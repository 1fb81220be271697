//! The patterns: what they yield with none, one, an odd number and many, what a failure does, and that they are replayed
//! without a call.

#[path = "../examples/patterns/plans.rs"]
mod plans;
mod support;

use hermes_plan::assert_layout;
use hermes_workflows::{
    executor::ledger::RedbStore,
    patterns::{Goal, Winner, map_reduce, tournament},
    prelude::*,
};
use serde_json::{Value, json};
use std::{num::NonZeroU8, process::Command, sync::Arc};
use support::*;

/// Answers by the call's name and inputs, and counts.
fn agents(answer: impl Fn(&str, &[Value]) -> Value + Send + Sync + 'static) -> (FnRunner, Calls) {
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::sync(move |call| {
        counted.add();
        let inputs: Vec<Value> =
            call.inputs.iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
        let name = call.path.rsplit('/').next().unwrap();
        match answer(name, &inputs) {
            Value::String(text) if matches!(call.expect, hermes_workflows::executor::Expect::Text) => {
                Ok(AgentReply::text(text))
            }
            Value::Null => Err(RunnerError::new(RunnerErrorKind::Failed, "no luck")),
            json => Ok(AgentReply::json(json)),
        }
    });
    (runner, calls)
}

async fn yields<I: Data, O: Data + std::fmt::Debug + PartialEq>(
    plan: &Plan<I, O>,
    input: I,
    (runner, calls): (FnRunner, Calls),
) -> (O, u64) {
    let store = Store::new();
    let (value, _) = start(&store.executor(runner), plan, input).await.completed();
    let made = calls.count();
    // Replayed as it was, without a call.
    assert_eq!(resume(&store.replayer(), plan).await.completed().0, value);
    (value, made)
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn their_layouts() {
    assert_layout!(Plan::new("goal", plans::short_enough).unwrap(), "pattern-goal");
    assert_layout!(Plan::new("judge", plans::best_titles).unwrap(), "pattern-judge");
    assert_layout!(Plan::new("tournament", plans::best_draft).unwrap(), "pattern-tournament");
    assert_layout!(Plan::new("verify", plans::checked).unwrap(), "pattern-verify");
    assert_layout!(Plan::new("loop-until-dry", plans::all_bugs).unwrap(), "pattern-loop_until_dry");
    assert_layout!(Plan::new("map-reduce", plans::digest).unwrap(), "pattern-map_reduce");
}

#[tokio::test]
async fn a_goal_is_met_or_missed_after_so_many_attempts() {
    let plan = Plan::new("goal", plans::short_enough).unwrap();
    let halve = || {
        agents(|_, inputs| {
            let text = inputs[0].as_str().unwrap();
            json!(&text[..text.len() / 2])
        })
    };
    let (met, made) = yields(&plan, "x".repeat(100), halve()).await;
    assert_eq!((met, made), (Goal::Met("x".repeat(25)), 2));
    let (missed, made) = yields(&plan, "x".repeat(100), agents(|_, inputs| inputs[0].clone())).await;
    assert_eq!((missed, made), (Goal::Missed("x".repeat(100)), 5));
}

#[tokio::test]
async fn a_judge_takes_the_two_zeros_for_one() {
    let plan = Plan::new("zeros", |scores: Step<Vec<f64>>| {
        hermes_workflows::patterns::judge("judge", scores, |score| score)
    })
    .unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(refuses()).build();
    let (all, _) = start(&executor, &plan, vec![-0.0, 0.0, 1.0]).await.completed();
    let signs: Vec<_> = all.iter().map(|one| one.candidate.is_sign_negative()).collect();
    assert_eq!(signs, [false, true, false]);
}

#[tokio::test]
async fn a_judge_orders_by_score_and_keeps_equals_as_they_came() {
    let plan = Plan::new("judge", plans::best_titles).unwrap();
    let by_length = || agents(|_, inputs| json!(inputs[0].as_str().unwrap().len()));
    let (scored, _) = yields(&plan, words("aa b cc ddd"), by_length()).await;
    let order: Vec<_> = scored.iter().map(|one| one.candidate.as_str()).collect();
    assert_eq!(order, ["ddd", "aa", "cc", "b"]);
    assert_eq!(yields(&plan, Vec::new(), by_length()).await, (Vec::new(), 0));
}

/// The longer one wins.
fn longer() -> (FnRunner, Calls) {
    agents(|_, inputs| {
        let length = |value: &Value| value.as_str().unwrap().len();
        json!(if length(&inputs[0]) >= length(&inputs[1]) { "First" } else { "Second" })
    })
}

#[tokio::test]
async fn a_tournament_of_none_one_some_and_a_thousand_makes_one_match_less_than_there_are() {
    let plan = Plan::new("tournament", plans::best_draft).unwrap();
    assert_eq!(yields(&plan, Vec::new(), longer()).await, (None, 0));
    assert_eq!(yields(&plan, words("one"), longer()).await, (Some("one".to_owned()), 0));
    assert_eq!(yields(&plan, words("a bb ccc"), longer()).await, (Some("ccc".to_owned()), 2));
    let eight = words("a bb ccc dddd eeeeeeee ffff ggg hh");
    assert_eq!(yields(&plan, eight, longer()).await, (Some("eeeeeeee".to_owned()), 7));
    let thousand: Vec<_> = (0..1000).map(|number| "x".repeat(1 + number % 977)).collect();
    assert_eq!(yields(&plan, thousand, longer()).await, (Some("x".repeat(977)), 999));
}

#[tokio::test]
async fn a_match_that_fails_fails_the_tournament_and_a_retry_plays_only_what_is_left() {
    let plan = Plan::new("tournament", |drafts: Step<Vec<String>>| {
        tournament("drafts", drafts, |first, second| {
            agent("compare")
                .input("first", first)
                .input("second", second)
                .prompt("Which?")
                .returns::<Winner>()
        })
    })
    .unwrap();
    let store = Store::new();
    let (failing, _) = agents(|_, inputs| if inputs[0] == "ccc" { Value::Null } else { json!("First") });
    let failure = start(&store.executor(failing), &plan, words("a bb ccc dddd")).await.failed();
    assert_eq!(failure.path, "drafts[1]/matches[1]/compare");
    let (healthy, calls) = agents(|_, _| json!("First"));
    let (winner, _) = retry(&store.executor(healthy), &plan).await.completed();
    assert_eq!((winner, calls.count()), (Some("a".to_owned()), 2));
}

#[tokio::test]
async fn a_claim_stands_by_the_majority_of_those_who_looked() {
    let plan = Plan::new("verify", plans::checked).unwrap();
    for (against, stands) in [(0, true), (1, true), (2, false), (3, false)] {
        let turn = Calls::default();
        let refuters = agents(move |_, _| json!({"refuted": turn.add() <= against, "reason": "so"}));
        let (verified, made) = yields(&plan, "The moon is round.".to_owned(), refuters).await;
        assert_eq!((verified.stands, verified.refuted as u64, made), (stands, against, 3));
    }
}

#[tokio::test]
async fn a_hunt_ends_when_a_round_finds_nothing_new_or_its_rounds_are_used_up() {
    let plan = Plan::new("hunt", plans::all_bugs).unwrap();
    let some = agents(|_, inputs| {
        let seen = inputs[1].as_array().unwrap().len();
        json!((0..(seen + 2).min(5)).map(|bug| format!("bug {bug}")).collect::<Vec<_>>())
    });
    let (found, made) = yields(&plan, "code".to_owned(), some).await;
    assert_eq!((found.items.len(), found.dry, made), (5, true, 4));
    let endless = agents(|_, inputs| json!([format!("bug {}", inputs[1].as_array().unwrap().len())]));
    let (found, made) = yields(&plan, "code".to_owned(), endless).await;
    assert_eq!((found.items.len(), found.dry, made), (10, false, 10));
}

/// Every round hands on all that was found, and the ledger holds each find once.
#[tokio::test]
async fn the_ledger_of_a_hunt_grows_with_its_rounds_and_not_with_their_square() {
    let mut bytes = Vec::new();
    for rounds in [20_u32, 40, 80] {
        let plan = Plan::new("hunt", move |code: Step<String>| {
            hermes_workflows::patterns::loop_until_dry(
                "hunt",
                rounds,
                |seen| agent("look").input("code", code).input("seen", seen).prompt("More.").returns(),
                String::clone,
            )
        })
        .unwrap();
        let (endless, _) = agents(|_, inputs| {
            json!([format!("{} {}", inputs[1].as_array().unwrap().len(), "long ".repeat(40))])
        });
        let ledger = Ledger::on(Arc::new(
            RedbStore::on_backend(hermes_workflows::executor::ledger::CrashBackend::new()).unwrap(),
        ));
        let executor = Executor::builder().ledger(ledger).runner(endless).build();
        start(&executor, &plan, "code".to_owned()).await.completed();
        let ledger = executor.ledger();
        let run = ledger.find(&run_id()).unwrap().unwrap();
        let seqs = (1..=ledger.records(run).unwrap()).map(hermes_workflows::core::ids::Seq);
        bytes.push(seqs.map(|seq| ledger.record(run, seq).unwrap().body.len()).sum::<usize>());
    }
    let (first, second) = (bytes[1] - bytes[0], bytes[2] - bytes[1]);
    assert!(second < first * 5 / 2, "twice the rounds, twice the records: {bytes:?}");
}

#[tokio::test]
async fn a_reduction_keeps_the_order_and_merges_in_a_tree() {
    let plan = Plan::new("digest", plans::digest).unwrap();
    let merging = || {
        agents(|name, inputs| {
            if name == "summarize" {
                return inputs[0].clone();
            }
            let parts: Vec<_> =
                inputs[0].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect();
            json!(format!("({})", parts.join(" ")))
        })
    };
    assert_eq!(yields(&plan, Vec::new(), merging()).await, (None, 0));
    assert_eq!(yields(&plan, words("a"), merging()).await, (Some("a".to_owned()), 1));
    let (value, made) = yields(&plan, words("a b c d e f g"), merging()).await;
    assert_eq!((value.unwrap().as_str(), made), ("((a b c) (d e f) g)", 7 + 3));
    let wide = Plan::new("wide", |numbers: Step<Vec<u64>>| {
        let width = NonZeroU8::MIN.saturating_add(9);
        map_reduce("sum", numbers, width, |number| number, |parts| parts.map(|parts| parts.iter().sum()))
    })
    .unwrap();
    assert_eq!(yields(&wide, (1..=1000).collect(), merging()).await, (Some(500_500), 0));
}

#[test]
fn the_example_runs_each_of_them() {
    let output = Command::new(example("patterns")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.matches("=> ").count(), 6, "{said}");
    assert!(said.contains("=> Some(\"three\") in 4 calls"), "{said}");
}
