//! What can be wrong with a run as a whole, and with what people say to it.

use crate::ledger::LedgerError;
use hermes_core::{
    budget::Unit,
    ids::{InvalidRunId, RunId, Seq},
    schema::Violation,
};
use hermes_plan::PlanErrors;
use std::sync::Arc;

/// Why a run could not be driven, or not to an outcome. The journal keeps everything that was durable.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The ledger refused or failed.
    #[error("{0}")]
    Writing(Arc<LedgerError>),
    /// The run was begun with another plan.
    #[error("run `{run}` was begun with the plan `{recorded}`, not `{given}`; give this plan another run id")]
    OtherPlan {
        /// The run.
        run: RunId,
        /// The plan it was begun with.
        recorded: String,
        /// The plan that was given.
        given: String,
    },
    /// The plan yields another type than when the run was begun.
    #[error(
        "run `{run}` was begun with a plan that yields another type than `{given}`; give this plan another run id"
    )]
    OtherOutput {
        /// The run.
        run: RunId,
        /// The type it yields today.
        given: String,
    },
    /// A completed run, and a plan that has grown since.
    #[error("the run is completed, and today's plan has steps it never ran ({}); let it go on with `extend`, or start a new run", steps.join(", "))]
    PlanGrew {
        /// Up to five of them.
        steps: Vec<String>,
    },
    /// The plan has mistakes that only its template files show.
    #[error(transparent)]
    Plan(#[from] PlanErrors),
    /// A step names a runner that the executor does not have.
    #[error(
        "step `{step}` ({location}) wants {wanted}, and the executor has {known}; add it with `.runner(..)` or `.named_runner(..)`"
    )]
    NoRunner {
        /// The step.
        step: String,
        /// Where it was written.
        location: String,
        /// What it wants.
        wanted: String,
        /// What there is.
        known: String,
    },
    /// The run has a budget, and agents of the plan do not say what a call of them costs at most.
    #[error(
        "the run has a budget of {unit}, and these agents do not say what one call costs at most: {}; give each a `.budget(..)`, or leave that unit out of the run's",
        steps.join(", ")
    )]
    Unbounded {
        /// The unit.
        unit: Unit,
        /// Their paths and the places in the source where they were written.
        steps: Vec<String>,
    },
    /// A budget of the run that leaves nothing to spend.
    #[error("the budget of the run leaves nothing to spend; give more than zero, or leave it out")]
    EmptyBudget,
    /// Another plan of the same name is being driven in this process.
    #[error(
        "another plan named `{name}` is being driven in this process; two plans of one name cannot share an executor"
    )]
    SamePlanName {
        /// The name.
        name: String,
    },
    /// There is no such run.
    #[error("the ledger has no run `{0}`")]
    NoSuchRun(String),
    /// The plan has no such fan-out.
    #[error("the plan has no fan-out `{path}`; it has {}", listed(groups))]
    NoSuchGroup {
        /// The path that was given.
        path: String,
        /// The patterns of those there are.
        groups: Vec<String>,
    },
    /// The run is being driven: it cannot be retried at the same time.
    #[error("run `{0}` is being driven; wait for its outcome first")]
    Live(RunId),
    /// Only a completed run can be extended.
    #[error("run `{0}` has not completed: only a completed run is extended; resume or retry it")]
    NotCompleted(RunId),
    /// What is to be taken over from no run cannot be taken over but for some of it.
    #[error(
        "`.afresh(..)` says what a fork does not take over, and no fork was asked for: name its parent with `.fork_of(..)`"
    )]
    NoFork,
    /// A path that is none.
    #[error(
        "`{path}` is not a path: {why}; a path is written like `drafts[intro]/draft`, or with `[*]` for all items"
    )]
    NotAPath {
        /// What was given.
        path: String,
        /// Why it is none.
        why: String,
    },
    /// Another executor on the same ledger drives the run.
    #[error(
        "run `{0}` is being driven by another executor on this ledger; use that one, or wait until it is done"
    )]
    Elsewhere(RunId),
    /// The input does not survive JSON.
    #[error("the input of the run cannot be stored: {0}")]
    Input(String),
    /// The run id is none.
    #[error("{0}")]
    RunId(#[from] InvalidRunId),
    /// The journal cannot be read, or says what cannot be.
    #[error("the run cannot go on: {0}")]
    Broken(String),
    /// A value in the journal is not what the plan's output type reads.
    #[error("the run's output cannot be read as the plan's output type: {0}")]
    Output(String),
    /// Nothing can move and nobody is waited for: a fault of this library.
    #[error(
        "the run cannot move and waits for nobody; this is a fault in Hermes Workflows, please report it"
    )]
    Stuck,
}

fn listed(groups: &[String]) -> String {
    if groups.is_empty() { "none".to_owned() } else { groups.join(", ") }
}

impl From<LedgerError> for DriveError {
    fn from(error: LedgerError) -> Self {
        Self::Writing(Arc::new(error))
    }
}

/// Why an answer was refused. Nothing was recorded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// There is no such run.
    #[error("the ledger has no run `{0}`")]
    NoSuchRun(RunId),
    /// No question is open at this path.
    #[error("no question is open at `{path}` in run `{run}`; open: {open}")]
    NotOpen {
        /// The run.
        run: RunId,
        /// The path.
        path: String,
        /// What is open.
        open: String,
    },
    /// The question has changed since it was read.
    #[error("the question at `{path}` has changed since you read it; read it again")]
    Changed {
        /// Its path.
        path: String,
    },
    /// It was answered before.
    #[error("the question at `{path}` was already answered")]
    Late {
        /// Its path.
        path: String,
    },
    /// It was open for a time, and that is over.
    #[error(
        "the question at `{path}` has expired and takes no answer; `retry` asks again what failed by that"
    )]
    Expired {
        /// Its path.
        path: String,
    },
    /// The same key was used for another answer.
    #[error("the question at `{path}` was answered under the same key with something else")]
    Conflicting {
        /// Its path.
        path: String,
    },
    /// The run has ended.
    #[error("run `{run}` has ended; its questions take no answers")]
    Ended {
        /// The run.
        run: RunId,
    },
    /// The answer is not valid.
    #[error("the answer to `{path}` is not valid: {}", violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid {
        /// The question's path.
        path: String,
        /// What is wrong with it.
        violations: Vec<Violation>,
    },
    /// The need is not a question: it wants a decision.
    #[error("`{path}` is not a question; it wants a decision")]
    NotAQuestion {
        /// Its path.
        path: String,
    },
    /// The ledger refused or failed.
    #[error("{0}")]
    Ledger(Arc<LedgerError>),
}

impl From<LedgerError> for AnswerError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(Arc::new(error))
    }
}

/// Why a decision or a cancellation was refused. Nothing was recorded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// There is no such run.
    #[error("the ledger has no run `{0}`")]
    NoSuchRun(RunId),
    /// Nothing waits for this decision: it was made already, or the plan changed again.
    #[error(
        "nothing at `{path}` waits for this decision; it was settled, or the plan changed again: read the needs again"
    )]
    NotOpen {
        /// Its path.
        path: String,
    },
    /// This need cannot be settled like that.
    #[error("`{path}` cannot be settled with {decision}: {why}")]
    NotOffered {
        /// Its path.
        path: String,
        /// The decision.
        decision: String,
        /// Why, and what can be done.
        why: String,
    },
    /// Nothing that the run has stands at this path.
    #[error(
        "run `{run}` has nothing at `{path}` that could have a budget; the needs and the run's layout show the paths there are, and the run itself is the empty path"
    )]
    NoSuchPart {
        /// The path.
        path: String,
        /// The run.
        run: RunId,
    },
    /// What was given as the step's output is not valid for it.
    #[error("it cannot be the output of `{path}`: {}", violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid {
        /// Its path.
        path: String,
        /// What is wrong.
        violations: Vec<Violation>,
    },
    /// What was given as a path is none.
    #[error("`{path}` is not a path of steps: {why}")]
    NotAPath {
        /// The text.
        path: String,
        /// Why not.
        why: String,
    },
    /// No recorded step has such a path.
    #[error(
        "nothing that run `{run}` has recorded is named by `{steps}`; look at the run's layout for the paths there are"
    )]
    NothingRecorded {
        /// The path or pattern.
        steps: String,
        /// The run.
        run: RunId,
    },
    /// The record holds no output that this step had.
    #[error("record {outcome} is no output of `{path}`; `attempts` lists those it had")]
    NotItsOutcome {
        /// The step's path.
        path: String,
        /// The record.
        outcome: Seq,
    },
    /// The run has ended already.
    #[error("run `{0}` has ended already")]
    Ended(RunId),
    /// No call of such a path is under way.
    #[error(
        "no call of run `{run}` named `{steps}` is under way or waits to be tried again; look at the run's layout for those \
         that are"
    )]
    NotUnderWay {
        /// The path or pattern.
        steps: String,
        /// The run.
        run: RunId,
    },
    /// Another executor of this process drives the run.
    #[error("run `{0}` is driven by another executor of this process; cancel it there")]
    Elsewhere(RunId),
    /// The ledger refused or failed.
    #[error("{0}")]
    Ledger(Arc<LedgerError>),
}

impl From<LedgerError> for DecideError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(Arc::new(error))
    }
}
