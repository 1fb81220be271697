//! A run in hand, and what becomes of it.

use super::live::Shared;
use crate::{
    drive::{Ending, Published, RawOutcome},
    error::DriveError,
    walk::Counts,
};
use hermes_core::{
    data::Data,
    failure::Failure,
    ids::RunId,
    people::{Actor, Need},
};
use hermes_plan::graph::Graph;
use std::{marker::PhantomData, sync::Arc};
use tokio::sync::watch;

/// What became of a run.
#[derive(Clone, Debug)]
pub enum Outcome<O> {
    /// It has an output.
    Completed(Completed<O>),
    /// Only people can move it: these questions are open.
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

/// What waits for people.
#[derive(Clone, Debug)]
pub struct Needs {
    /// What waits, oldest first.
    pub list: Vec<Need>,
    /// How many steps came out how so far.
    pub counts: Counts,
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
            let raw = loop {
                if let Some(result) = self.published.borrow_and_update().clone() {
                    break result?;
                }
                if self.published.changed().await.is_err() {
                    return Err(DriveError::Broken("the runtime that drove it has ended".to_owned()));
                }
            };
            if matches!(raw.ending, Ending::Waiting | Ending::Parked) {
                let Some(run) = self.shared.services.ledger.find(&self.id)? else {
                    return Err(DriveError::NoSuchRun(self.id.to_string()));
                };
                if self.shared.services.ledger.records(run)? > raw.records {
                    self.published = Shared::drive(&self.shared, &self.id, run, &self.graph, None)?;
                    continue;
                }
            }
            return self.read(raw);
        }
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
            Ok(Needs { list, counts: raw.counts })
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
