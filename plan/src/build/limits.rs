//! Shared limits: one number each, and never one inside itself, where its items would wait for each other for ever.

use super::{
    draft::Draft,
    errors::{PlanError, PlanErrorKind},
};
use crate::graph::{Kind, Location, NodeId};
use std::{collections::BTreeMap, num::NonZeroU32, sync::Arc};

/// The name and number of the shared limit of a fan-out.
fn shared(kind: &Kind) -> Option<(&Arc<str>, NonZeroU32)> {
    let (Kind::Parallel { fan, .. } | Kind::Each { fan, .. } | Kind::Pipeline { fan, .. }) = kind else {
        return None;
    };
    fan.shared.as_ref().zip(fan.limit)
}

impl Draft {
    /// Notes what is wrong with the shared limits.
    pub(super) fn check_limits(&mut self) {
        let mut numbers: BTreeMap<Arc<str>, (NonZeroU32, Location)> = BTreeMap::new();
        let mut mistakes = Vec::new();
        let mistake = |at, message: String, mend, first| {
            PlanError::new(PlanErrorKind::ConflictingLimit, at, message, mend).also(first)
        };
        for node in self.own() {
            let Some((name, most, at)) = self.limit_of(node) else { continue };
            let (first, place) = *numbers.entry(Arc::clone(&name)).or_insert((most, at));
            if first != most {
                let message = format!("the limit `{name}` is {first} in one place and {most} in another");
                mistakes.push(mistake(at, message, "give both the same `Limit`", place));
            }
            let mut owner = self.owner_of(node);
            while let Some(group) = owner {
                if let Some((outer, _, place)) = self.limit_of(group)
                    && outer == name
                {
                    let message = format!("the limit `{name}` is used inside a fan-out that has it already");
                    mistakes.push(mistake(at, message, "leave one of the two out", place));
                    break;
                }
                owner = self.owner_of(group);
            }
        }
        for error in mistakes {
            self.mistake(error);
        }
    }

    fn limit_of(&self, node: NodeId) -> Option<(Arc<str>, NonZeroU32, Location)> {
        let seen = self.seen(node)?;
        shared(seen.kind?).map(|(name, most)| (Arc::clone(name), most, seen.at))
    }
}
