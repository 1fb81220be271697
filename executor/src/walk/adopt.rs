//! Outcomes that are taken over instead of being made: from the run that this one was forked from, by path and fingerprint; and,
//! where the author says `.memo()`, from any run, by fingerprint.

use super::{
    conflict::unfit,
    emit::{Outcome, Then},
    frame::{At, Slot},
    request::raw,
    state::Walk,
};
use hermes_core::{
    digest::Digest,
    effect::Effect,
    fold::Cell,
    ids::{RunId, Seq},
    journal::{Adopted, Event},
    path::StepPath,
    receipt::Receipt,
    request::Request,
    value::Val,
};
use hermes_plan::graph::Kind;

/// An outcome of another run.
#[derive(Clone, Debug)]
pub(crate) struct Earlier {
    pub(crate) run: RunId,
    /// The path it has there.
    pub(crate) path: String,
    /// The record that has it there.
    pub(crate) outcome: Seq,
    pub(crate) value: Val,
    pub(crate) receipt: Option<Receipt>,
}

/// What is taken over, as it goes into the journal.
pub(super) struct TakenOver {
    pub(super) at: At,
    pub(super) generation: u32,
    pub(super) print: Digest,
    pub(super) request: Request,
}

impl Walk {
    /// The outcome of another run that a call may take over.
    pub(super) fn earlier(&self, at: At, print: &Digest, cell: Option<&Cell>) -> Option<Earlier> {
        let node = self.node(at.node);
        let asked_for = cell.is_some_and(|cell| cell.rerun) || self.changes.again(self.address(at));
        let of_parent = || if cell.is_none() { self.of_parent(&self.path(at), print) } else { Ok(None) };
        let remembers = node.replay.memo && self.effect_of(at) == Effect::Pure && !asked_for;
        let of_any = || if remembers { self.lookup.memo(print) } else { Ok(None) };
        let found = of_parent().and_then(|found| found.map_or_else(of_any, |found| Ok(Some(found))));
        // What cannot be read over there is no reason not to make it here.
        let found = found.unwrap_or_else(|why| {
            tracing::warn!(run = %self.run, "an earlier outcome cannot be taken over: {why}");
            None
        });
        found.filter(|found| unfit(node, &found.value).is_ok())
    }

    /// The outcome that the run had at this path from which this one was forked.
    pub(super) fn of_parent(&self, path: &StepPath, print: &Digest) -> Result<Option<Earlier>, String> {
        let Some(forked) = self.state.start.as_ref().and_then(|start| start.forked.as_ref()) else {
            return Ok(None);
        };
        let afresh = |pattern: &String| {
            pattern.parse::<StepPath>().is_ok_and(|pattern| pattern.matches(path) || pattern.encloses(path))
        };
        if forked.afresh.iter().any(afresh) {
            return Ok(None);
        }
        self.lookup.parent(&forked.run, path, print)
    }

    /// Asks for the record that takes an outcome over.
    pub(super) fn take_over(&mut self, taken: TakenOver, earlier: Earlier, then: Then) {
        let TakenOver { at, generation, print, request } = taken;
        let Earlier { run, path, outcome, value, receipt } = earlier;
        let output = value.text().map_err(|error| error.to_string()).and_then(|text| raw(&text));
        let output = match output {
            Ok(output) => output,
            Err(why) => return self.break_off(why),
        };
        let event = Event::Adopted(Adopted { output, request, run, path, outcome, receipt });
        self.counts.reused += 1;
        self.emit(self.question_address(at), generation, print, value.digest(), &event, then);
    }

    /// Takes over the outcome of a call that was about to begin.
    pub(super) fn take_over_call(&mut self, taken: TakenOver, earlier: Earlier, caused: bool) {
        let (at, value) = (taken.at, earlier.value.clone());
        self.take_over(taken, earlier, Then::Settle(at, Outcome::Done(value, caused)));
        self.free_place_early(at);
    }

    /// An answer that was taken over is durable.
    pub(super) fn answer_taken_over(&mut self, at: At, value: Val) {
        self.counts.ok += 1;
        if matches!(self.node(at.node).kind, Kind::Review(_)) {
            self.take_review(at, value);
        } else {
            let caused = self.below_causes(at);
            self.settle(at, Slot::Done(value, caused));
        }
        self.turn();
        self.reclaim();
    }
}
