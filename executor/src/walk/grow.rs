//! Parts of a plan that are built while it is walked: by the closure of a `then`, whose structure is recorded, and by a
//! recursive part that stands in itself again. And the groups that are one frame.

use super::{
    conflict::Conflict,
    emit::Then,
    frame::{At, Group, Slot},
    guard::guarded,
    replay::decision_digest,
    state::{Decision as Decided, Walk},
    today::Today,
    unroll::Decision,
};
use hermes_core::{
    digest::Digest,
    failure::{Failure, FailureClass},
    journal::{self, Event},
    request::Field,
};
use hermes_plan::{
    ReadyTemplates,
    graph::{BodyId, Grown, Kind, NodeId, Recursive, Then as Build},
};
use std::sync::Arc;

/// The most parts built one inside the other.
const DEEPEST: usize = 256;

impl Walk {
    /// Begins a group that is one copy of a body: its one input is the body's.
    pub(super) fn begin_call(&mut self, at: At, body: BodyId) {
        let caused = self.caused_at(at, None);
        let (values, _) = self.inputs(at);
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Arm));
        let place = self.frame(at.frame).place;
        self.open_frame(body, place, Some((at, 0)), values, caused);
    }

    /// Begins a recursive part one level deeper than where it stands.
    pub(super) fn begin_again(&mut self, at: At, of: NodeId) {
        let Kind::Recursive(Recursive { max_depth, .. }) = self.node(of).kind else { return };
        let depth = self.levels_around(at, of) + 1;
        let around = self.around(at.frame, at.node);
        if depth > max_depth.get() || around.graphs.len() > DEEPEST {
            let message = format!("level {depth} of at most {max_depth}");
            return self.fail_unrecorded(at, Failure::new(FailureClass::TooDeep, message));
        }
        let Some(level) = around.level(of, depth) else {
            return self.break_off("a recursive part that is none");
        };
        let templates = match self.templates_of(&level, self.node(at.node).at) {
            Ok(templates) => templates,
            Err(failure) => return self.fail_unrecorded(at, failure),
        };
        let body = self.take_part(Arc::new(level), templates);
        if !self.checking {
            self.name_steps();
        }
        self.begin_call(at, body);
    }

    /// How many levels of the recursive part `of` stand around `at`.
    fn levels_around(&self, at: At, of: NodeId) -> u32 {
        let mut levels = 0;
        let mut id = at.frame;
        while let Some((group, _)) = self.frame(id).parent {
            let again = matches!(self.node(group.node).kind, Kind::Again { of: other } if other == of);
            if group.node == of {
                return levels + 1;
            }
            levels += u32::from(again);
            id = group.frame;
        }
        levels
    }

    /// Builds what a `then` is to be, and compares its structure with the recorded one.
    pub(super) fn begin_then(&mut self, at: At, then: &Build) {
        let address = self.address(at);
        let cell = self.state.cell(address).cloned();
        let caused = self.caused_at(at, cell.as_ref());
        let (values, _) = self.inputs(at);
        let Some(on) = values.into_iter().next() else { return };
        let around = self.around(at.frame, at.node);
        if around.graphs.len() > DEEPEST {
            let message = format!("{DEEPEST} levels");
            return self.fail_unrecorded(at, Failure::new(FailureClass::TooDeep, message));
        }
        let grown = match guarded(then.at, || (then.build)(&on, around)) {
            Ok(grown) => grown,
            Err(failure) => return self.fail_unrecorded(at, failure.located(then.at)),
        };
        let templates = match self.templates_of(&grown.graph, then.at) {
            Ok(templates) => templates,
            Err(failure) => return self.fail_unrecorded(at, failure),
        };
        let (from, shape) = (on.digest(), grown.shape);
        match Self::compare_decision(cell.as_ref(), &from, &shape, caused, (Field::Structure, "value")) {
            Decision::Stands => {
                let body = self.take_part(grown.graph, templates);
                if !self.checking {
                    self.name_steps();
                }
                self.open_grown(at, body, caused);
            }
            _ if self.stopped(at.frame) => self.skip(at),
            Decision::Make => {
                if !self.hold_back(at) {
                    self.decide_structure(at, from, grown, templates, caused);
                }
            }
            Decision::Differs(changed) => {
                let print = decision_digest(&from, &shape);
                let path = self.path(at);
                let not_kept = Some("what was built then is not what is built today".to_owned());
                self.keep_today(address, |_| Today::grown(&on, &grown.structure));
                self.conflict(Conflict { at: address, path, print, changed, not_kept });
                *self.slot_mut(at) = Slot::Blocked;
            }
        }
    }

    fn decide_structure(
        &mut self,
        at: At,
        from: Digest,
        grown: Grown,
        templates: ReadyTemplates,
        caused: bool,
    ) {
        let decision = match serde_json::to_string(&grown.structure) {
            Ok(decision) => decision,
            Err(error) => return self.break_off(error),
        };
        let body = self.take_part(grown.graph, templates);
        self.name_steps();
        let event = Event::Decided(journal::Decided { decision });
        self.emit(self.address(at), 0, from, grown.shape, &event, Then::Decided(at));
        self.decided.insert(at, Decided::Structure(body, caused));
        *self.slot_mut(at) = Slot::Committing;
    }

    pub(super) fn open_grown(&mut self, at: At, body: BodyId, caused: bool) {
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Arm));
        let place = self.frame(at.frame).place;
        self.open_frame(body, place, Some((at, 0)), Vec::new(), caused);
    }
}
