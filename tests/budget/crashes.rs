//! Crashes: between the reservation of a call and its settlement, and after each record.

use super::*;

#[tokio::test]
async fn an_attempt_that_ended_with_the_process_counts_as_its_whole_bound() {
    let whole = Store::new();
    let executor = whole.executor(costing(0.2).0);
    start_with(&executor, &chain(), Budget::usd(1.6)).await.completed();
    let ledger = executor.ledger().clone();
    drop(executor);
    let all = records(&ledger);
    for (left, last) in after_each_record(&ledger).zip(&all) {
        let began = last.header.kind == hermes_workflows::core::journal::Kind::Started;
        let executor = Executor::builder().ledger(left.clone()).runner(costing(0.2).0).build();
        let before = executor.spent(&run_id()).unwrap();
        assert_eq!(before.unknown_usd, u64::from(began), "after {:?}", last.header.kind);
        let outcome =
            executor.start(&chain(), ()).id("r").budget(Budget::usd(1.6)).await.unwrap().outcome().await;
        outcome.completed();
        // The attempt that was lost cost 0.5, whatever it was; the others 0.2 each.
        let spent = executor.spent(&run_id()).unwrap();
        let lost = u64::from(began);
        let nanos = 600_000_000 + 500_000_000 * lost;
        assert_eq!((spent.usd.as_nanos(), spent.calls, spent.unknown_usd), (nanos, 3 + lost, lost));
        assert!(left.verify().unwrap().is_empty());
    }
}

#[tokio::test]
async fn what_a_lost_attempt_may_have_cost_is_not_there_for_another() {
    let whole = Store::new();
    let executor = whole.executor(costing(0.2).0);
    start_with(&executor, &one(0.5), Budget::usd(0.9)).await.completed();
    let ledger = executor.ledger().clone();
    drop(executor);
    let began = records(&ledger)
        .iter()
        .position(|record| record.header.kind == hermes_workflows::core::journal::Kind::Started)
        .unwrap();
    let left = after_each_record(&ledger).nth(began).unwrap();
    let executor = Executor::builder().ledger(left).runner(costing(0.2).0).build();
    let needs = resume(&executor, &one(0.5)).await.parked();
    assert_eq!(
        said(&needs[0]),
        (String::new(), Unit::Usd, 900_000_000, 500_000_000, Some("only".to_owned()))
    );
    decide_all(&executor, raise(Budget::usd(1.0))).await;
    resume(&executor, &one(0.5)).await.completed();
}

#[tokio::test]
async fn a_crash_after_any_record_of_a_parked_run_changes_nothing() {
    let whole = Store::new();
    let executor = whole.executor(costing(0.4).0);
    start_with(&executor, &chain(), Budget::usd(1.2)).await.parked();
    let ledger = executor.ledger().clone();
    drop(executor);
    let all = records(&ledger);
    for (left, last) in after_each_record(&ledger).zip(&all) {
        let (runner, _) = costing(0.4);
        let executor = Executor::builder().ledger(left).runner(runner).build();
        let outcome =
            executor.start(&chain(), ()).id("r").budget(Budget::usd(1.2)).await.unwrap().outcome().await;
        let needs = outcome.parked();
        let began = last.header.kind == hermes_workflows::core::journal::Kind::Started;
        assert!(began || said(&needs[0]).3 == 800_000_000, "{needs:?}");
        decide_all(&executor, raise(Budget::usd(2.0))).await;
        assert_eq!(resume(&executor, &chain()).await.completed().0, "<third>");
    }
}
