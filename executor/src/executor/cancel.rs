//! Cancelling: the whole run, or calls of it by their paths. Neither needs a plan.

use super::{handle::Executor, people::Pending};
use crate::{
    drive::Control,
    error::DecideError,
    ledger::Append,
    sweep::sweep_all,
    walk::{ROOT, cancelled_call},
};
use hermes_core::{
    digest::Digest,
    fold::{CellStatus, RunStatus, Summary},
    ids::{RunId, RunNo},
    journal::{CancelAsked, EndKind, Ended, Event, Record},
    path::StepPath,
    people::Actor,
};
use std::future::IntoFuture;
use tokio::sync::oneshot;

/// Calls about to be cancelled: say who cancels them and why, then `.await` it.
#[must_use = "they are cancelled when this is awaited"]
pub struct Cancelling {
    executor: Executor,
    run: RunId,
    steps: String,
    by: Actor,
    why: Option<String>,
}

impl Cancelling {
    /// Who cancels them.
    pub fn by(mut self, actor: Actor) -> Self {
        self.by = actor;
        self
    }

    /// Why, in their words.
    pub fn why(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }
}

impl IntoFuture for Cancelling {
    /// How many calls it was about.
    type Output = Result<usize, DecideError>;
    type IntoFuture = Pending<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.cancel())
    }
}

fn of_the_run(event: &Event) -> Record {
    Record::new(ROOT, 0, Digest::ZERO, Digest::ZERO, event)
}

impl Executor {
    /// Cancels a run: from the moment this is durable it never ends as anything else. Its calls are told to end, down to the
    /// last process of each; what waits for its next attempt has ended at once. Returns when all has ended.
    ///
    /// # Errors
    /// When there is no such run, or it has ended.
    pub async fn cancel(&self, run: &RunId, by: Actor) -> Result<(), DecideError> {
        let ledger = self.ledger();
        let number = ledger.find(run)?.ok_or_else(|| DecideError::NoSuchRun(run.clone()))?;
        let mut asked = false;
        if let Some(control) = self.shared.control(run) {
            let now = self.shared.services.clock.now();
            let event = Event::CancelAsked(CancelAsked { steps: None, by: by.clone(), why: None });
            let (lapsed, result) = ledger.transact_at(number, now, |summary| match ended(summary) {
                // It was cancelled a moment ago, and has not ended: this waits for the same.
                true if summary.cancelled() => Err(None),
                true => Err(Some(DecideError::Ended(run.clone()))),
                false => Ok((Append { records: vec![of_the_run(&event)], blobs: Vec::new(), now }, ())),
            })?;
            self.shared.tell_lapsed(run, &lapsed);
            if let Err(Some(refused)) = result {
                return Err(refused);
            }
            asked = true;
            let (done, wait) = oneshot::channel();
            if control.send(Control::Cancel { by: by.clone(), done }).is_ok() && wait.await.is_ok() {
                return Ok(());
            }
            // Its drive ended at the same moment: what follows sees what it left.
        }
        let now = self.shared.services.clock.now();
        let (_, result) = ledger.transact_at(number, now, |summary| {
            if ended(summary) && !summary.cancelled() {
                let is_so = summary.head().is_some_and(|head| head.status == RunStatus::Cancelled);
                return Err((asked && is_so).then_some(()));
            }
            let event = Event::Ended(Ended { end: EndKind::Cancelled { by } });
            Ok((Append { records: vec![of_the_run(&event)], blobs: Vec::new(), now }, ()))
        })?;
        match result {
            Ok(_) | Err(Some(())) => Ok(()),
            Err(None) => Err(DecideError::Ended(run.clone())),
        }
    }

    /// Cancels calls of a run: those that are under way, down to the last process of each; those that wait for their next
    /// attempt, or for their turn. `steps` is a path or a pattern of paths (`drafts[*]/draft`); a group means what is inside it.
    /// They have failed as cancelled, and the run goes on as its plan says; `retry` runs them again. Gives how many they
    /// were, once that is durable. What one of them still yields is kept as [late](super::Attempt::late).
    ///
    /// Where nobody drives the run, this is about calls that the process left when it ended.
    ///
    /// # Errors
    /// When the ledger has no such run, it has ended, or no call of that name is under way.
    pub fn cancel_step(&self, run: &RunId, steps: impl Into<String>) -> Cancelling {
        let (executor, run, steps) = (self.clone(), run.clone(), steps.into());
        Cancelling { executor, run, steps, by: Actor::default(), why: None }
    }
}

fn ended(summary: &Summary) -> bool {
    super::people::ended(summary)
}

impl Cancelling {
    async fn cancel(self) -> Result<usize, DecideError> {
        let Self { executor, run, steps, by, why } = self;
        let ledger = executor.ledger();
        let number = ledger.find(&run)?.ok_or_else(|| DecideError::NoSuchRun(run.clone()))?;
        let path: StepPath = steps
            .parse()
            .map_err(|error| DecideError::NotAPath { path: steps.clone(), why: format!("{error}") })?;
        let asked = CancelAsked { steps: Some(steps.clone()), by, why };
        let mut count = None;
        if let Some(control) = executor.shared.control(&run) {
            let (done, wait) = oneshot::channel();
            let asked = asked.clone();
            if control.send(Control::CancelSteps { steps: path.clone(), asked, done }).is_ok() {
                count = wait.await.ok();
            }
            // If its drive ended at the same moment, what follows sees what it left.
        }
        let count = match count {
            Some(count) => count,
            None => executor.cancel_left(&run, number, &path, asked)?,
        };
        if count == 0 { Err(DecideError::NotUnderWay { steps, run }) } else { Ok(count) }
    }
}

impl Executor {
    /// The same in a run that nobody drives.
    fn cancel_left(
        &self,
        run: &RunId,
        number: RunNo,
        steps: &StepPath,
        asked: CancelAsked,
    ) -> Result<usize, DecideError> {
        let ledger = self.ledger();
        // While it is taken, nobody begins another attempt.
        let Some(_taken) = ledger.take(number) else { return Err(DecideError::Elsewhere(run.clone())) };
        let state = ledger.state(number)?;
        if ended(&state.summary) {
            return Err(DecideError::Ended(run.clone()));
        }
        let named = state.under_way(steps);
        if named.is_empty() {
            return Ok(0);
        }
        let cells: Vec<_> = named.iter().filter_map(|at| Some((*at, state.cell(*at)?))).collect();
        let mut cookies = Vec::new();
        for (_, cell) in cells.iter().filter(|(_, cell)| cell.status == CellStatus::Started) {
            if let Ok(Event::Started(started)) = ledger.record(number, cell.request)?.event() {
                cookies.push(started.cookie);
            }
        }
        sweep_all(cookies.iter().map(String::as_str));
        let ends = cells.iter().map(|(at, cell)| cancelled_call(&state, *at, cell, &asked));
        let mut records = vec![of_the_run(&Event::CancelAsked(asked.clone()))];
        records.extend(ends);
        let now = self.shared.services.clock.now();
        ledger.lapse(number, now)?;
        ledger.commit(number, Append { records, blobs: Vec::new(), now })?;
        Ok(named.len())
    }
}
