//! The body of the record that freezes a fan-out: its keys and the digests of its items.

use crate::{digest::Digest, ids::ScopeNo};
use serde::{Deserialize, Serialize};

/// The keys of a fan-out, or how many there are where the author gave none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum FrozenKeys {
    /// Keys by position: `0`, `1`, …
    Positions {
        /// How many items this chunk adds.
        count: u32,
    },
    /// Keys that `key_by` made, or that another fan-out handed on.
    Named {
        /// The keys this chunk adds.
        keys: Vec<String>,
    },
}

impl FrozenKeys {
    /// How many items this chunk adds.
    pub fn len(&self) -> usize {
        match self {
            Self::Positions { count } => *count as usize,
            Self::Named { keys } => keys.len(),
        }
    }

    /// Whether it adds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A chunk of a frozen fan-out. The header's fingerprint is the digest of the list it was made from, its output digest
/// that of the keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frozen {
    /// The scope's number: the next one free, or that of the fan-out when it is frozen anew.
    pub scope: ScopeNo,
    /// The position of the first item of this chunk.
    pub offset: u32,
    /// The keys.
    pub keys: FrozenKeys,
    /// The digests of the items.
    pub items: Vec<Digest>,
    /// Whether this is the last chunk.
    pub last: bool,
}
