//! Asking for something to be done to recorded steps by their paths: run again, take another outcome. The next walk does it.

use super::{handle::Executor, people::Pending};
use crate::error::{DecideError, DriveError};
use hermes_core::{
    data::Data,
    digest::Digest,
    fold::RunState,
    ids::{Address, RunId, RunNo, Seq},
    journal::{Directed, Event, Kind, Record},
    path::StepPath,
    people::{Actor, Decision},
    receipt::Receipt,
    schema::Violation,
    value::Val,
};
use hermes_plan::Plan;
use std::future::IntoFuture;

/// Something about to be asked for: say who asks and why, then `.await` it.
#[must_use = "it is asked for when this is awaited"]
pub struct Directing {
    executor: Executor,
    run: RunId,
    steps: String,
    decision: Result<Decision, DecideError>,
    by: Actor,
    why: Option<String>,
}

impl Directing {
    /// Who asks for it.
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

impl IntoFuture for Directing {
    /// How many recorded steps it is about.
    type Output = Result<usize, DecideError>;
    type IntoFuture = Pending<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.ask() })
    }
}

/// One outcome that a step had: what [`Executor::restore`] can take.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The record of the outcome; `None` of an attempt that has none.
    pub outcome: Option<Seq>,
    /// The record in which it began; that of the outcome where nothing was written before it.
    pub began: Seq,
    /// Which generation of the step it belongs to: how many causes had asked it to run again.
    pub generation: u32,
    /// What became of it.
    pub ended: AttemptEnd,
    /// What is known of how its outcome came to be.
    pub receipt: Option<Receipt>,
    /// The record of a value that it yielded after it had been given up: cancelled, or too slow. It changed nothing, and can be
    /// restored like an outcome.
    pub late: Option<Seq>,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttemptEnd {
    /// It goes on, or nobody knows.
    Open,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// It was closed without an outcome.
    Interrupted,
    /// A person gave the outcome.
    Given,
    /// The outcome was taken over from another run.
    Adopted,
}

impl Executor {
    /// Has recorded steps run again, and what depends on them as far as their outputs differ: early cut-off. `steps` is a path
    /// or a pattern of paths (`drafts[*]/draft`); a group means what is inside it, but for `Unsafe` steps, which have to be
    /// named themselves. Durable once awaited; the next `resume` does it, also of a run that has ended.
    ///
    /// # Errors
    /// When the ledger has no such run, or nothing recorded is named so.
    pub fn invalidate(&self, run: &RunId, steps: impl Into<String>) -> Directing {
        self.directing(run, steps.into(), Ok(Decision::Rerun))
    }

    /// Gives the recorded step at `path` this output, whatever it yielded: what depends on it and differs runs again. The value
    /// must be valid for the step's type in `plan`.
    ///
    /// # Errors
    /// When nothing is recorded at `path`, it makes no call, or the value is not valid for it.
    pub fn set<I, O>(
        &self,
        plan: &Plan<I, O>,
        run: &RunId,
        path: impl Into<String>,
        value: &impl Data,
    ) -> Directing {
        let path = path.into();
        let decision = Self::output_for(plan, &path, value);
        self.directing(run, path, decision)
    }

    /// Gives the recorded step at `path` an outcome that it had before: one of its [attempts](Executor::attempts).
    ///
    /// # Errors
    /// When `outcome` is not the record of a value that this step had.
    pub fn restore(&self, run: &RunId, path: impl Into<String>, outcome: Seq) -> Directing {
        self.directing(run, path.into(), Ok(Decision::Restore { outcome }))
    }

    /// The attempts of the step at `path`, oldest first. None where nothing is recorded.
    ///
    /// # Errors
    /// When the ledger has no such run, or cannot be read.
    pub fn attempts(&self, run: &RunId, path: &str) -> Result<Vec<Attempt>, DriveError> {
        let ledger = self.ledger();
        let Some(number) = ledger.find(run)? else { return Err(DriveError::NoSuchRun(run.to_string())) };
        let state = ledger.state(number)?;
        let Some(at) = path.parse::<StepPath>().ok().and_then(|path| state.find(&path)) else {
            return Ok(Vec::new());
        };
        let mut attempts: Vec<Attempt> = Vec::new();
        for seq in (1..=ledger.records(number)?).map(Seq) {
            let record = ledger.record(number, seq)?;
            if record.header.at != at {
                continue;
            }
            take_attempt(&mut attempts, seq, &record)
                .map_err(|error| DriveError::Broken(error.to_string()))?;
        }
        Ok(attempts)
    }

    fn directing(&self, run: &RunId, steps: String, decision: Result<Decision, DecideError>) -> Directing {
        let (executor, run) = (self.clone(), run.clone());
        Directing { executor, run, steps, decision, by: Actor::default(), why: None }
    }

    /// A value as the output of the step at `path`.
    fn output_for<I, O>(plan: &Plan<I, O>, path: &str, value: &impl Data) -> Result<Decision, DecideError> {
        let invalid = |why: String| {
            let violations = vec![Violation { place: "/".to_owned(), why }];
            DecideError::Invalid { path: path.to_owned(), violations }
        };
        let concrete: StepPath = path.parse().map_err(|error| not_a_path(path, &error))?;
        let value = Val::encode(value).map_err(|error| invalid(error.to_string()))?;
        let json = value.json().map_err(|error| invalid(error.to_string()))?;
        // What is built at run time is held against its type by the walk.
        if let Some(node) = plan.graph().nodes().find(|node| node.pattern.matches(&concrete)) {
            crate::walk::unfit(node, &value).map_err(|why| invalid(format!("it {why}")))?;
        }
        Ok(Decision::Set { value: serde_json::Value::clone(&json) })
    }
}

fn not_a_path(path: &str, error: &impl std::fmt::Display) -> DecideError {
    DecideError::NotAPath { path: path.to_owned(), why: error.to_string() }
}

/// One more record of a step: a new attempt, or the end of the last one.
fn take_attempt(
    attempts: &mut Vec<Attempt>,
    seq: Seq,
    record: &Record,
) -> Result<(), hermes_core::journal::WireError> {
    if record.header.kind == Kind::Late {
        late(attempts, seq, record)?;
        return Ok(());
    }
    let ended = match record.header.kind {
        Kind::Started => AttemptEnd::Open,
        Kind::Succeeded => AttemptEnd::Succeeded,
        Kind::Failed | Kind::Delayed => AttemptEnd::Failed,
        Kind::Interrupted => AttemptEnd::Interrupted,
        Kind::Given => AttemptEnd::Given,
        Kind::Adopted => AttemptEnd::Adopted,
        _ => return Ok(()),
    };
    let event = record.event()?;
    // That no other attempt follows is no attempt.
    let gave_up = matches!(&event, Event::Failed(failed) if failed.request.is_none())
        && attempts.last().is_some_and(|last| {
            last.ended == AttemptEnd::Failed && last.generation == record.header.generation
        });
    if gave_up {
        return Ok(());
    }
    let receipt = match event {
        Event::Succeeded(succeeded) => succeeded.receipt,
        Event::Failed(failed) => failed.receipt,
        Event::Adopted(adopted) => adopted.receipt,
        Event::Delayed(delayed) => delayed.receipt,
        _ => None,
    };
    let generation = record.header.generation;
    let outcome = (!matches!(ended, AttemptEnd::Open | AttemptEnd::Interrupted)).then_some(seq);
    match attempts.last_mut().filter(|last| last.ended == AttemptEnd::Open) {
        Some(open) if ended != AttemptEnd::Open && ended != AttemptEnd::Given => {
            (open.outcome, open.ended, open.receipt) = (outcome, ended, receipt);
        }
        _ => attempts.push(Attempt { outcome, began: seq, generation, ended, receipt, late: None }),
    }
    Ok(())
}

/// A value that came too late, beside the attempt that it is of.
fn late(attempts: &mut [Attempt], seq: Seq, record: &Record) -> Result<(), hermes_core::journal::WireError> {
    let Event::Late(late) = record.event()? else { return Ok(()) };
    let generation = record.header.generation;
    let mut of_it = attempts.iter_mut().filter(|attempt| attempt.generation == generation);
    if let Some(attempt) = of_it.nth(late.attempt.saturating_sub(1) as usize) {
        attempt.late = Some(seq);
        attempt.receipt = late.receipt.or(attempt.receipt.take());
    }
    Ok(())
}

impl Directing {
    fn ask(self) -> Result<usize, DecideError> {
        let decision = self.decision?;
        let shared = &self.executor.shared;
        let services = &shared.services;
        let run = services.ledger.find(&self.run)?.ok_or_else(|| DecideError::NoSuchRun(self.run.clone()))?;
        let steps: StepPath = self.steps.parse().map_err(|error| not_a_path(&self.steps, &error))?;
        let state = services.ledger.state(run)?;
        let found = named(&state, &steps, decision == Decision::Rerun);
        if found.is_empty() {
            return Err(DecideError::NothingRecorded { steps: self.steps, run: self.run });
        }
        if let Decision::Restore { outcome } = decision {
            restorable(&self.executor, run, (&self.steps, &found), outcome)?;
        }
        let event = Event::Directed(Directed { steps: self.steps, decision, by: self.by, why: self.why });
        let record = Record::new(crate::walk::ROOT, 0, Digest::ZERO, Digest::ZERO, &event);
        let now = services.clock.now();
        let (lapsed, result) = services.ledger.transact_at(run, now, |_| {
            Ok::<_, DecideError>((
                crate::ledger::Append { records: vec![record], blobs: Vec::new(), now },
                (),
            ))
        })?;
        shared.tell_lapsed(&self.run, &lapsed);
        result?;
        shared.tell_decision(&self.run);
        Ok(found.len())
    }
}

/// The recorded steps that a path names; with `inside`, also those in a group that it names.
fn named(state: &RunState, steps: &StepPath, inside: bool) -> Vec<Address> {
    let names = |at: &Address| {
        let path = state.path(*at);
        !path.is_empty() && (steps.matches(&path) || inside && steps.encloses(&path))
    };
    state.cells().map(|(at, _)| at).filter(names).collect()
}

fn restorable(
    executor: &Executor,
    run: RunNo,
    (path, found): (&str, &[Address]),
    outcome: Seq,
) -> Result<(), DecideError> {
    let record = executor.ledger().record(run, outcome).ok();
    let its = |record: &Record| {
        found.contains(&record.header.at)
            && matches!(record.header.kind, Kind::Succeeded | Kind::Given | Kind::Adopted | Kind::Late)
    };
    if record.as_ref().is_some_and(its) {
        return Ok(());
    }
    Err(DecideError::NotItsOutcome { path: path.to_owned(), outcome })
}
