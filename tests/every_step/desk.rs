//! A run on a disk that loses power after every sitting, and the person who sits before it.

use super::{
    answers,
    faults::{Fault, Faults},
};
use hermes_workflows::{
    core::{
        digest::Digest,
        fold::{CellStatus, Head},
        ids::Seq,
        journal::{EndKind, Event},
    },
    executor::{
        Clock,
        ledger::{CrashBackend, Loss, RedbStore},
    },
    prelude::*,
};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The only run there is.
const RUN: &str = "r";

/// One step in the journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) kind: String,
    pub(crate) status: CellStatus,
    pub(crate) fingerprint: Digest,
    pub(crate) failure: Option<Failure>,
}

impl Entry {
    /// Whether its outcome stands for good: only a cause, or another request, has it made again.
    pub(crate) fn done(&self) -> bool {
        matches!(self.status, CellStatus::Succeeded | CellStatus::Answered | CellStatus::Decided)
    }
}

/// What the ledger says of the run.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    pub(crate) steps: BTreeMap<String, Entry>,
    /// The steps of the plan that are called or asked, and of them those that the run came to: patterns of their paths.
    pub(crate) planned: BTreeSet<String>,
    pub(crate) reached: BTreeSet<String>,
    pub(crate) head: Head,
    pub(crate) end: Option<EndKind>,
}

/// How a sitting begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sits {
    Starts,
    Resumes,
    Retries,
}

/// What a sitting came to.
#[derive(Debug)]
pub(crate) struct Sitting<O> {
    pub(crate) outcome: Outcome<O>,
    /// How often each step was called and each question answered in it, by path.
    pub(crate) made: BTreeMap<String, u64>,
    /// The calls that a person had to say about that they may run again.
    pub(crate) doubted: BTreeSet<String>,
    pub(crate) journal: Journal,
}

/// The run's disk, and what its plan calls.
pub(crate) struct Desk {
    disk: CrashBackend,
    /// The disk of the last sitting, with its history, and how often it was synced before the run was touched.
    sat: (CrashBackend, usize),
    faults: Faults,
}

impl Desk {
    /// A new disk, with a fault ordered.
    pub(crate) fn new(faults: &Faults, fault: Option<(&str, Fault)>) -> Self {
        Self::on(CrashBackend::new(), faults, fault)
    }

    fn on(disk: CrashBackend, faults: &Faults, fault: Option<(&str, Fault)>) -> Self {
        faults.order(fault);
        Self { disk, sat: (CrashBackend::new(), 0), faults: faults.clone() }
    }

    /// The disk as it was after each sync of the last sitting, with no fault ordered.
    pub(crate) fn after_syncs(&self) -> impl Iterator<Item = Self> {
        let (disk, first) = &self.sat;
        (*first..=disk.syncs()).map(|sync| {
            Self::on(CrashBackend::from_image(disk.image_at(sync, Loss::All)), &self.faults, None)
        })
    }

    fn ledger(&self) -> Ledger {
        Ledger::on(Arc::new(RedbStore::on_backend(self.disk.clone()).unwrap()))
    }

    /// What the ledger says of the run; `None` before it has begun.
    pub(crate) fn journal(&self) -> Option<Journal> {
        let ledger = self.ledger();
        ledger.find(&RunId::new(RUN).unwrap()).unwrap().map(|_| journal(&ledger))
    }

    /// Drives the run until it ends; the person answers what is asked, and lets calls in doubt run again. Then the power
    /// goes: only what was synced is there the next time.
    pub(crate) async fn sit<I: Data, O: Data>(
        &mut self,
        sits: Sits,
        plan: &Plan<I, O>,
        input: &I,
    ) -> Sitting<O> {
        let before = self.faults.counts();
        let ledger = self.ledger();
        let first = self.disk.syncs();
        // Set back at each sitting: what has passed has passed all the same.
        let (clock, hand) = Clock::by_hand(Timestamp::from_millis(0));
        let executor = Executor::builder().ledger(ledger).runner(self.faults.clone()).clock(clock).build();
        let mut run = match sits {
            Sits::Starts => executor.start(plan, input.clone()).id(RUN).await,
            Sits::Resumes => executor.resume(plan, RUN).await,
            Sits::Retries => executor.retry(plan, RUN).await,
        }
        .unwrap();
        let (mut made, mut doubted) = (BTreeMap::new(), BTreeSet::new());
        let outcome = loop {
            match run.outcome().await.unwrap() {
                Outcome::Waiting(needs) | Outcome::Parked(needs) => {
                    for need in needs.list {
                        see_to(&executor, &need, &mut made, &mut doubted).await;
                    }
                    if let Some(until) = needs.until {
                        hand.set(until);
                    }
                }
                ended => break ended,
            }
            run = executor.resume(plan, RUN).await.unwrap();
        };
        let journal = journal(executor.ledger());
        for (path, count) in self.faults.counts() {
            let count = count - before.get(&path).unwrap_or(&0);
            if count > 0 {
                made.insert(path, count);
            }
        }
        drop(executor);
        let left = CrashBackend::from_image(self.disk.image_at(self.disk.syncs(), Loss::All));
        self.sat = (std::mem::replace(&mut self.disk, left), first);
        Sitting { outcome, made, doubted, journal }
    }
}

async fn see_to(
    executor: &Executor,
    need: &Need,
    made: &mut BTreeMap<String, u64>,
    doubted: &mut BTreeSet<String>,
) {
    let run = RunId::new(RUN).unwrap();
    match &need.kind {
        NeedKind::Review { schema, many, .. } => {
            let schema = executor.ledger().blob(schema).unwrap().unwrap();
            let schema: serde_json::Value = serde_json::from_slice(&schema).unwrap();
            let answer = match executor.choices(need).unwrap() {
                Some(choices) if *many => json!([choices[0]]),
                Some(choices) => choices[0].clone(),
                // Where changes can be asked for, they are, in the first round: then the steps that revise are there too.
                None if need.path.ends_with("[1]") && asks_for_changes(&schema) => {
                    json!({"decision": "request_changes", "feedback": "Say more."})
                }
                // The first form of a review's answer is its approval.
                None => answers::sample(&schema, &need.title),
            };
            executor.answer(&run, need, &answer).await.unwrap();
            *made.entry(need.path.clone()).or_default() += 1;
        }
        NeedKind::InDoubt { .. } => {
            executor.decide(&run, need, Decision::Retry).await.unwrap();
            doubted.insert(need.path.clone());
        }
        other => panic!("nothing has changed, and yet {} waits with {other:?}", need.path),
    }
}

/// Whether an answer of this schema may ask for changes.
fn asks_for_changes(schema: &serde_json::Value) -> bool {
    let forms = schema["oneOf"].as_array().into_iter().flatten();
    forms.map(|form| &form["properties"]["decision"]["const"]).any(|decision| decision == "request_changes")
}

/// Reads the journal, which must hold together.
fn journal(ledger: &Ledger) -> Journal {
    assert_eq!(ledger.verify().unwrap(), Vec::<String>::new());
    let run = ledger.find(&RunId::new(RUN).unwrap()).unwrap().unwrap();
    let event = |seq: Seq| ledger.record(run, seq).unwrap().event().unwrap();
    let state = ledger.state(run).unwrap();
    let calls = ["agent", "ask", "command", "files", "review", "step", "wait"];
    let planned = state.steps.iter().filter(|(_, kind)| calls.contains(&&**kind));
    let planned: BTreeSet<_> = planned.map(|(pattern, _)| pattern.to_string()).collect();
    let (mut steps, mut reached) = (BTreeMap::new(), BTreeSet::new());
    for (at, cell) in state.cells() {
        let failure = match event(cell.outcome) {
            Event::Failed(failed) if cell.status == CellStatus::Failed => Some(failed.failure),
            _ => None,
        };
        let (pattern, kind) = &state.steps[at.step.0 as usize];
        reached.extend(planned.get(&pattern.to_string()).cloned());
        let entry = Entry { kind: kind.clone(), status: cell.status, fingerprint: cell.fingerprint, failure };
        let path = state.path(at).to_string();
        if path.is_empty() {
            // The plan itself: its input.
            continue;
        }
        assert_eq!(steps.insert(path.clone(), entry), None, "two steps at `{path}`");
    }
    let end = state.ended.map(|seq| match event(seq) {
        Event::Ended(ended) => ended.end,
        other => panic!("an end that is none: {other:?}"),
    });
    Journal { steps, planned, reached, head: state.summary.head().unwrap().clone(), end }
}
