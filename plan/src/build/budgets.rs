//! Budgets: each bounds something, every agent in one says what a call of it may cost, and a shared one is one number.

use super::{
    draft::Draft,
    errors::{PlanError, PlanErrorKind, PlanErrors},
};
use crate::graph::{Agent, Bounded, Bounds, Graph, Kind, Location, NodeId};
use hermes_core::budget::{Budget, Unit};
use std::{collections::BTreeMap, sync::Arc};

/// What is wrong with a budget by itself.
pub(crate) fn empty(of: &str, budget: &Budget, at: Location) -> Option<PlanError> {
    budget.leaves_nothing().then(|| {
        let message = format!("the budget of {of} leaves nothing to spend");
        PlanError::new(PlanErrorKind::EmptyBudget, at, message, "give more than zero, or leave it out")
    })
}

/// What is wrong with what one call of an agent may cost.
pub(crate) fn misplaced(name: &str, budget: &Budget, at: Location) -> Option<PlanError> {
    let unit = budget.limits().map(|(unit, _)| unit).find(|unit| !unit.wants_bounds())?;
    let message = format!("the budget of the agent `{name}` bounds {unit}, but says what one call may cost");
    let mend = match unit {
        Unit::Time => "bound how long it takes with `.timeout(..)`, or give the budget to a scope around it",
        _ => "give that budget to a scope around it",
    };
    Some(PlanError::new(PlanErrorKind::MisplacedBudget, at, message, mend))
}

fn unbounded(name: &str, agent: &Agent, at: Location, around: &Bounds) -> Option<PlanError> {
    let unit = agent.lacks(&around.budget)?;
    let message =
        format!("`{name}` stands in a budget of {unit}, and says nothing of what a call of it costs");
    let mend = match unit {
        Unit::Tokens => "say what one call may cost at most: `.budget(Budget::tokens(..))`",
        _ => "say what one call may cost at most: `.budget(Budget::usd(..))`",
    };
    Some(PlanError::new(PlanErrorKind::UnboundedAgent, at, message, mend).also(around.at))
}

/// Gives a whole plan a budget.
pub(crate) fn bound_plan(graph: &mut Graph, budget: Budget, at: Location) -> Result<(), PlanErrors> {
    let bounds = Bounds::new(budget, at);
    let mut mistakes: Vec<_> = empty("the plan", &budget, at).into_iter().collect();
    for node in graph.nodes() {
        if let Kind::Agent(agent) = &node.kind {
            mistakes.extend(unbounded(&node.pattern.to_string(), agent, node.at, &bounds));
        }
    }
    if mistakes.is_empty() {
        graph.bound(bounds);
        return Ok(());
    }
    Err(PlanErrors::new(graph.name().to_owned(), mistakes))
}

impl Draft {
    /// Bounds what is made from here on, in the innermost scope, till that is left.
    pub(super) fn bound(&mut self, bounds: Bounds) {
        let Some((body, scopes)) = self.innermost() else { return };
        let name = scopes.last().cloned().unwrap_or_default();
        let mistake = empty(&format!("the scope `{name}`"), &bounds.budget, bounds.at);
        if let Some(error) = mistake {
            self.mistake(error);
        }
        if let Some(body) = self.body_mut(body) {
            body.bounds.push(Bounded { scopes, bounds });
        }
    }

    /// The budgets that a node stands in, innermost first, as far as they are this draft's own.
    fn bounds_around(&self, node: NodeId) -> Vec<Bounds> {
        let mut found = Vec::new();
        let mut at = Some(node);
        while let Some(seen) = at.and_then(|node| self.seen(node)) {
            let Some(body) = self.body(seen.body) else { break };
            let mut inside: Vec<_> =
                body.bounds.iter().filter(|bounded| bounded.holds(seen.scopes)).collect();
            inside.sort_by_key(|bounded| std::cmp::Reverse(bounded.scopes.len()));
            found.extend(inside.into_iter().map(|bounded| bounded.bounds.clone()));
            at = body.owner;
            found.extend(at.and_then(|owner| self.fan_bounds(owner)));
        }
        found
    }

    fn fan_bounds(&self, node: NodeId) -> Option<Bounds> {
        let kind = self.seen(node)?.kind?;
        let (Kind::Parallel { fan, .. } | Kind::Each { fan, .. } | Kind::Pipeline { fan, .. }) = kind else {
            return None;
        };
        fan.bounds.clone()
    }

    /// Notes what is wrong with the budgets.
    pub(super) fn check_budgets(&mut self) {
        let mut numbers: BTreeMap<Arc<str>, Bounds> = BTreeMap::new();
        let mut mistakes: Vec<PlanError> = Vec::new();
        let mut note = |error: PlanError| {
            if !mistakes.contains(&error) {
                mistakes.push(error);
            }
        };
        for node in self.own() {
            let around = self.bounds_around(node);
            if let Some((Kind::Agent(agent), seen)) =
                self.seen(node).and_then(|seen| Some((seen.kind?, seen)))
                && let Some(error) =
                    around.iter().find_map(|bounds| unbounded(seen.name, agent, seen.at, bounds))
            {
                note(error);
            }
            let shared = around.iter().enumerate();
            for (index, bounds, name) in
                shared.filter_map(|(index, bounds)| Some((index, bounds, bounds.shared.as_ref()?)))
            {
                let mistake = |message: String, mend, also| {
                    PlanError::new(PlanErrorKind::ConflictingBudget, bounds.at, message, mend).also(also)
                };
                let first = numbers.entry(Arc::clone(name)).or_insert_with(|| bounds.clone());
                if first.budget != bounds.budget {
                    let message = format!(
                        "the budget `{name}` is {} in one place and {} in another",
                        first.budget, bounds.budget
                    );
                    note(mistake(message, "give both the same `Budget::shared(..)`", first.at));
                }
                let outer = around[index + 1..].iter().find(|outer| outer.shared.as_ref() == Some(name));
                if let Some(outer) = outer {
                    let message = format!("the budget `{name}` is used inside a part that has it already");
                    note(mistake(message, "leave one of the two out", outer.at));
                }
            }
        }
        for error in mistakes {
            self.mistake(error);
        }
    }
}
