//! The turns of one attempt: an answer is taken if it stands everything; one that does not is written down, and then the
//! runner is told what is wrong with it, as often as the step allows.

use crate::{
    runner::{AgentCall, AgentReply, Answer, CallWatch, Expect, Runner, RunnerError, RunnerErrorKind, Turn},
    walk::{CallEnd, Limit, guarded, panic_message},
};
use hermes_core::{
    budget::{Budget, Spent},
    failure::{Failure, FailureClass},
    ids::Seq,
    journal::Refused,
    receipt::{Cost, Receipt, RunnerIdentity},
    value::Val,
};
use hermes_plan::graph::{Check, ComputeFn, Location};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The most bytes of an answer.
const ANSWER_LIMIT: usize = 64 << 20;
/// The most bytes of a refused answer that another turn may mend: as JSON text in a record it may become six times as long.
const MENDED_LIMIT: usize = 8 << 20;
/// The most characters of what is said to be wrong with an answer, once: an error may quote all of it.
const SAID: usize = 4096;
/// The most characters of a refused answer that its failure shows.
const SHOWN: usize = 64 << 10;

/// What a refused answer is handed to: it says when the answer is durable, and as which record. Nothing comes when it
/// cannot become durable.
pub(super) type Keep = Box<dyn Fn(Refused) -> oneshot::Receiver<Seq> + Send + Sync>;

/// One dispatch of an agent call.
pub(super) struct Attempt {
    pub(super) runner: Arc<dyn Runner>,
    pub(super) call: AgentCall,
    pub(super) cancel: CancellationToken,
    /// How long nothing may be heard of it.
    pub(super) stall: Option<Duration>,
    pub(super) standard: Standard,
    /// How many turns may follow the first.
    pub(super) repair: u32,
    pub(super) keep: Keep,
}

/// What an answer has to stand.
pub(super) struct Standard {
    pub(super) decode: ComputeFn,
    pub(super) checks: Vec<Check>,
    /// Where the step was written.
    pub(super) place: Location,
}

/// What an answer is worth.
enum Worth {
    Good(Val),
    /// It is not what was asked for: what is wrong, and the check that says so first.
    Refused(Vec<String>, Option<Location>),
    /// Another answer would be no better.
    Failed(Failure),
}

impl Attempt {
    pub(super) async fn turns(self, watch: CallWatch) -> CallEnd {
        let Self { runner, mut call, cancel, standard, repair, keep, .. } = self;
        let identity = match catch_unwind(AssertUnwindSafe(|| runner.identity())) {
            Ok(identity) => identity,
            Err(panic) => {
                let message = format!("the runner's `identity` panicked: {}", panic_message(&*panic));
                let failure = Failure::new(FailureClass::Panicked, message);
                return CallEnd::Failed { failure, may_have_acted: false };
            }
        };
        let bound = call.budget;
        let mut before: Option<Receipt> = None;
        let mut refused = Vec::new();
        let mut turn = 0_u32;
        loop {
            turn = turn.saturating_add(1);
            // Only a call that may have another turn is needed afterwards.
            let next = (turn <= repair).then(|| call.clone());
            let expect = call.expect.clone();
            watch.heartbeat();
            let reply = match runner.run(call, watch.clone()).await {
                Ok(reply) => reply,
                Err(error) => return runner_failed(error, turn > 1, before, &identity),
            };
            let (answer, raw, receipt) = parts(reply, &identity);
            let worth = standard.worth(answer, &expect);
            let raw_answer = |raw: &Option<String>| raw.clone().unwrap_or_default();
            let mut total = receipt.clone();
            if let Some(before) = before.take() {
                total = total.after(before);
            }
            match worth {
                Worth::Good(value) => {
                    total.refused = refused;
                    return CallEnd::Done(value, Some(total));
                }
                Worth::Failed(failure) => {
                    total.refused = refused;
                    let failure = shown(failure, &raw_answer(&raw));
                    return CallEnd::Refused { failure, receipt: total };
                }
                Worth::Refused(violations, check) => {
                    let raw = raw_answer(&raw);
                    let too_long = raw.len() > MENDED_LIMIT;
                    let used_up = bound.filter(|bound| left(bound, &total).is_none());
                    let goes_on = !too_long && used_up.is_none() && !cancel.is_cancelled();
                    let Some(next) = next.filter(|_| goes_on) else {
                        total.refused = refused;
                        let mut failure = invalid(&violations, check, turn, too_long);
                        if let Some(bound) = used_up.filter(|_| turn <= repair) {
                            let why = format!(" (its budget of {bound} for one call is used up)");
                            failure.message.push_str(&why);
                        }
                        return CallEnd::Refused { failure: shown(failure, &raw), receipt: total };
                    };
                    let session = receipt.session.clone();
                    let attempt = next.attempt;
                    let record = Refused {
                        attempt,
                        turn,
                        raw: raw.clone(),
                        violations: violations.clone(),
                        receipt: Receipt { raw: None, ..receipt },
                    };
                    let Ok(seq) = keep(record).await else {
                        // The run is not driven any longer: nobody takes this in, and nothing more is paid for.
                        let failure = Failure::new(FailureClass::Cancelled, "the answer could not be kept");
                        return CallEnd::Failed { failure, may_have_acted: true };
                    };
                    if cancel.is_cancelled() {
                        let failure = Failure::new(FailureClass::Cancelled, "");
                        return CallEnd::Failed { failure, may_have_acted: true };
                    }
                    refused.push(seq);
                    call = next;
                    call.budget = bound.and_then(|bound| left(&bound, &total));
                    before = Some(total);
                    call.workspace = call.workspace.kept();
                    call.session = session.or(call.session);
                    call.previous.push(Turn::new(raw, violations));
                }
            }
        }
    }
}

/// A reply's answer, its raw text, and what the journal keeps of the rest.
fn parts(reply: AgentReply, identity: &RunnerIdentity) -> (Answer, Option<String>, Receipt) {
    let raw = reply.raw.clone().or_else(|| match &reply.answer {
        Answer::Text(text) => Some(text.clone()),
        Answer::Json(json) => Some(json.to_string()),
    });
    let receipt = Receipt {
        runner: Some(identity.clone()),
        model: reply.model,
        usage: reply.usage,
        // What is no amount is not known, and could not be written down either.
        cost: Some(reply.cost).filter(|cost| cost.usd().is_some()),
        tools: reply.tools,
        session: reply.session,
        raw: reply.raw,
        refused: Vec::new(),
    };
    (reply.answer, raw, receipt)
}

fn shown(failure: Failure, raw: &str) -> Failure {
    failure.with_raw(raw.chars().take(SHOWN).collect::<String>())
}

fn short(why: String) -> String {
    match why.char_indices().nth(SAID) {
        Some((cut, _)) => format!("{} …", &why[..cut]),
        None => why,
    }
}

/// What is left of a call's bound once it has spent this, as far as that is known; `None` if nothing is.
fn left(bound: &Budget, spent: &Receipt) -> Option<Budget> {
    let spent = Spent::known(spent);
    let left = bound.limits().map(|(unit, limit)| (unit, limit.saturating_sub(spent.amount(unit))));
    let left = left.fold(Budget::default(), |left, (unit, amount)| left.and(Budget::of(unit, amount)));
    Some(left).filter(|left| !left.leaves_nothing())
}

/// The failure of a call whose last answer was refused.
fn invalid(violations: &[String], check: Option<Location>, turn: u32, too_long: bool) -> Failure {
    let mut message = violations.join("; ");
    if turn > 1 {
        message = format!("{message} (in the last of {turn} turns)");
    }
    if too_long {
        message =
            format!("{message} (an answer of more than {MENDED_LIMIT} bytes is not sent back for repair)");
    }
    let failure = Failure::new(FailureClass::InvalidOutput, message);
    match check {
        Some(at) => failure.located(at),
        None => failure,
    }
}

/// The failure of a call that gave no answer. In a later turn it has begun, whatever the runner says of that turn.
fn runner_failed(
    error: RunnerError,
    begun: bool,
    before: Option<Receipt>,
    identity: &RunnerIdentity,
) -> CallEnd {
    let may_have_acted = begun || error.kind != RunnerErrorKind::NotBegun;
    let class = match error.kind {
        RunnerErrorKind::Failed => FailureClass::RunnerError,
        RunnerErrorKind::NotBegun if begun => FailureClass::RunnerError,
        RunnerErrorKind::NotBegun => FailureClass::NotBegun,
        RunnerErrorKind::RateLimited => FailureClass::RateLimited,
        RunnerErrorKind::CutOff => FailureClass::CutOff,
        RunnerErrorKind::Cancelled => FailureClass::Cancelled,
        RunnerErrorKind::InvalidOutput => FailureClass::InvalidOutput,
        RunnerErrorKind::TooLarge => FailureClass::TooLarge,
    };
    let mut failure = Failure::new(class, error.message);
    failure.raw = error.raw;
    let limited = error.kind == RunnerErrorKind::RateLimited
        || error.kind == RunnerErrorKind::NotBegun && error.retry_after.is_some();
    if limited {
        failure.class = FailureClass::RateLimited;
        return CallEnd::Limited { failure, may_have_acted, limit: Limit::Said(error.retry_after) };
    }
    if let Some(cost) = error.cost {
        let mut receipt = Receipt {
            runner: Some(identity.clone()),
            usage: error.usage,
            cost: Some(Cost::Known { usd: cost.dollars() }),
            ..Receipt::default()
        };
        if let Some(before) = before {
            receipt = receipt.after(before);
        }
        return CallEnd::Refused { failure, receipt };
    }
    CallEnd::Failed { failure, may_have_acted }
}

impl Standard {
    /// A value of what was asked for, where there is one answer and no other turn.
    pub(super) fn accept(&self, answer: Answer, expect: &Expect) -> Result<Val, Failure> {
        let raw = match &answer {
            Answer::Text(text) => text.clone(),
            Answer::Json(json) => json.to_string(),
        };
        match self.worth(answer, expect) {
            Worth::Good(value) => Ok(value),
            Worth::Refused(violations, check) => Err(shown(invalid(&violations, check, 1, false), &raw)),
            Worth::Failed(failure) => Err(failure),
        }
    }

    /// Structured output fails closed: the form asked for, the schema, the author's type and the author's checks.
    fn worth(&self, answer: Answer, expect: &Expect) -> Worth {
        let refused = |why: String| Worth::Refused(vec![why], None);
        let value = match (expect, answer) {
            (Expect::Text, Answer::Text(text)) => Val::from_json(serde_json::Value::String(text)),
            (Expect::Text, Answer::Json(json @ serde_json::Value::String(_))) => Val::from_json(json),
            (Expect::Text, Answer::Json(_)) => {
                return refused("text was asked for, and the answer is JSON of another kind".to_owned());
            }
            (Expect::Json(schema), answer) => {
                let json = match answer {
                    Answer::Json(json) => json,
                    Answer::Text(text) => match serde_json::from_str(&text) {
                        Ok(json) => json,
                        Err(error) => return refused(format!("the answer is not JSON: {error}")),
                    },
                };
                if let Err(violations) = schema.validate(&json) {
                    let shown = violations.iter().take(5).map(ToString::to_string).collect();
                    return Worth::Refused(shown, None);
                }
                Val::from_json(json)
            }
        };
        let size = value.text().map_or(0, |text| text.len());
        if size > ANSWER_LIMIT {
            let message = format!("the answer has {size} bytes, and {ANSWER_LIMIT} is the most");
            return Worth::Failed(Failure::new(FailureClass::TooLarge, message));
        }
        match guarded(self.place, || (self.decode)(std::slice::from_ref(&value))) {
            Ok(_) => {}
            Err(failure) if failure.class == FailureClass::Panicked => return Worth::Failed(failure),
            Err(failure) => return refused(short(failure.message)),
        }
        let mut wrong = Vec::new();
        let mut first = None;
        for check in &self.checks {
            match guarded(check.at, || (check.test)(&value)) {
                Ok(None) => {}
                Ok(Some(why)) => {
                    first = first.or(Some(check.at));
                    wrong.push(short(why));
                }
                Err(failure) => return Worth::Failed(failure.located(check.at)),
            }
        }
        if wrong.is_empty() { Worth::Good(value) } else { Worth::Refused(wrong, first) }
    }
}
