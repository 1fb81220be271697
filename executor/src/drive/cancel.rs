//! The driver and cancellations, of the run and of steps: calls are told to end, and what waits has ended at once.

use super::driver::Driver;
use crate::{
    error::DriveError,
    walk::{At, CallEnd, cancelled},
};
use hermes_core::{
    failure::{Failure, FailureClass},
    journal::{CancelAsked, EndKind, Ended, Event},
    path::StepPath,
    people::Actor,
};
use std::collections::BTreeSet;
use tokio::sync::oneshot;

/// Somebody who waits for cancelled steps to have ended.
pub(super) struct Awaited {
    left: BTreeSet<At>,
    count: usize,
    done: oneshot::Sender<usize>,
}

impl Driver {
    /// Cancels the run: nothing new begins, and what is under way is told to end.
    pub(super) fn cancel_run(&mut self, by: Actor) {
        self.walk.cancel_attempts(&cancelled("the run was cancelled", &by, None));
        self.cancelled.get_or_insert(by);
        let running: Vec<At> = self.tokens.keys().copied().collect();
        for at in running {
            self.tell_to_end(at);
        }
    }

    /// Cancels what `asked` names, and says how many calls that were once they have ended, durably.
    pub(super) fn cancel_steps(
        &mut self,
        steps: &StepPath,
        asked: CancelAsked,
        done: oneshot::Sender<usize>,
    ) {
        let why = cancelled("cancelled", &asked.by, asked.why.as_deref());
        let named = self.walk.named_calls(steps);
        if !named.is_empty() {
            self.walk.cancel_asked(asked);
        }
        for at in self.walk.cancel_steps(steps, &why) {
            self.whys.insert(at, why.clone());
            if self.tokens.contains_key(&at) {
                self.tell_to_end(at);
            } else {
                // Its record is still being written: it will not begin.
                self.never_begin.insert(at);
            }
        }
        let awaited = Awaited { count: named.len(), left: named, done };
        if awaited.left.is_empty() {
            // Whoever asked may have gone.
            let _ = awaited.done.send(0);
        } else {
            self.awaited.push(awaited);
        }
    }

    /// Who has cancelled the run, as the journal has it.
    pub(super) fn who_cancelled(&self) -> Result<Actor, DriveError> {
        let ledger = &self.services.ledger;
        let state = ledger.state(self.run)?;
        let ended = state.ended.map(|seq| ledger.record(self.run, seq)).transpose()?;
        let by = match ended.map(|record| record.event()) {
            Some(Ok(Event::Ended(Ended { end: EndKind::Cancelled { by } }))) => Some(by),
            _ => state.cancelled,
        };
        Ok(by.unwrap_or_default())
    }

    fn tell_to_end(&mut self, at: At) {
        if let Some(token) = self.tokens.get(&at) {
            token.cancel();
        }
        // A thread cannot be told: the step is given up, and what it still yields is late.
        if let Some(claim) = self.blocking.remove(&at)
            && let Some(end) = claim.give_up()
        {
            claim.keep(self.permits.remove(&at));
            self.tokens.remove(&at);
            let end = self.as_cancelled(at, end);
            self.walk.finished(at, end);
        }
    }

    /// How a call ended that somebody has cancelled: whatever it failed with, that is why.
    pub(super) fn as_cancelled(&mut self, at: At, end: CallEnd) -> CallEnd {
        let why = self.whys.remove(&at);
        let run = self.cancelled.as_ref().map(|by| cancelled("the run was cancelled", by, None));
        let Some(why) = why.or(run) else { return end };
        let with_raw = |failure: Failure| Failure { raw: failure.raw, ..why.clone() };
        match end {
            CallEnd::Failed { failure, may_have_acted }
            | CallEnd::Limited { failure, may_have_acted, .. } => {
                CallEnd::Failed { failure: with_raw(failure), may_have_acted }
            }
            // It was told to end before this was known, and may have answered because of that.
            CallEnd::Done(value, receipt) => CallEnd::Late { failure: why, value, receipt },
            CallEnd::Late { value, receipt, failure } if failure.class == FailureClass::Cancelled => {
                CallEnd::Late { failure: why, value, receipt }
            }
            end => end,
        }
    }

    /// A step has its outcome, durably.
    pub(super) fn outcome_durable(&mut self, at: At) {
        for awaited in &mut self.awaited {
            awaited.left.remove(&at);
        }
        while let Some(over) = self.awaited.iter().position(|awaited| awaited.left.is_empty()) {
            let awaited = self.awaited.swap_remove(over);
            let _ = awaited.done.send(awaited.count);
        }
    }
}
