//! Receipts: what is known of how a finished step came by its output, beside the request and the output.

use crate::{ids::Seq, usd::Usd};
use serde::{Deserialize, Serialize};

/// What performed a call: goes into the receipt, never into the fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerIdentity {
    /// The runner's name, e.g. `subprocess`.
    pub name: String,
    /// Its version, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Tokens spent by a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// What a call cost. Unknown is never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "basis", rename_all = "snake_case")]
pub enum Cost {
    /// The provider said so.
    Known {
        /// US dollars.
        usd: f64,
    },
    /// Computed from a price table.
    Estimated {
        /// US dollars.
        usd: f64,
    },
    /// Nobody knows.
    #[default]
    Unknown,
}

/// What the journal keeps of a finished call beside its output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Who performed it; `None` for local steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<RunnerIdentity>,
    /// The model that really answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Tools it used, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The runner's session, for whoever wants to look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The raw answer, where it is not the output itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// The records of the answers that earlier turns of the attempt gave and that were refused, oldest first. Tokens and
    /// money are those of all turns together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Seq>,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(more.input_tokens),
            output_tokens: self.output_tokens.saturating_add(more.output_tokens),
        }
    }
}

impl Cost {
    /// How much it is; `None` where that is unknown, or no amount: less than nothing, or not a number.
    pub fn usd(self) -> Option<Usd> {
        match self {
            Self::Known { usd } | Self::Estimated { usd } => Usd::nearest(usd),
            Self::Unknown => None,
        }
    }

    /// Both together. What is unknown of one is unknown of both.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        match (self, more) {
            (Self::Known { usd }, Self::Known { usd: more }) => Self::Known { usd: sum(usd, more) },
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (
                Self::Known { usd } | Self::Estimated { usd },
                Self::Known { usd: more } | Self::Estimated { usd: more },
            ) => Self::Estimated { usd: sum(usd, more) },
        }
    }
}

/// Exact to the nano-dollar: a tenth and two tenths are three tenths.
fn sum(usd: f64, more: f64) -> f64 {
    match Usd::nearest(usd).zip(Usd::nearest(more)) {
        Some((usd, more)) => usd.plus(more).dollars(),
        None => usd + more,
    }
}

impl Receipt {
    /// This, the receipt of the last turn, with what the turns `before` it spent. What one of them does not know, the sum
    /// does not know.
    #[must_use]
    pub fn after(mut self, before: Self) -> Self {
        self.usage = self.usage.zip(before.usage).map(|(last, before)| before.plus(last));
        self.cost = self.cost.zip(before.cost).map(|(last, before)| before.plus(last));
        let mut tools = before.tools;
        tools.extend(self.tools.into_iter().filter(|tool| !tools.contains(tool)).collect::<Vec<_>>());
        self.tools = tools;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_add_up_and_what_is_unknown_of_one_is_unknown_of_all() {
        let turn = |input_tokens, usd: Option<Cost>, tool: &str| Receipt {
            usage: Some(Usage { input_tokens, output_tokens: 1 }),
            cost: usd,
            tools: vec![tool.to_owned()],
            ..Receipt::default()
        };
        let (known, estimated) = (Cost::Known { usd: 0.25 }, Cost::Estimated { usd: 0.5 });
        let sum = turn(2, Some(estimated), "b").after(turn(1, Some(known), "a"));
        assert_eq!(sum.usage, Some(Usage { input_tokens: 3, output_tokens: 2 }));
        assert_eq!(sum.cost, Some(Cost::Estimated { usd: 0.75 }));
        assert_eq!(sum.tools, ["a", "b"]);
        let sum = turn(2, Some(known), "a").after(turn(1, None, "a"));
        assert_eq!((sum.cost, sum.tools), (None, vec!["a".to_owned()]));
        assert_eq!(known.plus(Cost::Unknown), Cost::Unknown);
        assert_eq!(turn(1, None, "a").after(Receipt::default()).usage, None);
    }
}
