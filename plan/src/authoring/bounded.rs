//! Budgets in a plan: of a scope, of a fan-out, of a plan as a whole.

use super::plan::Plan;
use crate::{
    build::{PlanErrors, Scoped, bound_plan},
    graph::{Bounds, Location},
};
use hermes_core::budget::{Budget, SharedBudget};
use std::sync::Arc;

/// Scopes with a budget.
pub trait BudgetScope: sealed::Sealed {
    /// A [`scope`](crate::scope()) in which no more than this may be spent. Each call of an agent in it reserves what the
    /// agent's own `.budget(..)` says before it begins; one that has no room waits, and when nothing else can move the run
    /// parks until a person raises the budget.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("research", |topic: Step<String>| {
    ///     Budget::usd(5.0).scope("sources", || {
    ///         agent("search").input("topic", topic).prompt("Find sources.").budget(Budget::usd(0.5)).text()
    ///     })
    /// })?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    fn scope<R>(&self, name: impl Into<String>, build: impl FnOnce() -> R) -> R;
}

mod sealed {
    pub trait Sealed {
        fn bounds(&self, at: crate::graph::Location) -> crate::graph::Bounds;
    }
}

impl sealed::Sealed for Budget {
    fn bounds(&self, at: Location) -> Bounds {
        Bounds::new(*self, at)
    }
}

impl sealed::Sealed for SharedBudget {
    fn bounds(&self, at: Location) -> Bounds {
        Bounds::shared(self, at)
    }
}

impl<B: sealed::Sealed> BudgetScope for B {
    #[track_caller]
    fn scope<R>(&self, name: impl Into<String>, build: impl FnOnce() -> R) -> R {
        let scoped = Scoped::enter(&name.into());
        scoped.bound(sealed::Sealed::bounds(self, Location::caller()));
        build()
    }
}

/// The budget of a fan-out: its own, or one that several parts share.
#[derive(Clone, Debug)]
pub struct FanBudget {
    budget: Budget,
    shared: Option<SharedBudget>,
}

impl From<Budget> for FanBudget {
    fn from(budget: Budget) -> Self {
        Self { budget, shared: None }
    }
}

impl From<&SharedBudget> for FanBudget {
    fn from(shared: &SharedBudget) -> Self {
        Self { budget: shared.budget(), shared: Some(shared.clone()) }
    }
}

impl FanBudget {
    pub(super) fn bounds(&self, at: Location) -> Bounds {
        match &self.shared {
            Some(shared) => Bounds::shared(shared, at),
            None => Bounds::new(self.budget, at),
        }
    }
}

impl<I, O> Plan<I, O> {
    /// What may be spent in a run of this plan; where it is called in another plan, in each of these calls. Each call of an
    /// agent reserves what the agent's own `.budget(..)` says before it begins. Not part of any fingerprint: it may be
    /// another in a later form of the plan.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("greet", |who: Step<String>| {
    ///     agent("greet").input("who", who).prompt("Greet them.").budget(Budget::usd(0.05)).text()
    /// })?
    /// .budget(Budget::usd(1.0).and(Budget::calls(10)))?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    ///
    /// # Errors
    /// When it leaves nothing to spend, or bounds money or tokens and an agent does not say what a call of it costs at most:
    /// each of them, with its place in the source.
    #[track_caller]
    pub fn budget(mut self, budget: Budget) -> Result<Self, PlanErrors> {
        bound_plan(Arc::make_mut(self.graph_mut()), budget, Location::caller())?;
        Ok(self)
    }
}
