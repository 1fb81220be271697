//! What a run has spent, as a pure function of its journal. Apart from the rest of its state, because it needs the bodies of
//! records that the rest does without.

use super::RunState;
use crate::{
    budget::{Budget, Spent, Unit},
    failure::FailureClass,
    ids::{Address, StepNo},
    journal::{Event, Kind, Record, WireError},
    path::{Mark, StepPath},
    receipt::Receipt,
    usd::Usd,
};
use serde::Deserialize;
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// What a run has spent, by step. Every attempt counts: those that failed, were interrupted or were superseded too. An
/// attempt that is open counts as its whole bound.
#[derive(Clone, Debug, Default)]
pub struct Spending {
    /// By number of plan step, whether it is an agent.
    agents: Vec<bool>,
    steps: BTreeMap<Address, AtStep>,
    driven: BTreeMap<String, u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct AtStep {
    spent: Spent,
    /// The most that one attempt has spent.
    worst: Spent,
    unbounded: Unbounded,
    open: Option<Open>,
}

/// Attempts of which something is not known that had no bound then: each counts as what the step may cost today.
#[derive(Clone, Copy, Debug, Default)]
struct Unbounded {
    usd: u64,
    tokens: u64,
}

impl Unbounded {
    fn at(self, bound: &Budget) -> Spent {
        let most = Spent::most(bound);
        Spent {
            usd: Usd::nanos(most.usd.as_nanos().saturating_mul(self.usd)),
            tokens: most.tokens.saturating_mul(self.tokens),
            ..Spent::default()
        }
    }
}

/// An attempt without an outcome.
#[derive(Clone, Copy, Debug)]
struct Open {
    bound: Budget,
    turns: Spent,
}

impl AtStep {
    fn settle(&mut self, spent: impl FnOnce(&Open) -> Spent) {
        if let Some(open) = self.open.take() {
            let spent = spent(&open);
            self.spent = self.spent.plus(spent);
            self.worst = self.worst.greater(spent);
            let lacks = |unit, unknown: u64| u64::from(unknown > 0 && open.bound.limit(unit).is_none());
            self.unbounded.usd += lacks(Unit::Usd, spent.unknown_usd);
            self.unbounded.tokens += lacks(Unit::Tokens, spent.unknown_tokens);
        }
    }

    /// Nobody knows what it spent: all of its bound.
    fn lose(&mut self) {
        self.settle(|open| Spent::settled(&open.bound, open.turns, None));
    }

    /// All of it, for a step that may cost this much today.
    fn all(mut self, bound: &Budget) -> Spent {
        self.lose();
        self.spent.plus(self.unbounded.at(bound))
    }
}

/// The part of a `Started` that says what is reserved.
#[derive(Deserialize)]
struct Reserved {
    #[serde(default)]
    bound: Option<Budget>,
}

/// The part of a `Succeeded` that says what it cost.
#[derive(Deserialize)]
struct Receipted {
    #[serde(default)]
    receipt: Option<Receipt>,
}

/// Whether an attempt that failed so has begun at all, as far as its cost goes: what was not begun costs nothing.
pub fn begun(class: FailureClass, may_have_acted: bool) -> bool {
    // What a rate limit turned away was not worked on. That a lost attempt failed is a person's word; it has begun.
    class != FailureClass::RateLimited && (may_have_acted || class == FailureClass::Interrupted)
}

impl Spending {
    /// Takes in one more record, which must have its body.
    ///
    /// # Errors
    /// When the body is not the JSON of its kind.
    pub fn apply(&mut self, record: &Record) -> Result<(), WireError> {
        let at = record.header.at;
        match record.header.kind {
            Kind::Named => {
                if let Event::Named(named) = record.event()? {
                    let first = named.first.0 as usize;
                    self.agents.resize(self.agents.len().max(first), false);
                    self.agents.truncate(first);
                    self.agents.extend(named.steps.iter().map(|(_, kind)| kind == "agent"));
                }
            }
            Kind::Driven => {
                if let Event::Driven(driven) = record.event()? {
                    for (scope, millis) in driven.scopes {
                        let known = self.driven.entry(scope).or_default();
                        *known = known.saturating_add(millis);
                    }
                }
            }
            _ if !self.is_agent(at.step) => {}
            Kind::Started => {
                let Reserved { bound } = record.part()?;
                let step = self.steps.entry(at).or_default();
                // The one before it ended with the process.
                step.lose();
                step.open = Some(Open { bound: bound.unwrap_or_default(), turns: Spent::default() });
            }
            Kind::Refused => {
                if let (Some(open), Event::Refused(refused)) =
                    (self.steps.entry(at).or_default().open.as_mut(), record.event()?)
                {
                    open.turns = open.turns.plus(Spent::known(&refused.receipt));
                }
            }
            Kind::Succeeded => {
                let Receipted { receipt } = record.part()?;
                let settled = |open: &Open| Spent::settled(&open.bound, open.turns, receipt.as_ref());
                self.steps.entry(at).or_default().settle(settled);
            }
            Kind::Delayed => {
                if let Event::Delayed(delayed) = record.event()? {
                    let begun = begun(delayed.failure.class, delayed.may_have_acted);
                    self.failed(at, begun, delayed.receipt.as_ref());
                }
            }
            Kind::Failed => {
                if let Event::Failed(failed) = record.event()? {
                    let begun = begun(failed.failure.class, failed.may_have_acted);
                    self.failed(at, begun, failed.receipt.as_ref());
                }
            }
            Kind::Interrupted | Kind::Given => self.steps.entry(at).or_default().lose(),
            _ => {}
        }
        Ok(())
    }

    /// An attempt has failed. One that has not begun costs nothing, unless its receipt or its earlier turns say so.
    fn failed(&mut self, at: Address, begun: bool, receipt: Option<&Receipt>) {
        let settled = |open: &Open| {
            if begun || receipt.is_some() {
                Spent::settled(&open.bound, open.turns, receipt)
            } else {
                open.turns
            }
        };
        self.steps.entry(at).or_default().settle(settled);
    }

    fn is_agent(&self, step: StepNo) -> bool {
        self.agents.get(step.0 as usize).copied().unwrap_or(false)
    }

    /// All of it. `bound`: what one call of a plan step may cost at most today, for what is not known of calls that had no
    /// bound when they were made.
    pub fn total(&self, bound: &dyn Fn(StepNo) -> Budget) -> Spent {
        let all = self.steps.iter().map(|(at, step)| step.all(&bound(at.step)));
        let total = all.fold(Spent::default(), Spent::plus);
        Spent { millis: self.driven.get("").copied().unwrap_or_default(), ..total }
    }

    /// By the path of each part of the run: every scope, group, item, round and step in which something was spent. The run
    /// itself is the empty path. `bound`: see [`Spending::total`].
    pub fn by_path(&self, state: &RunState, bound: &dyn Fn(StepNo) -> Budget) -> BTreeMap<String, Spent> {
        let mut by_path: BTreeMap<String, Spent> = BTreeMap::new();
        for (at, step) in &self.steps {
            let spent = step.all(&bound(at.step));
            for path in around(&state.path(*at)) {
                let sum = by_path.entry(path).or_default();
                *sum = sum.plus(spent);
            }
        }
        by_path.insert(String::new(), self.total(bound));
        for (path, millis) in &self.driven {
            by_path.entry(path.clone()).or_default().millis = *millis;
        }
        by_path
    }

    /// The most that one call of a plan step has spent, by number.
    pub fn worst(&self) -> BTreeMap<StepNo, Spent> {
        let mut worst: BTreeMap<StepNo, Spent> = BTreeMap::new();
        for (at, step) in &self.steps {
            let most = worst.entry(at.step).or_default();
            *most = most.greater(step.worst);
        }
        worst
    }
}

/// A path and everything around it: each item, and the group it is an item of.
fn around(path: &StepPath) -> Vec<String> {
    let mut paths = Vec::new();
    for length in 1..=path.segments().len() {
        let mut segments = path.segments()[..length].to_vec();
        paths.push(StepPath::new(segments.clone()).to_string());
        if let Some(last) = segments.last_mut()
            && last.mark != Mark::Plain
        {
            last.mark = Mark::Plain;
            paths.push(StepPath::new(segments).to_string());
        }
    }
    paths
}
