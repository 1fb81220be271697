//! Unrolling: bodies to frames, one an item, round or arm; and what becomes of a group when its frames have ended.

use super::{
    conflict::Conflict,
    emit::Then,
    frame::{At, Fan, FrameId, Group, ItemKeys, Loop, Slot},
    freeze::{Freeze, decision_text},
    guard::guarded,
    replay::{Now, Verdict, decision_digest, judge},
    state::Walk,
};
use hermes_core::{
    digest::{Digest, DigestWriter},
    effect::Effect,
    failure::{Failure, FailureClass},
    fingerprint::Changed,
    fold::Cell,
    ids::{Address, ScopeNo},
    journal::{Decided, Event, Opened},
    request::Field,
    value::Val,
};
use hermes_plan::graph::{BodyId, FanMode, Kind};
use std::{collections::BTreeSet, sync::Arc};

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
        own || self.inputs(at).1
    }

    // ---- fan-outs

    pub(super) fn begin_parallel(&mut self, at: At) {
        let program = Arc::clone(&self.program);
        let Kind::Parallel { children, fan } = &program.graph.node(at.node).kind else { return };
        let caused = self.caused_at(at, None);
        let keys: Arc<[Arc<str>]> = children.iter().map(|(key, _)| Arc::from(key.as_str())).collect();
        let open = u32::try_from(children.len()).unwrap_or(u32::MAX);
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Fan(Fan {
            scope: None,
            ordinals: None,
            keys: ItemKeys::Named(keys),
            items: Vec::new(),
            results: (0..children.len()).map(|_| None).collect(),
            open,
            stage: 0,
            caused,
            limit: fan.limit.map(std::num::NonZeroU32::get),
            used: 0,
            queue: BTreeSet::new(),
            tripped: false,
        })));
        let place = self.frame(at.frame).place;
        for (index, (_, body)) in (0..).zip(children) {
            self.open_frame(*body, place, Some((at, index)), Vec::new(), caused);
        }
        if children.is_empty() {
            self.fan_ended(at);
        }
    }

    pub(super) fn begin_fan(&mut self, at: At) {
        let address = self.address(at);
        let cell = self.state.cell(address).cloned();
        let caused = self.caused_at(at, cell.as_ref());
        let freeze = match self.freeze(at) {
            Ok(freeze) => freeze,
            Err(failure) => return self.fail_unrecorded(at, failure),
        };
        let decision = freeze.digest();
        match Self::compare_decision(cell.as_ref(), &freeze.from, &decision, caused, (Field::Keys, "items")) {
            Decision::Stands => self.take_freeze(at, freeze, caused, false),
            _ if self.stopped(at.frame) => self.skip(at),
            Decision::Make => {
                if !self.hold_back(at) {
                    self.take_freeze(at, freeze, caused, true);
                }
            }
            Decision::Differs(changed) => {
                let print = decision_digest(&freeze.from, &decision);
                let recorded = self.state.scope(address).map_or(0, |(_, scope)| scope.order.len());
                let not_kept = (recorded != freeze.items.len())
                    .then(|| format!("it had {recorded} items and has {} today", freeze.items.len()));
                let keep = not_kept.is_none();
                let path = self.path(at);
                self.conflict(Conflict { at: address, path, print, changed, not_kept });
                if self.checking && keep {
                    self.take_freeze(at, freeze, caused, false);
                } else {
                    *self.slot_mut(at) = Slot::Blocked;
                }
            }
        }
    }

    /// Begins a fan-out: with the recorded keys, or with today's once they are durable.
    fn take_freeze(&mut self, at: At, freeze: Freeze, caused: bool, anew: bool) {
        let address = self.address(at);
        let known = self
            .state
            .scope(address)
            .map(|(number, scope)| (number, scope.keys.clone(), scope.order.clone()));
        let (number, ordinals, keys) = match (&known, anew) {
            (Some((number, keys, order)), false) => {
                let names =
                    order.iter().map(|ordinal| keys.get(*ordinal).unwrap_or_default().into()).collect();
                (*number, Some(order.clone()), ItemKeys::Named(names))
            }
            (Some((number, keys, _)), true) => (*number, freeze.ordinals(keys), freeze.keys.clone()),
            (None, _) => {
                let number = ScopeNo(self.next_scope);
                self.next_scope += 1;
                (number, None, freeze.keys.clone())
            }
        };
        let (limit, _) = self.fan_options(at);
        if anew {
            self.emit_freeze(at, number, &freeze);
        }
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Fan(Fan {
            scope: Some(number),
            ordinals,
            keys,
            results: (0..freeze.items.len()).map(|_| None).collect(),
            items: freeze.items,
            open: 0,
            stage: 0,
            caused,
            limit,
            used: 0,
            queue: BTreeSet::new(),
            tripped: false,
        })));
        if !anew {
            self.open_items(at);
        }
    }

    fn fan_options(&self, at: At) -> (Option<u32>, FanMode) {
        match &self.node(at.node).kind {
            Kind::Parallel { fan, .. } | Kind::Each { fan, .. } | Kind::Pipeline { fan, .. } => {
                (fan.limit.map(std::num::NonZeroU32::get), fan.mode)
            }
            _ => (None, FanMode::FailFast),
        }
    }

    fn stage_bodies(&self, at: At) -> Vec<BodyId> {
        match &self.node(at.node).kind {
            Kind::Each { body, .. } => vec![*body],
            Kind::Pipeline { stages, .. } => stages.clone(),
            _ => Vec::new(),
        }
    }

    /// Opens a frame for each item of the first stage.
    fn open_items(&mut self, at: At) {
        let Some(fan) = self.fan_mut(at) else { return };
        let items = std::mem::take(&mut fan.items);
        let caused = fan.caused;
        let entries = (0..).zip(items.into_iter().map(|item| (item, caused))).collect();
        self.open_stage(at, 0, entries);
    }

    fn open_stage(&mut self, at: At, stage: usize, entries: Vec<(u32, (Val, bool))>) {
        let Some(body) = self.stage_bodies(at).get(stage).copied() else { return self.fan_ended(at) };
        let Some(fan) = self.fan_mut(at) else { return };
        fan.stage = stage;
        fan.open = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let scope = fan.scope.unwrap_or(ScopeNo(0));
        let ordinals = fan.ordinals.clone();
        if entries.is_empty() {
            return self.fan_ended(at);
        }
        for (index, (value, caused)) in entries {
            let ordinal = ordinals.as_ref().and_then(|all| all.get(index as usize).copied()).unwrap_or(index);
            let place = Self::scope_place(scope, ordinal);
            self.open_frame(body, place, Some((at, index)), vec![value], caused);
        }
    }

    fn item_ended(&mut self, at: At, index: u32, outcome: Result<(Val, bool), Arc<Failure>>) {
        let Some(fan) = self.fan_mut(at) else { return };
        fan.results[index as usize] = Some(outcome);
        fan.open -= 1;
        if fan.open > 0 {
            return;
        }
        let next = fan.stage + 1;
        let tripped = fan.tripped;
        if next < self.stage_bodies(at).len() && !tripped {
            let Some(fan) = self.fan_mut(at) else { return };
            let survivors = (0..).zip(&fan.results).filter_map(|(index, result)| match result {
                Some(Ok(value)) => Some((index, value.clone())),
                _ => None,
            });
            let survivors = survivors.collect();
            self.open_stage(at, next, survivors);
        } else {
            self.fan_ended(at);
        }
    }

    /// All items have ended: what the fan-out yields, by its mode.
    fn fan_ended(&mut self, at: At) {
        let (_, mode) = self.fan_options(at);
        let Some(fan) = self.fan_mut(at) else { return };
        let results = std::mem::take(&mut fan.results);
        let keys = fan.keys.clone();
        let mut caused = fan.caused;
        let mut first: Option<Arc<Failure>> = None;
        let mut values = Vec::with_capacity(results.len());
        for result in results.into_iter().flatten() {
            match (result, mode) {
                (Ok((value, below)), _) => {
                    caused |= below;
                    values.push(match mode {
                        FanMode::Collect => Val::variant("Ok", value),
                        FanMode::FailFast | FanMode::Null => value,
                    });
                }
                (Err(failure), FanMode::FailFast) => {
                    // The failure that came first says more than the cancellations that followed from it.
                    let better = first.as_ref().is_none_or(|first| first.class == FailureClass::Cancelled);
                    if better && (first.is_none() || failure.class != FailureClass::Cancelled) {
                        first = Some(failure);
                    }
                }
                (Err(failure), FanMode::Collect) => match Val::encode(&*failure) {
                    Ok(value) => values.push(Val::variant("Err", value)),
                    Err(error) => self.break_off(error),
                },
                (Err(_), FanMode::Null) => values.push(Val::null()),
            }
        }
        let slot = match first {
            Some(failure) => Slot::Failed(failure),
            None => Slot::Done(Val::list(values), caused),
        };
        if self.program.inherited[at.node.0 as usize] {
            self.frame_mut(at.frame).keys.push((at.node, keys));
        }
        self.settle(at, slot);
    }

    // ---- branches

    pub(super) fn begin_branch(&mut self, at: At) {
        let program = Arc::clone(&self.program);
        let Kind::Branch { arms, otherwise } = &program.graph.node(at.node).kind else { return };
        let address = self.address(at);
        let cell = self.state.cell(address).cloned();
        let caused = self.caused_at(at, cell.as_ref());
        let (values, _) = self.inputs(at);
        let Some(on) = values.into_iter().next() else { return };
        let mut taken = None;
        for (index, arm) in (0_u32..).zip(arms) {
            match guarded(arm.at, || (arm.test)(&on)) {
                Ok(true) => {
                    taken = Some((index, format!("arm {}", arm.label), arm.body));
                    break;
                }
                Ok(false) => {}
                Err(failure) => return self.fail_unrecorded(at, failure.located(arm.at)),
            }
        }
        let taken = taken.or_else(|| Some((u32::MAX, "else".to_owned(), (*otherwise)?)));
        let Some((index, decision, body)) = taken else {
            let labels: Vec<_> = arms.iter().map(|arm| arm.label.as_str()).collect();
            let message = format!("none of {} took it", labels.join(", "));
            let shown = on.text().map(|text| text.to_string()).unwrap_or_default();
            return self.fail_unrecorded(at, Failure::new(FailureClass::NoArm, message).with_raw(shown));
        };
        let digest = decision_text(&decision);
        match Self::compare_decision(cell.as_ref(), &on.digest(), &digest, caused, (Field::Arm, "on")) {
            Decision::Stands => {
                // An accepted difference keeps the recorded arm.
                let kept = cell.as_ref().and_then(|cell| {
                    let recorded = (cell.output != digest).then_some(cell.output)?;
                    let index =
                        arms.iter().position(|arm| decision_text(&format!("arm {}", arm.label)) == recorded);
                    Some(match index {
                        Some(index) => (u32::try_from(index).unwrap_or(u32::MAX), arms[index].body),
                        None => (u32::MAX, (*otherwise)?),
                    })
                });
                let (index, body) = kept.unwrap_or((index, body));
                self.open_arm(at, index, body, on, caused);
            }
            _ if self.stopped(at.frame) => self.skip(at),
            Decision::Make => {
                if !self.hold_back(at) {
                    let event = Event::Decided(Decided { decision });
                    self.emit(address, 0, on.digest(), digest, &event, Then::Decided(at));
                    self.decided.insert(at, (index, body, on, caused));
                    *self.slot_mut(at) = Slot::Committing;
                }
            }
            Decision::Differs(changed) => {
                let print = decision_digest(&on.digest(), &digest);
                let path = self.path(at);
                self.conflict(Conflict { at: address, path, print, changed, not_kept: None });
                *self.slot_mut(at) = Slot::Blocked;
            }
        }
    }

    fn open_arm(&mut self, at: At, index: u32, body: BodyId, on: Val, caused: bool) {
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Arm));
        let place = self.frame(at.frame).place;
        self.open_frame(body, place, Some((at, index)), vec![on], caused);
    }

    // ---- loops

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
        let program = Arc::clone(&self.program);
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

    fn round_ended(&mut self, at: At, flow: (Val, bool)) {
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
                self.conflict(Conflict { at: address, path, print, changed, not_kept: None });
                *self.slot_mut(at) = Slot::Blocked;
            }
        }
    }

    /// Goes on as the round's flow says.
    fn flow_on(&mut self, at: At) {
        let program = Arc::clone(&self.program);
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

    // ---- both

    /// A decision is durable: what is below it may begin.
    pub(super) fn decision_stands(&mut self, at: At) {
        if let Some((index, body, on, caused)) = self.decided.remove(&at) {
            self.open_arm(at, index, body, on, caused);
        } else if self.fan(at).is_some() {
            self.open_items(at);
        } else {
            self.flow_on(at);
        }
        self.turn();
        self.reclaim();
    }

    /// Goes on with a group that a check held back in the middle.
    pub(super) fn go_on(&mut self, at: At) {
        match self.slot(at) {
            Slot::Group(group) => match &**group {
                Group::Loop(_) => self.decide_flow(at),
                Group::Review(_) => self.look_at_turn(at),
                Group::Fan(_) | Group::Arm => {}
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
        self.give_back(id);
        self.close_frame(id);
        let Slot::Group(kind) = self.slot(group) else { return };
        match (&**kind, outcome) {
            (Group::Fan(_), outcome) => self.item_ended(group, index, outcome),
            (Group::Arm, Ok((value, caused))) => self.settle(group, Slot::Done(value, caused)),
            (Group::Loop(_), Ok(flow)) => self.round_ended(group, flow),
            (Group::Review(_), Ok(value)) => self.revised(group, value),
            (_, Err(failure)) => self.settle(group, Slot::Failed(failure)),
        }
    }
}

/// The digest of a list of keys.
pub(super) fn keys_digest<'a>(keys: impl ExactSizeIterator<Item = &'a str>) -> Digest {
    let mut writer = DigestWriter::new("hermes keys");
    writer.list(keys.len());
    for key in keys {
        writer.text(key);
    }
    writer.finish()
}
