//! Loops: round after round while the recorded flow says so, and the scopes that loops and reviews unroll into.

use super::{
    conflict::Conflict,
    emit::Then,
    frame::{At, Group, Loop, Slot},
    freeze::decision_text,
    replay::decision_digest,
    state::Walk,
    today::Today,
    unroll::Decision,
};
use hermes_core::{
    digest::Digest,
    failure::{Failure, FailureClass},
    ids::{Address, ScopeNo},
    journal::{Decided, Event, Opened},
    request::Field,
    value::Val,
};
use hermes_plan::graph::Kind;

impl Walk {
    /// The scope of a loop or review, opened where it has none. `None` when it must not be opened (now).
    pub(super) fn open_scope(&mut self, at: At) -> Option<ScopeNo> {
        let address = self.address(at);
        if let Some((number, _)) = self.state.scope(address) {
            return Some(number);
        }
        if self.stopped(at.frame) {
            self.skip(at);
            return None;
        }
        if self.hold_back(at) {
            return None;
        }
        let scope = ScopeNo(self.next_scope);
        self.next_scope += 1;
        self.emit(address, 0, Digest::ZERO, Digest::ZERO, &Event::Opened(Opened { scope }), Then::Nothing);
        Some(scope)
    }

    pub(super) fn begin_loop(&mut self, at: At) {
        let program = self.program_of(at.node);
        let Kind::Repeat(repeat) = &program.graph.node(at.node).kind else { return };
        let Some(scope) = self.open_scope(at) else { return };
        let (values, caused) = self.inputs(at);
        let Some(state) = values.into_iter().next() else { return };
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Loop(Loop {
            scope,
            round: 1,
            in_else: false,
            state: state.clone(),
            caused,
            flow: None,
        })));
        self.open_frame(repeat.body, Self::scope_place(scope, 1), Some((at, 1)), vec![state], caused);
    }

    pub(super) fn turn_of(&mut self, at: At) -> Option<&mut Loop> {
        match self.slot_mut(at) {
            Slot::Group(group) => match &mut **group {
                Group::Loop(state) => Some(state),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn round_ended(&mut self, at: At, flow: (Val, bool)) {
        let Some(state) = self.turn_of(at) else { return };
        if state.in_else {
            let (value, caused) = flow;
            return self.settle(at, Slot::Done(value, caused));
        }
        state.flow = Some(flow);
        self.decide_flow(at);
    }

    /// Compares the round's flow with the recorded one, or has it recorded.
    pub(super) fn decide_flow(&mut self, at: At) {
        let Some(state) = self.turn_of(at) else { return };
        let Some((flow, caused)) = state.flow.clone() else { return };
        let place = Self::scope_place(state.scope, state.round);
        let address = Address { place, step: self.number(at.node) };
        let decision = match flow.field("Again") {
            Ok(Some(_)) => "again",
            Ok(None) => "done",
            Err(error) => return self.break_off(error),
        };
        let digest = decision_text(decision);
        let cell = self.state.cell(address).cloned();
        let caused = caused || cell.as_ref().is_some_and(|cell| self.state.below_own_cause(cell));
        match Self::compare_decision(cell.as_ref(), &flow.digest(), &digest, caused, (Field::Flow, "state")) {
            Decision::Stands => self.flow_on(at),
            _ if self.stopped(at.frame) => self.skip(at),
            Decision::Make => {
                if self.checking {
                    self.held.push(at);
                } else {
                    let event = Event::Decided(Decided { decision: decision.to_owned() });
                    self.emit(address, 0, flow.digest(), digest, &event, Then::Decided(at));
                }
            }
            Decision::Differs(changed) => {
                let print = decision_digest(&flow.digest(), &digest);
                let round = place.ordinal;
                let path = self.round_path(at, round);
                self.keep_today(address, |_| Today::word(&flow, decision));
                self.conflict(Conflict { at: address, path, print, changed, not_kept: None });
                *self.slot_mut(at) = Slot::Blocked;
            }
        }
    }

    /// Goes on as the round's flow says.
    pub(super) fn flow_on(&mut self, at: At) {
        let program = self.program_of(at.node);
        let Kind::Repeat(repeat) = &program.graph.node(at.node).kind else { return };
        let Some(state) = self.turn_of(at) else { return };
        let Some((flow, caused)) = state.flow.take() else { return };
        match (flow.field("Done"), flow.field("Again")) {
            (Ok(Some(output)), _) => return self.settle(at, Slot::Done(output, caused)),
            (_, Ok(Some(next))) => {
                state.state = next;
                state.caused = caused;
            }
            (Err(error), _) | (_, Err(error)) => return self.break_off(error),
            (Ok(None), Ok(None)) => return self.break_off("a loop's flow is neither Again nor Done"),
        }
        let value = state.state.clone();
        if state.round < repeat.max.get() {
            state.round += 1;
            let (scope, round) = (state.scope, state.round);
            self.open_frame(
                repeat.body,
                Self::scope_place(scope, round),
                Some((at, round)),
                vec![value],
                caused,
            );
        } else if let Some(body) = repeat.or_else {
            state.in_else = true;
            let place = self.frame(at.frame).place;
            self.open_frame(body, place, Some((at, u32::MAX)), vec![value], caused);
        } else {
            let raw = value.text().map(|text| text.to_string()).unwrap_or_default();
            let message = format!("{} rounds and not done", repeat.max);
            self.fail_unrecorded(at, Failure::new(FailureClass::RoundsUsedUp, message).with_raw(raw));
        }
    }
}
