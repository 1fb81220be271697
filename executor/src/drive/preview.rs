//! What a resume would find, without writing anything: the check over the journal as it would be with what a resume would
//! write first.

use super::{
    JournalLookup,
    check::{Check, Found},
};
use crate::{
    error::DriveError,
    ledger::stored_value,
    services::Services,
    walk::{Earlier, Lookup, Noted, Walk},
};
use hermes_core::{
    digest::Digest,
    fold::Spending,
    ids::{RunId, RunNo, Seq},
    journal::Record,
    path::StepPath,
    schema::Schema,
    value::{Fetch, Unreadable, Val},
};
use hermes_plan::{
    PlanErrors, ReadyTemplates,
    graph::{Graph, Node, NodeId},
};
use std::{collections::BTreeMap, sync::Arc};

/// What a run would stand at when it is resumed.
pub(crate) struct Foreseen {
    pub(crate) walk: Walk,
    /// The records of today and those that would come first.
    pub(crate) journal: Arc<dyn Lookup>,
    /// Whether the run has ended, and would stay so.
    pub(crate) ended: bool,
    /// How many records there are then.
    pub(crate) records: u64,
}

/// Looks at a run as a resume would, and writes nothing.
pub(crate) fn foresee(
    services: &Arc<Services>,
    id: &RunId,
    run: RunNo,
    graph: Arc<Graph>,
    input: Option<Val>,
) -> Result<Foreseen, DriveError> {
    let ledger = &services.ledger;
    let check = Check::new(services, id, graph, input)?;
    let now = services.clock.now();
    let mut state = ledger.state(run)?;
    let mut next = Seq(ledger.records(run)?).0;
    let mut written = BTreeMap::new();
    let mut records = ledger.would_lapse(run, &state.summary, now)?;
    loop {
        for mut record in std::mem::take(&mut records) {
            next += 1;
            record.header.time = now;
            state.apply(Seq(next), &record).map_err(|error| DriveError::Broken(error.to_string()))?;
            written.insert(next, record);
        }
        let base = JournalLookup::new(Arc::clone(services), run);
        let journal: Arc<dyn Lookup> = Arc::new(Ahead { base, written: Arc::new(written.clone()) });
        let (walk, ended) = match check.look(state.clone(), Arc::clone(&journal), true)? {
            Found::Append(more) => {
                records = more;
                continue;
            }
            Found::Differs(walk) | Found::Goes(walk) => (walk, false),
            Found::Ended(walk, _) => (walk, true),
        };
        return Ok(Foreseen { walk: *walk, journal, ended, records: next });
    }
}

/// The journal of a run, and what would be written next.
struct Ahead {
    base: JournalLookup,
    written: Arc<BTreeMap<u64, Record>>,
}

impl Lookup for Ahead {
    fn record(&self, seq: Seq) -> Result<Record, String> {
        self.written.get(&seq.0).map_or_else(|| self.base.record(seq), |record| Ok(record.clone()))
    }

    fn parent(&self, parent: &RunId, path: &StepPath, print: &Digest) -> Result<Option<Earlier>, String> {
        self.base.parent(parent, path, print)
    }

    fn memo(&self, print: &Digest) -> Result<Option<Earlier>, String> {
        self.base.memo(print)
    }

    fn spending(&self) -> Result<Spending, String> {
        self.base.spending()
    }

    fn fetch(&self) -> Arc<dyn Fetch> {
        Arc::new(AheadValues { base: self.base.fetch(), written: Arc::clone(&self.written) })
    }

    fn templates(
        &self,
        graph: &Graph,
        outer: &dyn Fn(NodeId) -> Option<Schema>,
    ) -> Result<ReadyTemplates, PlanErrors> {
        self.base.templates(graph, outer)
    }

    fn file(&self, directory: &str, path: &str) -> Result<Digest, String> {
        self.base.file(directory, path)
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.base.variable(name)
    }

    fn note(&self, node: &Node, noted: Noted) {
        self.base.note(node, noted);
    }
}

struct AheadValues {
    base: Arc<dyn Fetch>,
    written: Arc<BTreeMap<u64, Record>>,
}

impl Fetch for AheadValues {
    fn fetch(&self, at: u64) -> Result<Arc<str>, Unreadable> {
        let Some(record) = self.written.get(&at) else { return self.base.fetch(at) };
        match stored_value(record) {
            Ok(Some(text)) => Ok(text.into()),
            Ok(None) => Err(Unreadable(format!("a {:?} record holds no value", record.header.kind))),
            Err(why) => Err(Unreadable(why)),
        }
    }
}
