//! Derived values: computed from what is there, never written down. A closure that fails, fails what needed the value.

use super::{
    frame::{At, Fault, ItemKeys, Slot},
    guard::guarded,
    state::Walk,
};
use hermes_core::{
    failure::{Failure, FailureClass},
    value::Val,
};
use hermes_plan::graph::{Compute, Derived, Kind, NodeId};
use std::sync::Arc;

impl Walk {
    /// Whether a node is a value of its own for what it needs: it can be computed although that has failed.
    pub(super) fn takes_failures(&self, node: NodeId) -> bool {
        matches!(&self.node(node).kind, Kind::Derived(Derived { compute: Compute::Settled, .. }))
    }

    pub(super) fn derive(&mut self, at: At, derived: &Derived) {
        let place = self.node(at.node).at;
        let slot = match &derived.compute {
            Compute::Settled => self.outcome_of(at),
            Compute::Value(compute) => {
                let (values, caused) = self.inputs(at);
                match guarded(place, || compute(&values)) {
                    Ok(value) => Slot::Done(value, caused),
                    Err(failure) => Slot::Failed(Fault { failure: Arc::new(failure.located(place)), caused }),
                }
            }
            Compute::Kept(keep) => {
                let (values, caused) = self.inputs(at);
                match guarded(place, || keep(&values)) {
                    Ok(stay) => {
                        self.keep_keys(at, &stay);
                        Slot::Done(Val::list(stay.into_iter().map(|(_, value)| value).collect()), caused)
                    }
                    Err(failure) => Slot::Failed(Fault { failure: Arc::new(failure.located(place)), caused }),
                }
            }
        };
        self.settle(at, slot);
    }

    /// What became of the one step that `at` looks at, as a value.
    fn outcome_of(&mut self, at: At) -> Slot {
        let Some(input) = self.node(at.node).inputs.first() else { return Slot::Skipped };
        let of = self.seen_from(at.frame, input.node);
        let caused = self.frame(at.frame).caused;
        match self.slot(of) {
            Slot::Done(value, below) => Slot::Done(Val::variant("Ok", value.clone()), *below),
            Slot::Failed(fault) => {
                let failure = Failure::clone(&fault.failure).at(|| self.path(of).to_string());
                let caused = caused || fault.caused;
                self.failure_value(&failure).map_or(Slot::Skipped, |value| Slot::Done(value, caused))
            }
            // It was not begun because something it needs has failed, and that was handled.
            _ if !self.stopped(at.frame) => {
                let failure = self.lacking(of);
                let caused = caused || self.below_causes(of);
                self.failure_value(&failure).map_or(Slot::Skipped, |value| Slot::Done(value, caused))
            }
            _ => Slot::Skipped,
        }
    }

    /// A failure as the value `{"Err": ..}`.
    pub(super) fn failure_value(&mut self, failure: &Failure) -> Option<Val> {
        match Val::encode(failure) {
            Ok(value) => Some(Val::variant("Err", value)),
            Err(error) => {
                self.break_off(error);
                None
            }
        }
    }

    /// Why a step that was skipped could not begin.
    pub(super) fn lacking(&self, at: At) -> Failure {
        let lacks = self.tables(at.node).deps(at.node).iter().find_map(|dep| {
            let source = self.seen_from(at.frame, *dep);
            match self.slot(source) {
                Slot::Failed(fault) => {
                    let path = if fault.failure.path.is_empty() {
                        self.path(source).to_string()
                    } else {
                        fault.failure.path.clone()
                    };
                    Some(format!("{path}: {}", fault.failure.class.sentence()))
                }
                _ => None,
            }
        });
        Failure::new(FailureClass::DependencyFailed, lacks.unwrap_or_default())
            .at(|| self.path(at).to_string())
    }

    /// Of a list with keys, what stays keeps them.
    fn keep_keys(&mut self, at: At, stay: &[(u32, Val)]) {
        if !self.tables(at.node).inherited(at.node) {
            return;
        }
        let Some(list) = self.node(at.node).inputs.first().map(|input| input.node) else { return };
        let keys = self.keys_of(self.seen_from(at.frame, list));
        let kept = ItemKeys::Named(stay.iter().map(|(index, _)| keys.get(*index)).collect());
        self.frame_mut(at.frame).keys.push((at.node, kept));
    }

    /// The keys of the elements of a list that is the result of a fan-out, or made from one.
    pub(super) fn keys_of(&self, list: At) -> ItemKeys {
        let kept = &self.frame(list.frame).keys;
        let found = kept.iter().find(|(node, _)| *node == list.node);
        found.map_or(ItemKeys::Positions, |(_, keys)| keys.clone())
    }
}
