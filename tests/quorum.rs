//! Quorums: the first that succeed are enough. Which they were is recorded, the others are cancelled, and a resumed run has
//! the same members.

mod support;

use hermes_workflows::{
    core::{effect::Effect, request::Field},
    executor::run_layout,
    prelude::*,
};
use std::sync::{Arc, Mutex};
use support::*;

fn items(count: u32) -> Vec<u32> {
    (0..count).collect()
}

fn work(item: Step<u32>, effect: Effect) -> Step<String> {
    agent("work").input("item", item).prompt("Work.").effect(effect).text()
}

fn plan(enough: u32) -> Plan<Vec<u32>, Vec<String>> {
    Plan::new("quorum", move |list: Step<Vec<u32>>| {
        parallel_each("each", list, |item| work(item, Effect::Idempotent)).at_least(enough)
    })
    .unwrap()
}

/// Items listed in `ok` succeed in that order, those in `bad` fail, and the others never end by themselves.
fn race(ok: &'static [u32], bad: &'static [u32]) -> (FnRunner, Arc<Mutex<Vec<u32>>>) {
    let begun = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&begun);
    let turn = Arc::new(tokio::sync::watch::channel(0_usize).0);
    let runner = FnRunner::new(move |call: AgentCall| {
        let (noted, turn) = (Arc::clone(&noted), Arc::clone(&turn));
        async move {
            let item: u32 = call.inputs[0].1.parse().unwrap();
            noted.lock().unwrap().push(item);
            if bad.contains(&item) {
                return Err(RunnerError::new(RunnerErrorKind::Failed, format!("item {item}")));
            }
            let Some(place) = ok.iter().position(|other| *other == item) else {
                return std::future::pending().await;
            };
            turn.subscribe().wait_for(|turn| *turn == place).await.unwrap();
            turn.send_modify(|turn| *turn += 1);
            Ok(AgentReply::text(format!("ok {item}")))
        }
    });
    (runner, begun)
}

#[tokio::test]
async fn exactly_the_first_n_are_taken_in_input_order_and_the_others_cancelled() {
    let store = Store::new();
    let (runner, begun) = race(&[3, 1], &[0]);
    let executor = store.executor(runner);
    let (value, counts) = start(&executor, &plan(2), items(5)).await.completed();
    assert_eq!(value, ["ok 1", "ok 3"]);
    assert_eq!(begun.lock().unwrap().len(), 5);
    // The item that failed is a failure of the run; those that were cancelled are not.
    assert_eq!((counts.failed, counts.skipped), (1, 2));
    let drawn = run_layout(&executor, &plan(2), &run_id()).unwrap();
    assert!(drawn.contains("done, 2 of 5"), "{drawn}");
    drop(executor);
    let (again, counts) = resume(&store.replayer(), &plan(2)).await.completed();
    assert_eq!((again, counts.calls, counts.reused), (value, 0, 2));
}

#[tokio::test]
async fn with_0_1_some_and_all_failing_resumed_after_each() {
    let failing = |mask: u32| {
        FnRunner::sync(move |call| {
            let item: u32 = call.inputs[0].1.parse().unwrap();
            if mask & (1 << item) != 0 {
                return Err(RunnerError::new(RunnerErrorKind::Failed, format!("item {item}")));
            }
            Ok(AgentReply::text(format!("ok {item}")))
        })
    };
    for mask in [0b0000_u32, 0b0010, 0b0110, 0b0111, 0b1111] {
        let store = Store::new();
        let outcome = start(&store.executor(failing(mask)), &plan(2), items(4)).await;
        if 4 - mask.count_ones() >= 2 {
            let (value, _) = outcome.completed();
            assert_eq!(value.len(), 2, "{mask:b}");
            assert_eq!(resume(&store.replayer(), &plan(2)).await.completed().0, value, "{mask:b}");
        } else {
            let failure = outcome.failed();
            assert_eq!((failure.class, failure.path.as_str()), (FailureClass::TooFew, "each"), "{mask:b}");
            assert!(failure.message.contains("of 4 succeeded, and 2 have to"), "{failure}");
            assert_eq!(resume(&store.replayer(), &plan(2)).await.failed(), failure, "{mask:b}");
            let (value, _) = retry(&store.executor(failing(0)), &plan(2)).await.completed();
            assert_eq!(value.len(), 2, "{mask:b}");
            resume(&store.replayer(), &plan(2)).await.completed();
        }
    }
}

#[tokio::test]
async fn fewer_items_than_have_to_succeed_fail_at_once() {
    let store = Store::new();
    for list in [items(0), items(1)] {
        let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(echo().0).build();
        let failure = start(&executor, &plan(2), list).await.failed();
        assert_eq!(failure.class, FailureClass::TooFew);
    }
    drop(store);
}

#[tokio::test]
async fn first_yields_one_and_its_key_if_asked() {
    let plan = Plan::new("first", |list: Step<Vec<u32>>| {
        let first = parallel_each("each", list, |item| work(item, Effect::Idempotent)).first();
        let known = parallel("known", ["a", "b"], |key| {
            agent("look").input_value("item", &u32::from(key == "b")).prompt("Look.").text()
        });
        join((first, known.keyed().first()))
    })
    .unwrap();
    let runner = FnRunner::new(|call: AgentCall| async move {
        if &*call.inputs[0].1 != "1" {
            std::future::pending::<()>().await;
        }
        Ok(AgentReply::text(call.path))
    });
    let store = Store::new();
    let (value, _) = start(&store.executor(runner), &plan, items(3)).await.completed();
    let expected =
        ("each[1]/work".to_owned(), Keyed { key: "b".to_owned(), value: "known[b]/look".to_owned() });
    assert_eq!(value, expected);
    assert_eq!(resume(&store.replayer(), &plan).await.completed().0, expected);
}

#[tokio::test]
async fn a_running_unsafe_call_is_waited_for_and_never_cancelled() {
    let plan = Plan::new("unsafe", |list: Step<Vec<u32>>| {
        parallel_each("each", list, |item| work(item, Effect::Unsafe)).at_least(1)
    })
    .unwrap();
    let ended = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&ended);
    let runner = FnRunner::new(move |call: AgentCall| {
        let noted = Arc::clone(&noted);
        async move {
            let item: u32 = call.inputs[0].1.parse().unwrap();
            for _ in 0..item * 20 {
                tokio::task::yield_now().await;
            }
            noted.lock().unwrap().push(item);
            Ok(AgentReply::text(format!("ok {item}")))
        }
    });
    let store = Store::new();
    let (value, counts) = start(&store.executor(runner), &plan, items(2)).await.completed();
    assert_eq!((value, counts.failed), (vec!["ok 0".to_owned()], 0));
    assert_eq!(*ended.lock().unwrap(), [0, 1]);
    resume(&store.replayer(), &plan).await.completed();
}

#[tokio::test]
async fn another_number_is_a_conflict_that_names_the_members() {
    let store = Store::new();
    let (runner, _) = race(&[2, 0], &[]);
    start(&store.executor(runner), &plan(2), items(3)).await.completed();
    let needs = resume(&store.replayer(), &plan(1)).await.parked();
    let NeedKind::Conflict { fields, not_kept, .. } = &needs[0].kind else { panic!("{needs:?}") };
    assert_eq!((needs[0].path.as_str(), &fields[0].field), ("each", &Field::Members));
    assert!(not_kept.is_some());
    let (runner, _) = race(&[2, 0], &[]);
    let executor = store.executor(runner);
    decide_all(&executor, Decision::Rerun).await;
    let (value, _) = resume(&executor, &plan(1)).await.completed();
    assert_eq!(value.len(), 1);
    drop(executor);
    resume(&store.replayer(), &plan(1)).await.completed();
}

#[test]
fn a_quorum_is_of_somebody_and_of_no_more_than_there_are() {
    let mistakes = Plan::new("impossible", |list: Step<Vec<u32>>| {
        let none = parallel_each("none", list, |item| item).at_least(0);
        let many = parallel("many", ["a", "b"], |_| value(1)).at_least(3);
        join((none, many))
    })
    .unwrap_err();
    let kinds: Vec<_> = mistakes.iter().map(|mistake| mistake.kind).collect();
    assert_eq!(kinds, [PlanErrorKind::ImpossibleQuorum; 2], "{mistakes}");
}

/// Wherever the process ends, the members stay who they were once that was recorded.
#[tokio::test]
async fn cut_off_after_any_record_the_run_ends_with_a_quorum() {
    let (runner, _) = race(&[2, 0, 1, 3], &[]);
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    start(&executor, &plan(2), items(4)).await.completed();
    let from = executor.ledger();
    let run = from.find(&run_id()).unwrap().unwrap();
    for last in 1..=from.records(run).unwrap() {
        let seqs = (1..=last).map(hermes_workflows::core::ids::Seq);
        let records: Vec<_> = seqs.map(|seq| from.record(run, seq).unwrap()).collect();
        let decided =
            records.iter().any(|record| record.header.kind == hermes_workflows::core::journal::Kind::Decided);
        let ledger = Ledger::in_memory().unwrap();
        let append = hermes_workflows::executor::ledger::Append { records, ..Default::default() };
        ledger.create(&run_id(), append).unwrap();
        let again = Executor::builder().ledger(ledger).runner(race(&[1, 3, 0, 2], &[]).0).build();
        let (value, _) = resume(&again, &plan(2)).await.completed();
        assert_eq!(value.len(), 2, "{last}");
        if decided {
            assert_eq!(value, ["ok 0", "ok 2"], "{last}");
        }
    }
}

/// A sibling that is to be cancelled while its beginning is still being written down never begins.
#[tokio::test]
async fn what_is_not_needed_any_more_does_not_begin_late() {
    let plan = Plan::new("late", |list: Step<Vec<u32>>| {
        parallel_each("each", list, |item| work(item, Effect::Idempotent)).limit(1).at_least(1)
    })
    .unwrap();
    for _ in 0..20 {
        let (runner, calls) = echo();
        let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
        let (value, counts) = start(&executor, &plan, items(50)).await.completed();
        assert_eq!((value.len(), counts.failed), (1, 0));
        assert_eq!(calls.count(), 1);
    }
}
