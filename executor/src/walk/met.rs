//! What a check met, step by step, for whoever wants to know before anything is done: a preview. A walk that drives a run does
//! not keep this.

use super::{
    conflict::{Conflict, Doubtful},
    frame::{At, Slot},
    state::{ROOT, Walk},
};
use hermes_core::{
    ids::{Address, Seq, StepNo},
    journal::CauseKind,
    path::StepPath,
};
use hermes_plan::graph::{Kind, Node, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// What a check met at a concrete step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// It is settled by what is recorded.
    Settled,
    /// Its question stays open, or its wait goes on.
    Open,
    /// It would be run, or asked.
    Held(At),
}

/// A cause that explains why a step would run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It is in the journal.
    Journaled(Seq),
    /// The plan says so, and a resume would write it.
    Planned(Address, CauseKind),
}

impl Walk {
    /// Has the walk keep what it meets.
    pub(crate) fn keep_met(&mut self) {
        self.met = Some(BTreeMap::new());
    }

    /// What the check met, where that was kept.
    pub(crate) fn met(&self) -> Option<&BTreeMap<Address, Met>> {
        self.met.as_ref()
    }

    pub(super) fn meet(&mut self, at: Address, met: Met) {
        if let Some(all) = &mut self.met {
            all.insert(at, met);
        }
    }

    /// Keeps that a step has its final slot.
    pub(super) fn meet_settled(&mut self, at: At) {
        if self.met.is_some() && matches!(self.slot(at), Slot::Done(..) | Slot::Failed(_)) {
            self.meet(self.address(at), Met::Settled);
        }
    }

    /// What has to be decided about finished steps.
    pub(crate) fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// The calls whose end a person has to settle.
    pub(crate) fn doubts(&self) -> &[Doubtful] {
        &self.doubts
    }

    /// The number of a plan step.
    pub(crate) fn step_number(&self, node: NodeId) -> StepNo {
        self.number(node)
    }

    /// The path of a step that would run: a review's question has its round.
    pub(crate) fn question_path(&self, at: At) -> StepPath {
        self.asked_path(at).unwrap_or_else(|| self.path(at))
    }

    /// The node of a concrete step.
    pub(crate) fn node_at(&self, at: Address) -> Option<&Node> {
        self.programs.node_of(at.step)
    }

    /// The causes below which a step lies that would run again: its own, and those above what it is made from.
    pub(crate) fn reasons(&self, at: At) -> Vec<Reason> {
        let mut found = Vec::new();
        let (mut seen, mut open) = (BTreeSet::new(), vec![at]);
        let own = self.address(at);
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            let address = self.address(at);
            self.own_reason(address, &mut found);
            // Only what a cause reaches hands it on; the step itself does not have to know yet that it does.
            let frame = self.frame(at.frame);
            if frame.caused
                && let Some((group, _)) = frame.parent
            {
                open.push(group);
            }
            for dep in self.tables(at.node).deps(at.node) {
                let source = self.seen_from(at.frame, *dep);
                if !matches!(self.slot(source), Slot::Done(_, true)) {
                    continue;
                }
                match self.node(*dep).kind {
                    Kind::Placeholder(_) if self.frame(source.frame).parent.is_none() => {
                        self.own_reason(ROOT, &mut found);
                    }
                    _ => open.push(source),
                }
            }
            if self.address(at) != own {
                self.reasons_inside(address, &mut found);
            }
        }
        found
    }

    fn own_reason(&self, at: Address, found: &mut Vec<Reason>) {
        let own = match self.changes.cause(at) {
            Some(kind) => Some(Reason::Planned(at, kind)),
            None => self.state.cell(at).and_then(|cell| {
                let cause = cell.cause.filter(|_| self.state.below_own_cause(cell));
                cause.map(Reason::Journaled)
            }),
        };
        // A retry is one cause of many steps.
        found.extend(own.filter(|own| !found.contains(own)));
    }

    /// The causes of what a settled group unrolled to.
    fn reasons_inside(&self, group: Address, found: &mut Vec<Reason>) {
        let Some((scope, unrolled)) = self.state.scope(group) else { return };
        for (ordinal, step) in unrolled.cells.keys() {
            let at = Address { place: hermes_core::ids::Place { scope, ordinal: *ordinal }, step: *step };
            self.own_reason(at, found);
            self.reasons_inside(at, found);
        }
    }
}
