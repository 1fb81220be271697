//! What a check made today of a step that differs, kept for whoever wants the difference explained. A walk that drives a run
//! does not keep this.

use super::{
    frame::{At, Slot},
    freeze::Freeze,
    state::Walk,
};
use hermes_core::{
    digest::Digest, ids::Address, journal::Structure, request::Request, schema::Schema, value::Val,
};
use std::collections::BTreeMap;

/// Differences of more steps than this are not kept, and so not explained.
pub(crate) const EXPLAINED: usize = 1000;

/// What a check made of one step.
#[derive(Clone, Debug)]
pub(crate) enum Today {
    /// A request, with what its digests stand for.
    Asked {
        request: Box<Request>,
        /// The schema it names.
        schema: Schema,
        /// The values of its named inputs, and its choices.
        values: Vec<(String, Val)>,
        choices: Option<Val>,
    },
    /// A decision, and what it was made from, where that is a value.
    Decided { from: Option<Val>, decision: Decided },
}

/// What was decided, in a form that can be held against what the journal has.
#[derive(Clone, Debug)]
pub(crate) enum Decided {
    /// An arm or a flow, in its recorded word.
    Word(String),
    /// What was built.
    Structure(Structure),
    /// The keys of the items, and the items' digests.
    Keys(Vec<String>, Vec<Digest>),
    /// Members are not chosen before the items have ended.
    Members,
}

impl Today {
    /// Members of a quorum are chosen when enough items have ended: of today's there are none to show.
    pub(super) const MEMBERS: Self = Self::Decided { from: None, decision: Decided::Members };

    /// What a decision that is a word was made from.
    pub(super) fn word(from: &Val, decision: &str) -> Self {
        Self::Decided { from: Some(from.clone()), decision: Decided::Word(decision.to_owned()) }
    }

    /// What a `then` builds today.
    pub(super) fn grown(from: &Val, structure: &Structure) -> Self {
        Self::Decided { from: Some(from.clone()), decision: Decided::Structure(structure.clone()) }
    }

    /// Today's items and keys.
    pub(super) fn frozen(freeze: &Freeze) -> Self {
        let count = u32::try_from(freeze.items.len()).unwrap_or(u32::MAX);
        let keys = (0..count).map(|index| freeze.keys.get(index).to_string()).collect();
        let items = freeze.items.iter().map(Val::digest).collect();
        Self::Decided { from: Some(Val::list(freeze.items.clone())), decision: Decided::Keys(keys, items) }
    }
}

impl Walk {
    /// Keeps what was made of a step that differs.
    pub(super) fn keep_today(&mut self, at: Address, today: impl FnOnce(&Self) -> Today) {
        if self.met.is_some() && self.today.len() < EXPLAINED {
            let today = today(self);
            self.today.insert(at, today);
        }
    }

    /// Keeps today's request of a call that differs.
    pub(super) fn keep_call(&mut self, at: At, request: Request, values: &[Val]) {
        self.keep_today(self.address(at), |walk| {
            let node = walk.node(at.node);
            let names = node.inputs.iter().map(|input| input.name.clone());
            Today::Asked {
                request: Box::new(request),
                schema: node.schema.clone(),
                values: names.zip(values.iter().cloned()).collect(),
                choices: None,
            }
        });
    }

    /// What was made of the steps that differ, as far as it was kept.
    pub(crate) fn today(&self) -> &BTreeMap<Address, Today> {
        &self.today
    }

    /// The input that was given, where it is another than the run's.
    pub(crate) fn other_input(&self) -> Option<&Val> {
        self.other_input.as_ref()
    }

    /// The values that the walk has at hand.
    pub(crate) fn values_at_hand(&self) -> impl Iterator<Item = &Val> {
        let slots = self.frames().flat_map(|(_, frame)| &frame.slots);
        let settled = slots.filter_map(|slot| match slot {
            Slot::Done(value, _) => Some(value),
            _ => None,
        });
        let kept = self.today.values().flat_map(|today| match today {
            Today::Asked { values, choices, .. } => {
                values.iter().map(|(_, value)| value).chain(choices).collect::<Vec<_>>()
            }
            Today::Decided { from, .. } => from.iter().collect(),
        });
        settled.chain(kept)
    }
}
