//! The bodies of records about calls that fail, come too late or are cancelled.

use crate::{failure::Failure, people::Actor, receipt::Receipt, request::Request, timestamp::Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An attempt failed, and another is due: the step waits for it, and holds nothing meanwhile.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Delayed {
    /// How the attempt failed.
    pub failure: Failure,
    /// Whether it may have acted before it failed.
    #[serde(default)]
    pub may_have_acted: bool,
    /// From when on the next attempt may begin.
    pub until: Timestamp,
    /// Whether a rate limit turned it away: that is counted apart from other failures.
    #[serde(default)]
    pub limited: bool,
    /// The request, where no `Started` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// What the attempt cost, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

/// A call that was given up, because it was cancelled or too slow, had an outcome after all. It changes nothing; a person can
/// take it. The header's output digest is that of the value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Late {
    /// The attempt that it is of, from 1.
    pub attempt: u32,
    /// The value, as stored JSON.
    pub output: Box<RawValue>,
    /// How it came about; `None` for local steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

/// Somebody cancelled the run, or calls of it that were under way or waited for their next attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CancelAsked {
    /// The steps: a path, or a pattern of paths; `None` for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<String>,
    /// Who.
    pub by: Actor,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
