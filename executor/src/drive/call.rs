//! One call from beginning to end, away from the walk: time limits, cancellation, panics, and what an answer is worth.

use crate::{
    runner::{AgentReply, Answer, CallWatch, Expect, Runner, RunnerError, RunnerErrorKind},
    walk::{CallEnd, guarded, panic_message},
};
use hermes_core::{
    failure::{Failure, FailureClass},
    receipt::{Receipt, RunnerIdentity},
    value::Val,
};
use hermes_plan::graph::{ComputeFn, Location};
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
/// The most bytes of an answer.
const ANSWER_LIMIT: usize = 64 << 20;

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

/// Performs an agent call and says how it ended.
pub(super) async fn agent(
    runner: &dyn Runner,
    call: crate::runner::AgentCall,
    cancel: CancellationToken,
    check: ComputeFn,
    place: Location,
) -> CallEnd {
    let timeout = call.timeout;
    let expect = call.expect.clone();
    let workspace = call.workspace.clone();
    let watch = CallWatch::new(cancel.clone());
    let identity = match catch_unwind(AssertUnwindSafe(|| runner.identity())) {
        Ok(identity) => identity,
        Err(panic) => {
            let message = format!("the runner's `identity` panicked: {}", panic_message(&*panic));
            return failed(Failure::new(FailureClass::Panicked, message), false);
        }
    };
    let reply = bounded(async { runner.run(call, watch).await }, timeout, &cancel, GRACE).await;
    workspace.tidy();
    match reply {
        Ok(Ok(reply)) => accept(reply, &expect, identity, &check, place),
        Ok(Err(error)) => runner_failed(error),
        Err(cut) => {
            let mut failure = cut.failure();
            if failure.class == FailureClass::Panicked {
                failure.message = format!("the runner panicked: {}", failure.message);
            }
            failed(failure, true)
        }
    }
}

fn failed(failure: Failure, may_have_acted: bool) -> CallEnd {
    CallEnd::Failed { failure, may_have_acted }
}

fn runner_failed(error: RunnerError) -> CallEnd {
    let class = match error.kind {
        RunnerErrorKind::Failed => FailureClass::RunnerError,
        RunnerErrorKind::NotBegun => FailureClass::NotBegun,
        RunnerErrorKind::RateLimited => FailureClass::RateLimited,
        RunnerErrorKind::CutOff => FailureClass::CutOff,
        RunnerErrorKind::Cancelled => FailureClass::Cancelled,
        RunnerErrorKind::InvalidOutput => FailureClass::InvalidOutput,
        RunnerErrorKind::TooLarge => FailureClass::TooLarge,
    };
    let mut failure = Failure::new(class, error.message);
    failure.raw = error.raw;
    failed(failure, error.kind != RunnerErrorKind::NotBegun)
}

/// Structured output fails closed: the form asked for, the schema, and the author's type.
fn accept(
    reply: AgentReply,
    expect: &Expect,
    identity: RunnerIdentity,
    check: &ComputeFn,
    place: Location,
) -> CallEnd {
    let value = match answered(reply.answer, expect, check, place) {
        Ok(value) => value,
        Err(failure) => return failed(failure, true),
    };
    let receipt = Receipt {
        runner: Some(identity),
        model: reply.model,
        usage: reply.usage,
        cost: Some(reply.cost).filter(|cost| *cost != hermes_core::receipt::Cost::Unknown),
        tools: reply.tools,
        session: reply.session,
        raw: reply.raw,
    };
    CallEnd::Done(value, Some(receipt))
}

/// An answer as a value of the form, the schema and the author's type that were asked for.
pub(super) fn answered(
    answer: Answer,
    expect: &Expect,
    check: &ComputeFn,
    place: Location,
) -> Result<Val, Failure> {
    let invalid = |message: String, raw: &str| {
        let raw: String = raw.chars().take(64 << 10).collect();
        Err(Failure::new(FailureClass::InvalidOutput, message).with_raw(raw))
    };
    let value = match (expect, answer) {
        (Expect::Text, Answer::Text(text)) => Val::from_json(serde_json::Value::String(text)),
        (Expect::Text, Answer::Json(json @ serde_json::Value::String(_))) => Val::from_json(json),
        (Expect::Text, Answer::Json(json)) => {
            return invalid(
                "text was asked for, and the answer is JSON of another kind".to_owned(),
                &json.to_string(),
            );
        }
        (Expect::Json(schema), answer) => {
            let json = match answer {
                Answer::Json(json) => json,
                Answer::Text(text) => match serde_json::from_str(&text) {
                    Ok(json) => json,
                    Err(error) => return invalid(format!("the answer is not JSON: {error}"), &text),
                },
            };
            if let Err(violations) = schema.validate(&json) {
                let shown: Vec<_> = violations.iter().take(5).map(ToString::to_string).collect();
                return invalid(shown.join("; "), &json.to_string());
            }
            Val::from_json(json)
        }
    };
    let size = value.text().map_or(0, |text| text.len());
    if size > ANSWER_LIMIT {
        let message = format!("the answer has {size} bytes, and {ANSWER_LIMIT} is the most");
        return Err(Failure::new(FailureClass::TooLarge, message));
    }
    if let Err(failure) = guarded(place, || check(std::slice::from_ref(&value))) {
        let raw = value.text().map(|text| text.to_string()).unwrap_or_default();
        return invalid(failure.message, &raw);
    }
    Ok(value)
}

/// What a panic that ended a thread said.
pub(super) fn joined(error: tokio::task::JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => panic_message(&*panic),
        Err(error) => error.to_string(),
    }
}
