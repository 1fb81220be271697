//! A run in hand, and what becomes of it.

use super::live::{Shared, Stays};
use crate::{
    drive::{Ending, Published, RawOutcome},
    error::DriveError,
    walk::Counts,
};
use hermes_core::{
    data::Data,
    failure::Failure,
    ids::{RunId, RunNo},
    people::{Actor, Need},
    timestamp::Timestamp,
};
use hermes_plan::graph::Graph;
use std::{marker::PhantomData, sync::Arc};
use tokio::sync::watch;

/// What became of a run.
#[derive(Clone, Debug)]
pub enum Outcome<O> {
    /// It has an output.
    Completed(Completed<O>),
    /// Only people can move it, or time: these questions are open, and waits go on till [`Needs::until`]. Nothing runs: the
    /// program may end, and resume the run when an answer is there or the moment has come.
    Waiting(Needs),
    /// People have to decide something first.
    Parked(Needs),
    /// It failed. `retry` tries the failed steps again.
    Failed(Failure),
    /// Somebody cancelled it.
    Cancelled(Actor),
}

/// A completed run.
#[derive(Clone, Debug)]
pub struct Completed<O> {
    /// The output.
    pub value: O,
    /// How many steps came out how, in the walk that completed it.
    pub counts: Counts,
}

impl<O> Completed<O> {
    /// Whether it completed over failures that the plan turns into values.
    pub fn degraded(&self) -> bool {
        self.counts.failed > 0 || self.counts.skipped > 0
    }
}

/// What waits for people, or for time.
#[derive(Clone, Debug)]
pub struct Needs {
    /// What waits, oldest first.
    pub list: Vec<Need>,
    /// How many steps came out how so far.
    pub counts: Counts,
    /// The earliest moment at which a wait is over, or an open question expires: then a resume goes on.
    pub until: Option<Timestamp>,
}

/// A run that is being driven. Dropping it lets the run go on until it ends or waits for people.
pub struct Run<O> {
    pub(super) shared: Arc<Shared>,
    pub(super) id: RunId,
    pub(super) graph: Arc<Graph>,
    pub(super) published: watch::Receiver<Published>,
    pub(super) output: PhantomData<fn() -> O>,
}

impl<O> std::fmt::Debug for Run<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<O: Data> Run<O> {
    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Waits for what becomes of it. The run is driven until this returns: an answer given before then moves it on.
    ///
    /// # Errors
    /// When the ledger fails, or the run does not fit the plan.
    pub async fn outcome(mut self) -> Result<Outcome<O>, DriveError> {
        loop {
            let raw = self.published().await?;
            if self.has_moved(&raw)? {
                self.drive(Stays::No)?;
                continue;
            }
            return self.read(raw);
        }
    }

    /// Waits for what becomes of it, also while only time can move it: it goes on when a wait is over or a question has
    /// expired, and is [`Outcome::Waiting`] only when nothing but people can move it. Till then the run is driven: an answer
    /// moves it on. If this future is dropped, the run is driven on as if its outcome had been asked for.
    ///
    /// In tests, [`Clock::by_hand`](crate::Clock::by_hand) moves the time.
    ///
    /// A program that need not stay for that takes [`Run::outcome`], ends, and resumes the run at [`Needs::until`].
    ///
    /// # Errors
    /// As [`Run::outcome`].
    pub async fn settled(mut self) -> Result<Outcome<O>, DriveError> {
        let mut stay = self.shared.stay(&self.id);
        loop {
            let raw = self.published().await?;
            let time_moves_it = matches!(raw.ending, Ending::Waiting) && raw.until.is_some();
            if time_moves_it || self.has_moved(&raw)? {
                stay = self.drive(Stays::Yes)?;
                continue;
            }
            drop(stay);
            return self.read(raw);
        }
    }

    /// Waits till the drive is over.
    async fn published(&mut self) -> Result<RawOutcome, DriveError> {
        loop {
            if let Some(result) = self.published.borrow_and_update().clone() {
                return result;
            }
            if self.published.changed().await.is_err() {
                return Err(DriveError::Broken("the runtime that drove it has ended".to_owned()));
            }
        }
    }

    /// Whether something has happened since the drive ended that may move the run on.
    fn has_moved(&self, raw: &RawOutcome) -> Result<bool, DriveError> {
        if !matches!(raw.ending, Ending::Waiting | Ending::Parked) {
            return Ok(false);
        }
        Ok(self.shared.services.ledger.records(self.number()?)? > raw.records)
    }

    fn number(&self) -> Result<RunNo, DriveError> {
        let number = self.shared.services.ledger.find(&self.id)?;
        number.ok_or_else(|| DriveError::NoSuchRun(self.id.to_string()))
    }

    fn drive(&mut self, stays: Stays) -> Result<Option<watch::Receiver<()>>, DriveError> {
        let run = self.number()?;
        let joined = Shared::drive(&self.shared, &self.id, run, &self.graph, None, stays)?;
        self.published = joined.published;
        Ok(joined.stay)
    }

    fn read(&self, raw: RawOutcome) -> Result<Outcome<O>, DriveError> {
        let needs = || -> Result<Needs, DriveError> {
            let list = self
                .shared
                .services
                .ledger
                .needs(Some(&self.id))?
                .into_iter()
                .map(|(_, need)| need)
                .collect();
            Ok(Needs { list, counts: raw.counts, until: raw.until })
        };
        Ok(match raw.ending {
            Ending::Completed(value) => {
                let value = value.decode::<O>().map_err(|error| DriveError::Output(error.to_string()))?;
                let value = Arc::unwrap_or_clone(value);
                Outcome::Completed(Completed { value, counts: raw.counts })
            }
            Ending::Waiting => Outcome::Waiting(needs()?),
            Ending::Parked => Outcome::Parked(needs()?),
            Ending::Failed(failure) => Outcome::Failed(failure),
            Ending::Cancelled(by) => Outcome::Cancelled(by),
        })
    }
}
