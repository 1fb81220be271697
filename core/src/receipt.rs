//! Receipts: what is known of how a finished step came by its output, beside the request and the output.

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
}
