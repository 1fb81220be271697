//! Cancelling steps, or all that waits: what is told to end, what has ended at once, and what the journal says of it.

use super::{
    frame::{At, Slot},
    state::{ROOT, Walk},
};
use hermes_core::{
    digest::Digest,
    failure::{Failure, FailureClass},
    fingerprint::fingerprint,
    fold::{Cell, CellStatus, RunState},
    ids::Address,
    journal::{CancelAsked, Event, Failed, Record},
    path::StepPath,
    people::Actor,
};
use std::collections::BTreeSet;

/// The failure of what somebody has cancelled.
pub(crate) fn cancelled(what: &str, by: &Actor, why: Option<&str>) -> Failure {
    let by = by.name.as_ref().map_or_else(String::new, |name| format!(" by {name}"));
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    Failure::new(FailureClass::Cancelled, format!("{what}{by}{why}"))
}

/// The outcome of a call that somebody has cancelled and that nobody drives any more: nothing is left of it.
pub(crate) fn cancelled_call(state: &RunState, at: Address, cell: &Cell, asked: &CancelAsked) -> Record {
    let failure = cancelled("cancelled", &asked.by, asked.why.as_deref());
    let failed = Failed {
        failure: failure.at(|| state.path(at).to_string()),
        may_have_acted: cell.may_have_acted || cell.status == CellStatus::Started,
        request: None,
        receipt: None,
    };
    Record::new(at, cell.generation, cell.fingerprint, Digest::ZERO, &Event::Failed(failed))
}

impl Walk {
    /// Asks for the record that somebody has cancelled steps.
    pub(crate) fn cancel_asked(&mut self, asked: CancelAsked) {
        let event = Event::CancelAsked(asked);
        self.emit_at_go(ROOT, 0, Digest::ZERO, &event);
    }

    fn is_named(&self, steps: &StepPath, at: At) -> bool {
        let path = self.path(at);
        steps.matches(&path) || steps.encloses(&path)
    }

    /// The calls that wait to be dispatched.
    fn queued(&self) -> Vec<At> {
        let parked = self.frames().flat_map(|(_, frame)| frame.parked.iter());
        self.ready
            .iter()
            .chain(self.failing.paced.values().flatten())
            .chain(parked)
            .chain(self.accounts.held())
            .copied()
            .collect()
    }

    /// The calls that a path or pattern names, or that stand in a group that it names: under way, waiting for their next
    /// attempt, or for their turn.
    pub(crate) fn named_calls(&self, steps: &StepPath) -> BTreeSet<At> {
        let all = self.calls_under_way().chain(self.failing.again.keys().copied()).chain(self.queued());
        all.filter(|at| self.is_named(steps, *at)).collect()
    }

    /// Cancels what a path or pattern names: what waits for an attempt, or to begin, has failed at once. Gives the calls that
    /// are under way, which are to be told.
    pub(crate) fn cancel_steps(&mut self, steps: &StepPath, why: &Failure) -> Vec<At> {
        let running = self.calls_under_way().filter(|at| self.is_named(steps, *at)).collect();
        let failing = self.failing.again.keys().copied().filter(|at| self.is_named(steps, *at));
        let failing: Vec<At> = failing.collect();
        for at in failing {
            match self.slot(at) {
                Slot::Delayed => self.give_up(at, why.clone()),
                // That it is to be tried again is only now being written.
                Slot::Running if self.calls.get(&at).is_some_and(|call| !call.under_way) => {
                    if let Some(again) = self.failing.again.get_mut(&at) {
                        again.cancelled = Some(why.clone());
                    }
                }
                _ => {}
            }
        }
        for at in self.queued().into_iter().filter(|at| self.is_named(steps, *at)).collect::<Vec<_>>() {
            self.leave_queues(at);
            self.call_dropped(at);
            if self.failing.again.contains_key(&at) {
                self.give_up(at, why.clone());
            } else {
                self.cancel_unbegun(at, why.clone());
            }
        }
        running
    }

    /// Fails a step that has its inputs, and whose first attempt has not begun.
    fn cancel_unbegun(&mut self, at: At, why: Failure) {
        let (values, caused) = self.inputs(at);
        let request = self.call_request(at, &values).map(|(request, _)| request).ok();
        let print = request.as_ref().map_or(Digest::ZERO, fingerprint);
        let cell = self.state.cell(self.address(at));
        let caused = caused || cell.is_some_and(|cell| self.state.below_own_cause(cell));
        let generation = cell.map_or(0, Cell::next_generation);
        let failure = why.at(|| self.path(at).to_string());
        let failed = Failed { failure, may_have_acted: false, request, receipt: None };
        self.end_without_call(at, (generation, print), failed, caused);
    }

    /// The run is cancelled: no other attempt is made of anything.
    pub(crate) fn cancel_attempts(&mut self, why: &Failure) {
        let waiting: Vec<At> = self.failing.again.keys().copied().collect();
        for at in waiting {
            match self.slot(at) {
                Slot::Delayed => self.give_up(at, why.clone()),
                Slot::Ready => {
                    self.leave_queues(at);
                    self.call_dropped(at);
                    self.give_up(at, why.clone());
                }
                Slot::Running if self.calls.get(&at).is_some_and(|call| !call.under_way) => {
                    if let Some(again) = self.failing.again.get_mut(&at) {
                        again.cancelled = Some(why.clone());
                    }
                }
                _ => {}
            }
        }
    }
}
