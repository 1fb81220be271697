//! Random nested plans of all primitives, with random failures, crashes and retries, against a simple reference
//! interpreter: the same output, nothing finished run again, limits never exceeded, order kept.

mod build;
mod reference;
mod shape;
mod world;

use hermes_workflows::{
    core::fold::CellStatus,
    executor::ledger::{CrashBackend, Loss, RedbStore},
    prelude::*,
};
use proptest::{prelude::*, test_runner::Config};
use reference::Reference;
use shape::Shape;
use std::{collections::BTreeSet, sync::Arc};
use world::World;

const RUN: &str = "r";

fn executor(disk: &CrashBackend, world: &World) -> Executor {
    let ledger = Ledger::on(Arc::new(RedbStore::on_backend(disk.clone()).unwrap()));
    Executor::builder().ledger(ledger).runner(world.runner()).concurrency(8).build()
}

/// Drives the run until it has ended, answering what is asked.
async fn to_the_end(executor: &Executor, plan: &Plan<i64, i64>, mut run: Run<i64>) -> Result<i64, Failure> {
    let id = RunId::new(RUN).unwrap();
    loop {
        match run.outcome().await.unwrap() {
            Outcome::Completed(done) => return Ok(done.value),
            Outcome::Failed(failure) => return Err(failure),
            Outcome::Waiting(needs) => {
                for need in needs.list {
                    let answer = world::answer(executor, &need);
                    executor.answer(&id, &need, &answer).await.unwrap();
                }
            }
            other => panic!("nothing has changed, and yet {other:?}"),
        }
        run = executor.resume(plan, RUN).await.unwrap();
    }
}

/// Paths of calls that the journal has an outcome of.
fn finished(executor: &Executor) -> BTreeSet<String> {
    let ledger = executor.ledger();
    let Some(run) = ledger.find(&RunId::new(RUN).unwrap()).unwrap() else { return BTreeSet::new() };
    let state = ledger.state(run).unwrap();
    let done = state.cells().filter(|(_, cell)| cell.status == CellStatus::Succeeded && !cell.rerun);
    done.map(|(at, _)| state.path(at).to_string()).collect()
}

fn run(shape: &Shape, input: i64, seed: u64, crash: usize) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let plan = build::plan(shape);
        let reference = Reference::new(seed);
        let expected = reference.eval(shape, input);
        let healthy = Reference::healthy().eval(shape, input);

        // The run, with failures.
        let disk = CrashBackend::new();
        let failing = World::new(shape, seed);
        let first = {
            let executor = executor(&disk, &failing);
            let run = executor.start(&plan, input).id(RUN).await.unwrap();
            to_the_end(&executor, &plan, run).await
        };
        assert_eq!(first.as_ref().ok(), expected.as_ref().ok(), "{first:?} {expected:?}\n{}", plan.layout());
        failing.check("first");

        // What a crash leaves, somewhere in the middle, comes to the same end.
        let sync = disk.syncs() * crash / 1000;
        let cut = CrashBackend::from_image(disk.image_at(sync, Loss::All));
        if let Ok(store) = RedbStore::on_backend(cut.clone()) {
            let left = Ledger::on(Arc::new(store));
            let begun = left.find(&RunId::new(RUN).unwrap()).is_ok_and(|run| run.is_some());
            drop(left);
            if begun {
                let again = World::new(shape, seed);
                let executor = executor(&cut, &again);
                let before = finished(&executor);
                let run = executor.resume(&plan, RUN).await.unwrap();
                let outcome = to_the_end(&executor, &plan, run).await;
                assert_eq!(
                    outcome.ok(),
                    expected.as_ref().ok().copied(),
                    "after sync {sync}\n{}",
                    plan.layout()
                );
                again.check("after a crash");
                let repeated: Vec<_> =
                    again.called().into_iter().filter(|path| before.contains(path)).collect();
                assert!(repeated.is_empty(), "finished and called again: {repeated:?}");
            }
        }

        // Resumed, nothing is called; retried with nothing failing, what failed is called and the rest stands.
        let world = World::healthy(shape);
        let executor = executor(&disk, &world);
        let resumed = to_the_end(&executor, &plan, executor.resume(&plan, RUN).await.unwrap()).await;
        assert_eq!(resumed.ok(), first.clone().ok());
        assert!(world.called().is_empty(), "called by a resume: {:?}", world.called());
        let before = finished(&executor);
        let retried = to_the_end(&executor, &plan, executor.retry(&plan, RUN).await.unwrap()).await;
        assert_eq!(retried.as_ref().ok(), healthy.as_ref().ok(), "retried {retried:?}\n{}", plan.layout());
        world.check("retried");
        let again: Vec<_> = world.called().into_iter().filter(|path| before.contains(path)).collect();
        // Below something that failed before, inputs differ: only what has another input is called again.
        for path in again {
            assert!(
                world.input_of(&path) != failing.input_of(&path),
                "{path} stood, and was called again\n{}",
                plan.layout()
            );
        }
    });
}

/// How many plans are tried: 64, or what `ALGEBRA_CASES` says.
fn cases() -> u32 {
    std::env::var("ALGEBRA_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(64)
}

proptest! {
    #![proptest_config(Config { cases: cases(), failure_persistence: None, max_shrink_iters: 400, ..Config::default() })]

    #[test]
    fn random_plans_do_what_the_reference_says(
        shape in shape::shapes(),
        input in 0_i64..20,
        seed in any::<u64>(),
        crash in 0_usize..1000,
    ) {
        run(&shape.numbered(), input, seed, crash);
    }
}
