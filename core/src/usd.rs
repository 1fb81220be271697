//! Money, exactly.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Nano-dollars in a dollar.
const NANOS: u64 = 1_000_000_000;

/// US dollars, exactly: a whole number of nano-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(u64);

impl Usd {
    /// So many nano-dollars.
    pub const fn nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// How many nano-dollars.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The amount nearest to `dollars`; `None` of what is no amount: less than nothing, or not finite.
    ///
    /// ```
    /// use hermes_core::usd::Usd;
    ///
    /// assert_eq!(Usd::nearest(0.1), Some(Usd::nanos(100_000_000)));
    /// assert_eq!(Usd::nearest(f64::NAN), None);
    /// ```
    pub fn nearest(dollars: f64) -> Option<Self> {
        if !dollars.is_finite() || dollars < 0.0 {
            return None;
        }
        // Through decimal digits, so that nothing is rounded twice. More than fits is as much as fits.
        let digits: String = format!("{:.9}", dollars.abs()).chars().filter(|c| *c != '.').collect();
        Some(Self(digits.parse().unwrap_or(u64::MAX)))
    }

    /// The nearest number of dollars.
    pub fn dollars(self) -> f64 {
        format!("{}.{:09}", self.0 / NANOS, self.0 % NANOS).parse().unwrap_or(f64::MAX)
    }

    /// What is left of it without `part`; nothing if that is more.
    #[must_use]
    pub fn minus(self, part: Self) -> Self {
        Self(self.0.saturating_sub(part.0))
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:09}", self.0 / NANOS, self.0 % NANOS);
        let whole = text.len() - 7;
        let (shown, rest) = text.split_at(whole);
        write!(f, "${shown}{}", rest.trim_end_matches('0'))
    }
}
