//! The mistakes of a plan: all of them at once, each with its place in the source and how to mend it.

use crate::graph::Location;
use std::{error::Error, fmt};

/// What kind of mistake it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PlanErrorKind {
    /// Two steps, groups or scopes of one name in one scope.
    DuplicateName,
    /// Two children or steps with one key.
    DuplicateKey,
    /// Two inputs of one name at one step.
    DuplicateInput,
    /// Two arms of one label at one branch.
    DuplicateLabel,
    /// A name that cannot stand in a path.
    InvalidName,
    /// A key that cannot be a key.
    InvalidKey,
    /// An arm's label that cannot be a label.
    InvalidLabel,
    /// A prompt without a word in it.
    BlankPrompt,
    /// A title without a word in it.
    BlankTitle,
    /// A model, runner, tool or the like without a word in it.
    BlankOption,
    /// A handle used outside the body that made it.
    LeakedHandle,
    /// A handle of another plan.
    ForeignHandle,
    /// A builder that was dropped before its last call.
    Unfinished,
    /// `limit(0)`.
    ZeroLimit,
    /// No round at all.
    ZeroRounds,
    /// A timeout of no time.
    ZeroTimeout,
    /// A wait or an expiry of no time.
    ZeroDuration,
    /// A type whose schema no value can be checked against.
    InexpressibleSchema,
    /// A constant that does not survive JSON.
    Unencodable,
    /// A pipeline without a stage.
    NoStages,
    /// `key_by` where the keys come from another fan-out.
    KeysInherited,
    /// A second `revise` on one review.
    RevisedTwice,
    /// A command that starts nothing.
    NoProgram,
    /// A name that no variable of an environment can have.
    InvalidVariable,
    /// A path that is absolute, empty or leaves its directory.
    InvalidPath,
    /// A cap of no bytes.
    ZeroCap,
    /// A glob that cannot be one.
    InvalidGlob,
    /// `.settled()` in another body than the step's own.
    SettledElsewhere,
    /// A quorum of nobody, or of more than there are.
    ImpossibleQuorum,
    /// One shared limit with two numbers, or one inside itself.
    ConflictingLimit,
    /// A template that cannot be read as one.
    TemplateSyntax,
    /// A template that reads what no input has.
    TemplateVariable,
    /// A template's file that cannot be read.
    TemplateUnreadable,
    /// `.on_change(..)` on a step that must not happen twice.
    OnChangeUnsafe,
    /// `.memo()` on a step that is not `Pure`.
    MemoNotPure,
    /// A renaming to a path that the plan does not have.
    UnknownPath,
    /// A budget of nothing.
    EmptyBudget,
    /// An agent whose budget is not about what one call costs.
    MisplacedBudget,
    /// An agent in a budget, without a bound on what a call of it costs.
    UnboundedAgent,
    /// One shared budget with two bounds, or one inside itself.
    ConflictingBudget,
}

impl PlanErrorKind {
    /// The kind as one word for programs, e.g. `duplicate_name`.
    pub fn code(self) -> &'static str {
        match self {
            Self::DuplicateName => "duplicate_name",
            Self::DuplicateKey => "duplicate_key",
            Self::DuplicateInput => "duplicate_input",
            Self::DuplicateLabel => "duplicate_label",
            Self::InvalidName => "invalid_name",
            Self::InvalidKey => "invalid_key",
            Self::InvalidLabel => "invalid_label",
            Self::BlankPrompt => "blank_prompt",
            Self::BlankTitle => "blank_title",
            Self::BlankOption => "blank_option",
            Self::LeakedHandle => "leaked_handle",
            Self::ForeignHandle => "foreign_handle",
            Self::Unfinished => "unfinished",
            Self::ZeroLimit => "zero_limit",
            Self::ZeroRounds => "zero_rounds",
            Self::ZeroTimeout => "zero_timeout",
            Self::ZeroDuration => "zero_duration",
            Self::InexpressibleSchema => "inexpressible_schema",
            Self::Unencodable => "unencodable",
            Self::NoStages => "no_stages",
            Self::KeysInherited => "keys_inherited",
            Self::RevisedTwice => "revised_twice",
            Self::NoProgram => "no_program",
            Self::InvalidVariable => "invalid_variable",
            Self::InvalidPath => "invalid_path",
            Self::ZeroCap => "zero_cap",
            Self::InvalidGlob => "invalid_glob",
            Self::SettledElsewhere => "settled_elsewhere",
            Self::ImpossibleQuorum => "impossible_quorum",
            Self::ConflictingLimit => "conflicting_limit",
            Self::TemplateSyntax => "template_syntax",
            Self::TemplateVariable => "template_variable",
            Self::TemplateUnreadable => "template_unreadable",
            Self::OnChangeUnsafe => "on_change_unsafe",
            Self::MemoNotPure => "memo_not_pure",
            Self::UnknownPath => "unknown_path",
            Self::EmptyBudget => "empty_budget",
            Self::MisplacedBudget => "misplaced_budget",
            Self::UnboundedAgent => "unbounded_agent",
            Self::ConflictingBudget => "conflicting_budget",
        }
    }
}

/// One mistake of a plan.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanError {
    /// What kind of mistake it is.
    pub kind: PlanErrorKind,
    /// What is wrong.
    pub message: String,
    /// How to mend it.
    pub mend: String,
    /// Where it is.
    pub at: Location,
    /// The other place it concerns, where there is one: the first step of the same name, the making of a handle.
    pub also: Option<Location>,
}

impl PlanError {
    pub(crate) fn new(
        kind: PlanErrorKind,
        at: Location,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { kind, message: message.into(), mend: mend.into(), at, also: None }
    }

    pub(crate) fn also(mut self, also: Location) -> Self {
        self.also = Some(also);
        self
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)?;
        if let Some(also) = self.also {
            write!(f, " (see also {also})")?;
        }
        write!(f, "; {}", self.mend)
    }
}

impl fmt::Debug for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for PlanError {}

/// Every mistake of a plan, in the order of the source. `Debug` is `Display`, so `unwrap` and `?` in `main` read well.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let mistakes = Plan::new("greet", |who: Step<String>| agent("greet").input("who", who).prompt(" ").text());
/// let mistakes = mistakes.err().ok_or("a blank prompt is a mistake")?;
/// assert_eq!(mistakes.iter().count(), 1);
/// assert!(mistakes.to_string().contains("the prompt of `greet` is blank"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PlanErrors {
    plan: String,
    errors: Vec<PlanError>,
}

impl PlanErrors {
    pub(crate) fn new(plan: String, mut errors: Vec<PlanError>) -> Self {
        // Some are found late (what was never finished): the reader wants them where the source has them.
        errors.sort_by_key(|error| (error.at.file(), error.at.line()));
        Self { plan, errors }
    }

    /// The name of the plan, as the author gave it.
    pub fn plan(&self) -> &str {
        &self.plan
    }

    /// The mistakes, in the order of the source.
    pub fn iter(&self) -> std::slice::Iter<'_, PlanError> {
        self.errors.iter()
    }
}

impl<'a> IntoIterator for &'a PlanErrors {
    type Item = &'a PlanError;
    type IntoIter = std::slice::Iter<'a, PlanError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.errors.len();
        write!(f, "the plan `{}` has {count} mistake{}:", self.plan, if count == 1 { "" } else { "s" })?;
        for error in &self.errors {
            write!(f, "\n- {error}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for PlanErrors {}
