//! The bodies of the records about budgets: given, raised, and the time that counts in them.

use crate::{budget::Budget, people::Actor};
use serde::{Deserialize, Serialize};

/// The run's own budget, in the place of what it had before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgeted {
    /// The budget.
    pub budget: Budget,
}

/// A person raised a budget of this run. Every need of a budget there that it is about is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// The path of what the budget bounds, as in [`Group::Budget`](super::Group::Budget).
    pub path: String,
    /// What the bounds are now, in the units named.
    pub to: Budget,
    /// Who raised it.
    pub by: Actor,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Time passed in which something was being called, since the last record of this kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driven {
    /// By the path of each part of the run that has a budget of time, milliseconds.
    pub scopes: Vec<(String, u64)>,
}
