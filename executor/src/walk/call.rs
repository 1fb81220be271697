//! A call from ready to settled: dispatched, ended, recorded.

use super::{
    adopt::TakenOver,
    command::Invocation,
    emit::{Outcome, Then},
    failing::{Limit, RunnerName, Tried},
    frame::{At, Fault, Slot},
    request::raw,
    state::Walk,
    wording,
};
use hermes_core::{
    digest::Digest,
    effect::Effect,
    failure::Failure,
    fingerprint::{fingerprint, idempotency_key},
    fold::{Cell, CellStatus},
    journal::{Event, Failed, Memoised, Refused, Started, Succeeded},
    receipt::Receipt,
    request::Request,
    timestamp::Timestamp,
    value::Val,
};
use hermes_plan::graph::Kind;
use std::sync::Arc;

/// A call from the moment it is dispatched until its outcome is durable.
pub(crate) struct CallState {
    /// The request, until it is written with the outcome (local steps).
    pub(crate) request: Option<Request>,
    /// What the request does not hold in clear, or not as it is sent, until it is sent.
    pub(crate) sent: Sent,
    /// The model asked for (agents).
    pub(crate) model: Option<String>,
    pub(crate) fingerprint: Digest,
    pub(crate) generation: u32,
    pub(crate) caused: bool,
    pub(crate) effect: Effect,
    /// Set until its outcome is handed in: only then can it be cancelled.
    pub(crate) under_way: bool,
    pub(crate) inputs: Vec<Val>,
    pub(crate) key: Digest,
    pub(crate) cookie: String,
    pub(crate) attempt: u32,
    /// What came of the attempts before.
    pub(super) tried: Tried,
}

impl CallState {
    pub(super) fn cancellable(&self) -> bool {
        self.under_way && self.effect != Effect::Unsafe
    }
}

/// What is sent for a call beside its inputs.
#[derive(Default)]
pub(crate) enum Sent {
    #[default]
    Nothing,
    /// The rendered prompt.
    Prompt(String),
    Command(Box<Invocation>),
}

/// How a call ended.
pub(crate) enum CallEnd {
    Done(Val, Option<Receipt>),
    Failed {
        failure: Failure,
        may_have_acted: bool,
    },
    /// It has failed, and what it cost is known: its last answer was refused, and there is no other turn; or its runner says
    /// so of an error.
    Refused {
        failure: Failure,
        receipt: Receipt,
    },
    /// Files were taken: what is said of them, and their contents.
    Taken(Val, Vec<Vec<u8>>),
    /// A rate limit turned it away.
    Limited {
        failure: Failure,
        may_have_acted: bool,
        limit: Limit,
        receipt: Option<Receipt>,
    },
    /// It was given up, and what it said afterwards does not count any more.
    Late {
        failure: Failure,
        value: Val,
        receipt: Option<Receipt>,
    },
}

impl Walk {
    /// The next call that has its place, if there is one, of those whose runner `admits` it. It must then be dispatched: what
    /// has to be durable first is asked for, and the call itself may begin when [`Walk::durable`] or this says so.
    pub(crate) fn next_call(&mut self, admits: &mut dyn FnMut(&RunnerName) -> bool) -> Option<At> {
        while let Some(at) = self.next_admitted(admits) {
            if self.stopped(at.frame) {
                self.call_dropped(at);
                self.drop_stopped(at);
                continue;
            }
            if self.dispatch(at) {
                return Some(at);
            }
        }
        None
    }

    /// Whether a call waits to be dispatched.
    pub(crate) fn wants_dispatch(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Makes the call's request. False when nothing is to be called now: it has no room in a budget; or another run's outcome is
    /// taken over; or the request cannot
    /// be made, because its prompt cannot: the step has failed, and that is recorded like any other failure of a call, so that a
    /// retry is about it too.
    fn dispatch(&mut self, at: At) -> bool {
        let (values, caused) = self.inputs(at);
        let address = self.address(at);
        let title = || match &self.node(at.node).kind {
            Kind::Agent(agent) => wording::title(agent, &values),
            _ => Ok(None),
        };
        let made = self.call_request(at, &values).and_then(|made| Ok((made, title()?)));
        // No request has the fingerprint zero: the failure to make one is never taken for the answer to another.
        let print = made.as_ref().map_or(Digest::ZERO, |((request, _), _)| fingerprint(request));
        let cell = self.state.cell(address);
        let versioned = self.changes.again(address);
        let caused = caused || versioned || cell.is_some_and(|cell| self.state.below_own_cause(cell));
        // A step that finished and runs again below somebody else's cause is a new generation too.
        let generation = cell.map_or(0, |cell| {
            let again = cell.rerun || versioned || cell.finished() && cell.status != CellStatus::Failed;
            cell.generation + u32::from(again)
        });
        let began = cell.is_some_and(|cell| cell.status == CellStatus::Started);
        let tried = self.tried(at, cell, &print, generation);
        let attempt = tried.attempts + 1;
        let announced = self.announced(at);
        let effect = self.effect_of(at);
        let path = if announced { self.path(at).to_string() } else { String::new() };
        // An attempt that goes on keeps its key, whatever its path is called today.
        let open = |cell: &&Cell| {
            let same = cell.generation == generation && cell.fingerprint == print;
            let status = cell.status;
            same && matches!(status, CellStatus::Started | CellStatus::Interrupted | CellStatus::Delayed)
        };
        let goes_on = cell.filter(|cell| announced && open(cell)).cloned();
        let known = goes_on.and_then(|cell| self.started(&cell).ok().flatten()).map(|started| started.key);
        let key = known.unwrap_or_else(|| {
            if announced { idempotency_key(&self.run, &path, &print, generation) } else { Digest::ZERO }
        });
        let cookie = || format!("{}-{attempt}-{:016x}", key.short(), self.settings.nonce);
        let cookie = if announced { cookie() } else { String::new() };
        let model = match &made {
            Ok(((Request::Agent(agent), _), _)) => agent.model.clone(),
            _ => None,
        };
        let earlier = made.as_ref().ok().and_then(|_| self.earlier(at, &print, cell));
        // What is taken over costs nothing, and neither does what cannot be asked for.
        if made.is_ok() && earlier.is_none() && !self.reserve(at) {
            return false;
        }
        let mut state = CallState {
            request: None,
            sent: Sent::default(),
            model,
            fingerprint: print,
            generation,
            caused,
            effect,
            under_way: true,
            inputs: values,
            key,
            cookie: cookie.clone(),
            attempt,
            tried,
        };
        *self.slot_mut(at) = Slot::Running;
        let (request, title) = match made {
            Ok(((request, _), _)) if let Some(earlier) = earlier => {
                self.calls.insert(at, CallState { under_way: false, ..state });
                self.take_over_call(TakenOver { at, generation, print, request }, earlier, caused);
                return false;
            }
            Ok(((request, sent), title)) => {
                state.sent = sent;
                (request, title)
            }
            Err(failure) => {
                self.calls.insert(at, state);
                self.finished(at, CallEnd::Failed { failure, may_have_acted: began });
                return false;
            }
        };
        if announced {
            let (runner, is_agent) = match &self.node(at.node).kind {
                Kind::Agent(agent) => (agent.runner.clone(), true),
                _ => (None, false),
            };
            self.counts.calls += u64::from(is_agent);
            let bound = self.reserved_bound(at);
            let event =
                Event::Started(Started { request, effect, key, cookie, attempt, runner, title, bound });
            self.emit(address, generation, print, Digest::ZERO, &event, Then::Call(at));
        } else {
            state.request = Some(request);
        }
        self.calls.insert(at, state);
        true
    }

    /// Whether a dispatched call still waits for its record.
    pub(crate) fn waits_for_record(&self, at: At) -> bool {
        self.announced(at)
    }

    /// A call's state while it is under way.
    pub(crate) fn call_mut(&mut self, at: At) -> Option<&mut CallState> {
        self.calls.get_mut(&at)
    }

    /// Calls that are under way: their outcome has not been handed in.
    pub(crate) fn calls_under_way(&self) -> impl Iterator<Item = At> {
        self.calls.iter().filter(|(_, call)| call.under_way).map(|(at, _)| *at)
    }

    /// Takes in how a call ended, and asks for the record. Its place is free at once; only what depends on it waits
    /// for the record to be durable.
    pub(crate) fn finished(&mut self, at: At, end: CallEnd) {
        self.settle_budgets(at, &end);
        let address = self.address(at);
        let path = match &end {
            CallEnd::Failed { failure, .. }
            | CallEnd::Refused { failure, .. }
            | CallEnd::Limited { failure, .. }
            | CallEnd::Late { failure, .. }
                if failure.path.is_empty() =>
            {
                self.path(at).to_string()
            }
            _ => String::new(),
        };
        let Some(call) = self.calls.get_mut(&at) else { return };
        call.under_way = false;
        call.inputs = Vec::new();
        let request = call.request.take();
        let (generation, print, caused) = (call.generation, call.fingerprint, call.caused);
        let (value, receipt, blobs) = match end {
            CallEnd::Done(value, receipt) => (value, receipt, Vec::new()),
            CallEnd::Taken(value, blobs) => (value, None, blobs),
            CallEnd::Failed { failure, may_have_acted } => {
                let failed = Failed { failure: failure.at(|| path), may_have_acted, request, receipt: None };
                return self.failed(at, generation, print, failed, caused, None);
            }
            CallEnd::Limited { failure, may_have_acted, limit, receipt } => {
                let failed = Failed { failure: failure.at(|| path), may_have_acted, request, receipt };
                return self.failed(at, generation, print, failed, caused, limit.till());
            }
            CallEnd::Late { failure, value, receipt } => {
                let attempt = call.attempt;
                let failure = failure.at(|| path);
                let failed = Failed { failure, may_have_acted: true, request, receipt: receipt.clone() };
                self.failed(at, generation, print, failed, caused, None);
                return self.late(address, generation, print, (attempt, value, receipt));
            }
            CallEnd::Refused { failure, receipt } => {
                let (failure, receipt) = (failure.at(|| path), Some(receipt));
                let failed = Failed { failure, may_have_acted: true, request, receipt };
                return self.failed(at, generation, print, failed, caused, None);
            }
        };
        let digest = value.digest();
        let output = value.text().map_err(|error| error.to_string()).and_then(|text| raw(&text));
        let output = match output {
            Ok(output) => output,
            Err(why) => return self.break_off(why),
        };
        let event = Event::Succeeded(Succeeded { output, request, receipt });
        let then = Then::Settle(at, Outcome::Done(value, caused));
        self.emit_with(address, generation, print, digest, &event, blobs, then);
        if self.node(at.node).replay.memo {
            let memoised = Event::Memoised(Memoised { path: self.path(at).to_string() });
            self.emit(address, generation, print, digest, &memoised, Then::Nothing);
        }
        self.free_place_early(at);
    }

    fn failed(
        &mut self,
        at: At,
        generation: u32,
        print: Digest,
        failed: Failed,
        caused: bool,
        limited: Option<Timestamp>,
    ) {
        if let Some(until) = self.next_attempt(at, &failed, limited) {
            return self.delay(at, (generation, print), failed, until, limited.is_some());
        }
        let fault = Fault { failure: Arc::new(failed.failure.clone()), caused };
        let then = Then::Settle(at, Outcome::Failed(fault));
        self.emit(self.address(at), generation, print, Digest::ZERO, &Event::Failed(failed), then);
        // Nothing new starts from here on, though the failure is not durable yet.
        if self.fails_its_frame(at.node) {
            self.frame_failed(at.frame);
        }
    }

    /// Takes in an answer that was refused, and asks for the record: the call's next turn waits for it.
    pub(crate) fn refused(&mut self, at: At, refused: Refused) {
        let Some(call) = self.calls.get(&at) else { return };
        let (generation, print) = (call.generation, call.fingerprint);
        self.turn_spent(at, &refused.receipt);
        let event = Event::Refused(refused);
        self.emit(self.address(at), generation, print, Digest::ZERO, &event, Then::Refused(at));
    }

    pub(super) fn call_settled(&mut self, at: At, outcome: Outcome) {
        self.calls.remove(&at);
        self.failing.forget(at);
        let around = self.frames_around(at);
        match outcome {
            Outcome::Done(value, caused) => {
                self.counts.ok += 1;
                self.settle(at, Slot::Done(value, caused));
            }
            Outcome::Failed(fault) => {
                // What a quorum does without is no failure of the run.
                if self.done_without(at.frame) {
                    self.counts.skipped += 1;
                } else {
                    self.counts.failed += 1;
                }
                self.settle(at, Slot::Failed(fault));
            }
        }
        // What it sets free comes first: an item keeps its place from one call to the next.
        self.turn();
        self.call_over(&around);
        self.reclaim();
    }
}
