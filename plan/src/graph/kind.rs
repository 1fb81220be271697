//! What a node can be, and the options of each kind.

use super::{
    AssignFn, AsyncFn, BodyId, Bounds, CheckFn, Command, ComputeFn, Globs, GrowFn, KeepFn, KeyFn, Location,
    MomentFn, NeedsFn, NodeId, PickFn, PromptFn,
};
use crate::templates::ReadyTemplate;
use hermes_core::{
    budget::Budget,
    effect::{Effect, Isolation},
    retry::Retry,
    schema::Schema,
    value::Val,
};
use std::{fmt, num::NonZeroU32, sync::Arc, time::Duration};

/// What a node is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Stands for a value that is handed in.
    Placeholder(Placeholder),
    /// A constant of the plan.
    Constant(Val),
    /// Computed from its inputs whenever it is needed; not recorded.
    Derived(Derived),
    /// An agent call.
    Agent(Box<Agent>),
    /// A question to a person.
    Ask(Box<Ask>),
    /// Local Rust.
    Step(Box<LocalStep>),
    /// A subprocess.
    Command(Box<Command>),
    /// A wait. Its output is the moment it was over.
    Wait(Until),
    /// A snapshot of files.
    Files(Box<Files>),
    /// A fan-out known at build time: one child a key, in order.
    Parallel {
        /// Keys and bodies, in order.
        children: Vec<(String, BodyId)>,
        /// Limit and failure mode.
        fan: Fan,
    },
    /// A fan-out over a list known at run time. Its one input is the list.
    Each {
        /// The body.
        body: BodyId,
        /// How items get their keys.
        keys: Keys,
        /// Which others an item needs; without it, none.
        needs: Option<Needs>,
        /// Limit and failure mode.
        fan: Fan,
    },
    /// A fan-out over a list whose items go through stages with a barrier between them. Its one input is the list.
    Pipeline {
        /// The stages' bodies, in order; at least one.
        stages: Vec<BodyId>,
        /// How items get their keys.
        keys: Keys,
        /// Limit and failure mode.
        fan: Fan,
    },
    /// A bounded loop. Its one input is the initial state; its body's output is a flow (`{"Again": state}` or
    /// `{"Done": output}`).
    Repeat(Repeat),
    /// A choice. Its one input is what it chooses on.
    Branch {
        /// The arms, in order.
        arms: Vec<Arm>,
        /// The body of `.otherwise(..)`; `None` fails where no arm takes the value.
        otherwise: Option<BodyId>,
    },
    /// A part of the plan whose failure is caught.
    Catch(Catch),
    /// A plan in the plan. Its one input is that plan's input.
    Call(BodyId),
    /// A part of the plan that may stand in itself again. Its one input is the first level's.
    Recursive(Recursive),
    /// A recursive part once more, one level deeper. Its one input is that level's.
    Again {
        /// The recursive part.
        of: NodeId,
    },
    /// A part of the plan that is built when its one input is known.
    Then(Box<Then>),
    /// The approve-or-revise loop. Its first input is the value under review.
    Review(Box<Review>),
}

impl Kind {
    /// What it is, in a word: as it stands in a journal's table of plan steps.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Placeholder(_) | Self::Constant(_) | Self::Derived(_) => "derived",
            Self::Agent(_) => "agent",
            Self::Ask(_) => "ask",
            Self::Step(_) => "step",
            Self::Command(_) => "command",
            Self::Wait(_) => "wait",
            Self::Files(_) => "files",
            Self::Parallel { .. } => "parallel",
            Self::Each { .. } => "parallel each",
            Self::Pipeline { .. } => "pipeline",
            Self::Repeat(_) => "repeat",
            Self::Branch { .. } => "branch",
            Self::Catch(_) => "catch",
            Self::Call(_) => "call",
            Self::Recursive(_) => "recursive",
            Self::Again { .. } => "again",
            Self::Then(_) => "then",
            Self::Review(_) => "review",
        }
    }
}

/// What a placeholder stands for. The word is what layouts show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The plan's input.
    Input,
    /// An item of a fan-out.
    Item,
    /// The value of a branch or review.
    Value,
    /// The feedback of a review.
    Feedback,
    /// Why a review's value was rejected.
    Reason,
    /// The state of a loop.
    State,
    /// The failure that a catch has caught.
    Failure,
    /// The outputs of the items that an item needs.
    Needed,
}

impl Placeholder {
    /// The word for layouts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Item => "item",
            Self::Value => "value",
            Self::Feedback => "feedback",
            Self::Reason => "reason",
            Self::State => "state",
            Self::Failure => "failure",
            Self::Needed => "needed",
        }
    }
}

/// A derived value.
#[derive(Clone)]
pub struct Derived {
    /// The verb (`map`, `get`, `join`, `filter`, `again` ..).
    pub verb: &'static str,
    /// The computation.
    pub compute: Compute,
}

/// How a derived value comes about.
#[derive(Clone)]
pub enum Compute {
    /// From the values of all inputs.
    Value(ComputeFn),
    /// Its one input is a list, of which some elements stay. Where the list has keys, what stays keeps them.
    Kept(KeepFn),
    /// What became of its one input, a failure included: `{"Ok": T} | {"Err": Failure}`.
    Settled,
}

/// How an agent's prompt comes about.
#[derive(Clone)]
pub enum Prompt {
    /// A fixed text; each input follows as a named, fenced JSON block.
    Text(String),
    /// Built from the inputs; sent as it is.
    Built {
        /// The prompt builder.
        build: PromptFn,
        /// Where it was written.
        at: Location,
    },
    /// Rendered from a template; sent as it is.
    Template {
        /// The template's id: its path, as the author wrote it.
        id: String,
        /// The template; `None` for a file, which whoever runs the plan reads ([`load_templates`](crate::load_templates)).
        ready: Option<Arc<ReadyTemplate>>,
        /// Where it was given.
        at: Location,
    },
}

/// A text that may be made from a step's inputs.
#[derive(Clone)]
pub enum Text {
    /// A fixed text.
    Fixed(String),
    /// Made from the inputs.
    Made {
        /// Makes it.
        make: PromptFn,
        /// Where that was written.
        at: Location,
    },
}

/// What an answer has to stand beyond its schema.
#[derive(Clone)]
pub struct Check {
    /// The author's closure: what is wrong with the answer, or nothing.
    pub test: CheckFn,
    /// Where it was written.
    pub at: Location,
}

/// An agent call.
#[derive(Clone)]
pub struct Agent {
    /// The prompt.
    pub prompt: Prompt,
    /// Whether the answer is plain text (`.text()`) rather than JSON of the node's schema.
    pub text: bool,
    /// Decodes its one value as the author's type today and hands it back; the error says why it cannot.
    pub check: ComputeFn,
    /// What an answer has to stand beyond its schema and type, in the author's order.
    pub checks: Vec<Check>,
    /// How many more turns an attempt may take when an answer is refused.
    pub repair: u32,
    /// What people call a copy of it.
    pub title: Option<Text>,
    /// Tools, by name.
    pub tools: Vec<String>,
    /// Skills, by name.
    pub skills: Vec<String>,
    /// Files it is given, relative to the executor's directory.
    pub files: Vec<String>,
    /// The model asked for.
    pub model: Option<Text>,
    /// The variant asked for.
    pub variant: Option<String>,
    /// Where it works.
    pub isolation: Isolation,
    /// The runner, by name; `None` for the executor's default.
    pub runner: Option<String>,
    /// The longest it may take.
    pub timeout: Option<Duration>,
    /// How long nothing may be heard of it.
    pub stall: Option<Duration>,
    /// How often it is tried again by itself.
    pub retry: Retry,
    /// What running it twice would do.
    pub effect: Effect,
    /// The author's version.
    pub version: Option<u32>,
    /// What one call may cost at most.
    pub budget: Option<Budget>,
}

/// The choices of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Which of the node's inputs holds the list.
    pub input: usize,
    /// Whether several may be chosen.
    pub many: bool,
}

/// A question. Its inputs are what the person is shown.
#[derive(Clone)]
pub struct Ask {
    /// The title; the step's name where the author gave none.
    pub title: String,
    /// The choices, where there are choices. That input is the last.
    pub choices: Option<Choices>,
    /// Whom it is for; `None` for anybody.
    pub assignee: Option<Assignee>,
    /// How long it is open; `None` for ever.
    pub expires: Option<Expires>,
    /// Decodes its one value (an answer) as the author's type today and hands it back; the error says why it cannot.
    pub check: ComputeFn,
}

/// Whom a question is for.
#[derive(Clone)]
pub enum Assignee {
    /// The same name each time.
    Fixed(String),
    /// Made from the question's first inputs. A blank name is nobody's.
    Built {
        /// The name's builder.
        build: AssignFn,
        /// Where it was written.
        at: Location,
    },
}

/// How long a question is open, and what then.
#[derive(Clone, Debug)]
pub struct Expires {
    /// How long, from its opening.
    pub after: Duration,
    /// The value it then has; without one it fails.
    pub value: Option<Val>,
}

/// When a wait is over.
#[derive(Clone)]
pub enum Until {
    /// So long after it began.
    After(Duration),
    /// At the moment that its one input is.
    Moment(MomentFn),
}

/// How a local step is run.
#[derive(Clone)]
pub enum Call {
    /// On the blocking pool.
    Blocking(ComputeFn),
    /// On the async runtime.
    Async(AsyncFn),
}

/// Local Rust.
#[derive(Clone)]
pub struct LocalStep {
    /// The author's closure.
    pub call: Call,
    /// Where it stands.
    pub at: Location,
    /// Decodes its one value as the author's type today and hands it back; the error says why it cannot.
    pub check: ComputeFn,
    /// The longest it may take.
    pub timeout: Option<Duration>,
    /// How often it is tried again by itself.
    pub retry: Retry,
    /// What running it twice would do.
    pub effect: Effect,
    /// The author's version.
    pub version: Option<u32>,
}

/// A snapshot of files.
#[derive(Clone)]
pub struct Files {
    /// Which files.
    pub globs: Globs,
    /// Whether the value holds the files' texts.
    pub texts: bool,
    /// Decodes its one value as today's type and hands it back; the error says why it cannot.
    pub check: ComputeFn,
}

/// How a fan-out fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanMode {
    /// `.all()`: the first failure fails it. Yields `[T]`.
    FailFast,
    /// `.results()`: failures are values. Yields `[{"Ok": T} | {"Err": Failure}]`.
    Collect,
    /// `.options()`: a failure becomes null. Yields `[T | null]`.
    Null,
    /// `.at_least(n)`: the first so many that succeed. Yields `[T]`.
    AtLeast(NonZeroU32),
    /// `.first()`: the first that succeeds. Yields `T`.
    First,
}

impl FanMode {
    /// How many items have to succeed, where the first that do are enough.
    pub fn quorum(self) -> Option<u32> {
        match self {
            Self::AtLeast(count) => Some(count.get()),
            Self::First => Some(1),
            Self::FailFast | Self::Collect | Self::Null => None,
        }
    }
}

/// What every fan-out has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fan {
    /// How many items may be in progress at once.
    pub limit: Option<NonZeroU32>,
    /// The name of the limit, where several fan-outs share one.
    pub shared: Option<Arc<str>>,
    /// What may be spent in it, in all items together.
    pub bounds: Option<Bounds>,
    /// Whether an item goes on to its next stage before the others have ended theirs.
    pub streaming: bool,
    /// How it fails.
    pub mode: FanMode,
    /// Whether each element of the result has its item's key with it: `{"key": .., "value": ..}`.
    pub keyed: bool,
}

/// How the items of a run-time fan-out get their keys.
#[derive(Clone)]
pub enum Keys {
    /// By position in the list.
    Position,
    /// From the item, by `key_by`.
    By {
        /// The key builder.
        key: KeyFn,
        /// Where it was written.
        at: Location,
    },
    /// From the fan-out whose result the list is.
    Inherited(NodeId),
}

/// Which other items an item needs.
#[derive(Clone)]
pub struct Needs {
    /// Their keys.
    pub of: NeedsFn,
    /// Where it was written.
    pub at: Location,
}

/// A bounded loop.
#[derive(Clone, Copy, Debug)]
pub struct Repeat {
    /// The body.
    pub body: BodyId,
    /// The most rounds.
    pub max: NonZeroU32,
    /// What yields the output when the rounds are used up, from the last state; `None` fails.
    pub or_else: Option<BodyId>,
}

/// An arm of a branch.
#[derive(Clone)]
pub struct Arm {
    /// Its label.
    pub label: String,
    /// What it makes of a value that it takes. `.when(..)` hands the value itself on, `.case(..)` what it found in it.
    pub pick: PickFn,
    /// Whether it is a `.case(..)`.
    pub case: bool,
    /// Its body.
    pub body: BodyId,
    /// Where the test was written.
    pub at: Location,
}

/// A part of the plan whose failure is caught.
#[derive(Clone, Copy, Debug)]
pub struct Catch {
    /// What may fail.
    pub body: BodyId,
    /// What yields the output instead, from the failure. Without it the output is `{"Ok": T} | {"Err": Failure}`.
    pub or_else: Option<BodyId>,
}

/// A part of the plan that may stand in itself again.
#[derive(Clone, Copy, Debug)]
pub struct Recursive {
    /// Its first level.
    pub body: BodyId,
    /// The most levels.
    pub max_depth: NonZeroU32,
}

/// A part of the plan that is built when a value is known.
#[derive(Clone)]
pub struct Then {
    /// Builds it.
    pub build: GrowFn,
    /// Where the closure was written.
    pub at: Location,
}

/// An approve-or-revise loop.
#[derive(Clone)]
pub struct Review {
    /// The title; the review's name where the author gave none.
    pub title: String,
    /// The revision: `(value, feedback)` to the next value. Without one there is no *request changes*.
    pub revise: Option<BodyId>,
    /// The most rounds.
    pub max_rounds: NonZeroU32,
    /// The schema of an answer.
    pub answer: Schema,
    /// What comes of the answer.
    pub end: ReviewEnd,
    /// Decodes its one value (an edited value) as the author's type today and hands it back; the error says why it
    /// cannot.
    pub check: ComputeFn,
}

/// What comes of a review's last answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewEnd {
    /// The approved value; there is no *reject*.
    Approved,
    /// The output of one of two bodies: `approved` gets the value, `rejected` the value and the reason.
    Decide {
        /// The body for an approved value.
        approved: BodyId,
        /// The body for a rejected one.
        rejected: BodyId,
    },
    /// A verdict: `{"Approved": value}` or `{"Rejected": {"value": value, "reason": text}}`.
    Decision,
}

impl ReviewEnd {
    /// Whether the output comes from one of two bodies.
    pub fn decides(self) -> bool {
        matches!(self, Self::Decide { .. })
    }
}

macro_rules! opaque {
    ($($name:ident => $text:literal),* $(,)?) => {
        $(impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($text)
            }
        })*
    };
}
opaque! { Derived => "Derived", Compute => "Compute", Call => "Call", Prompt => "Prompt", Text => "Text", Check => "Check",
Files => "Files", Keys => "Keys", Needs => "Needs", Arm => "Arm", Agent => "Agent", Ask => "Ask", LocalStep => "LocalStep",
Assignee => "Assignee", Until => "Until", Review => "Review", Then => "Then" }
