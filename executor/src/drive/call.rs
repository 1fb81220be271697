//! One call from beginning to end, away from the walk: time limits, cancellation, panics.

use super::turns::Attempt;
use crate::walk::{CallEnd, panic_message};
use hermes_core::failure::{Failure, FailureClass};
use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// How long a cancelled call may take to end by itself before it is dropped.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// A future whose panics become values.
struct Guarded<F>(Pin<Box<F>>);

impl<F: Future> Future for Guarded<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(panic_message(&*panic))),
        }
    }
}

/// Why a bounded future gave no value.
pub(super) enum Cut {
    Panicked(String),
    TimedOut(Duration),
    Cancelled,
}

/// Runs `future` to its end, but no longer than `timeout`, and no longer than `grace` after `cancel`: in that time what it
/// says no longer counts, but its processes can end in order.
pub(super) async fn bounded<T>(
    future: impl Future<Output = T>,
    timeout: Option<Duration>,
    cancel: &CancellationToken,
    grace: Duration,
) -> Result<T, Cut> {
    let mut future = Guarded(Box::pin(future));
    let limit = async {
        match timeout {
            Some(limit) => {
                tokio::time::sleep(limit).await;
                limit
            }
            None => std::future::pending().await,
        }
    };
    let cut = tokio::select! {
        biased;
        done = &mut future => return done.map_err(Cut::Panicked),
        limit = limit => {
            cancel.cancel();
            Cut::TimedOut(limit)
        }
        () = cancel.cancelled() => Cut::Cancelled,
    };
    let ended = tokio::time::timeout(grace, &mut future).await;
    match (cut, ended) {
        (Cut::Cancelled, Ok(Err(panic))) => Err(Cut::Panicked(panic)),
        (cut, _) => Err(cut),
    }
}

impl Cut {
    pub(super) fn failure(self) -> Failure {
        match self {
            Self::Panicked(message) => Failure::new(FailureClass::Panicked, message),
            Self::TimedOut(limit) => Failure::new(FailureClass::TimedOut, format!("after {limit:?}")),
            Self::Cancelled => Failure::new(FailureClass::Cancelled, ""),
        }
    }
}

/// Performs an agent call, with all its turns, and says how it ended.
pub(super) async fn agent(attempt: Attempt) -> CallEnd {
    let timeout = attempt.call.timeout;
    let cancel = attempt.cancel.clone();
    let workspace = attempt.call.workspace.clone();
    let end = bounded(attempt.turns(), timeout, &cancel, GRACE).await;
    workspace.tidy();
    end.unwrap_or_else(|cut| {
        let mut failure = cut.failure();
        if failure.class == FailureClass::Panicked {
            failure.message = format!("the runner panicked: {}", failure.message);
        }
        CallEnd::Failed { failure, may_have_acted: true }
    })
}

/// What a panic that ended a thread said.
pub(super) fn joined(error: tokio::task::JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => panic_message(&*panic),
        Err(error) => error.to_string(),
    }
}
