//! The small identifiers of a run and of what the journal says about it. Durable ones only; nothing of a live process.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The most bytes a run id may have.
const RUN_ID_LIMIT: usize = 200;

/// The name of one run, unique in its ledger: given by the caller, or generated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// A text that cannot be a run id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot be a run id: {why}; use 1 to 200 bytes without control characters")]
pub struct InvalidRunId {
    text: String,
    why: &'static str,
}

impl RunId {
    /// Makes a run id of `text`.
    ///
    /// # Errors
    /// When it is blank, over 200 bytes, or holds a control character.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidRunId> {
        let text = text.into();
        let why = if text.trim().is_empty() {
            "it is blank"
        } else if text.len() > RUN_ID_LIMIT {
            "it is too long"
        } else if text.chars().any(char::is_control) {
            "it holds a control character"
        } else {
            return Ok(Self(text));
        };
        Err(InvalidRunId { text: text.chars().take(60).flat_map(char::escape_debug).collect(), why })
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunId;
    fn try_from(text: String) -> Result<Self, InvalidRunId> {
        Self::new(text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// A run's number in its ledger: the integer half of every key, given when the run starts.
    RunNo(u64)
}
number! {
    /// The position of a record in its run's journal, from 1.
    Seq(u64)
}
number! {
    /// A plan step's number in the step table of one run, from 0. The table maps it to the step's pattern.
    StepNo(u32)
}
number! {
    /// The number of one unrolled group (a fan-out, a loop, a review) in its run. 0 is the plan itself.
    ScopeNo(u32)
}

/// Where a step of an unrolled run stands: in which group, at which item or round of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The unrolled group.
    pub scope: ScopeNo,
    /// The item's ordinal (from 0), or the round of a loop (from 1); 0 in the plan itself.
    pub ordinal: u32,
}

impl Place {
    /// The plan itself: outside any fan-out and loop.
    pub const ROOT: Self = Self { scope: ScopeNo(0), ordinal: 0 };
}

/// The durable address of one concrete step of a run: which plan step, and where it was unrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// Where it was unrolled.
    pub place: Place,
    /// Which plan step it is a copy of.
    pub step: StepNo,
}
