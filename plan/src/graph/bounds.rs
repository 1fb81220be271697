//! The budgets of a plan: on scopes and whole bodies, on fan-outs, on the calls of one agent.

use super::{Agent, Location};
use hermes_core::budget::{Budget, SharedBudget, Unit};
use std::sync::Arc;

/// The budget of a part of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// What may be spent in it.
    pub budget: Budget,
    /// The name of the budget, where several parts share one.
    pub shared: Option<Arc<str>>,
    /// Where it was given.
    pub at: Location,
}

impl Bounds {
    pub(crate) fn new(budget: Budget, at: Location) -> Self {
        Self { budget, shared: None, at }
    }

    pub(crate) fn shared(shared: &SharedBudget, at: Location) -> Self {
        Self { budget: shared.budget(), shared: Some(shared.name().into()), at }
    }
}

/// A bounded part of a body.
#[derive(Clone, Debug)]
pub struct Bounded {
    /// The scopes around it inside the body, outermost first; none for all of the body.
    pub scopes: Vec<String>,
    /// Its budget.
    pub bounds: Bounds,
}

impl Bounded {
    /// Whether what stands in these scopes of the body is in it.
    pub fn holds(&self, scopes: &[String]) -> bool {
        scopes.starts_with(&self.scopes)
    }
}

impl Agent {
    /// A unit that is bounded around it, and of which its own calls have no bound: what they are to reserve is then not known.
    pub fn lacks(&self, around: &Budget) -> Option<Unit> {
        let own = self.budget.unwrap_or_default();
        let bounded = around.limits().map(|(unit, _)| unit).filter(|unit| unit.wants_bounds());
        bounded.into_iter().find(|unit| own.limit(*unit).is_none())
    }
}
