//! Tests of the ledger, and what they share: records of every kind, and an engine that can be held up or made to fail.

mod append;
mod crash;
mod gate;
mod open;
mod order;
mod people;
mod write;

use super::*;
use hermes_core::{
    digest::Digest,
    failure::{Failure, FailureClass},
    fold::Head,
    ids::{Address, Place, RunId, RunNo, ScopeNo, Seq, StepNo},
    journal::{Answered, Asked, Event, Expiry, Failed, Named, Record, RunStarted, Started, Succeeded},
    people::{Actor, Need},
    request::{Request, StepRequest},
    value::digest_json,
};
use serde_json::value::RawValue;
use std::sync::{Arc, Condvar, Mutex};

fn id(text: &str) -> RunId {
    RunId::new(text).unwrap()
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn digest(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

fn at(ordinal: u32, step: u32) -> Address {
    Address { place: Place { scope: ScopeNo(0), ordinal }, step: StepNo(step) }
}

fn request() -> Request {
    Request::Step(StepRequest { inputs: vec![], schema: Digest::ZERO, version: None })
}

fn record(at: Address, event: &Event) -> Record {
    let output = match event {
        Event::RunStarted(event) => Some(&event.input),
        Event::Succeeded(event) => Some(&event.output),
        Event::Answered(event) => Some(&event.answer),
        _ => None,
    };
    let output = output.map_or(digest("out"), |raw| digest_json(&serde_json::from_str(raw.get()).unwrap()));
    Record::new(at, 0, digest("print"), output, event)
}

/// The records that begin a run of five steps.
fn beginning(run: &str) -> Vec<Record> {
    let start = RunStarted {
        forked: None,
        id: id(run),
        plan: "p".to_owned(),
        input: raw("\"the input\""),
        input_schema: Digest::ZERO,
        output_schema: Digest::ZERO,
        layout: "plan".to_owned(),
    };
    let steps = ["a", "b", "c", "d", "e"].map(|step| (step.to_owned(), "step".to_owned())).to_vec();
    vec![
        record(at(0, 0), &Event::RunStarted(start)),
        record(
            at(0, 0),
            &Event::Named(Named { first: StepNo(1), steps, schemas: vec![], constants: vec![] }),
        ),
    ]
}

fn started(ordinal: u32) -> Record {
    let started = Started {
        request: request(),
        effect: hermes_core::effect::Effect::Pure,
        key: digest("key"),
        cookie: "cookie".to_owned(),
        attempt: 1,
        runner: None,
        title: None,
        bound: None,
    };
    record(at(ordinal, 1), &Event::Started(started))
}

/// A step's success, with an output of this text.
fn succeeded(ordinal: u32, output: &str) -> Record {
    let output = raw(&serde_json::to_string(output).unwrap());
    record(at(ordinal, 1), &Event::Succeeded(Succeeded { output, request: None, receipt: None }))
}

fn failed(ordinal: u32) -> Record {
    let failure = Failure::new(FailureClass::Cancelled, "no");
    record(
        at(ordinal, 1),
        &Event::Failed(Failed { failure, may_have_acted: false, request: None, receipt: None }),
    )
}

fn asked(ordinal: u32, path: &str) -> Record {
    asked_till(ordinal, path, None)
}

fn asked_till(ordinal: u32, path: &str, expires: Option<Expiry>) -> Record {
    let asked = Asked {
        request: request(),
        path: path.to_owned(),
        schema: digest("schema"),
        choices: None,
        many: false,
        shown: vec![],
        assignee: None,
        expires,
    };
    record(at(ordinal, 2), &Event::Asked(asked))
}

fn answered(ordinal: u32, question: Seq, answer: &str) -> Record {
    let answer = raw(&serde_json::to_string(answer).unwrap());
    let answered = Answered { question, answer, by: Actor::default(), key: None };
    record(at(ordinal, 2), &Event::Answered(answered))
}

fn append(records: Vec<Record>) -> Append {
    Append { records, blobs: vec![], now: 1000 }
}

fn begin(ledger: &Ledger, run: &str) -> RunNo {
    ledger.create(&id(run), append(beginning(run))).unwrap()
}

/// Everything a run's journal holds, with all bodies.
fn journal(ledger: &Ledger, run: RunNo) -> Vec<Record> {
    (1..=ledger.records(run).unwrap()).map(|seq| ledger.record(run, Seq(seq)).unwrap()).collect()
}

/// That everything derived is what the journals say.
fn assert_sound(ledger: &Ledger) {
    assert_eq!(ledger.verify().unwrap(), Vec::<String>::new());
}

type Hook = Box<dyn Fn(&CommitBatch) -> Result<(), LedgerError> + Send + Sync>;

/// An engine in memory, with something of the test's own before every commit.
struct Hooked {
    inner: RedbStore,
    before: Hook,
    settles: Mutex<u32>,
}

impl Hooked {
    fn new(before: impl Fn(&CommitBatch) -> Result<(), LedgerError> + Send + Sync + 'static) -> Arc<Self> {
        let inner = RedbStore::in_memory().unwrap();
        Arc::new(Self { inner, before: Box::new(before), settles: Mutex::new(0) })
    }
}

impl Store for Hooked {
    fn name(&self) -> String {
        self.inner.name()
    }
    fn open_run(&self, id: &RunId) -> Result<Option<RunNo>, LedgerError> {
        self.inner.open_run(id)
    }
    fn next_run(&self) -> Result<RunNo, LedgerError> {
        self.inner.next_run()
    }
    fn runs(&self) -> Result<Vec<(RunId, RunNo)>, LedgerError> {
        self.inner.runs()
    }
    fn heads(&self) -> Result<Vec<(RunNo, Head)>, LedgerError> {
        self.inner.heads()
    }
    fn head(&self, run: RunNo) -> Result<Option<Head>, LedgerError> {
        self.inner.head(run)
    }
    fn needs(&self, run: Option<RunNo>) -> Result<Vec<(RunNo, Need)>, LedgerError> {
        self.inner.needs(run)
    }
    fn records(
        &self,
        run: RunNo,
        visit: &mut dyn FnMut(Seq, Record) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.inner.records(run, visit)
    }
    fn body(&self, run: RunNo, seq: Seq) -> Result<Record, LedgerError> {
        self.inner.body(run, seq)
    }
    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError> {
        self.inner.blob(digest)
    }
    fn memo(&self, print: &Digest) -> Result<Option<(RunNo, Seq)>, LedgerError> {
        self.inner.memo(print)
    }
    fn blobs(&self, visit: &mut dyn FnMut(Digest, &[u8])) -> Result<(), LedgerError> {
        self.inner.blobs(visit)
    }
    fn commit(&self, batch: &CommitBatch) -> Result<(), LedgerError> {
        (self.before)(batch)?;
        self.inner.commit(batch)
    }
    fn settle(&self) -> Result<(), LedgerError> {
        *self.settles.lock().unwrap() += 1;
        self.inner.settle()
    }
}

/// Something that commits wait at while it is shut.
#[derive(Clone, Default)]
struct Barrier(Arc<(Mutex<BarrierState>, Condvar)>);

#[derive(Default)]
struct BarrierState {
    shut: bool,
    waiting: usize,
}

impl Barrier {
    fn shut(&self) {
        self.0.0.lock().unwrap().shut = true;
    }

    fn open(&self) {
        self.0.0.lock().unwrap().shut = false;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.waiting += 1;
        self.0.1.notify_all();
        while state.shut {
            state = self.0.1.wait(state).unwrap();
        }
        state.waiting -= 1;
    }

    /// Waits until somebody stands before it.
    fn reached(&self) {
        let mut state = self.0.0.lock().unwrap();
        while state.waiting == 0 {
            state = self.0.1.wait(state).unwrap();
        }
    }
}

/// A ledger whose commits wait at the barrier, and the number of rows of each of its commits.
fn barred() -> (Ledger, Barrier, Arc<Mutex<Vec<usize>>>) {
    let (barrier, sizes) = (Barrier::default(), Arc::new(Mutex::new(Vec::new())));
    let (gate, seen) = (barrier.clone(), Arc::clone(&sizes));
    let store = Hooked::new(move |batch| {
        gate.pass();
        seen.lock().unwrap().push(batch.rows.len());
        Ok(())
    });
    (Ledger::on(store), barrier, sizes)
}
