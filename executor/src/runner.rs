//! What performs agent calls. The trait is small; everything durable (replay, receipts, repair) is the executor's.

use crate::workspace::Workspace;
use hermes_core::{
    budget::Budget,
    digest::Digest,
    effect::Isolation,
    receipt::{Cost, Usage},
    schema::Schema,
    usd::Usd,
};
use std::{
    fmt,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use hermes_core::receipt::RunnerIdentity;
pub use hermes_plan::graph::BoxFuture;

/// The environment variable that every process of a call carries, so that what is left of it can be found and killed.
pub const COOKIE_VARIABLE: &str = "HERMES_CALL_COOKIE";

/// The environment variable that tells a command its idempotency key: the same for each attempt of the same request.
pub const IDEMPOTENCY_VARIABLE: &str = "HERMES_IDEMPOTENCY_KEY";

/// Performs agent calls: a CLI agent, an HTTP model, a subprocess, a Rust function. Used as `Arc<dyn Runner>`.
pub trait Runner: Send + Sync {
    /// Name and version: they go into the receipt, not into the fingerprint.
    fn identity(&self) -> RunnerIdentity;

    /// Performs one turn of `call`: its only one, unless its step has `.repair(n)` and the answer is refused. Dropping the future must end everything that the call started.
    fn run(&self, call: AgentCall, watch: CallWatch) -> BoxFuture<'_, Result<AgentReply, RunnerError>>;
}

/// What an answer has to be.
#[derive(Clone, Debug)]
pub enum Expect {
    /// Plain text.
    Text,
    /// A JSON value of this schema. Conveying it is the runner's job; the executor validates.
    Json(Schema),
}

/// One agent call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentCall {
    /// The run it belongs to.
    pub run: String,
    /// The path of its step.
    pub path: String,
    /// The text to send, unchanged: prompt and inputs as the executor put them together.
    pub text: String,
    /// The inputs by name, as JSON text, in order.
    pub inputs: Vec<(String, Arc<str>)>,
    /// What the answer has to be.
    pub expect: Expect,
    /// Tools it may use, by name.
    pub tools: Vec<String>,
    /// Skills it is given, by name.
    pub skills: Vec<String>,
    /// Files it is given: paths from the root. One may not be there.
    pub files: Vec<PathBuf>,
    /// The model asked for.
    pub model: Option<String>,
    /// The variant asked for.
    pub variant: Option<String>,
    /// Where it works.
    pub isolation: Isolation,
    /// The directory to work in.
    pub workspace: Workspace,
    /// The fingerprint of the request.
    pub fingerprint: Digest,
    /// The same for every dispatch of the same request; another after a cause.
    pub idempotency_key: Digest,
    /// The value of [`COOKIE_VARIABLE`] that every process of this call must carry.
    pub cookie: String,
    /// Which attempt of its generation it is, from 1.
    pub attempt: u32,
    /// The turns of this attempt whose answers were refused, oldest first; none in its first turn. Then this call asks for
    /// another answer: in the same session, the last turn's [`Turn::feedback`] is all there is to send; without a session,
    /// `text`, and for each turn its answer and its feedback.
    pub previous: Vec<Turn>,
    /// The session that the last turn said it was in, to be gone on with.
    pub session: Option<String>,
    /// When it will be cancelled for taking too long.
    pub deadline: Option<Instant>,
    /// How long it may take in all.
    pub timeout: Option<Duration>,
    /// What it may cost at most: of its step's `.budget(..)`, what earlier turns are not known to have spent.
    pub budget: Option<Budget>,
}

impl AgentCall {
    /// Which turn of its attempt it is, from 1.
    pub fn turn(&self) -> usize {
        self.previous.len() + 1
    }
}

/// An answer of an earlier turn, and why it was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// The raw answer.
    pub answer: String,
    /// What is wrong with it.
    pub violations: Vec<String>,
    /// The text to send, unchanged, to have it mended: what is wrong with it, and that all of it is to be given again.
    pub feedback: String,
}

impl Turn {
    pub(crate) fn new(answer: String, violations: Vec<String>) -> Self {
        let feedback = crate::compose::feedback(&violations);
        Self { answer, violations, feedback }
    }
}

/// A call's line to the executor while it runs.
#[derive(Clone, Debug)]
pub struct CallWatch {
    cancelled: CancellationToken,
    log: Arc<watch::Sender<String>>,
}

impl CallWatch {
    /// A watch that `cancelled` ends.
    pub fn new(cancelled: CancellationToken) -> Self {
        Self { cancelled, log: Arc::new(watch::channel(String::new()).0) }
    }

    /// Completes when the call is cancelled.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// Whether the call is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// A live line: for watchers, not for the journal.
    pub fn log(&self, line: impl Into<String>) {
        let line = line.into();
        tracing::debug!(target: "hermes::call", %line);
        self.log.send_replace(line);
    }

    /// Says that the call is alive, where it has nothing to log: a step with `.stall(..)` is ended when nothing is heard of it
    /// for too long.
    pub fn heartbeat(&self) {
        self.log.send_modify(|_| ());
    }

    /// Hears each live line and each heartbeat.
    pub(crate) fn signs(&self) -> watch::Receiver<String> {
        self.log.subscribe()
    }

    /// The last live line.
    pub fn last_line(&self) -> String {
        self.log.borrow().clone()
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Text: the output of a `.text()` call; for others, JSON text that is parsed.
    Text(String),
    /// A JSON value.
    Json(serde_json::Value),
}

/// What came of a call.
#[derive(Clone, Debug)]
pub struct AgentReply {
    /// The answer.
    pub answer: Answer,
    /// The raw output, where it is not the answer itself.
    pub raw: Option<String>,
    /// Tokens, where known.
    pub usage: Option<Usage>,
    /// Money.
    pub cost: Cost,
    /// The model that really answered.
    pub model: Option<String>,
    /// Tools it used, by name.
    pub tools: Vec<String>,
    /// The runner's session.
    pub session: Option<String>,
}

impl AgentReply {
    /// A reply that is nothing but an answer.
    pub fn new(answer: Answer) -> Self {
        Self {
            answer,
            raw: None,
            usage: None,
            cost: Cost::Unknown,
            model: None,
            tools: Vec::new(),
            session: None,
        }
    }

    /// A JSON reply.
    pub fn json(value: serde_json::Value) -> Self {
        Self::new(Answer::Json(value))
    }

    /// A text reply.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Answer::Text(text.into()))
    }
}

/// How a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunnerErrorKind {
    /// It failed while it ran; it may have acted.
    Failed,
    /// It never began: nothing was done.
    NotBegun,
    /// A rate or usage limit.
    RateLimited,
    /// The output ended in the middle.
    CutOff,
    /// It was cancelled.
    Cancelled,
    /// What came back was no answer at all, but not cut off. An answer in the wrong form is a reply all the same: only
    /// replies are sent back for repair.
    InvalidOutput,
    /// The reply is over the limits.
    TooLarge,
}

/// A call that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RunnerError {
    /// How.
    pub kind: RunnerErrorKind,
    /// What exactly.
    pub message: String,
    /// What came out before it failed.
    pub raw: Option<String>,
    /// What it cost all the same, where that is known. Without it, it counts as its whole bound, unless it never began, or a
    /// rate limit turned it away.
    pub cost: Option<Usd>,
    /// Tokens, where known.
    pub usage: Option<Usage>,
    /// After how long calls are taken again, where a rate limit says so (`Retry-After`). With
    /// [`RunnerErrorKind::NotBegun`] it is a limit too, of a call that was not even sent: then `Unsafe` ones wait as well.
    pub retry_after: Option<Duration>,
}

impl RunnerError {
    /// An error of `kind`.
    pub fn new(kind: RunnerErrorKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), raw: None, cost: None, usage: None, retry_after: None }
    }

    /// A rate limit that takes calls again after so long.
    ///
    /// ```
    /// use hermes_executor::RunnerError;
    /// use std::time::Duration;
    ///
    /// let error = RunnerError::rate_limited("429 Too Many Requests").retry_after(Duration::from_secs(20));
    /// ```
    pub fn rate_limited(message: impl fmt::Display) -> Self {
        Self::new(RunnerErrorKind::RateLimited, message)
    }

    /// The same, with what the call cost all the same.
    pub fn costing(mut self, cost: Usd) -> Self {
        self.cost = Some(cost);
        self
    }

    /// The same, where it says after how long calls are taken again. All calls of the runner wait for that.
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// The same, with what came out.
    pub fn with_raw(mut self, raw: impl Into<String>) -> Self {
        self.raw = Some(raw.into());
        self
    }
}
