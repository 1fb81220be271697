//! Random plans and random edits of them, at random crash points, against a simple reference: what is reused, what runs again and
//! what is refused is exactly what the rules say, and the preview said so before.

mod build;
mod reference;
mod spec;

use build::{Called, plan};
use hermes_workflows::{
    core::ids::Seq,
    executor::{DriveError, Fate, Preview, ledger::Append},
    prelude::*,
};
use proptest::{prelude::*, test_runner::Config};
use reference::{Run as Reference, pattern};
use spec::{Edit, Spec, reruns};
use std::collections::BTreeMap;

fn id() -> RunId {
    RunId::new("r").unwrap()
}

fn executor(ledger: &Ledger, called: &Called) -> Executor {
    Executor::builder().ledger(ledger.clone()).runner(called.runner()).crash_limit(None).build()
}

/// Drives the run to its end with this plan and input, deciding by `seed` what has to be decided.
async fn drive(executor: &Executor, spec: &Spec, seed: u64) {
    let (plan, mut extended) = (plan(spec), false);
    for _ in 0..40 {
        let run = executor.start(&plan, spec.items.clone()).id("r").await.unwrap();
        match run.outcome().await {
            Ok(Outcome::Completed(_)) => return,
            Ok(Outcome::Parked(needs)) => {
                for need in &needs.list {
                    let decision = decision(need, seed);
                    executor.decide(&id(), need, decision).await.unwrap();
                }
            }
            Err(DriveError::PlanGrew { .. }) if !extended => {
                extended = true;
                let _ = executor.extend(&plan, "r").await.unwrap().outcome().await.unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("it does not come to an end");
}

fn decision(need: &Need, seed: u64) -> Decision {
    match &need.kind {
        NeedKind::Dropped { .. } => Decision::Drop,
        _ => match (need.path.as_str(), reruns(seed, &pattern(&need.path))) {
            ("input", true) => Decision::Accept,
            (_, true) => Decision::Rerun,
            (_, false) => Decision::Keep,
        },
    }
}

/// What a preview says of each step that is not simply reused. Of what had only begun and is not reached the rules say nothing.
fn previewed(executor: &Executor, spec: &Spec, finished: &[String]) -> BTreeMap<String, reference::Fate> {
    let preview = executor.preview_with(&plan(spec), &id(), &spec.items).unwrap();
    explains(executor, spec, &preview);
    let fate = |fate| match fate {
        Fate::Conflict => reference::Fate::Conflict,
        Fate::Dropped => reference::Fate::Dropped,
        Fate::Run | Fate::RunAgain => reference::Fate::Run,
        Fate::Unknown => reference::Fate::Unknown,
        other => panic!("{other}"),
    };
    // It is known there by the name it began under.
    let before = |path: &str| path.replace("renamed", "s").replace("every[", "each[");
    let known = |path: &String| finished.contains(path) || finished.contains(&before(path));
    let told = preview.steps.iter().filter(|step| step.fate != Fate::Unknown || known(&step.path));
    told.map(|step| (step.path.clone(), fate(step.fate))).collect()
}

/// Each conflict of the preview is explained, in all the fields that it names, and nothing else is.
fn explains(executor: &Executor, spec: &Spec, preview: &Preview) {
    let explained = executor.explain_with(&plan(spec), &id(), &spec.items).unwrap();
    let conflicts = preview.steps.iter().filter(|step| step.fate == Fate::Conflict);
    let conflicts: BTreeMap<_, _> = conflicts.map(|step| (step.path.clone(), &step.says)).collect();
    let paths: Vec<_> = explained.steps.iter().map(|step| step.path.clone()).collect();
    assert_eq!(paths, conflicts.keys().cloned().collect::<Vec<_>>(), "{explained}");
    for step in &explained.steps {
        let fields: Vec<_> = step.changes.iter().map(|changed| changed.field.to_string()).collect();
        assert!(
            !fields.is_empty() && conflicts[&step.path].iter().all(|said| fields.contains(said)),
            "{explained}"
        );
    }
}

/// The first records of a run, as a crash leaves them.
fn cut(ledger: &Ledger, records: u64) -> Ledger {
    let left = Ledger::in_memory().unwrap();
    let run = ledger.find(&id()).unwrap().unwrap();
    for seq in 1..=records {
        let record = ledger.record(run, Seq(seq)).unwrap();
        let append = Append { now: record.header.time, records: vec![record], blobs: Vec::new() };
        match left.find(&id()).unwrap() {
            Some(run) => drop(left.commit(run, append).unwrap()),
            None => drop(left.create(&id(), append).unwrap()),
        }
    }
    left
}

/// What a run that ended right there has recorded: an unedited reference, without what is not there yet.
fn recorded(before: &Spec, ledger: &Ledger) -> (Reference, Vec<String>) {
    let mut reference = Reference::started(&before.items);
    reference.drive(before, 0);
    let run = ledger.find(&id()).unwrap().unwrap();
    let state = ledger.state(run).unwrap();
    let finished: Vec<_> =
        state.cells().filter(|(_, cell)| cell.finished()).map(|(at, _)| state.path(at).to_string()).collect();
    let frozen = state.scopes.iter().any(|scope| scope.frozen);
    reference.only(&finished, frozen);
    (reference, finished)
}

fn run(before: &Spec, edits: &[Edit], crash: usize, seed: u64) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let called = Called::default();
        let whole = Ledger::in_memory().unwrap();
        drive(&executor(&whole, &called), before, seed).await;
        called.take();
        let records = whole.records(whole.find(&id()).unwrap().unwrap()).unwrap();
        // Half of the runs are complete; the others are cut off anywhere behind their first two records.
        let crash = crash as u64 % (2 * records);
        let ledger = if crash < records { cut(&whole, crash.max(2)) } else { whole };
        let (mut reference, finished) = recorded(before, &ledger);

        let mut after = before.clone();
        for edit in edits {
            after.edit(edit);
        }
        let executor = executor(&ledger, &called);
        let expected = reference.preview(&after);
        assert_eq!(previewed(&executor, &after, &finished), expected, "the preview of {after:#?}");
        assert_eq!(called.take(), [""; 0]);
        drive(&executor, &after, seed).await;
        assert_eq!(called.take(), reference.drive(&after, seed), "the calls of {after:#?}");

        // And then all of it is reused.
        drive(&executor, &after, seed).await;
        assert_eq!(called.take(), [""; 0], "called again, of {after:#?}");
        assert!(ledger.verify().unwrap().is_empty());
    });
}

/// How many random cases: `EDIT_CASES=n` asks for more than usual.
fn cases() -> u32 {
    std::env::var("EDIT_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(64)
}

proptest! {
    #![proptest_config(Config { cases: cases(), failure_persistence: None, ..Config::default() })]

    #[test]
    fn edited_plans_reuse_rerun_and_refuse_what_the_rules_say(
        before in spec::specs(),
        edits in spec::edits(),
        crash in any::<usize>(),
        seed in 0_u64..1000,
    ) {
        run(&before, &edits, crash, seed);
    }
}
