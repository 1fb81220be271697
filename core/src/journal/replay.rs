//! What is recorded so that finished work counts otherwise than it was made: what people ask of it, outcomes that were not made
//! here, other names, another input.

use crate::{
    ids::{RunId, Seq},
    people::{Actor, Decision},
    receipt::Receipt,
    request::Request,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A person asked for something to be done to recorded steps: the next walk does it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Directed {
    /// The steps: a path, or a pattern of paths. What stands inside a group that it names is meant too.
    pub steps: String,
    /// What is to be done.
    pub decision: Decision,
    /// Who asked for it.
    pub by: Actor,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The step at the header's address has this outcome, because a person gave it. The header's fingerprint is that of the
/// request it answers, its output digest that of the value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Given {
    /// The value, as stored JSON.
    pub output: Box<RawValue>,
    /// The record it was taken from, where it is an earlier outcome of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Seq>,
    /// Who gave it.
    pub by: Actor,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The header's plan step stands under another path in today's plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Renamed {
    /// Its pattern from now on.
    pub pattern: String,
}

/// The run goes on with this input: a cause of its own. The header's output digest is the input's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InputAccepted {
    /// The input, as stored JSON.
    pub input: Box<RawValue>,
    /// Who accepted it.
    pub by: Actor,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The step at the header's address has the outcome that a step of another run had under the same fingerprint: nothing was
/// called for it here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Adopted {
    /// The value, as stored JSON.
    pub output: Box<RawValue>,
    /// What it depends on.
    pub request: Request,
    /// The run that it is from.
    pub run: RunId,
    /// The path it has there.
    pub path: String,
    /// The record of the outcome there.
    pub outcome: Seq,
    /// What is known of how it came to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

/// The success that the record before this one holds, at the same address, may be taken over wherever a step asks for the same
/// with the same fingerprint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Memoised {
    /// The path of the step that had it.
    pub path: String,
}
