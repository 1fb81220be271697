//! What the records about failing, late and cancelled calls do to the state.

use super::{Cell, CellStatus, IllegalEvent, RunState};
use crate::{
    ids::{Address, Seq},
    journal::{CancelAsked, Delayed, Header},
    path::StepPath,
};

impl Cell {
    /// Another attempt begins or has failed: whether at the same request as the one before.
    pub(super) fn tried_anew(&mut self, same: bool) {
        if !same {
            (self.tries, self.limits) = (0, 0);
        }
        self.cancelled = None;
    }
}

impl RunState {
    /// An attempt failed, and another is due.
    pub(super) fn delayed(
        &mut self,
        seq: Seq,
        header: &Header,
        delayed: &Delayed,
    ) -> Result<(), IllegalEvent> {
        let caused = !self.causes.is_empty();
        let (cell, fresh) = self.entry(seq, header, CellStatus::Delayed)?;
        if !fresh && cell.status == CellStatus::Succeeded && !caused {
            return Err(IllegalEvent::new(seq, header.kind, "it is finished, and no cause is open"));
        }
        cell.tried_anew(cell.fingerprint == header.fingerprint && cell.generation == header.generation);
        *(if delayed.limited { &mut cell.limits } else { &mut cell.tries }) += 1;
        if fresh || cell.status != CellStatus::Started {
            // A local step: its request stands here.
            cell.request = seq;
            cell.accepted.clear();
        }
        cell.status = CellStatus::Delayed;
        cell.fingerprint = header.fingerprint;
        cell.generation = header.generation;
        cell.outcome = seq;
        cell.lost = 0;
        cell.rerun = false;
        cell.may_have_acted = delayed.may_have_acted;
        cell.instant = Some(delayed.until);
        Ok(())
    }

    /// The run, or what is under way at some steps, is cancelled from here on.
    pub(super) fn cancel_asked(
        &mut self,
        seq: Seq,
        header: &Header,
        asked: CancelAsked,
    ) -> Result<(), IllegalEvent> {
        let Some(steps) = asked.steps else {
            self.cancelled = Some(asked.by);
            return Ok(());
        };
        let steps: StepPath =
            steps.parse().map_err(|error| IllegalEvent::new(seq, header.kind, format!("{error}")))?;
        for at in self.under_way(&steps) {
            let Address { place, step } = at;
            let scope = self.scopes.get_mut(place.scope.0 as usize);
            if let Some(cell) = scope.and_then(|scope| scope.cells.get_mut(&(place.ordinal, step))) {
                cell.cancelled = Some(seq);
            }
        }
        Ok(())
    }

    /// The calls that a path or pattern names, or that stand in a group that it names, and that have begun, or wait for their
    /// next attempt.
    pub fn under_way(&self, steps: &StepPath) -> Vec<Address> {
        let named = |at: Address| {
            let path = self.path(at);
            steps.matches(&path) || steps.encloses(&path)
        };
        self.begun_or_delayed().map(|(at, _)| at).filter(|at| named(*at)).collect()
    }

    /// Calls that have begun, or wait for their next attempt, and have no outcome.
    pub fn begun_or_delayed(&self) -> impl Iterator<Item = (Address, &Cell)> {
        let open = |cell: &Cell| matches!(cell.status, CellStatus::Started | CellStatus::Delayed);
        self.cells().filter(move |(_, cell)| open(cell))
    }
}
