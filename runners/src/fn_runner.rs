//! `FnRunner`: a Rust closure as a runner. For tests, and for agents that are Rust code.

use hermes_executor::{
    AgentCall, AgentReply, BoxFuture, CallWatch, Runner, RunnerError, RunnerErrorKind, RunnerIdentity,
};
use std::{fmt, sync::Arc};

type Reply = Result<AgentReply, RunnerError>;
type Call = dyn Fn(AgentCall, CallWatch) -> BoxFuture<'static, Reply> + Send + Sync;

/// A runner that answers with a Rust closure. Clones share it.
///
/// If the step has `.repair(n)` and refuses an answer, the closure is called again: `call.previous` has what was refused, and
/// why.
///
/// A cancelled call ends at once, by dropping the closure's future; a closure that wants to end in order is made with
/// [`FnRunner::watching`].
///
/// ```
/// use hermes_executor::AgentReply;
/// use hermes_runners::FnRunner;
///
/// let runner = FnRunner::new(|call| async move { Ok(AgentReply::text(call.text.to_uppercase())) });
/// ```
#[derive(Clone)]
pub struct FnRunner {
    identity: RunnerIdentity,
    run: Arc<Call>,
}

impl FnRunner {
    /// A runner of an async closure.
    pub fn new<F, Running>(run: F) -> Self
    where
        F: Fn(AgentCall) -> Running + Send + Sync + 'static,
        Running: Future<Output = Reply> + Send + 'static,
    {
        let run = Arc::new(run);
        Self::of(move |call, watch| {
            let run = Arc::clone(&run);
            Box::pin(async move {
                let path = call.path.clone();
                // Called in here, so that a panic of the closure is the call's, not the caller's.
                let running = async move { run(call).await };
                tokio::select! {
                    biased;
                    reply = running => reply,
                    () = watch.cancelled() => Err(cancelled(&path)),
                }
            })
        })
    }

    /// A runner of a closure that answers at once. It runs on the async runtime, so it must not wait for anything.
    ///
    /// ```
    /// use hermes_executor::AgentReply;
    /// use hermes_runners::FnRunner;
    ///
    /// let runner = FnRunner::sync(|call| Ok(AgentReply::text(format!("({})", call.path))));
    /// ```
    pub fn sync(run: impl Fn(&AgentCall) -> Reply + Send + Sync + 'static) -> Self {
        let run = Arc::new(run);
        Self::of(move |call, _| {
            let run = Arc::clone(&run);
            Box::pin(async move { run(&call) })
        })
    }

    /// A runner of an async closure that also gets the call's line to the executor. It must end soon after
    /// [`CallWatch::cancelled`] completes; what it still answers then no longer counts.
    pub fn watching<F, Running>(run: F) -> Self
    where
        F: Fn(AgentCall, CallWatch) -> Running + Send + Sync + 'static,
        Running: Future<Output = Reply> + Send + 'static,
    {
        let run = Arc::new(run);
        Self::of(move |call, watch| {
            let run = Arc::clone(&run);
            Box::pin(async move { run(call, watch).await })
        })
    }

    fn of(run: impl Fn(AgentCall, CallWatch) -> BoxFuture<'static, Reply> + Send + Sync + 'static) -> Self {
        let identity = RunnerIdentity { name: "function".to_owned(), version: None };
        Self { identity, run: Arc::new(run) }
    }

    /// The name that receipts show; `function` without it.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.identity.name = name.into();
        self
    }
}

/// What a call that was cancelled ends with.
pub(crate) fn cancelled(path: &str) -> RunnerError {
    RunnerError::new(RunnerErrorKind::Cancelled, format!("the call of `{path}` was cancelled"))
}

impl Runner for FnRunner {
    fn identity(&self) -> RunnerIdentity {
        self.identity.clone()
    }

    fn run(&self, call: AgentCall, watch: CallWatch) -> BoxFuture<'_, Reply> {
        (self.run)(call, watch)
    }
}

impl fmt::Debug for FnRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnRunner").field("name", &self.identity.name).finish_non_exhaustive()
    }
}
