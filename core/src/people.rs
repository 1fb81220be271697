//! People: who answered or decided, what they answered a review with, and what waits for them.

use crate::{
    budget::{Asking, Budget, Unit},
    digest::Digest,
    fingerprint::Changed,
    ids::Seq,
    timestamp::Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far an actor's name can be trusted. What a client says of itself is never authenticated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trust {
    /// Somebody at this machine; nobody said who.
    #[default]
    UnattributedLocal,
    /// A name was given and not checked.
    Claimed,
}

/// Who did something to a run, and through what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The name, as claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The channel, e.g. `terminal` or `api`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The id of the message that carried it, in that channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// How far to believe it.
    #[serde(default)]
    pub trust: Trust,
}

impl Actor {
    /// Somebody who says they are `name`.
    pub fn claimed(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), trust: Trust::Claimed, ..Self::default() }
    }

    /// The same, through `channel`.
    pub fn through(mut self, channel: impl Into<String>) -> Self {
        self.channel = Some(channel.into());
        self
    }

    /// The same, carried by the message with this id in its channel.
    pub fn message(mut self, id: impl Into<String>) -> Self {
        self.message_id = Some(id.into());
        self
    }
}

/// What a person answers a review with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum ReviewAnswer<T> {
    /// Take the value as it is.
    Approve,
    /// Ask for a revision; the feedback is never blank.
    RequestChanges {
        /// What should be different.
        #[schemars(length(min = 1))]
        feedback: String,
    },
    /// Approve this value instead.
    Edit {
        /// The edited value.
        value: T,
    },
}

/// What a review without a revision step can be answered with: there is nobody to request changes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum ApprovalAnswer<T> {
    /// Take the value as it is.
    Approve,
    /// Approve this value instead.
    Edit {
        /// The edited value.
        value: T,
    },
}

/// What a review is answered with that may also be rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum DecidingReviewAnswer<T> {
    /// Take the value as it is.
    Approve,
    /// Ask for a revision; the feedback is never blank.
    RequestChanges {
        /// What should be different.
        #[schemars(length(min = 1))]
        feedback: String,
    },
    /// Approve this value instead.
    Edit {
        /// The edited value.
        value: T,
    },
    /// Do not take the value, nor another; the reason is never blank.
    Reject {
        /// Why not.
        #[schemars(length(min = 1))]
        reason: String,
    },
}

/// The same, for a review without a revision step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum DecidingApprovalAnswer<T> {
    /// Take the value as it is.
    Approve,
    /// Approve this value instead.
    Edit {
        /// The edited value.
        value: T,
    },
    /// Do not take the value, nor another; the reason is never blank.
    Reject {
        /// Why not.
        #[schemars(length(min = 1))]
        reason: String,
    },
}

/// What a review that ends in `.decision()` yields: rejection is a value too.
///
/// ```
/// use hermes_core::people::Verdict;
///
/// let verdict = Verdict::Rejected { value: "draft", reason: "too long".to_owned() };
/// let approved = match verdict {
///     Verdict::Approved(value) => Some(value),
///     Verdict::Rejected { .. } => None,
/// };
/// assert_eq!(approved, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Verdict<T> {
    /// This value was approved: as it was shown, or as it was edited.
    Approved(T),
    /// Nothing was approved.
    Rejected {
        /// The value as it was shown.
        value: T,
        /// Why it was rejected, in the person's words.
        reason: String,
    },
}

/// Something a person must settle before a run can go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// Its id in the run: the position of the record that opened it.
    pub id: Seq,
    /// The path of the step it is about; for a conflict of several copies, the plan step's pattern.
    pub path: String,
    /// A line for a list.
    pub title: String,
    /// When it opened: milliseconds since 1970, UTC.
    pub since: i64,
    /// What it is.
    pub kind: NeedKind,
}

/// The kinds of need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "need", rename_all = "snake_case")]
pub enum NeedKind {
    /// A question or a review is open.
    Review {
        /// The fingerprint of the question: an answer names it.
        question: Digest,
        /// The blob that holds the answer's schema.
        schema: Digest,
        /// The blob that holds the list of choices, where there are choices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        choices: Option<Digest>,
        /// Whether several choices may be named.
        #[serde(default)]
        many: bool,
        /// What the person is shown: names, and the blobs that hold the values.
        shown: Vec<(String, Digest)>,
        /// Whom it is for; `None` for anybody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<String>,
        /// From when on it takes no answer; `None` waits for ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<Timestamp>,
    },
    /// Finished steps differ from today's plan.
    Conflict {
        /// The id of this difference: a decision names it.
        difference: Digest,
        /// How many copies of the plan step differ.
        count: u64,
        /// The fields that differ.
        fields: Vec<Changed>,
        /// Up to three paths.
        examples: Vec<String>,
        /// Why it cannot be kept, where it cannot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_kept: Option<String>,
        /// The blob that holds the schema of an output given by hand, where one can be given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Digest>,
        /// The blob that holds the new input, where the run's input differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Digest>,
    },
    /// A finished plan step is not in today's plan.
    Dropped {
        /// The id of this difference.
        difference: Digest,
        /// How many copies of it are finished.
        count: u64,
        /// A step of today's plan of the same kind and request, which it may be under another name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proposed: Option<String>,
    },
    /// A call began and nobody knows how it ended.
    InDoubt {
        /// The idempotency key it began under.
        key: Digest,
        /// Why it is not simply run again.
        why: String,
        /// The blob that holds the schema of an output given by hand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Digest>,
    },
    /// A budget is used up, or was overspent: it is raised, or the run stays where it is. Amounts are in its unit.
    Budget {
        /// The unit.
        unit: Unit,
        /// The bound.
        limit: u64,
        /// What was spent.
        spent: u64,
        /// What is reserved for calls that are under way.
        reserved: u64,
        /// The first call that has no room in it; `None` where it was overspent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<Asking>,
        /// The id of this need.
        about: Digest,
    },
}

/// What a person decides about a need that is not a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// Run the step again, and what depends on it.
    Rerun,
    /// Keep the stored output: today's request counts as answered by it. Of a run's input: go on with the recorded one.
    Keep,
    /// Go on with the new input: what depends on it and differs runs again.
    Accept,
    /// Forget a finished step that the plan no longer has.
    Drop,
    /// A finished step that the plan no longer has is this one now.
    Adopt {
        /// The pattern of the step's path in today's plan.
        step: String,
    },
    /// Dispatch an in-doubt step again.
    Retry,
    /// An in-doubt step has failed.
    Failed {
        /// How it is known, or what went wrong.
        why: String,
    },
    /// This is the step's output, whatever it yielded.
    Set {
        /// The output, valid for the step's type.
        value: serde_json::Value,
    },
    /// The step's output is one that it had before.
    Restore {
        /// The record that has it.
        outcome: Seq,
    },
    /// A budget is this much from now on, in the units named.
    Raise {
        /// The bounds.
        to: Budget,
    },
}
