//! Failures: one closed set of classes, each with a plain sentence and what to do next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a step failed. Anything new is a new variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// An agent's answer was not valid for its schema, or not what the type decodes.
    InvalidOutput,
    /// A runner reported an error while it ran.
    RunnerError,
    /// A runner reported that the call never began.
    NotBegun,
    /// A rate or usage limit was reached.
    RateLimited,
    /// The step passed its timeout.
    TimedOut,
    /// Nothing was heard of the call for longer than its step allows.
    Stalled,
    /// The output ended in the middle.
    CutOff,
    /// A person, or a group that failed fast, cancelled it.
    Cancelled,
    /// The author's own closure returned an error.
    Rejected,
    /// A review used up its rounds without an approval.
    NotApproved,
    /// Nobody answered a question in time.
    Expired,
    /// The author's code panicked.
    Panicked,
    /// The value does not survive JSON.
    Unencodable,
    /// A value or reply is over the limits.
    TooLarge,
    /// Two items of a fan-out have one key.
    DuplicateKey,
    /// An item's key cannot be a key.
    InvalidKey,
    /// No arm of a branch took the value.
    NoArm,
    /// A loop used up its rounds.
    RoundsUsedUp,
    /// A step it needs failed.
    DependencyFailed,
    /// A prompt came out blank.
    BlankPrompt,
    /// A prompt's template could not be rendered.
    TemplateFailed,
    /// The process ended while it ran, and its group had already failed.
    Interrupted,
    /// A command exited with another code than 0, or was killed, and its output was asked for.
    CommandFailed,
    /// A value could not be read back as the type that needs it.
    Undecodable,
    /// The files that were asked for could not be taken as they are.
    FilesNotTaken,
    /// Two lists that were to be zipped have different lengths.
    UnequalLists,
    /// What a `then` built has mistakes.
    InvalidPlan,
    /// Fewer items succeeded than have to.
    TooFew,
    /// An item needs one that is not there, or items need each other in a circle.
    InvalidNeeds,
    /// A part of the plan stands in itself more often than is allowed.
    TooDeep,
    /// A question that wants one of its choices was left without any.
    NoChoices,
    /// It stands in a budget, and says nothing of what it costs at most.
    Budget,
}

impl FailureClass {
    /// Whether trying again, with nothing changed, can help.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::InvalidOutput
                | Self::RunnerError
                | Self::NotBegun
                | Self::RateLimited
                | Self::TimedOut
                | Self::Stalled
                | Self::CutOff
                | Self::Interrupted
                | Self::Cancelled
                | Self::CommandFailed
        )
    }

    /// Whether a policy of automatic retries is about it. The author's own error is; what somebody ended on purpose, or what
    /// ended with the process, is not, and rate limits have a count of their own.
    pub fn retried(self) -> bool {
        match self {
            Self::Cancelled | Self::Interrupted | Self::RateLimited => false,
            Self::Rejected => true,
            other => other.retryable(),
        }
    }

    /// A plain sentence: what happened.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::InvalidOutput => "the answer is not valid for the output type",
            Self::RunnerError => "the runner reported an error",
            Self::NotBegun => "the call never began",
            Self::RateLimited => "a rate limit was reached",
            Self::TimedOut => "the step passed its timeout",
            Self::Stalled => "nothing was heard of it for too long",
            Self::CutOff => "the output ended in the middle",
            Self::Cancelled => "it was cancelled",
            Self::Rejected => "the step's own code returned an error",
            Self::NotApproved => "not approved",
            Self::Expired => "nobody answered in time",
            Self::Panicked => "code panicked",
            Self::Unencodable => "the value does not survive JSON",
            Self::TooLarge => "the value is too large",
            Self::DuplicateKey => "two items have one key",
            Self::InvalidKey => "an item's key cannot be a key",
            Self::NoArm => "no arm took the value",
            Self::RoundsUsedUp => "the rounds are used up",
            Self::DependencyFailed => "a step it needs failed",
            Self::BlankPrompt => "the prompt came out blank",
            Self::TemplateFailed => "the prompt's template could not be rendered",
            Self::Interrupted => "the process ended while it ran",
            Self::CommandFailed => "the command failed",
            Self::Undecodable => "a stored value could not be read as the type that needs it",
            Self::FilesNotTaken => "the files could not be taken",
            Self::UnequalLists => "two lists to be zipped have different lengths",
            Self::InvalidPlan => "what was built at run time has mistakes",
            Self::TooFew => "too few items succeeded",
            Self::InvalidNeeds => "what the items need of each other cannot be had",
            Self::TooDeep => "the recursion is too deep",
            Self::NoChoices => "there is nothing to choose from",
            Self::Budget => "its cost has no bound",
        }
    }

    /// What to do next.
    pub fn advice(self) -> &'static str {
        match self {
            Self::InvalidOutput => {
                "look at the raw answer, make the prompt (or the command) give what is wanted, then retry the run"
            }
            Self::RunnerError | Self::NotBegun => "see the message, mend the cause, then retry the run",
            Self::RateLimited => "wait for the limit to reset, then retry the run",
            Self::TimedOut => "retry the run, or give the step a longer `.timeout`",
            Self::Stalled => "retry the run, or give the step a longer `.stall`",
            Self::CutOff => "retry the run, or ask for a shorter answer",
            Self::Cancelled | Self::Interrupted => "retry the run to run it again",
            Self::CommandFailed => {
                "see its standard error, mend the cause, then retry the run; to have the exit code as a value, end it with \
                 `.output()`"
            }
            Self::Rejected => "mend the closure, give the step a new `.version`, then retry the run",
            Self::Panicked => {
                "mend what panicked; a step's own closure also needs a new `.version`; then retry the run"
            }
            Self::NotApproved => "raise `.max_rounds`, or retry the run after changing the work",
            Self::Expired => "retry the run to ask again, or give the question more time with `.expires_in`",
            Self::Unencodable => {
                "return a value that JSON can hold: finite numbers, no `Some(None)`, integers of 64 bits"
            }
            Self::TooLarge => "return less, or a reference to where the value is",
            Self::DuplicateKey => "let `key_by` give every item its own key",
            Self::InvalidKey => "let `key_by` give a text of 1 to 1,024 bytes",
            Self::NoArm => "add an arm, or `.otherwise(..)`",
            Self::RoundsUsedUp => "raise the bound, or end the loop with `.or_else(..)`",
            Self::DependencyFailed => "mend the step it needs, then retry the run",
            Self::BlankPrompt => "let the prompt builder or template yield text, then retry the run",
            Self::TemplateFailed => "mend the template, or the input that it reads, then retry the run",
            Self::Undecodable => "decode what was stored, or run the step again",
            Self::FilesNotTaken => "mend the globs, the files or `.base_dir(..)`, then retry the run",
            Self::InvalidPlan => "mend the closure, then retry the run",
            Self::TooFew => "see why the items failed, then retry the run; or ask for fewer",
            Self::InvalidNeeds => "let `.needs(..)` give keys of items in the list, and no circle",
            Self::TooDeep => "let the recursion end sooner, or allow more levels",
            Self::NoChoices => {
                "see why the list is empty, then retry the run; or ask with `.many()`, which may choose none"
            }
            Self::Budget => {
                "give the agent a `.budget(..)`: what one call of it may cost at most; then retry the run"
            }
            Self::UnequalLists => "zip lists that are made from the same items, or `.filter` both alike",
        }
    }
}

/// A failed step, as a value: it can be an output (`.results()`), it is stored in the journal, and it is shown to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The class.
    pub class: FailureClass,
    /// The path of the step that failed.
    pub path: String,
    /// What exactly was wrong.
    pub message: String,
    /// The author's source location (`file:line`) that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The raw output of an agent, the last value of a review or loop: whatever was paid for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

impl Failure {
    /// A failure of `class`; the path is filled in by whoever knows it.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, path: String::new(), message: message.into(), location: None, raw: None }
    }

    /// The same, at `path`, unless it already has one.
    pub fn at(mut self, path: impl FnOnce() -> String) -> Self {
        if self.path.is_empty() {
            self.path = path();
        }
        self
    }

    /// The same, with the author's `file:line`, unless it already has one.
    pub fn located(mut self, location: impl fmt::Display) -> Self {
        self.location.get_or_insert_with(|| location.to_string());
        self
    }

    /// The same, with what was paid for.
    pub fn with_raw(mut self, raw: impl Into<String>) -> Self {
        self.raw = Some(raw.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the run" } else { &self.path };
        write!(f, "{path}: {}", self.class.sentence())?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if let Some(location) = &self.location {
            write!(f, " ({location})")?;
        }
        write!(f, "; {}", self.class.advice())
    }
}

impl std::error::Error for Failure {}
