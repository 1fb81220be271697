//! The process ends anywhere in an attempt of three turns: what was paid for is kept, and no turn began before the answer
//! before it was durable.

use super::{Verdict, kinds, plan, verdict};
use crate::store::reads_from;
use crate::support::{
    diary::{Diary, Entry},
    *,
};
use hermes_workflows::{
    core::{
        effect::Effect,
        ids::Seq,
        journal::Kind::{self, Ended, Named, Refused, RunStarted, Started, Succeeded},
    },
    executor::{
        LedgerError,
        ledger::{Append, CommitBatch, CrashBackend, Loss, RedbStore, Store as Engine},
    },
    prelude::*,
};
use std::sync::Arc;

/// Answers wrongly twice, then well, and notes each turn.
fn third_time_lucky(diary: &Diary) -> FnRunner {
    let diary = diary.clone();
    FnRunner::sync(move |call| {
        diary.note(Entry::Called(call.turn().to_string()));
        Ok(AgentReply::json(verdict(if call.turn() < 3 { 1 } else { 2 }, "")))
    })
}

fn on(disk: &CrashBackend, runner: impl Runner + 'static) -> Executor {
    let ledger = Ledger::on(Arc::new(RedbStore::on_backend(disk.clone()).unwrap()));
    Executor::builder().ledger(ledger).runner(runner).crash_limit(None).build()
}

fn count(kinds: &[Kind], kind: Kind) -> usize {
    kinds.iter().filter(|one| **one == kind).count()
}

/// Goes on from what is left; the whole of a new attempt is made, or nothing.
async fn goes_on(executor: &Executor, diary: &Diary, left: &[Kind]) {
    let done = count(left, Kind::Succeeded) == 1;
    let kept = executor.refused_answers(&run_id(), "judge").unwrap();
    assert_eq!(kept.len(), count(left, Kind::Refused));
    let (value, _) = resume(executor, &plan(2)).await.completed();
    assert_eq!(value, Verdict { score: 2, why: String::new() });
    let turns: Vec<_> = diary.entries().into_iter().map(|(_, entry)| entry).collect();
    let expected = if done { vec![] } else { vec!["1", "2", "3"] };
    let called = |entry: &Entry| matches!(entry, Entry::Called(_));
    assert!(turns.iter().all(called));
    assert_eq!(turns.len(), expected.len(), "{left:?}: {turns:?}");
    let after = executor.refused_answers(&run_id(), "judge").unwrap();
    assert_eq!(after[..kept.len()], kept[..], "what was paid for is kept as it was");
    assert_eq!(after.len(), kept.len() + if done { 0 } else { 2 });
    if !done {
        let attempt = count(left, Kind::Started) + 1;
        assert!(after[kept.len()..].iter().all(|refused| refused.attempt as usize == attempt), "{after:?}");
    }
    assert_eq!(executor.ledger().verify().unwrap(), [""; 0]);
}

#[tokio::test]
async fn at_every_sync() {
    let disk = CrashBackend::new();
    let diary = Diary::beside(disk.clone());
    let executor = on(&disk, third_time_lucky(&diary));
    start(&executor, &plan(2), "text".to_owned()).await.completed();
    drop(executor);
    let mut between_turns = 0;
    for loss in [Loss::All, Loss::Half(1)] {
        for sync in 0..=disk.syncs() {
            let left = CrashBackend::from_image(disk.image_at(sync, loss));
            let Ok(store) = RedbStore::on_backend(left.clone()) else { continue };
            let ledger = Ledger::on(Arc::new(store));
            if ledger.find(&run_id()).unwrap().is_none() {
                continue;
            }
            drop(ledger);
            let again = Diary::default();
            let executor = on(&left, third_time_lucky(&again));
            let left = kinds(&executor);
            // A turn that had begun by then had all answers before it in the ledger.
            let turns = diary.entries().into_iter().filter(|(syncs, _)| *syncs <= sync).count();
            assert!(
                turns <= count(&left, Kind::Refused) + 1,
                "{turns} turns had begun, and {left:?} is left"
            );
            between_turns += usize::from(turns > 0 && count(&left, Kind::Succeeded) == 0);
            goes_on(&executor, &again, &left).await;
        }
    }
    assert!(between_turns >= 3, "{between_turns}");
}

#[tokio::test]
async fn after_every_record() {
    let whole = super::memory(third_time_lucky(&Diary::default()));
    start(&whole, &plan(2), "text".to_owned()).await.completed();
    let all = kinds(&whole);
    assert_eq!(all, [RunStarted, Named, Started, Refused, Refused, Succeeded, Ended]);
    for records in 1..=all.len() {
        let diary = Diary::default();
        let executor = cut_after(&whole, records, third_time_lucky(&diary));
        goes_on(&executor, &diary, &all[..records]).await;
    }
}

/// The first records of the run, in a ledger of their own: what a crash right after them leaves.
fn cut_after(whole: &Executor, records: usize, runner: impl Runner + 'static) -> Executor {
    let run = whole.ledger().find(&run_id()).unwrap().unwrap();
    let records = (1..=records as u64).map(|seq| whole.ledger().record(run, Seq(seq)).unwrap());
    let ledger = Ledger::in_memory().unwrap();
    ledger.create(&run_id(), Append { records: records.collect(), ..Append::default() }).unwrap();
    Executor::builder().ledger(ledger).runner(runner).crash_limit(None).build()
}

/// Between two turns of a call that may act twice, a person is asked, and can read what was answered so far.
#[tokio::test]
async fn between_two_turns_an_unsafe_call_is_in_doubt() {
    let unsafe_plan = || {
        Plan::new("act", |text: Step<String>| {
            agent("judge")
                .input("text", text)
                .prompt("Act.")
                .effect(Effect::Unsafe)
                .check(|verdict: &Verdict| if verdict.score == 2 { Ok(()) } else { Err("not 2".into()) })
                .repair(2)
                .returns()
        })
        .unwrap()
    };
    let whole = super::memory(third_time_lucky(&Diary::default()));
    start(&whole, &unsafe_plan(), "text".to_owned()).await.completed();
    let after_one_answer = 4;
    let diary = Diary::default();
    let executor = cut_after(&whole, after_one_answer, third_time_lucky(&diary));
    let needs = resume(&executor, &unsafe_plan()).await.parked();
    assert!(matches!(needs[0].kind, NeedKind::InDoubt { .. }), "{needs:?}");
    assert_eq!(executor.refused_answers(&run_id(), "judge").unwrap()[0].violations, ["not 2"]);
    assert!(diary.entries().is_empty());
    decide_all(&executor, Decision::Retry).await;
    resume(&executor, &unsafe_plan()).await.completed();
    assert_eq!(diary.entries().len(), 3);
    assert_eq!(executor.refused_answers(&run_id(), "judge").unwrap().len(), 3);
}

/// A disk that is full when the first refused answer is to be kept.
struct Full {
    inner: RedbStore,
}

impl Engine for Full {
    reads_from!(inner);

    fn commit(&self, batch: &CommitBatch) -> Result<(), LedgerError> {
        if batch.rows.iter().any(|(_, _, record)| record.header.kind == Kind::Refused) {
            return Err(LedgerError::Failed { ledger: "the ledger".to_owned(), why: "no room".to_owned() });
        }
        self.inner.commit(batch)
    }

    fn settle(&self) -> Result<(), LedgerError> {
        self.inner.settle()
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_followed_by_another_turn() {
    let diary = Diary::default();
    let ledger = Ledger::on(Arc::new(Full { inner: RedbStore::in_memory().unwrap() }));
    let executor = Executor::builder().ledger(ledger).runner(third_time_lucky(&diary)).build();
    let error = start(&executor, &plan(2), "text".to_owned()).await.unwrap_err();
    assert!(error.to_string().contains("no room"), "{error}");
    // All that was begun on this runtime has had its turn.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(diary.entries().len(), 1);
}
