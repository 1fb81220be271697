//! Fan-outs: items to frames, stage by stage, and what the whole yields by its failure mode.

use super::{
    conflict::Conflict,
    frame::{At, Fan, FrameId, FrameResult, Group, ItemKeys, ItemNeeds, Quorum, Slot},
    freeze::{Freeze, keys_digest},
    quorum::from_items,
    ready::telling,
    replay::decision_digest,
    state::{Noted, Walk},
    today::Today,
    unroll::Decision,
};
use hermes_core::{ids::ScopeNo, request::Field, value::Val};
use hermes_plan::graph::{self, BodyId, FanMode, Kind};
use std::sync::Arc;

impl Walk {
    pub(super) fn begin_parallel(&mut self, at: At) {
        let program = self.program_of(at.node);
        let Kind::Parallel { children, fan } = &program.graph.node(at.node).kind else { return };
        let caused = self.caused_at(at, None);
        let keys: Arc<[Arc<str>]> = children.iter().map(|(key, _)| Arc::from(key.as_str())).collect();
        let quorum = fan.mode.quorum().map(|enough| {
            Quorum::new(enough, from_items(&keys_digest(keys.iter().map(|key| &**key)), enough))
        });
        self.begin_items(
            at,
            fan,
            Begins { keys: ItemKeys::Named(keys), caused, quorum, ..Begins::default() },
            children.len(),
        );
        if !self.take_members(at) {
            *self.slot_mut(at) = Slot::Blocked;
            return;
        }
        let place = self.frame(at.frame).place;
        let wanted = self.wanted_items(at);
        let wanted = |index: &u32| wanted.as_ref().is_none_or(|wanted| wanted.contains(index));
        let (children, rest): (Vec<_>, Vec<_>) = (0..).zip(children).partition(|(index, _)| wanted(index));
        if let Some(fan) = self.fan_mut(at) {
            fan.without = rest.into_iter().map(|(index, _)| (index, Val::null())).collect();
            fan.open = u32::try_from(children.len()).unwrap_or(u32::MAX);
        }
        if children.is_empty() {
            return self.fan_ended(at);
        }
        for (index, (_, body)) in children {
            self.open_frame(*body, place, Some((at, index)), Vec::new(), caused);
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
                self.keep_today(address, |_| Today::frozen(&freeze));
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
        let wants = |body: &BodyId| self.tables_of(*body).graph.body(*body).params.len() > 1;
        let original = freeze.needs.is_none() && self.stage_bodies(at).iter().any(wants);
        let originals = if original { freeze.items.clone() } else { Vec::new() };
        if anew {
            self.emit_freeze(at, number, &freeze);
        }
        let fan = self.fan_options(at);
        let quorum = fan.mode.quorum().map(|enough| {
            let mut items = hermes_core::digest::DigestWriter::new("hermes frozen");
            items.digest(&freeze.from).digest(&freeze.digest());
            Quorum::new(enough, from_items(&items.finish(), enough))
        });
        let count = freeze.items.len();
        let needs = freeze.needs.map(ItemNeeds::new);
        let scope = Some(number);
        let items = Begins { scope, ordinals, keys, items: freeze.items, originals, caused, quorum, needs };
        self.begin_items(at, &fan, items, count);
        if !anew {
            self.open_items(at);
        }
    }

    fn begin_items(&mut self, at: At, options: &graph::Fan, begins: Begins, count: usize) {
        let limit = options.limit.map(std::num::NonZeroU32::get);
        let pool = limit.map(|limit| self.pools.open(limit, options.shared.as_ref()));
        let Begins { scope, ordinals, keys, items, originals, caused, quorum, needs } = begins;
        self.ranks += 1;
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Fan(Box::new(Fan {
            scope,
            ordinals,
            keys,
            items,
            originals,
            without: Vec::new(),
            results: (0..count).map(|_| None).collect(),
            open: 0,
            stage: 0,
            ahead: options.streaming,
            caused,
            pool,
            rank: self.ranks,
            tripped: false,
            quorum,
            needs,
        }))));
    }

    fn fan_options(&self, at: At) -> graph::Fan {
        match &self.node(at.node).kind {
            Kind::Parallel { fan, .. } | Kind::Each { fan, .. } | Kind::Pipeline { fan, .. } => fan.clone(),
            _ => {
                let (limit, shared, mode) = (None, None, FanMode::FailFast);
                graph::Fan { limit, shared, bounds: None, streaming: false, mode, keyed: false }
            }
        }
    }

    fn stage_bodies(&self, at: At) -> Vec<BodyId> {
        match &self.node(at.node).kind {
            Kind::Each { body, .. } => vec![*body],
            Kind::Pipeline { stages, .. } => stages.clone(),
            _ => Vec::new(),
        }
    }

    /// Opens a frame for each item of the first stage that nothing holds up.
    pub(super) fn open_items(&mut self, at: At) {
        if !self.take_members(at) {
            *self.slot_mut(at) = Slot::Blocked;
            return;
        }
        let wanted = self.wanted_items(at);
        let Some(fan) = self.fan_mut(at) else { return };
        let caused = fan.caused;
        if let Some(needs) = &fan.needs {
            fan.open = u32::try_from(fan.items.len()).unwrap_or(u32::MAX);
            let free = (0..).zip(&needs.missing).filter(|(_, missing)| **missing == 0);
            let free: Vec<u32> = free.map(|(index, _)| index).collect();
            if fan.open == 0 {
                return self.fan_ended(at);
            }
            for index in free {
                let Some(value) = self.fan(at).map(|fan| fan.items[index as usize].clone()) else { return };
                self.open_item(at, 0, index, vec![value, Val::list(Vec::new())], caused);
            }
            return;
        }
        let items = std::mem::take(&mut fan.items);
        let entries = (0..).zip(items.into_iter().map(|item| (item, caused)));
        let wanted = |index: &u32| wanted.as_ref().is_none_or(|wanted| wanted.contains(index));
        let (entries, rest): (Vec<_>, Vec<_>) = entries.partition(|(index, _)| wanted(index));
        if let Some(fan) = self.fan_mut(at) {
            fan.without = rest.into_iter().map(|(index, (value, _))| (index, value)).collect();
        }
        self.open_stage(at, 0, entries);
    }

    fn open_stage(&mut self, at: At, stage: usize, entries: Vec<(u32, (Val, bool))>) {
        if stage >= self.stage_bodies(at).len() {
            return self.fan_ended(at);
        }
        let Some(fan) = self.fan_mut(at) else { return };
        fan.stage = stage;
        fan.open = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        if entries.is_empty() {
            return self.fan_ended(at);
        }
        for (index, (value, caused)) in entries {
            self.open_stage_of(at, stage, index, value, caused);
        }
    }

    /// Opens a stage of one item.
    fn open_stage_of(
        &mut self,
        at: At,
        stage: usize,
        index: u32,
        value: Val,
        caused: bool,
    ) -> Option<FrameId> {
        let original = self.fan(at).and_then(|fan| fan.originals.get(index as usize).cloned());
        let params = std::iter::once(value).chain(original).collect();
        self.open_item(at, stage, index, params, caused)
    }

    /// Opens a frame for an item.
    pub(super) fn open_item(
        &mut self,
        at: At,
        stage: usize,
        index: u32,
        params: Vec<Val>,
        caused: bool,
    ) -> Option<FrameId> {
        let body = self.stage_bodies(at).get(stage).copied()?;
        let fan = self.fan(at)?;
        let scope = fan.scope.unwrap_or(ScopeNo(0));
        let ordinal = fan.ordinals.as_ref().and_then(|all| all.get(index as usize).copied());
        let place = Self::scope_place(scope, ordinal.unwrap_or(index));
        Some(self.open_frame(body, place, Some((at, index)), params, caused))
    }

    /// The stage after the one that a frame is a copy of, if the item goes on to it by itself.
    fn stage_ahead(&self, frame: FrameId) -> Option<usize> {
        let frame = self.frame(frame);
        let (group, _) = frame.parent?;
        let fan = self.fan(group)?;
        let stages = self.stage_bodies(group);
        let stage = stages.iter().position(|body| *body == frame.body)?;
        (fan.ahead && !fan.tripped && stage + 1 < stages.len()).then_some(stage + 1)
    }

    /// Whether an item will go on to a next stage by itself when this one ends.
    pub(super) fn runs_ahead(&self, frame: FrameId) -> bool {
        self.stage_ahead(frame).is_some()
    }

    /// Lets an item that has ended a stage go on to the next, where it need not wait for the others.
    pub(super) fn went_ahead(&mut self, id: FrameId, at: At, index: u32, value: &(Val, bool)) -> bool {
        let Some(stage) = self.stage_ahead(id) else { return false };
        let (value, caused) = value.clone();
        if let Some(next) = self.open_stage_of(at, stage, index, value, caused) {
            self.hand_over(id, next);
        }
        self.give_back(id);
        self.close_frame(id);
        true
    }

    /// A recorded member of a quorum has failed now: the items that were done without are asked after all, each by itself.
    pub(super) fn open_the_rest(&mut self, at: At) {
        let Some(fan) = self.fan_mut(at) else { return };
        let rest = std::mem::take(&mut fan.without);
        fan.open += u32::try_from(rest.len()).unwrap_or(u32::MAX);
        fan.ahead = true;
        let caused = fan.caused;
        let program = self.program_of(at.node);
        if let Kind::Parallel { children, .. } = &program.graph.node(at.node).kind {
            let place = self.frame(at.frame).place;
            for (index, _) in rest {
                let (_, body) = &children[index as usize];
                self.open_frame(*body, place, Some((at, index)), Vec::new(), caused);
            }
            return;
        }
        for (index, value) in rest {
            self.open_stage_of(at, 0, index, value, caused);
        }
    }

    pub(super) fn item_ended(&mut self, at: At, index: u32, outcome: FrameResult) {
        let Some(fan) = self.fan_mut(at) else { return };
        let ok = outcome.is_ok();
        fan.results[index as usize] = Some(outcome);
        fan.open -= 1;
        if !ok {
            self.lookup.note(self.node(at.node), Noted::ItemFailed);
        }
        let Some(fan) = self.fan(at) else { return };
        let last = fan.ahead || fan.stage + 1 >= self.stage_bodies(at).len();
        if last || !ok {
            self.count_member(at, index, ok);
        }
        self.item_met(at, index);
        let Some(fan) = self.fan(at) else { return };
        if fan.open > 0 {
            return;
        }
        let (next, tripped, ahead) = (fan.stage + 1, fan.tripped, fan.ahead);
        if next < self.stage_bodies(at).len() && !tripped && !ahead {
            let Some(fan) = self.fan_mut(at) else { return };
            let survivors = (0..).zip(&fan.results).filter_map(|(index, result)| match result {
                Some(Ok(value)) => Some((index, value.clone())),
                _ => None,
            });
            let survivors = survivors.collect();
            self.open_stage(at, next, survivors);
        } else if self.may_end(at) {
            self.fan_ended(at);
        }
    }

    /// All items have ended: what the fan-out yields, by its mode.
    pub(super) fn fan_ended(&mut self, at: At) {
        let graph::Fan { mode, keyed, .. } = self.fan_options(at);
        let members = self.wanted_items(at);
        if mode.quorum().is_some() && members.is_none() {
            if let Some(fault) = self.too_few(at) {
                self.counts.failed += 1;
                self.close_pool(at);
                self.settle(at, Slot::Failed(fault));
            }
            return;
        }
        self.close_pool(at);
        let Some(fan) = self.fan_mut(at) else { return };
        let results = std::mem::take(&mut fan.results);
        let mut keys = fan.keys.clone();
        let mut caused = fan.caused;
        let mut first = None;
        let mut values = Vec::with_capacity(results.len());
        for (index, result) in (0..).zip(results) {
            if members.as_ref().is_some_and(|members| !members.contains(&index)) {
                continue;
            }
            let Some(result) = result else { continue };
            let value = match (result, mode) {
                (Ok((value, below)), _) => {
                    caused |= below;
                    if mode == FanMode::Collect { Val::variant("Ok", value) } else { value }
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
                (Err(fault), FanMode::FailFast | FanMode::AtLeast(_) | FanMode::First) => {
                    first = Some(telling(first, fault));
                    continue;
                }
            };
            values.push(if keyed { with_key(&keys.get(index), value) } else { value });
        }
        if let Some(members) = &members {
            keys = ItemKeys::Named(members.iter().map(|index| keys.get(*index)).collect());
        }
        let slot = match (first, mode) {
            (Some(fault), _) => Slot::Failed(fault),
            (None, FanMode::First) => match values.into_iter().next() {
                Some(value) => Slot::Done(value, caused),
                None => return self.break_off("a quorum of one has no member"),
            },
            (None, _) => Slot::Done(Val::list(values), caused),
        };
        if self.tables(at.node).inherited(at.node) {
            self.frame_mut(at.frame).keys.push((at.node, keys));
        }
        self.settle(at, slot);
    }

    fn close_pool(&mut self, at: At) {
        if let Some(pool) = self.fan(at).and_then(|fan| fan.pool) {
            self.pools.close(pool);
        }
    }
}

/// What a fan-out begins with.
#[derive(Default)]
struct Begins {
    scope: Option<ScopeNo>,
    ordinals: Option<Vec<u32>>,
    keys: ItemKeys,
    items: Vec<Val>,
    originals: Vec<Val>,
    caused: bool,
    quorum: Option<Quorum>,
    needs: Option<ItemNeeds>,
}

/// An element of the result with its item's key.
pub(super) fn with_key(key: &str, value: Val) -> Val {
    Val::object(vec![("key".into(), Val::from_json(key.into())), ("value".into(), value)])
}
