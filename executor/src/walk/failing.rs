//! Calls that fail and are tried again: whether another attempt follows, from when on, and what ends the waiting for it. And
//! calls that wait because their runner lets none begin at the moment.

use super::{
    call::CallState,
    emit::Then,
    frame::{At, Fault, Slot},
    met::Met,
    request::raw,
    state::Walk,
};
use hermes_core::{
    digest::Digest,
    effect::Effect,
    failure::{Failure, FailureClass},
    fingerprint::idempotency_key,
    fold::{Cell, CellStatus},
    ids::Address,
    journal::{Delayed, Event, Failed, Late},
    receipt::Receipt,
    retry::Retry,
    timestamp::Timestamp,
    value::Val,
};
use hermes_plan::graph::Kind;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

/// The name of a runner; `None` for the executor's default.
pub(crate) type RunnerName = Option<String>;

/// What a rate limit said of when to come again, and what is made of it for all calls of the runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The limit's own word: after so long, or nothing.
    Said(Option<Duration>),
    /// The runner takes calls again from then on.
    Till(Timestamp),
}

impl Limit {
    pub(super) fn till(self) -> Option<Timestamp> {
        match self {
            Self::Said(_) => None,
            Self::Till(until) => Some(until),
        }
    }
}

/// What came of the attempts at a request so far.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub(super) print: Digest,
    pub(super) generation: u32,
    /// How many there were.
    pub(super) attempts: u32,
    /// How many of them failed and were followed by another.
    failed: u32,
    /// How many of them a rate limit turned away.
    limited: u32,
}

/// A step that waits for its next attempt, or has had one.
pub(super) struct Again {
    tried: Tried,
    /// How the last attempt failed.
    last: Failure,
    may_have_acted: bool,
    caused: bool,
    /// From when on the next may begin, while it waits.
    until: Option<Timestamp>,
    /// Why no other is made, where that was found before it began to wait.
    pub(super) cancelled: Option<Failure>,
}

/// The calls that are tried again, and those whose runner takes none.
#[derive(Default)]
pub(super) struct Failing {
    pub(super) again: BTreeMap<At, Again>,
    due: BTreeSet<(Timestamp, At)>,
    pub(super) paced: BTreeMap<RunnerName, VecDeque<At>>,
}

impl Failing {
    /// A step has its outcome.
    pub(super) fn forget(&mut self, at: At) {
        if let Some(Again { until: Some(until), .. }) = self.again.remove(&at) {
            self.due.remove(&(until, at));
        }
    }

    pub(super) fn next_attempt(&self) -> Option<Timestamp> {
        self.due.first().map(|(until, _)| *until)
    }
}

impl Walk {
    /// What came of the attempts at today's request of `at`: in this drive, or before it.
    pub(super) fn tried(&self, at: At, cell: Option<&Cell>, print: &Digest, generation: u32) -> Tried {
        let recorded = || {
            cell.map(|cell| Tried {
                print: cell.fingerprint,
                generation: cell.generation,
                attempts: cell.attempts,
                failed: cell.tries,
                limited: cell.limits,
            })
        };
        let before = self.failing.again.get(&at).map(|again| again.tried.clone()).or_else(recorded);
        let none = Tried { print: *print, generation, attempts: 0, failed: 0, limited: 0 };
        before.filter(|tried| tried.print == *print && tried.generation == generation).unwrap_or(none)
    }

    fn retry_of(&self, at: At) -> Retry {
        match &self.node(at.node).kind {
            Kind::Agent(agent) => agent.retry,
            Kind::Step(step) => step.retry,
            Kind::Command(command) => command.retry,
            _ => Retry::never(),
        }
    }

    /// From when on the call that has failed so is tried again; `None` where it is not.
    pub(super) fn next_attempt(
        &self,
        at: At,
        failed: &Failed,
        limited: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let call = self.calls.get(&at)?;
        let class = failed.failure.class;
        let never_began = matches!(class, FailureClass::NotBegun | FailureClass::RateLimited);
        let untouched = never_began && !failed.may_have_acted;
        if !self.settings.retries
            || self.stopped(at.frame)
            || call.effect == Effect::Unsafe && !untouched
            || call.fingerprint == Digest::ZERO
        {
            return None;
        }
        let retry = self.retry_of(at);
        if let Some(until) = limited {
            return (call.tried.limited < retry.most_rate_limits()).then_some(until);
        }
        let failures = call.tried.failed + 1;
        let again = class.retried() && failures < retry.most();
        again.then(|| self.time.after(retry.delay(&self.key_of(at, call), failures)))
    }

    /// A call's idempotency key, also of one that has no record before it begins.
    fn key_of(&self, at: At, call: &CallState) -> Digest {
        if call.key != Digest::ZERO {
            return call.key;
        }
        idempotency_key(&self.run, &self.path(at).to_string(), &call.fingerprint, call.generation)
    }

    /// Asks for the record that the attempt has failed, and that another is due at `until`.
    pub(super) fn delay(
        &mut self,
        at: At,
        (generation, print): (u32, Digest),
        failed: Failed,
        until: Timestamp,
        limited: bool,
    ) {
        let Some(call) = self.calls.get(&at) else { return };
        let mut tried = call.tried.clone();
        tried.attempts = call.attempt;
        *(if limited { &mut tried.limited } else { &mut tried.failed }) += 1;
        let Failed { failure, may_have_acted, request, receipt } = failed;
        let (last, caused) = (failure.clone(), call.caused);
        let again = Again { tried, last, may_have_acted, caused, until: None, cancelled: None };
        self.failing.again.insert(at, again);
        let event = Event::Delayed(Delayed { failure, may_have_acted, until, limited, request, receipt });
        self.emit(self.address(at), generation, print, Digest::ZERO, &event, Then::Delayed(at, until));
    }

    /// That the attempt has failed is durable: the step waits, and holds nothing.
    pub(super) fn delay_begun(&mut self, at: At, until: Timestamp) {
        self.calls.remove(&at);
        let around = self.frames_around(at);
        self.wait_for_attempt(at, until);
        if let Some(why) = self.failing.again.get_mut(&at).and_then(|again| again.cancelled.take()) {
            self.give_up(at, why);
        } else if self.stopped(at.frame) {
            self.give_up_stopped_at(at);
        }
        self.turn();
        self.call_over(&around);
        self.reclaim();
    }

    fn wait_for_attempt(&mut self, at: At, until: Timestamp) {
        *self.slot_mut(at) = Slot::Delayed;
        self.meet(self.address(at), Met::Open);
        if let Some(again) = self.failing.again.get_mut(&at) {
            again.until = Some(until);
            self.failing.due.insert((until, at));
        }
    }

    /// A step whose next attempt was due when the process ended goes on waiting.
    pub(super) fn go_on_waiting(&mut self, at: At, cell: &Cell) {
        let failure = self.lookup.record(cell.outcome).and_then(|record| {
            match record.event().map_err(|error| error.to_string())? {
                Event::Delayed(delayed) => Ok(delayed),
                _ => Err(format!("record {} is not that of a failed attempt", cell.outcome)),
            }
        });
        let delayed = match failure {
            Ok(delayed) => delayed,
            Err(why) => return self.break_off(why),
        };
        let again = Again {
            tried: self.tried(at, Some(cell), &cell.fingerprint, cell.generation),
            last: delayed.failure,
            may_have_acted: delayed.may_have_acted,
            caused: self.below_causes(at) || self.state.below_own_cause(cell),
            until: None,
            cancelled: None,
        };
        self.failing.again.insert(at, again);
        self.wait_for_attempt(at, delayed.until);
    }

    /// Lets the steps go on whose next attempt is due.
    pub(super) fn attempts_due(&mut self) {
        while let Some((until, at)) =
            self.failing.due.first().copied().filter(|(until, _)| *until <= self.time)
        {
            self.failing.due.remove(&(until, at));
            if let Some(again) = self.failing.again.get_mut(&at) {
                again.until = None;
            }
            self.want_call(at);
        }
    }

    /// Whether a step waits for its next attempt, or for its runner to take calls: only time, or other calls, bring that.
    pub(crate) fn waits_to_call(&self) -> bool {
        !self.failing.due.is_empty() || !self.failing.paced.is_empty()
    }

    /// The runners that calls wait for.
    pub(crate) fn paced(&self) -> impl Iterator<Item = &RunnerName> {
        self.failing.paced.keys()
    }

    /// Till when rate limits hold, as the journal has it: of a run that waited when its process ended.
    pub(crate) fn known_limits(&self) -> BTreeMap<RunnerName, Timestamp> {
        let mut limits = BTreeMap::new();
        for (at, again) in &self.failing.again {
            if let (Some(until), FailureClass::RateLimited) = (again.until, again.last.class)
                && let Some(runner) = self.runner_of(*at)
            {
                let known = limits.entry(runner).or_insert(until);
                *known = until.max(*known);
            }
        }
        limits
    }

    pub(crate) fn is_agent(&self, at: At) -> bool {
        matches!(self.node(at.node).kind, Kind::Agent(_))
    }

    fn runner_of(&self, at: At) -> Option<RunnerName> {
        match &self.node(at.node).kind {
            Kind::Agent(agent) => Some(agent.runner.clone()),
            _ => None,
        }
    }

    /// The next call whose runner takes it, those that waited for that first.
    pub(super) fn next_admitted(&mut self, admits: &mut dyn FnMut(&RunnerName) -> bool) -> Option<At> {
        let open = self.failing.paced.keys().find(|runner| admits(runner)).cloned();
        if let Some(runner) = open {
            let queue = self.failing.paced.get_mut(&runner)?;
            let next = queue.pop_front();
            if queue.is_empty() {
                self.failing.paced.remove(&runner);
            }
            return next;
        }
        while let Some(at) = self.ready.pop_front() {
            let Some(runner) = self.runner_of(at) else { return Some(at) };
            // Who waits for it already comes first, and was not admitted.
            if self.failing.paced.contains_key(&runner) || !admits(&runner) {
                self.failing.paced.entry(runner).or_default().push_back(at);
            } else {
                return Some(at);
            }
        }
        None
    }

    /// What waits in a frame that has failed, or a group whose end is certain, makes no other attempt.
    pub(super) fn give_up_stopped(&mut self) {
        let due: Vec<At> =
            self.failing.due.iter().map(|(_, at)| *at).filter(|at| self.stopped(at.frame)).collect();
        for at in due {
            self.give_up_stopped_at(at);
        }
        let paced = self.failing.paced.values().flatten();
        let paced: Vec<At> = paced.copied().filter(|at| self.stopped(at.frame)).collect();
        for at in paced {
            self.leave_queues(at);
            self.call_dropped(at);
            self.drop_stopped(at);
        }
    }

    /// A call that waited to begin, in what has failed, will not.
    pub(super) fn drop_stopped(&mut self, at: At) {
        if self.failing.again.contains_key(&at) {
            self.give_up_stopped_at(at);
        } else {
            self.skip(at);
        }
    }

    fn give_up_stopped_at(&mut self, at: At) {
        let why = Failure::new(FailureClass::Cancelled, "what it belongs to has failed");
        self.give_up(at, why);
    }

    /// Makes no other attempt of a step that waits for one: it has failed, for this reason.
    pub(super) fn give_up(&mut self, at: At, mut why: Failure) {
        let Some(again) = self.failing.again.get(&at) else { return };
        why.message = format!(
            "{}, while it waited for its next attempt; the last: {}: {}",
            why.message,
            again.last.class.sentence(),
            again.last.message
        );
        why.raw.clone_from(&again.last.raw);
        let failure = why.at(|| self.path(at).to_string());
        let (generation, print, caused) = (again.tried.generation, again.tried.print, again.caused);
        let failed = Failed { failure, may_have_acted: again.may_have_acted, request: None, receipt: None };
        self.end_without_call(at, (generation, print), failed, caused);
    }

    pub(super) fn end_without_call(
        &mut self,
        at: At,
        (generation, print): (u32, Digest),
        failed: Failed,
        caused: bool,
    ) {
        self.failing.forget(at);
        let fault = Fault { failure: Arc::new(failed.failure.clone()), caused };
        *self.slot_mut(at) = Slot::Committing;
        let then = Then::GivenUp(at, fault);
        self.emit(self.address(at), generation, print, Digest::ZERO, &Event::Failed(failed), then);
    }

    pub(super) fn given_up(&mut self, at: At, fault: Fault) {
        if self.done_without(at.frame) {
            self.counts.skipped += 1;
        } else {
            self.counts.failed += 1;
        }
        self.settle(at, Slot::Failed(fault));
        self.turn();
        self.reclaim();
    }

    /// In a check: a step that waited for its next attempt, in what has failed, makes none.
    pub(super) fn close_if_delayed(&mut self, at: At, cell: &Cell) {
        if cell.status == CellStatus::Delayed {
            let failure = Failure::new(
                FailureClass::Cancelled,
                "what it belongs to has failed, while it waited for its next attempt",
            );
            let failed = Failed {
                failure: failure.at(|| self.path(at).to_string()),
                may_have_acted: cell.may_have_acted,
                request: None,
                receipt: None,
            };
            let address = self.address(at);
            self.emit_at_go(address, cell.generation, cell.fingerprint, &Event::Failed(failed));
        }
    }

    /// Asks for the record of a value that came too late.
    pub(super) fn late(
        &mut self,
        address: Address,
        generation: u32,
        print: Digest,
        (attempt, value, receipt): (u32, Val, Option<Receipt>),
    ) {
        let output = value.text().map_err(|error| error.to_string()).and_then(|text| raw(&text));
        // What cannot be stored would not have counted in time either.
        if let Ok(output) = output {
            let event = Event::Late(Late { attempt, output, receipt });
            self.emit(address, generation, print, value.digest(), &event, Then::Nothing);
        }
    }

    /// Takes a call out of what waits to be dispatched.
    pub(super) fn leave_queues(&mut self, at: At) {
        self.ready.retain(|other| *other != at);
        for queue in self.failing.paced.values_mut() {
            queue.retain(|other| *other != at);
        }
        self.failing.paced.retain(|_, queue| !queue.is_empty());
        self.leave_held(at);
        for id in self.frames_around(at) {
            self.frame_mut(id).parked.retain(|other| *other != at);
        }
    }
}
