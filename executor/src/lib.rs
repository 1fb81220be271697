//! Runs plans: the walk, replay, the ledger, the review queue and the [`Runner`] trait.
//!
//! What decides is pure (`walk`), what acts is thin (`drive`). Nothing above [`ledger`] knows redb.

mod clock;
mod compose;
mod constants;
mod drive;
mod error;
mod executor;
mod explain;
mod layout;
pub mod ledger;
mod pacing;
mod preview;
pub mod process;
mod program;
mod redact;
mod rehearse;
mod runner;
mod schemas;
mod services;
mod snapshot;
mod stand_in;
mod sweep;
mod templates;
mod walk;
mod watch;
mod workspace;

pub use clock::{Clock, ClockHand};
pub use error::{AnswerError, DecideError, DriveError};
pub use executor::{
    Answering, Attempt, AttemptEnd, Cancelling, Completed, Deciding, Directing, Executor, ExecutorOptions,
    ExecutorOptionsBuilder, Needs, Outcome, Raising, Run, RunLayout, Start, run_layout,
};
pub use explain::{Change, Explained, Explanation, FieldChange, PromptSource};
pub use ledger::{Ledger, LedgerError};
pub use preview::{Because, Fate, LastCost, Preview, PreviewStep, Tally};
pub use redact::Secrets;
pub use rehearse::{Ending, NotCovered, Rehearsal, Rehearse, RehearsedRun, Rehearsing, Sampled, Uncovered};
pub use runner::{
    AgentCall, AgentReply, Answer, BoxFuture, COOKIE_VARIABLE, CallWatch, Expect, IDEMPOTENCY_VARIABLE,
    Runner, RunnerError, RunnerErrorKind, RunnerIdentity, Turn,
};
pub use sweep::{carriers, sweep};
pub use walk::Counts;
pub use watch::{RunEvent, Seen, Watch};
pub use workspace::Workspace;
