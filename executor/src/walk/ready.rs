//! Readiness: which steps can go, and what a settled step sets free.

use super::{
    frame::{At, Fault, FrameId, FrameResult, Slot},
    met::Met,
    state::{Noted, Walk, Work},
};
use crate::program::RESULT;
use hermes_core::{
    failure::{Failure, FailureClass},
    value::Val,
};
use hermes_plan::graph::{FanMode, Kind, NodeId};
use std::sync::Arc;

/// Of the failures in one frame or group, the one that tells why it failed: the first that is not merely what another
/// brought about.
pub(super) fn telling(first: Option<Fault>, next: Fault) -> Fault {
    let rank = |fault: &Fault| match fault.failure.class {
        FailureClass::DependencyFailed => 2,
        FailureClass::Cancelled => 1,
        _ => 0,
    };
    let caused = next.caused || first.as_ref().is_some_and(|first| first.caused);
    let fault = first.filter(|first| rank(first) <= rank(&next)).unwrap_or(next);
    Fault { caused, ..fault }
}

impl Walk {
    /// Looks at a step all of whose needs have settled.
    pub(super) fn look(&mut self, at: At) {
        if !matches!(self.slot(at), Slot::Waiting(_)) {
            return;
        }
        if !self.takes_failures(at.node) {
            if let Some(fault) = self.derived_failure(at) {
                return self.settle(at, Slot::Failed(fault));
            }
            if !self.needs_succeeded(at) {
                return self.skip(at);
            }
        }
        let program = self.program_of(at.node);
        match &program.graph.node(at.node).kind {
            Kind::Placeholder(_) | Kind::Constant(_) => {}
            Kind::Derived(derived) => self.derive(at, derived),
            Kind::Agent(_) | Kind::Step(_) | Kind::Command(_) | Kind::Files(_) => self.look_at_call(at),
            Kind::Ask(_) => self.look_at_question(at),
            Kind::Review(_) => self.look_at_review(at),
            Kind::Wait(_) => self.look_at_wait(at),
            Kind::Parallel { .. } => self.begin_parallel(at),
            Kind::Each { .. } | Kind::Pipeline { .. } => self.begin_fan(at),
            Kind::Repeat(_) => self.begin_loop(at),
            Kind::Branch { .. } => self.begin_branch(at),
            Kind::Catch(catch) => self.begin_catch(at, *catch),
            Kind::Call(body) => self.begin_call(at, *body),
            Kind::Recursive(recursive) => self.begin_call(at, recursive.body),
            Kind::Again { of } => self.begin_again(at, *of),
            Kind::Then(then) => self.begin_then(at, then),
        }
    }

    fn needs_succeeded(&self, at: At) -> bool {
        self.tables(at.node).deps(at.node).iter().all(|dep| {
            let source = self.seen_from(at.frame, *dep);
            matches!(self.slot(source), Slot::Done(..))
        })
    }

    /// A derived value that could not be computed fails the step that needed it, not itself.
    fn derived_failure(&self, at: At) -> Option<Fault> {
        self.tables(at.node).deps(at.node).iter().find_map(|dep| {
            let source = self.seen_from(at.frame, *dep);
            match (self.slot(source), &self.node(*dep).kind) {
                (Slot::Failed(fault), Kind::Derived(_))
                    if matches!(self.node(at.node).kind, Kind::Derived(_)) =>
                {
                    Some(fault.clone())
                }
                (Slot::Failed(fault), Kind::Derived(_)) => {
                    let failure = Failure::clone(&fault.failure).at(|| self.path(at).to_string());
                    Some(Fault { failure: Arc::new(failure), caused: fault.caused })
                }
                _ => None,
            }
        })
    }

    /// The values of a step's inputs, in order, and whether an open cause lies above any of what it needs.
    pub(super) fn inputs(&self, at: At) -> (Vec<Val>, bool) {
        let node = self.node(at.node);
        let values = node.inputs.iter().map(|input| self.value(at.frame, input.node).0).collect();
        (values, self.below_causes(at))
    }

    /// Whether an open cause lies above any of what a step needs.
    pub(super) fn below_causes(&self, at: At) -> bool {
        self.frame(at.frame).caused
            || self.tables(at.node).deps(at.node).iter().any(|dep| self.below_cause(at.frame, *dep))
    }

    fn below_cause(&self, frame: FrameId, node: NodeId) -> bool {
        matches!(self.slot(self.seen_from(frame, node)), Slot::Done(_, true))
    }

    /// The value of `node` as `frame` sees it; null where it has none, which only callers that did not look can see.
    pub(super) fn value(&self, frame: FrameId, node: NodeId) -> (Val, bool) {
        match self.slot(self.seen_from(frame, node)) {
            Slot::Done(value, caused) => (value.clone(), *caused),
            _ => (Val::null(), false),
        }
    }

    /// Whether nothing new may start at `frame`: a frame around it, or a group that fails fast, has failed.
    pub(super) fn stopped(&self, frame: FrameId) -> bool {
        let mut id = frame;
        loop {
            let frame = self.frame(id);
            if frame.failed {
                return true;
            }
            let Some((group, _)) = frame.parent else { return false };
            if self.fan(group).is_some_and(|fan| fan.tripped) {
                return true;
            }
            id = group.frame;
        }
    }

    pub(super) fn skip(&mut self, at: At) {
        let step = !self.node(at.node).pattern.is_empty();
        self.counts.skipped += u64::from(step);
        // It needs something whose failure was handled, and is not handled itself: that fails the frame.
        let fails = step && !self.tables(at.node).handled(at.node) && !self.stopped(at.frame);
        self.settle(at, Slot::Skipped);
        if fails {
            self.frame_failed(at.frame);
        }
    }

    /// Fails a step that never came to have a record: it cannot be dispatched as it is.
    pub(super) fn fail_unrecorded(&mut self, at: At, failure: Failure) {
        let failure = failure.at(|| self.path(at).to_string());
        self.counts.failed += 1;
        let caused = self.below_causes(at);
        self.settle(at, Slot::Failed(Fault { failure: Arc::new(failure), caused }));
    }

    /// Holds a step back while the walk only checks. True when it did.
    pub(super) fn hold_back(&mut self, at: At) -> bool {
        if self.checking {
            *self.slot_mut(at) = Slot::Held;
            self.held.push(at);
            self.meet(self.address(at), Met::Held(at));
        }
        self.checking
    }

    /// Gives a step its final slot, and sets free what waited for it.
    pub(super) fn settle(&mut self, at: At, slot: Slot) {
        let failed = matches!(slot, Slot::Failed(_)) && self.fails_its_frame(at.node);
        match &slot {
            Slot::Done(..) => self.lookup.note(self.node(at.node), Noted::Done),
            Slot::Failed(fault) => {
                self.lookup.note(self.node(at.node), Noted::Failed(fault.failure.class));
            }
            _ => {}
        }
        *self.slot_mut(at) = slot;
        self.meet_settled(at);
        if failed {
            self.frame_failed(at.frame);
        }
        let program = self.program_of(at.node);
        for dependent in program.dependents(at.node) {
            self.one_need_less(At { frame: at.frame, node: *dependent });
        }
        if let Some(waiters) = self.frame_mut(at.frame).waiters.remove(&at.node) {
            for waiter in waiters {
                if waiter.node == RESULT {
                    self.one_unsettled_less(waiter.frame);
                } else {
                    self.one_need_less(waiter);
                }
            }
        }
        self.one_unsettled_less(at.frame);
    }

    /// Whether a failure of this node fails the frame it stands in.
    pub(super) fn fails_its_frame(&self, node: NodeId) -> bool {
        !self.tables(node).handled(node) && !matches!(self.node(node).kind, Kind::Derived(_))
    }

    fn one_need_less(&mut self, at: At) {
        if let Slot::Waiting(missing) = self.slot_mut(at) {
            *missing = missing.saturating_sub(1);
            if *missing == 0 {
                self.work.push_back(Work::Look(at));
            }
        }
    }

    fn one_unsettled_less(&mut self, id: FrameId) {
        let frame = self.frame_mut(id);
        frame.unsettled = frame.unsettled.saturating_sub(1);
        if frame.unsettled == 0 {
            self.work.push_back(Work::Ended(id));
        }
    }

    /// The first failure of a frame: nothing new starts in it, what runs is let finish, open questions rest. If the
    /// frame is an item of a group that fails fast, the other items' calls are cancelled.
    pub(super) fn frame_failed(&mut self, id: FrameId) {
        let frame = self.frame_mut(id);
        if std::mem::replace(&mut frame.failed, true) {
            return;
        }
        let body = frame.body;
        let parent = frame.parent;
        self.failed = true;
        self.look_at_held_calls();
        if self.tables_of(body).asks(body) {
            self.rest_questions();
        }
        let Some((group, _)) = parent else { return };
        let mode = match &self.node(group.node).kind {
            Kind::Parallel { fan, .. } | Kind::Each { fan, .. } | Kind::Pipeline { fan, .. } => fan.mode,
            _ => return,
        };
        if mode != FanMode::FailFast {
            return;
        }
        if let Some(fan) = self.fan_mut(group) {
            fan.tripped = true;
        }
        if self.tables_of(body).asks(body) {
            self.rest_questions();
        }
        self.cancel_siblings(group, Some(id));
    }

    /// Asks for all running calls in `group` to be cancelled, but for those that are unsafe.
    pub(super) fn cancel_inside(&mut self, group: At) {
        self.cancel_siblings(group, None);
    }

    /// Asks for the running calls of `group` to be cancelled, but for those of `spared` and those that are unsafe.
    fn cancel_siblings(&mut self, group: At, spared: Option<FrameId>) {
        self.look_at_held_calls();
        let mut cancels = Vec::new();
        for (at, call) in &self.calls {
            if call.cancellable() && self.inside(at.frame, group, spared) {
                cancels.push(*at);
            }
        }
        self.cancels.extend(cancels);
        // What waits in it is looked at when this turn ends.
        self.failed = true;
    }

    /// Whether `frame` lies inside `group`, but not inside `spared`.
    fn inside(&self, frame: FrameId, group: At, spared: Option<FrameId>) -> bool {
        let mut id = frame;
        loop {
            if Some(id) == spared {
                return false;
            }
            match self.frame(id).parent {
                Some((parent, _)) if parent == group => return true,
                Some((parent, _)) => id = parent.frame,
                None => return false,
            }
        }
    }

    /// What a frame all of whose steps have settled yields.
    pub(super) fn frame_outcome(&self, id: FrameId) -> FrameResult {
        let frame = self.frame(id);
        let plan = self.tables_of(frame.body).graph.body(frame.body);
        let (mut failed, mut skipped) = (None, None);
        for (node, slot) in plan.nodes.iter().zip(&frame.slots) {
            match slot {
                Slot::Failed(fault) if self.fails_its_frame(*node) => {
                    failed = Some(telling(failed, fault.clone()));
                }
                Slot::Skipped
                    if self.fails_its_frame(*node)
                        && !matches!(self.node(*node).kind, Kind::Placeholder(_)) =>
                {
                    skipped = skipped.or(Some(*node));
                }
                _ => {}
            }
        }
        if let Some(fault) = failed {
            return Err(fault);
        }
        let result = self.seen_from(id, plan.result);
        match self.slot(result) {
            Slot::Done(value, caused) if skipped.is_none() => Ok((value.clone(), *caused || frame.caused)),
            Slot::Failed(fault) => {
                let failure = Failure::clone(&fault.failure).at(|| self.path(result).to_string());
                Err(Fault { failure: Arc::new(failure), caused: fault.caused })
            }
            _ => {
                let failure = self.lacking(skipped.map_or(result, |node| At { frame: id, node }));
                Err(Fault { failure: Arc::new(failure), caused: frame.caused })
            }
        }
    }
}
