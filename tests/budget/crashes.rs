//! Crashes: between the reservation of a call and its settlement, and after each record.

use super::*;
use hermes_workflows::core::journal::Kind;
use proptest::prelude::*;

#[tokio::test]
async fn an_attempt_that_ended_with_the_process_counts_as_its_whole_bound() {
    let whole = Store::new();
    let executor = whole.executor(costing(0.2).0);
    start_with(&executor, &chain(), Budget::usd(1.6)).await.completed();
    let ledger = executor.ledger().clone();
    drop(executor);
    let all = records(&ledger);
    for (left, last) in after_each_record(&ledger).zip(&all) {
        let began = last.header.kind == Kind::Started;
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
    let began = records(&ledger).iter().position(|record| record.header.kind == Kind::Started).unwrap();
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
        let began = last.header.kind == Kind::Started;
        assert!(began || said(&needs[0]).3 == 800_000_000, "{needs:?}");
        decide_all(&executor, raise(Budget::usd(2.0))).await;
        assert_eq!(resume(&executor, &chain()).await.completed().0, "<third>");
    }
}

/// Two levels of budgets around a call for each number.
fn wide() -> Plan<Vec<usize>, Vec<String>> {
    Plan::new("wide", |numbers: Step<Vec<usize>>| {
        parallel_each("all", numbers, |number| {
            let go = agent("go").input("number", number).prompt("Go.");
            Budget::usd(0.5).scope("one", || go.budget(Budget::usd(0.2)).text())
        })
        .budget(Budget::usd(0.9))
        .all()
    })
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 12 } else { 200 }))]

    /// Wherever a run is cut off: what is spent is what was paid and known, and the bound of each call that was lost; and what a
    /// need says is spent is what the journal says.
    #[test]
    fn what_is_spent_is_what_the_journal_says(
        cents in prop::collection::vec(0_u64..30, 1..12),
        concurrency in 1_usize..6,
        cut in any::<prop::sample::Index>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let executor = |ledger: Ledger| {
                let cents = cents.clone();
                let runner = FnRunner::new(move |call: AgentCall| {
                    let number: usize = call.inputs[0].1.parse().unwrap();
                    let dollars = Usd::nanos(cents[number] * 10_000_000).dollars();
                    async move {
                        for _ in 0..number % 3 {
                            tokio::task::yield_now().await;
                        }
                        Ok(paid("fine", dollars))
                    }
                });
                Executor::builder().ledger(ledger).runner(runner).concurrency(concurrency).crash_limit(None).build()
            };
            let numbers: Vec<usize> = (0..cents.len()).collect();
            let first = executor(Ledger::in_memory().unwrap());
            let run = first.start(&wide(), numbers).id("r").budget(Budget::usd(1.1)).await.unwrap();
            run.outcome().await.unwrap();
            let all = records(first.ledger());
            // The first two records begin the run.
            let cut = 2 + cut.index(all.len() - 2);
            let left = after_each_record(first.ledger()).nth(cut).unwrap();
            drop(first);
            let open = |records: &[hermes_workflows::core::journal::Record]| {
                let of = |kind| records.iter().filter(move |record| record.header.kind == kind).count() as u64;
                of(Kind::Started) - of(Kind::Succeeded)
            };
            let lost = open(&records(&left));
            let executor = executor(left);
            prop_assert_eq!(executor.spent(&run_id()).unwrap().unknown_usd, lost);
            let mut outcome = executor.resume(&wide(), "r").await.unwrap().outcome().await.unwrap();
            while let Outcome::Parked(needs) = outcome {
                for need in needs.list {
                    let (path, _, limit, spent, _) = said(&need);
                    if !path.contains('*') {
                        prop_assert_eq!(executor.spent_in(&run_id(), &path).unwrap().usd.as_nanos(), spent);
                    }
                    let to = Budget::money(Usd::nanos(spent.max(limit) + 200_000_000));
                    executor.decide(&run_id(), &need, raise(to)).await.unwrap();
                }
                outcome = executor.resume(&wide(), "r").await.unwrap().outcome().await.unwrap();
            }
            prop_assert!(matches!(outcome, Outcome::Completed(_)), "{:?}", outcome);
            let spent = executor.spent(&run_id()).unwrap();
            let paid = cents.iter().sum::<u64>() * 10_000_000;
            prop_assert_eq!(spent.usd.as_nanos(), paid + lost * 200_000_000);
            prop_assert_eq!(spent.calls, cents.len() as u64 + lost);
            prop_assert!(executor.ledger().verify().unwrap().is_empty());
            Ok(())
        })?;
    }
}
