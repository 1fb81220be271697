//! Waits: a moment fixed once, recorded; over when the run's time has come to it. The time is handed in: the walk has no
//! clock, and its time never goes back.

use super::{
    adopt::TakenOver,
    conflict::Conflict,
    emit::Then,
    frame::{At, Slot},
    guard::guarded,
    met::Met,
    replay::{Now, Verdict, judge},
    request::raw,
    state::Walk,
};
use hermes_core::{
    digest::Digest,
    effect::Effect,
    failure::Failure,
    fingerprint::fingerprint,
    journal::{Event, Succeeded, Timed},
    request::{Request, WaitRequest},
    timestamp::Timestamp,
    value::Val,
};
use hermes_plan::graph::{Kind, Until};

impl Walk {
    pub(super) fn look_at_wait(&mut self, at: At) {
        let address = self.address(at);
        let cell = self.state.cell(address).cloned();
        let caused = self.caused_at(at, cell.as_ref());
        let Some(cell) = cell else { return self.begin_wait(at) };
        let request = Request::Wait(WaitRequest {});
        let print = fingerprint(&request);
        let compared = self.compare(&cell, &request, &print);
        let now = Now {
            same: compared.same,
            caused,
            version_changed: false,
            effect: Effect::Pure,
            crash_limit: None,
        };
        match judge(&cell, now) {
            Verdict::Reuse => self.reuse(at, &cell, caused),
            Verdict::StayOpen if self.stopped(at.frame) => self.skip(at),
            Verdict::StayOpen => self.wait_for(at, cell.instant.unwrap_or(self.time)),
            Verdict::Conflict => {
                let path = self.path(at);
                let changed = compared.changed;
                self.conflict(Conflict { at: address, path, print, changed, not_kept: None });
                self.go_on_below_conflict(at, &cell, caused);
            }
            _ => self.begin_wait(at),
        }
    }

    /// Asks for the record that fixes the moment.
    fn begin_wait(&mut self, at: At) {
        if self.stopped(at.frame) {
            return self.skip(at);
        }
        if self.hold_back(at) {
            return;
        }
        let until = match self.moment(at) {
            Ok(until) => until,
            Err(failure) => return self.fail_unrecorded(at, failure),
        };
        let request = Request::Wait(WaitRequest {});
        let print = fingerprint(&request);
        let address = self.address(at);
        let generation = self.state.cell(address).map_or(0, hermes_core::fold::Cell::next_generation);
        let over = || self.of_parent(&self.path(at), &print).ok().flatten();
        if self.state.cell(address).is_none()
            && let Some(earlier) = over()
        {
            let then = Then::Over(at, earlier.value.clone(), self.below_causes(at));
            self.take_over(TakenOver { at, generation, print, request }, earlier, then);
            *self.slot_mut(at) = Slot::Committing;
            return;
        }
        let event = Event::Timed(Timed { request, until });
        self.emit(address, generation, print, Digest::ZERO, &event, Then::Timed(at, until));
        *self.slot_mut(at) = Slot::Committing;
    }

    /// When a wait that begins now is over.
    fn moment(&self, at: At) -> Result<Timestamp, Failure> {
        let node = self.node(at.node);
        match &node.kind {
            Kind::Wait(Until::After(duration)) => Ok(self.time.after(*duration)),
            Kind::Wait(Until::Moment(read)) => {
                let (values, _) = self.inputs(at);
                let value = values.into_iter().next().unwrap_or_else(Val::null);
                guarded(node.at, || read(&value)).map_err(|failure| failure.located(node.at))
            }
            _ => Ok(self.time),
        }
    }

    fn wait_for(&mut self, at: At, until: Timestamp) {
        *self.slot_mut(at) = Slot::Timed;
        self.meet(self.address(at), Met::Open);
        self.timers.insert((until, at));
    }

    /// The moment of a wait is durable.
    pub(super) fn wait_begun(&mut self, at: At, until: Timestamp) {
        if self.stopped(at.frame) {
            self.skip(at);
        } else {
            self.wait_for(at, until);
        }
        self.turn();
        self.reclaim();
    }

    /// Takes in that it is `now`, and asks for the records of the waits that are over.
    pub(crate) fn tick(&mut self, now: i64) {
        self.time = self.time.max(Timestamp::from_millis(now));
        while let Some((until, at)) = self.timers.first().copied().filter(|(until, _)| *until <= self.time) {
            self.timers.remove(&(until, at));
            self.over(at, until);
        }
        self.attempts_due();
    }

    fn over(&mut self, at: At, until: Timestamp) {
        let value = match Val::encode(&until) {
            Ok(value) => value,
            Err(error) => return self.break_off(error),
        };
        let output = match value.text().map_err(|error| error.to_string()).and_then(|text| raw(&text)) {
            Ok(output) => output,
            Err(why) => return self.break_off(why),
        };
        let address = self.address(at);
        let caused = self.caused_at(at, self.state.cell(address));
        let generation = self.state.cell(address).map_or(0, hermes_core::fold::Cell::next_generation);
        let print = fingerprint(&Request::Wait(WaitRequest {}));
        let event = Event::Succeeded(Succeeded { output, request: None, receipt: None });
        let then = Then::Over(at, value.clone(), caused);
        self.emit(address, generation, print, value.digest(), &event, then);
        *self.slot_mut(at) = Slot::Committing;
    }

    /// That a wait is over is durable.
    pub(super) fn wait_over(&mut self, at: At, value: Val, caused: bool) {
        self.counts.ok += 1;
        self.settle(at, Slot::Done(value, caused));
        self.turn();
        self.reclaim();
    }

    /// Waits of failed frames rest: nothing is recorded, and after `retry` they are over when they always were.
    pub(super) fn rest_waits(&mut self) {
        let stopped: Vec<_> = self.timers.iter().filter(|(_, at)| self.stopped(at.frame)).copied().collect();
        for (until, at) in stopped {
            if self.timers.remove(&(until, at)) {
                self.skip(at);
            }
        }
    }

    /// The run's time: that at which it decided what it asks to be written.
    pub(crate) fn time(&self) -> i64 {
        self.time.millis()
    }

    /// Whether something is waited for that only time brings.
    pub(crate) fn open_waits(&self) -> bool {
        !self.timers.is_empty()
    }

    /// The next moment at which something is over: a wait, or the time of a question.
    pub(crate) fn next_instant(&self) -> Option<Timestamp> {
        let wait = self.timers.first().map(|(until, _)| *until);
        let expiry = self.expiring.first().map(|(at, _)| *at);
        let attempt = self.failing.next_attempt();
        [wait, expiry, attempt].into_iter().flatten().min()
    }
}
