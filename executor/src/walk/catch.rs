//! Catches: a part of the plan whose failure becomes a value, or is replaced by what its else yields.

use super::{
    frame::{At, FrameResult, Group, Slot},
    state::{Noted, Walk},
};
use hermes_core::{failure::Failure, value::Val};
use hermes_plan::graph::{Catch, Kind};

impl Walk {
    pub(super) fn begin_catch(&mut self, at: At, catch: Catch) {
        let caused = self.caused_at(at, None);
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Catch { in_else: false }));
        let place = self.frame(at.frame).place;
        self.open_frame(catch.body, place, Some((at, 0)), Vec::new(), caused);
    }

    /// What a catch watches over has ended, or its else.
    pub(super) fn attempt_ended(&mut self, at: At, outcome: FrameResult) {
        let Kind::Catch(catch) = self.node(at.node).kind else { return };
        let Slot::Group(group) = self.slot_mut(at) else { return };
        let Group::Catch { in_else } = &mut **group else { return };
        let was_else = std::mem::replace(in_else, true);
        match (outcome, catch.or_else) {
            (Ok((value, caused)), None) => self.settle(at, Slot::Done(Val::variant("Ok", value), caused)),
            (Ok((value, caused)), Some(_)) => self.settle(at, Slot::Done(value, caused)),
            (Err(fault), Some(_)) if was_else => self.settle(at, Slot::Failed(fault)),
            (Err(fault), or_else) => {
                self.lookup.note(self.node(at.node), Noted::Caught);
                let failure = Failure::clone(&fault.failure).at(|| self.path(at).to_string());
                let Some(value) = self.failure_value(&failure) else { return };
                let Some(body) = or_else else { return self.settle(at, Slot::Done(value, fault.caused)) };
                let failure = match value.field("Err") {
                    Ok(failure) => failure.unwrap_or_else(Val::null),
                    Err(error) => return self.break_off(error),
                };
                let place = self.frame(at.frame).place;
                self.open_frame(body, place, Some((at, u32::MAX)), vec![failure], fault.caused);
            }
        }
    }
}
