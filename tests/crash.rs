//! A crash at any sync of the store, in a run of a plan that has every primitive: the run goes on to the same end, nothing
//! that was acknowledged is lost, nothing finished is done again. The same check fails on a writer that is broken.

#[path = "crash/broken.rs"]
mod broken;
#[path = "crash/observed.rs"]
mod observed;
#[path = "support/store.rs"]
mod store;
mod support;

use broken::OutcomesLate;
use hermes_workflows::{
    core::{
        ids::{RunNo, Seq},
        journal::{Event, Record},
    },
    executor::ledger::{CrashBackend, Loss, RedbStore, Store},
    prelude::*,
};
use observed::Observed;
use std::{collections::BTreeMap, sync::Arc};
use support::{
    Calls,
    every_primitive::{CallsByPath, runner, to_the_end},
    run_id,
};

/// A run that nothing disturbed, on a store that can be had as it was at each of its syncs.
struct Reference {
    backend: CrashBackend,
    /// How often the file had been synced when the ledger in it was there.
    laid_out: usize,
    output: Vec<String>,
    journal: Vec<Record>,
    /// The records of each commit, and how many syncs there had been when it was acknowledged.
    acknowledged: Vec<(usize, Seq)>,
}

/// Runs the plan once, through `writer` around the store.
async fn reference<S: Store + 'static>(writer: impl FnOnce(RedbStore) -> S) -> Reference {
    let backend = CrashBackend::new();
    let store = RedbStore::on_backend(backend.clone()).unwrap();
    let laid_out = backend.syncs();
    let observed = Arc::new(Observed::new(writer(store), backend.clone()));
    let ledger = Ledger::on(Arc::clone(&observed) as Arc<dyn Store>);
    let executor = Executor::builder().ledger(ledger).runner(runner(&CallsByPath::default())).build();
    let output = to_the_end(&executor, &Calls::default()).await.unwrap();
    let journal = journal(executor.ledger());
    drop(executor);
    Reference { backend, laid_out, output, journal, acknowledged: observed.acknowledged() }
}

fn journal(ledger: &Ledger) -> Vec<Record> {
    let Some(run) = ledger.find(&run_id()).unwrap() else { return Vec::new() };
    (1..=ledger.records(run).unwrap()).map(|seq| ledger.record(run, Seq(seq)).unwrap()).collect()
}

/// What is in a journal: the paths of agents that have an outcome, and how often each question was answered.
fn finished(ledger: &Ledger, run: RunNo, journal: &[Record]) -> (Vec<String>, BTreeMap<String, u32>) {
    let state = ledger.state(run).unwrap();
    let (mut outcomes, mut answers) = (Vec::new(), BTreeMap::new());
    for record in journal {
        let path = || state.path(record.header.at).to_string();
        match record.event().unwrap() {
            Event::Succeeded(_) | Event::Failed(_) => outcomes.push(path()),
            Event::Answered(_) => *answers.entry(path()).or_insert(0) += 1,
            _ => {}
        }
    }
    (outcomes, answers)
}

/// Goes on from the file as a crash after `sync` left it; says what is wrong.
async fn crash(reference: &Reference, sync: usize, loss: Loss) -> Result<(), String> {
    let image = CrashBackend::from_image(reference.backend.image_at(sync, loss));
    let store = RedbStore::on_backend(image).map_err(|error| error.to_string())?;
    let ledger = Ledger::on(Arc::new(store));
    let found = ledger.verify().map_err(|error| error.to_string())?;
    if !found.is_empty() {
        return Err(format!("the ledger is not sound: {found:?}"));
    }
    let left = journal(&ledger);
    if left != reference.journal[..left.len()] {
        return Err(format!("{} records are left, and they are not the first of the run", left.len()));
    }
    let due = reference.acknowledged.iter().filter(|(syncs, _)| *syncs <= sync).map(|(_, seq)| seq.0);
    let due = due.max().unwrap_or(0);
    if due > left.len() as u64 {
        return Err(format!("{} records are left, and {due} were acknowledged", left.len()));
    }
    let run = ledger.find(&run_id()).map_err(|error| error.to_string())?;
    let outcomes = run.map(|run| finished(&ledger, run, &left).0).unwrap_or_default();

    let calls = CallsByPath::default();
    let executor = Executor::builder().ledger(ledger).runner(runner(&calls)).crash_limit(None).build();
    let output = to_the_end(&executor, &Calls::default()).await?;
    if output != reference.output {
        return Err(format!("it ends in {output:?}"));
    }
    if let Some(path) = outcomes.iter().find(|path| calls.of(path) > 0) {
        return Err(format!("{path} was finished and was called again"));
    }
    if let Some(path) = calls.paths().into_iter().find(|path| calls.of(path) > 1) {
        return Err(format!("{path} was called twice"));
    }
    let after = journal(executor.ledger());
    if after[..left.len()] != left {
        return Err("what was recorded has changed".to_owned());
    }
    let run = executor.ledger().find(&run_id()).unwrap().unwrap();
    let (outcomes, answers) = finished(executor.ledger(), run, &after);
    if let Some((path, times)) = answers.iter().find(|(_, times)| **times != 1) {
        return Err(format!("{path} was answered {times} times"));
    }
    let mut once = outcomes.clone();
    once.sort();
    once.dedup();
    if once.len() != outcomes.len() {
        return Err(format!("a step has two outcomes: {outcomes:?}"));
    }
    Ok(())
}

/// Crashes after every sync; what went wrong, by sync.
async fn crash_everywhere(reference: &Reference, loss: Loss) -> Vec<String> {
    let mut wrong = Vec::new();
    let syncs = reference.backend.syncs();
    for sync in reference.laid_out..=syncs {
        if let Err(why) = crash(reference, sync, loss).await {
            wrong.push(format!("after sync {sync} of {syncs}, {loss:?}: {why}"));
        }
    }
    wrong
}

#[tokio::test]
async fn at_every_sync_what_was_not_synced_is_gone() {
    let reference = reference(|store| store).await;
    let crashes = reference.backend.syncs() + 1 - reference.laid_out;
    println!("{crashes} crashes in a run of {} records", reference.journal.len());
    assert!(crashes > 40 && reference.journal.len() > 50, "{crashes}, {}", reference.journal.len());
    assert_eq!(crash_everywhere(&reference, Loss::All).await, [""; 0]);
}

#[tokio::test]
async fn at_every_sync_half_of_what_was_not_synced_is_gone() {
    let reference = reference(|store| store).await;
    assert_eq!(crash_everywhere(&reference, Loss::Half(1)).await, [""; 0]);
    assert_eq!(crash_everywhere(&reference, Loss::Half(2)).await, [""; 0]);
}

#[tokio::test]
async fn a_writer_that_makes_outcomes_durable_after_their_dependants_is_found_out() {
    let reference = reference(OutcomesLate::around).await;
    let wrong = crash_everywhere(&reference, Loss::All).await;
    println!("{} crashes go wrong, the first {:?}", wrong.len(), wrong.first());
    assert!(!wrong.is_empty());
    assert!(
        wrong.iter().any(|why| why.contains("were acknowledged") || why.contains("not sound")),
        "{wrong:#?}"
    );
}
