//! Deciding about needs that are not questions: conflicts, dropped steps, calls in doubt. It needs no plan; the next walk
//! carries it out.

use super::{handle::Executor, people::Pending};
use crate::{error::DecideError, ledger::LedgerError};
use hermes_core::{
    digest::Digest,
    ids::RunId,
    journal::{DecisionMade, Event, Raised, Record},
    path::StepPath,
    people::{Actor, Decision, Need, NeedKind},
    request::Field,
    schema::Schema,
};
use std::future::IntoFuture;

/// A decision about to be made: say who makes it and why, then `.await` it.
#[must_use = "a decision is made when this is awaited"]
pub struct Deciding {
    executor: Executor,
    run: RunId,
    need: Need,
    decision: Decision,
    by: Actor,
    why: Option<String>,
}

impl Deciding {
    /// Who makes it.
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

impl IntoFuture for Deciding {
    type Output = Result<(), DecideError>;
    type IntoFuture = Pending<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.make() })
    }
}

impl Executor {
    /// Decides about a need that is not a question. One commit: durable once awaited; the next resume carries it out.
    ///
    /// A conflict is settled with [`Decision::Rerun`], [`Decision::Keep`] or, of one step, [`Decision::Set`]; another input
    /// with `Keep` or [`Decision::Accept`]; a step that the plan no longer has with [`Decision::Drop`] or
    /// [`Decision::Adopt`]; a call in doubt with [`Decision::Retry`], [`Decision::Failed`] or `Set`; a budget that is used up
    /// with [`Decision::Raise`].
    pub fn decide(&self, run: &RunId, need: &Need, decision: Decision) -> Deciding {
        Deciding {
            executor: self.clone(),
            run: run.clone(),
            need: need.clone(),
            decision,
            by: Actor::default(),
            why: None,
        }
    }

    /// Decides the same about every open need whose path, or one of whose examples, this pattern names: `drafts[*]/draft`.
    /// Gives how many that were. Each is a commit of its own; a refusal ends it.
    ///
    /// # Errors
    /// When no open need is named so, the pattern is no path, or one of the needs cannot be settled like that.
    pub async fn decide_matching(
        &self,
        run: &RunId,
        pattern: &str,
        decision: Decision,
        by: Actor,
    ) -> Result<usize, DecideError> {
        let steps: StepPath = pattern
            .parse()
            .map_err(|error| DecideError::NotAPath { path: pattern.to_owned(), why: format!("{error}") })?;
        let names = |path: &str| {
            path == pattern || path.parse().is_ok_and(|path| steps.matches(&path) || steps.encloses(&path))
        };
        let about = |need: &Need| {
            let examples = match &need.kind {
                NeedKind::Review { .. } => return false,
                NeedKind::Conflict { examples, .. } => examples.as_slice(),
                NeedKind::Dropped { .. } | NeedKind::InDoubt { .. } | NeedKind::Budget { .. } => &[],
            };
            names(&need.path) || examples.iter().any(|example| names(example))
        };
        let needs: Vec<_> = self.needs(run)?.into_iter().filter(about).collect();
        if needs.is_empty() {
            return Err(DecideError::NotOpen { path: pattern.to_owned() });
        }
        for need in &needs {
            self.decide(run, need, decision.clone()).by(by.clone()).await?;
        }
        Ok(needs.len())
    }
}

impl Deciding {
    fn make(self) -> Result<(), DecideError> {
        let shared = &self.executor.shared;
        let services = &shared.services;
        let run = services.ledger.find(&self.run)?.ok_or_else(|| DecideError::NoSuchRun(self.run.clone()))?;
        let (about, input) = self.answers()?;
        let (by, why) = (self.by.clone(), self.why.clone());
        let event = match &self.decision {
            // It holds at once, for whatever is at that path: no walk has to carry it out.
            Decision::Raise { to } => {
                Event::Raised(Raised { path: self.need.path.clone(), to: *to, by, why })
            }
            decision => {
                Event::DecisionMade(DecisionMade { about, decision: decision.clone(), input, by, why })
            }
        };
        let record = Record::new(crate::walk::ROOT, 0, Digest::ZERO, Digest::ZERO, &event);
        let now = services.clock.now();
        let (lapsed, result) = services.ledger.transact_at(run, now, |summary| {
            let open = summary.needs().values().any(|need| need.kind == self.need.kind);
            if !open {
                return Err(DecideError::NotOpen { path: self.need.path.clone() });
            }
            Ok((crate::ledger::Append { records: vec![record], blobs: Vec::new(), now }, ()))
        })?;
        shared.tell_lapsed(&self.run, &lapsed);
        result?;
        shared.tell_decision(&self.run);
        Ok(())
    }

    fn refuse(&self, why: &str) -> DecideError {
        let word = match &self.decision {
            Decision::Rerun => "rerun",
            Decision::Keep => "keep",
            Decision::Accept => "accept",
            Decision::Drop => "drop",
            Decision::Adopt { .. } => "adopt",
            Decision::Retry => "retry",
            Decision::Failed { .. } => "failed",
            Decision::Set { .. } => "set",
            Decision::Raise { .. } => "raise",
            _ => "this",
        };
        DecideError::NotOffered {
            path: self.need.path.clone(),
            decision: word.to_owned(),
            why: why.to_owned(),
        }
    }

    /// What the decision names, and the blob of the input that it accepts; refused where it does not settle the need.
    fn answers(&self) -> Result<(Digest, Option<Digest>), DecideError> {
        match (&self.need.kind, &self.decision) {
            (NeedKind::Conflict { fields, difference, input, .. }, decision)
                if fields.iter().any(|changed| changed.field == Field::RunInput) =>
            {
                match decision {
                    Decision::Keep => Ok((*difference, None)),
                    Decision::Accept if input.is_some() => Ok((*difference, *input)),
                    _ => Err(self.refuse(
                        "go on with the recorded input (keep) or with the new one (accept), or start another run",
                    )),
                }
            }
            (NeedKind::Conflict { not_kept: Some(why), .. }, Decision::Keep) => Err(self.refuse(why)),
            (NeedKind::Conflict { difference, schema: Some(schema), .. }, Decision::Set { value }) => {
                self.valid(schema, value)?;
                Ok((*difference, None))
            }
            (NeedKind::Conflict { .. }, Decision::Set { .. }) => {
                Err(self.refuse("an output can be given for one call; this is several, or none"))
            }
            (NeedKind::Conflict { difference, .. }, Decision::Rerun | Decision::Keep)
            | (NeedKind::Dropped { difference, .. }, Decision::Drop) => Ok((*difference, None)),
            (NeedKind::Dropped { difference, .. }, Decision::Adopt { step }) => {
                step.parse::<StepPath>().map_err(|error| self.refuse(&format!("`{step}` is no path: {error}")))?;
                Ok((*difference, None))
            }
            (NeedKind::InDoubt { key, .. }, Decision::Retry) => Ok((*key, None)),
            (NeedKind::InDoubt { key, .. }, Decision::Failed { why }) => {
                if why.trim().is_empty() {
                    return Err(self.refuse("say how it is known that it failed"));
                }
                Ok((*key, None))
            }
            (NeedKind::InDoubt { key, schema: Some(schema), .. }, Decision::Set { value }) => {
                self.valid(schema, value)?;
                Ok((*key, None))
            }
            (NeedKind::Budget { unit, limit, about, .. }, Decision::Raise { to }) => match to.limit(*unit) {
                Some(to) if to > *limit => Ok((*about, None)),
                _ => Err(self.refuse(&format!("it is {} now: give more of {unit}", unit.show(*limit)))),
            },
            (NeedKind::Budget { .. }, _) => {
                Err(self.refuse("a budget that is used up is raised, or the run stays where it is"))
            }
            (NeedKind::Conflict { .. }, _) => {
                Err(self.refuse("a conflict is settled with rerun, keep or an output of your own (set)"))
            }
            (NeedKind::Dropped { .. }, _) => Err(self.refuse(
                "a step the plan no longer has is dropped, or adopted as one that the plan has under another name",
            )),
            (NeedKind::InDoubt { .. }, _) => Err(self.refuse(
                "a call in doubt is settled with retry, with failed, or with the output it had (set)",
            )),
            (NeedKind::Review { .. }, _) => Err(self.refuse("it is a question: answer it")),
        }
    }

    /// An output given by hand must be valid for the step's type.
    fn valid(&self, schema: &Digest, value: &serde_json::Value) -> Result<(), DecideError> {
        let path = self.need.path.clone();
        let schema = Schema::from_json(self.executor.blob_json(schema)?)
            .map_err(|error| LedgerError::damaged(format!("the schema of `{path}` is none: {error}")))?;
        schema.validate(value).map_err(|violations| DecideError::Invalid { path, violations })
    }
}
