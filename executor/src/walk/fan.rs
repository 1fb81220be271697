//! Fan-outs: items to frames, stage by stage, and what the whole yields by its failure mode.

use super::{
    conflict::Conflict,
    frame::{At, Fan, FrameResult, Group, ItemKeys, Slot},
    freeze::Freeze,
    ready::telling,
    replay::decision_digest,
    state::Walk,
    unroll::Decision,
};
use hermes_core::{ids::ScopeNo, request::Field, value::Val};
use hermes_plan::graph::{self, BodyId, FanMode, Kind};
use std::{collections::BTreeSet, sync::Arc};

impl Walk {
    pub(super) fn begin_parallel(&mut self, at: At) {
        let program = self.program_of(at.node);
        let Kind::Parallel { children, fan } = &program.graph.node(at.node).kind else { return };
        let caused = self.caused_at(at, None);
        let keys: Arc<[Arc<str>]> = children.iter().map(|(key, _)| Arc::from(key.as_str())).collect();
        let open = u32::try_from(children.len()).unwrap_or(u32::MAX);
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Fan(Fan {
            scope: None,
            ordinals: None,
            keys: ItemKeys::Named(keys),
            items: Vec::new(),
            originals: Vec::new(),
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
        let limit = self.fan_options(at).limit.map(std::num::NonZeroU32::get);
        let wants = |body: &BodyId| self.tables_of(*body).graph.body(*body).params.len() > 1;
        let originals =
            if self.stage_bodies(at).iter().any(wants) { freeze.items.clone() } else { Vec::new() };
        if anew {
            self.emit_freeze(at, number, &freeze);
        }
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Fan(Fan {
            scope: Some(number),
            ordinals,
            keys,
            results: (0..freeze.items.len()).map(|_| None).collect(),
            items: freeze.items,
            originals,
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

    fn fan_options(&self, at: At) -> graph::Fan {
        match &self.node(at.node).kind {
            Kind::Parallel { fan, .. } | Kind::Each { fan, .. } | Kind::Pipeline { fan, .. } => *fan,
            _ => graph::Fan { limit: None, mode: FanMode::FailFast, keyed: false },
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
    pub(super) fn open_items(&mut self, at: At) {
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
            let original = self.fan(at).and_then(|fan| fan.originals.get(index as usize).cloned());
            let params = std::iter::once(value).chain(original).collect();
            self.open_frame(body, place, Some((at, index)), params, caused);
        }
    }

    pub(super) fn item_ended(&mut self, at: At, index: u32, outcome: FrameResult) {
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
        let graph::Fan { mode, keyed, .. } = self.fan_options(at);
        let Some(fan) = self.fan_mut(at) else { return };
        let results = std::mem::take(&mut fan.results);
        let keys = fan.keys.clone();
        let mut caused = fan.caused;
        let mut first = None;
        let mut values = Vec::with_capacity(results.len());
        for (index, result) in (0..).zip(results) {
            let Some(result) = result else { continue };
            let value = match (result, mode) {
                (Ok((value, below)), _) => {
                    caused |= below;
                    match mode {
                        FanMode::Collect => Val::variant("Ok", value),
                        FanMode::FailFast | FanMode::Null => value,
                    }
                }
                (Err(fault), FanMode::FailFast) => {
                    first = Some(telling(first, fault));
                    continue;
                }
                (Err(fault), FanMode::Collect) => {
                    caused |= fault.caused;
                    let Some(value) = self.failure_value(&fault.failure) else { return };
                    value
                }
                (Err(fault), FanMode::Null) => {
                    caused |= fault.caused;
                    Val::null()
                }
            };
            values.push(if keyed { with_key(&keys.get(index), value) } else { value });
        }
        let slot = match first {
            Some(fault) => Slot::Failed(fault),
            None => Slot::Done(Val::list(values), caused),
        };
        if self.tables(at.node).inherited(at.node) {
            self.frame_mut(at.frame).keys.push((at.node, keys));
        }
        self.settle(at, slot);
    }
}

/// An element of the result with its item's key.
fn with_key(key: &str, value: Val) -> Val {
    Val::object(vec![("key".into(), Val::from_json(key.into())), ("value".into(), value)])
}
