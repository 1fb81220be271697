//! Budgets: bounds in four units, and what was spent.

use crate::{receipt::Receipt, usd::Usd};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

#[cfg(test)]
mod tests;

/// What a budget is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Money, in nano-dollars.
    Usd,
    /// Tokens, read and written.
    Tokens,
    /// Agent calls: attempts. The turns of one attempt are one call.
    Calls,
    /// Driven time, in milliseconds: the time in which something is being called.
    Time,
}

impl Unit {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Usd, Self::Tokens, Self::Calls, Self::Time];

    /// An amount of it, in words.
    pub fn show(self, amount: u64) -> String {
        match self {
            Self::Usd => Usd::nanos(amount).to_string(),
            Self::Tokens => format!("{amount} tokens"),
            Self::Calls => format!("{amount} agent call{}", if amount == 1 { "" } else { "s" }),
            Self::Time => format!("{:?}", Duration::from_millis(amount)),
        }
    }

    /// Its name in a sentence: `money`, `tokens`, `agent calls`, `driven time`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Usd => "money",
            Self::Tokens => "tokens",
            Self::Calls => "agent calls",
            Self::Time => "driven time",
        }
    }

    /// Whether each call has to say beforehand how much of it is needed at most.
    pub fn wants_bounds(self) -> bool {
        matches!(self, Self::Usd | Self::Tokens)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A bound on what may be spent, in one unit or several. Of one agent call, on its step: what the call may cost at most.
///
/// ```
/// use hermes_core::budget::{Budget, Unit};
///
/// let budget = Budget::usd(5.0).and(Budget::calls(40));
/// assert_eq!(budget.limit(Unit::Calls), Some(40));
/// assert_eq!(budget.to_string(), "$5.00, 40 agent calls");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Budget {
    #[serde(default, rename = "nano_usd", skip_serializing_if = "Option::is_none")]
    usd: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    millis: Option<u64>,
}

impl Budget {
    /// So many US dollars, to the nearest nano-dollar. What is no amount of money (less than nothing, not a number) is
    /// nothing, and a budget of nothing is refused wherever it is given.
    pub fn usd(dollars: f64) -> Self {
        Self::money(Usd::nearest(dollars).unwrap_or_default())
    }

    /// Exactly so much money.
    pub fn money(usd: Usd) -> Self {
        Self { usd: Some(usd), ..Self::default() }
    }

    /// So many tokens, read and written.
    pub fn tokens(tokens: u64) -> Self {
        Self { tokens: Some(tokens), ..Self::default() }
    }

    /// So many agent calls.
    pub fn calls(calls: u64) -> Self {
        Self { calls: Some(calls), ..Self::default() }
    }

    /// So much driven time: the time in which something is being called. To the millisecond.
    pub fn time(time: Duration) -> Self {
        Self { millis: Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)), ..Self::default() }
    }

    /// One bound, known by its name, for all parts of a run that are given it.
    pub fn shared(name: impl Into<String>, budget: Self) -> SharedBudget {
        SharedBudget { name: name.into(), budget }
    }

    /// This much of this unit.
    pub fn of(unit: Unit, amount: u64) -> Self {
        match unit {
            Unit::Usd => Self::money(Usd::nanos(amount)),
            Unit::Tokens => Self::tokens(amount),
            Unit::Calls => Self::calls(amount),
            Unit::Time => Self::time(Duration::from_millis(amount)),
        }
    }

    /// The same, with the bounds of `more` too: of two in one unit, those of `more`.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            usd: more.usd.or(self.usd),
            tokens: more.tokens.or(self.tokens),
            calls: more.calls.or(self.calls),
            millis: more.millis.or(self.millis),
        }
    }

    /// The bound in a unit, where there is one.
    pub fn limit(&self, unit: Unit) -> Option<u64> {
        match unit {
            Unit::Usd => self.usd.map(Usd::as_nanos),
            Unit::Tokens => self.tokens,
            Unit::Calls => self.calls,
            Unit::Time => self.millis,
        }
    }

    /// The bounds there are.
    pub fn limits(&self) -> impl Iterator<Item = (Unit, u64)> + use<> {
        let budget = *self;
        Unit::ALL.into_iter().filter_map(move |unit| Some((unit, budget.limit(unit)?)))
    }

    /// Whether it bounds nothing.
    pub fn is_empty(&self) -> bool {
        self.limits().next().is_none()
    }

    /// Whether it leaves nothing in some unit.
    pub fn leaves_nothing(&self) -> bool {
        self.is_empty() || self.limits().any(|(_, amount)| amount == 0)
    }

    /// Both bounds at once: in each unit the lower one.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        let lower = |unit| match (self.limit(unit), other.limit(unit)) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        Self::from_limits(lower)
    }

    /// The same, with the bounds that were raised to `to`: in each unit the higher one. What is unbounded stays so.
    #[must_use]
    pub fn raised(self, to: Self) -> Self {
        Self::from_limits(|unit| {
            let limit = self.limit(unit)?;
            Some(to.limit(unit).map_or(limit, |to| to.max(limit)))
        })
    }

    fn from_limits(limit: impl Fn(Unit) -> Option<u64>) -> Self {
        Self {
            usd: limit(Unit::Usd).map(Usd::nanos),
            tokens: limit(Unit::Tokens),
            calls: limit(Unit::Calls),
            millis: limit(Unit::Time),
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds: Vec<_> = self.limits().map(|(unit, amount)| unit.show(amount)).collect();
        f.write_str(&bounds.join(", "))
    }
}

/// One bound, known by its name, for all parts of a run that are given it; made with [`Budget::shared`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedBudget {
    name: String,
    budget: Budget,
}

impl SharedBudget {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bound.
    pub fn budget(&self) -> Budget {
        self.budget
    }
}

/// What a call asks of a budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// The path of its step.
    pub path: String,
    /// How much, in the unit of the budget.
    pub amount: u64,
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Money. What is not known of a call counts as the call's bound.
    pub usd: Usd,
    /// Tokens, read and written. What is not known of a call counts as the call's bound.
    pub tokens: u64,
    /// Agent calls: attempts, those that failed, were interrupted or were superseded included.
    pub calls: u64,
    /// Driven time in milliseconds.
    pub millis: u64,
    /// Of how many calls the money is not known.
    pub unknown_usd: u64,
    /// Of how many calls the tokens are not known.
    pub unknown_tokens: u64,
}

impl Spent {
    /// How much of a unit.
    pub fn amount(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Usd => self.usd.as_nanos(),
            Unit::Tokens => self.tokens,
            Unit::Calls => self.calls,
            Unit::Time => self.millis,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            usd: self.usd.plus(more.usd),
            tokens: self.tokens.saturating_add(more.tokens),
            calls: self.calls.saturating_add(more.calls),
            millis: self.millis.saturating_add(more.millis),
            unknown_usd: self.unknown_usd + more.unknown_usd,
            unknown_tokens: self.unknown_tokens + more.unknown_tokens,
        }
    }

    /// What is left of it without `part`, which was added before.
    #[must_use]
    pub fn minus(self, part: Self) -> Self {
        Self {
            usd: self.usd.minus(part.usd),
            tokens: self.tokens.saturating_sub(part.tokens),
            calls: self.calls.saturating_sub(part.calls),
            millis: self.millis.saturating_sub(part.millis),
            unknown_usd: self.unknown_usd.saturating_sub(part.unknown_usd),
            unknown_tokens: self.unknown_tokens.saturating_sub(part.unknown_tokens),
        }
    }

    /// In each unit the greater of two.
    #[must_use]
    pub fn greater(self, other: Self) -> Self {
        Self {
            usd: self.usd.max(other.usd),
            tokens: self.tokens.max(other.tokens),
            calls: self.calls.max(other.calls),
            millis: self.millis.max(other.millis),
            unknown_usd: self.unknown_usd.max(other.unknown_usd),
            unknown_tokens: self.unknown_tokens.max(other.unknown_tokens),
        }
    }

    /// What one call with this bound may spend at most: what it reserves before it begins.
    pub fn most(bound: &Budget) -> Self {
        Self {
            usd: bound.usd.unwrap_or_default(),
            tokens: bound.tokens.unwrap_or_default(),
            calls: 1,
            ..Self::default()
        }
    }

    /// What a receipt says, as far as it is known; without it, nothing.
    pub fn known(receipt: &Receipt) -> Self {
        Self {
            usd: money(receipt).unwrap_or_default(),
            tokens: tokens(receipt).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// What a call has spent that has ended: what its receipt says; what that does not know counts as the call's bound, or
    /// as what its earlier `turns` are known to have spent, if that is more. Never as nothing.
    pub fn settled(bound: &Budget, turns: Self, receipt: Option<&Receipt>) -> Self {
        let most = Self::most(bound);
        let (usd, tokens) = (receipt.and_then(money), receipt.and_then(tokens));
        Self {
            usd: usd.unwrap_or_else(|| most.usd.max(turns.usd)),
            tokens: tokens.unwrap_or_else(|| most.tokens.max(turns.tokens)),
            calls: 1,
            millis: 0,
            unknown_usd: u64::from(usd.is_none()),
            unknown_tokens: u64::from(tokens.is_none()),
        }
    }
}

fn money(receipt: &Receipt) -> Option<Usd> {
    receipt.cost?.usd()
}

fn tokens(receipt: &Receipt) -> Option<u64> {
    receipt.usage.map(|usage| usage.input_tokens.saturating_add(usage.output_tokens))
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |unit: Unit| unit.show(self.amount(unit));
        write!(f, "{}, {}, {}", said(Unit::Usd), said(Unit::Tokens), said(Unit::Calls))?;
        if self.unknown_usd > 0 {
            write!(f, " (of {} not known, counted as their bounds)", Unit::Calls.show(self.unknown_usd))?;
        }
        Ok(())
    }
}
