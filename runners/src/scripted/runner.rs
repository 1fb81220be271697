//! `Scripted` itself: the builder, the runner, and what can be asked of it afterwards.

use super::{
    answer::{Answerer, IntoAnswer, Reply},
    gate::Gate,
    log::Log,
    script::Script,
};
use crate::fn_runner::cancelled;
use hermes_core::path::StepPath;
use hermes_executor::{
    AgentCall, AgentReply, BoxFuture, CallWatch, Runner, RunnerError, RunnerErrorKind, RunnerIdentity,
};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A runner that answers from a table, by path. Clones share the table, the gates and the counts: give one to the
/// executor and keep another.
///
/// A pattern is a path in which `[*]` stands for any item or round. Of several that match, the exact path wins, then the
/// one given last. Calls are counted for each path by itself, so a sequence or a failure under a pattern applies to every
/// item alike.
///
/// ```
/// use hermes_executor::{AgentCall, AgentReply, RunnerError, RunnerErrorKind};
/// use hermes_runners::Scripted;
/// use serde_json::json;
///
/// let script = Scripted::new()
///     .on("outline", json!(["intro", "end"]))
///     .on("draft[*]/write", |call: &AgentCall| Ok(AgentReply::text(format!("<{}>", call.path))))
///     .text("title", "first")
///     .then(json!("second, and every later one"))
///     .fail_once("draft[end]/write", RunnerError::new(RunnerErrorKind::RateLimited, "come back later"));
/// assert_eq!(script.count("draft[*]/write"), 0);
/// ```
#[derive(Clone, Default)]
pub struct Scripted {
    script: Arc<Mutex<Script>>,
    log: Log,
}

impl Scripted {
    /// A script that knows no path yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers calls of `path` with a JSON value, an [`AgentReply`] or a closure of `&AgentCall`.
    ///
    /// # Panics
    /// At the caller's line, when `path` is not a path; like every method here that takes one.
    #[track_caller]
    pub fn on(self, path: &str, answer: impl IntoAnswer) -> Self {
        let pattern = pattern(path);
        self.script().on(pattern, answer.into_answer());
        self
    }

    /// Answers calls of `path` with text.
    #[track_caller]
    pub fn text(self, path: &str, text: impl Into<String>) -> Self {
        self.on(path, AgentReply::text(text))
    }

    /// The answer to the next call of the path before it, which may be the next turn of one attempt; the last of a sequence is also the answer to all later calls.
    ///
    /// # Panics
    /// When there is no path before it.
    #[track_caller]
    pub fn then(self, answer: impl IntoAnswer) -> Self {
        let follows = self.script().then(answer.into_answer());
        assert!(
            follows,
            "`.then(..)` goes on with the path of an `.on(..)` or `.text(..)` before it, and there is none"
        );
        self
    }

    /// The first `times` calls of `path` fail with `error`; then come its answers.
    #[track_caller]
    pub fn fail(self, path: &str, times: usize, error: RunnerError) -> Self {
        let pattern = pattern(path);
        self.script().fail(pattern, times, error);
        self
    }

    /// The first call of `path` fails with `error`; then come its answers.
    #[track_caller]
    pub fn fail_once(self, path: &str, error: RunnerError) -> Self {
        self.fail(path, 1, error)
    }

    /// Answers every call whose path the script does not know.
    pub fn otherwise(self, answer: impl Fn(&AgentCall) -> Reply + Send + Sync + 'static) -> Self {
        let answer: Answerer = Arc::new(answer);
        self.script().otherwise(answer);
        self
    }

    /// Holds the calls of `path` until the gate lets them through. A call held is a call under way.
    #[track_caller]
    pub fn gate(&self, path: &str) -> Gate {
        let pattern = pattern(path);
        self.script().gate(pattern)
    }

    /// The paths that were called, in the order the calls began.
    pub fn calls(&self) -> Vec<String> {
        self.log.paths()
    }

    /// The calls themselves, in the order they began: what was sent, and with which options.
    pub fn seen(&self) -> Vec<AgentCall> {
        self.log.calls()
    }

    /// How many calls of `path` (or of a pattern) have begun.
    #[track_caller]
    pub fn count(&self, path: &str) -> usize {
        self.log.count(&pattern(path))
    }

    /// How many calls are under way now.
    pub fn running(&self) -> usize {
        self.log.running()
    }

    /// The most calls that were ever under way at once.
    pub fn most_at_once(&self) -> usize {
        self.log.most()
    }
}

#[track_caller]
fn pattern(path: &str) -> StepPath {
    match path.parse() {
        Ok(pattern) => pattern,
        Err(error) => panic!("{error}"),
    }
}

impl Runner for Scripted {
    fn identity(&self) -> RunnerIdentity {
        RunnerIdentity { name: "scripted".to_owned(), version: None }
    }

    fn run(&self, call: AgentCall, watch: CallWatch) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let (number, _running) = self.log.begin(&call);
            let path: StepPath = call
                .path
                .parse()
                .map_err(|error| RunnerError::new(RunnerErrorKind::NotBegun, format!("{error}")))?;
            let gates = self.script().gates(&path);
            for gate in gates {
                tokio::select! {
                    biased;
                    () = watch.cancelled() => return Err(cancelled(&call.path)),
                    () = gate.pass() => {}
                }
            }
            let answer = self.script().answer(&path, number)?;
            // Outside of any lock: the closure is the author's.
            answer(&call)
        })
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("calls", &self.calls()).finish_non_exhaustive()
    }
}
