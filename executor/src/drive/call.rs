//! One call from beginning to end, away from the walk: time limits, cancellation, panics.

use super::turns::Attempt;
use crate::{
    runner::CallWatch,
    walk::{CallEnd, panic_message},
};
use hermes_core::failure::{Failure, FailureClass};
use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::sync::watch;
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
    Stalled(Duration),
    Cancelled,
}

/// How long a call may take.
pub(super) struct Bounds {
    pub(super) timeout: Option<Duration>,
    /// How long nothing may be heard of it, and where it would be heard.
    pub(super) stall: Option<(Duration, watch::Receiver<String>)>,
    /// How long it may take to end once it is told to.
    pub(super) grace: Duration,
}

impl Bounds {
    pub(super) fn timeout(timeout: Option<Duration>) -> Self {
        Self { timeout, stall: None, grace: Duration::ZERO }
    }
}

/// Completes when nothing was heard for as long as is allowed.
async fn silence(stall: Option<(Duration, watch::Receiver<String>)>) -> Duration {
    let Some((longest, mut signs)) = stall else { return std::future::pending().await };
    // A closed line is silent, too.
    while let Ok(Ok(())) = tokio::time::timeout(longest, signs.changed()).await {}
    longest
}

/// Runs `future` to its end, but no longer than its bounds allow, and no longer than their grace after `cancel`: in that time
/// its processes can end in order, and what it says is only handed out beside the reason.
pub(super) async fn bounded<T>(
    future: impl Future<Output = T>,
    bounds: Bounds,
    cancel: &CancellationToken,
) -> Result<T, (Cut, Option<T>)> {
    let Bounds { timeout, stall, grace } = bounds;
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
        done = &mut future => return done.map_err(|panic| (Cut::Panicked(panic), None)),
        limit = limit => {
            cancel.cancel();
            Cut::TimedOut(limit)
        }
        longest = silence(stall) => {
            cancel.cancel();
            Cut::Stalled(longest)
        }
        () = cancel.cancelled() => Cut::Cancelled,
    };
    let ended = tokio::time::timeout(grace, &mut future).await;
    match (cut, ended) {
        (Cut::Cancelled, Ok(Err(panic))) => Err((Cut::Panicked(panic), None)),
        (cut, ended) => Err((cut, ended.ok().and_then(Result::ok))),
    }
}

impl Cut {
    pub(super) fn failure(self) -> Failure {
        match self {
            Self::Panicked(message) => Failure::new(FailureClass::Panicked, message),
            Self::TimedOut(limit) => Failure::new(FailureClass::TimedOut, format!("after {limit:?}")),
            Self::Stalled(longest) => {
                Failure::new(FailureClass::Stalled, format!("nothing was heard for {longest:?}"))
            }
            Self::Cancelled => Failure::new(FailureClass::Cancelled, ""),
        }
    }
}

/// Performs an agent call, with all its turns, and says how it ended.
pub(super) async fn agent(attempt: Attempt) -> CallEnd {
    let cancel = attempt.cancel.clone();
    let watch = CallWatch::new(cancel.clone());
    let stall = attempt.stall.map(|longest| (longest, watch.signs()));
    let bounds = Bounds { timeout: attempt.call.timeout, stall, grace: GRACE };
    let workspace = attempt.call.workspace.clone();
    let end = bounded(attempt.turns(watch), bounds, &cancel).await;
    workspace.tidy();
    end.unwrap_or_else(|(cut, late)| {
        let mut failure = cut.failure();
        if failure.class == FailureClass::Panicked {
            failure.message = format!("the runner panicked: {}", failure.message);
        }
        match late {
            Some(CallEnd::Done(value, receipt)) => CallEnd::Late { failure, value, receipt },
            _ => CallEnd::Failed { failure, may_have_acted: true },
        }
    })
}

/// What a panic that ended a thread said.
pub(super) fn joined(error: tokio::task::JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => panic_message(&*panic),
        Err(error) => error.to_string(),
    }
}
