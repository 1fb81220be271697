//! What a step does to the world, and where an agent may work: two declarations of the author that replay relies on.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What running a step twice would do. Ordered from lenient to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing outside the run changes.
    Pure,
    /// Running it again under the same idempotency key does no harm.
    Idempotent,
    /// Running it again may act twice: only a person lets it run again.
    Unsafe,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pure => "pure",
            Self::Idempotent => "idempotent",
            Self::Unsafe => "unsafe",
        })
    }
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Isolation {
    /// A fresh, empty directory per attempt, under the ledger's directory.
    #[default]
    Workspace,
    /// The program's own working directory. Such an agent is [`Effect::Unsafe`] unless declared otherwise.
    None,
}

impl Isolation {
    /// The name that goes into fingerprints.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::None => "none",
        }
    }
}
