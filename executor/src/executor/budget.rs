//! Money and the like: what a run has spent, and raising its budgets. None of it needs a plan.

use super::{handle::Executor, people::Pending};
use crate::{
    error::{DecideError, DriveError},
    ledger::Append,
};
use hermes_core::{
    budget::{Budget, Spent},
    digest::Digest,
    fold::RunState,
    ids::RunId,
    journal::{Event, Raised, Record},
    path::{Mark, StepPath},
    people::{Actor, NeedKind},
};
use std::future::IntoFuture;

/// A budget about to be raised: say who raises it and why, then `.await` it.
#[must_use = "a budget is raised when this is awaited"]
pub struct Raising {
    executor: Executor,
    run: RunId,
    path: String,
    to: Budget,
    by: Actor,
    why: Option<String>,
}

impl Raising {
    /// Who raises it.
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

impl IntoFuture for Raising {
    type Output = Result<(), DecideError>;
    type IntoFuture = Pending<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.make() })
    }
}

impl Executor {
    /// Raises the budget of a part of a run: of the run itself (the empty path), of a scope, a fan-out or a plan that is called
    /// (its path), of what one call of a step may cost (the step's pattern: `drafts[*]/draft`), or of a shared budget
    /// (`#name`). `to`: what the bounds are from now on, in the units named; lower ones than there are change nothing. Durable
    /// once awaited; a run that is parked for it goes on with the next `resume`.
    ///
    /// The same as [`Executor::decide`] with [`Decision::Raise`](hermes_core::people::Decision::Raise), but nothing has to wait
    /// for it.
    pub fn raise(&self, run: &RunId, path: impl Into<String>, to: Budget) -> Raising {
        let (executor, run, path) = (self.clone(), run.clone(), path.into());
        Raising { executor, run, path, to, by: Actor::default(), why: None }
    }

    /// What a run has spent so far: all attempts, those that failed or were superseded included. A call that is under way, or
    /// whose end nobody knows, counts as what it may cost at most; one that had no bound, only in the numbers of unknown calls.
    ///
    /// # Errors
    /// When the ledger has no such run, or cannot be read.
    pub fn spent(&self, run: &RunId) -> Result<Spent, DriveError> {
        self.spent_in(run, "")
    }

    /// What was spent in a part of a run: a scope, a group, an item of it, a step. Nothing where nothing is recorded.
    ///
    /// # Errors
    /// When the ledger has no such run, or cannot be read.
    pub fn spent_in(&self, run: &RunId, path: &str) -> Result<Spent, DriveError> {
        let ledger = self.ledger();
        let Some(number) = ledger.find(run)? else { return Err(DriveError::NoSuchRun(run.to_string())) };
        let spending = ledger.spending(number)?;
        // Without the plan nobody knows what a call may cost today that had no bound.
        let none = |_| Budget::default();
        if path.is_empty() {
            return Ok(spending.total(&none));
        }
        let by_path = spending.by_path(&ledger.state(number)?, &none);
        Ok(by_path.get(path).copied().unwrap_or_default())
    }
}

impl Raising {
    fn make(self) -> Result<(), DecideError> {
        let shared = &self.executor.shared;
        let services = &shared.services;
        let run = services.ledger.find(&self.run)?.ok_or_else(|| DecideError::NoSuchRun(self.run.clone()))?;
        if self.to.leaves_nothing() {
            return Err(DecideError::NotOffered {
                path: self.path,
                decision: "raise".to_owned(),
                why: "nothing is no budget: give more than zero".to_owned(),
            });
        }
        if !known(&services.ledger.state(run)?, &self.path)? {
            return Err(DecideError::NoSuchPart { path: self.path, run: self.run });
        }
        let raised = Raised { path: self.path, to: self.to, by: self.by, why: self.why };
        let record = Record::new(crate::walk::ROOT, 0, Digest::ZERO, Digest::ZERO, &Event::Raised(raised));
        let now = services.clock.now();
        let (lapsed, result) = services.ledger.transact_at(run, now, |_| {
            Ok::<_, DecideError>((Append { records: vec![record], blobs: Vec::new(), now }, ()))
        })?;
        shared.tell_lapsed(&self.run, &lapsed);
        result?;
        shared.tell_decision(&self.run);
        Ok(())
    }
}

/// Whether a path can have a budget in a run: one waits there, or a step that the run knows stands at it or below it.
fn known(state: &RunState, path: &str) -> Result<bool, DecideError> {
    let waits = |path: &str| {
        let needs = state.summary.needs().values();
        needs.into_iter().any(|need| matches!(need.kind, NeedKind::Budget { .. }) && need.path == path)
    };
    if path.is_empty() || path.starts_with('#') || waits(path) {
        return Ok(true);
    }
    let wanted: StepPath = path
        .parse()
        .map_err(|error| DecideError::NotAPath { path: path.to_owned(), why: format!("{error}") })?;
    let length = wanted.segments().len();
    Ok(state.steps.iter().any(|(pattern, _)| {
        let Some(around) = pattern.segments().get(..length) else { return false };
        let mut plain = around.to_vec();
        if let Some(last) = plain.last_mut() {
            last.mark = Mark::Plain;
        }
        let around = StepPath::new(around.to_vec());
        around == wanted || around.matches(&wanted) || StepPath::new(plain).matches(&wanted)
    }))
}
