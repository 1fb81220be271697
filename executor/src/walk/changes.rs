//! Finished steps that differ where the plan itself says what that means: another version, or `.on_change(..)`. Each use is
//! in the journal.

use super::{
    emit::{Emit, Then},
    frame::At,
    state::Walk,
};
use hermes_core::{
    digest::Digest,
    ids::Address,
    journal::{Accepted, CauseKind, Caused, Event, Record},
    people::Actor,
};
use std::collections::BTreeMap;

/// What the plan says of finished steps that differ.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Those that run again, and by which cause.
    again: BTreeMap<Address, CauseKind>,
    /// Those whose output counts for today's request, which has this fingerprint.
    kept: BTreeMap<Address, Digest>,
}

impl Changes {
    /// Whether the plan has the step at `at` run again.
    pub(super) fn again(&self, at: Address) -> bool {
        self.again.contains_key(&at)
    }

    /// By which cause the step at `at` runs again.
    pub(super) fn cause(&self, at: Address) -> Option<CauseKind> {
        self.again.get(&at).cloned()
    }

    fn records(&self) -> impl Iterator<Item = Record> {
        let again = self.again.iter().map(|(at, kind)| cause(*at, kind.clone()));
        again.chain(self.kept.iter().map(|(at, print)| acceptance(*at, *print)))
    }
}

fn cause(at: Address, kind: CauseKind) -> Record {
    let why = match kind {
        CauseKind::Version => "the plan gives it another version",
        _ => "the plan says that it runs again when it changes",
    };
    let event = Event::Caused(Caused { kind, by: Actor::default(), why: Some(why.to_owned()) });
    Record::new(at, 0, Digest::ZERO, Digest::ZERO, &event)
}

fn acceptance(at: Address, print: Digest) -> Record {
    Record::new(at, 0, print, Digest::ZERO, &Event::Accepted(Accepted {}))
}

impl Walk {
    /// The plan has the call run again.
    pub(super) fn runs_again(&mut self, at: At, kind: CauseKind) {
        let address = self.address(at);
        self.changes.again.insert(address, kind.clone());
        if !self.hold_back(at) {
            self.write(cause(address, kind));
            self.want_call(at);
        }
    }

    /// The plan has the output that is stored count for today's request.
    pub(super) fn keeps(&mut self, at: Address, print: Digest) {
        self.changes.kept.insert(at, print);
        if !self.checking {
            self.write(acceptance(at, print));
        }
    }

    /// Journals what a check met.
    pub(super) fn write_changes(&mut self) {
        for record in self.changes() {
            self.write(record);
        }
    }

    /// The same as records, for a run that has ended.
    pub(crate) fn changes(&self) -> Vec<Record> {
        self.changes.records().collect()
    }

    fn write(&mut self, record: Record) {
        self.emits.push(Emit { record, blobs: Vec::new(), then: Then::Nothing });
    }
}
