//! Unrolling: bodies to frames, one an item, round or arm; and what becomes of a group when its frames have ended.

use super::{
    frame::{At, FrameId, Group, Slot},
    replay::{Now, Verdict, decision_digest, judge},
    state::{Decision as Decided, Walk},
};
use hermes_core::{digest::Digest, effect::Effect, fingerprint::Changed, fold::Cell, request::Field};

/// What the journal says to today's decision.
pub(super) enum Decision {
    /// It stands as recorded.
    Stands,
    /// It is to be made (anew).
    Make,
    /// It differs and nothing explains it.
    Differs(Vec<Changed>),
}

impl Walk {
    /// Compares a decision, made from the value with digest `from`, with the recorded one.
    pub(super) fn compare_decision(
        cell: Option<&Cell>,
        from: &Digest,
        decision: &Digest,
        caused: bool,
        fields: (Field, &str),
    ) -> Decision {
        let Some(cell) = cell else { return Decision::Make };
        let accepted = cell.accepted.contains(&decision_digest(from, decision));
        let now = Now {
            same: accepted || cell.fingerprint == *from && cell.output == *decision,
            caused,
            version_changed: false,
            effect: Effect::Pure,
            crash_limit: None,
        };
        match judge(cell, now) {
            Verdict::Reuse => Decision::Stands,
            Verdict::Conflict => {
                let field =
                    if cell.fingerprint == *from { fields.0 } else { Field::Input(fields.1.to_owned()) };
                let (old, new) = if cell.fingerprint == *from {
                    (cell.output.short(), decision.short())
                } else {
                    (cell.fingerprint.short(), from.short())
                };
                Decision::Differs(vec![Changed { field, old: Some(old), new: Some(new) }])
            }
            _ => Decision::Make,
        }
    }

    pub(super) fn caused_at(&self, at: At, cell: Option<&Cell>) -> bool {
        let own = cell.is_some_and(|cell| self.state.below_own_cause(cell));
        own || self.below_causes(at)
    }

    /// A decision is durable: what is below it may begin.
    pub(super) fn decision_stands(&mut self, at: At) {
        let around = self.frames_around(at);
        match self.decided.remove(&at) {
            Some(Decided::Arm(taken, caused)) => self.open_arm(at, taken, caused),
            Some(Decided::Structure(body, caused)) => self.open_grown(at, body, caused),
            Some(Decided::Members) => self.members_stand(at),
            None if self.fan(at).is_some() => self.open_items(at),
            None => self.flow_on(at),
        }
        self.turn();
        self.call_over(&around);
        self.reclaim();
    }

    /// Goes on with a group that a check held back in the middle.
    pub(super) fn go_on(&mut self, at: At) {
        match self.slot(at) {
            Slot::Group(group) => match &**group {
                Group::Loop(_) => self.decide_flow(at),
                Group::Review(_) => self.look_at_turn(at),
                Group::Fan(_) => self.decide_members(at),
                Group::Arm | Group::Catch { .. } => {}
            },
            _ => self.look(at),
        }
    }

    /// All steps of a frame have settled.
    pub(super) fn frame_ended(&mut self, id: FrameId) {
        let outcome = self.frame_outcome(id);
        let Some((group, index)) = self.frame(id).parent else {
            self.end = Some(outcome);
            return;
        };
        if let Ok(value) = &outcome
            && self.went_ahead(id, group, index, value)
        {
            return;
        }
        self.give_back(id);
        self.close_frame(id);
        let Slot::Group(kind) = self.slot(group) else { return };
        match (&**kind, outcome) {
            (Group::Fan(_), outcome) => self.item_ended(group, index, outcome),
            (Group::Catch { .. }, outcome) => self.attempt_ended(group, outcome),
            (Group::Arm, Ok((value, caused))) => self.settle(group, Slot::Done(value, caused)),
            (Group::Loop(_), Ok(flow)) => self.round_ended(group, flow),
            (Group::Review(_), Ok(value)) => self.revised(group, value),
            (_, Err(fault)) => self.settle(group, Slot::Failed(fault)),
        }
    }
}
