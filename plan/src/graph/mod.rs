//! The plan graph: what the builders make, what layouts draw and what the executor walks. Complete before anything runs.

mod around;
mod body;
mod bounds;
mod closures;
mod command;
mod copy;
mod globs;
mod identity;
mod kind;
mod node;
mod replay;
mod structure;
mod whole;

pub use around::{Around, Grown};
pub use body::{Body, BodyId, Role};
pub use bounds::{Bounded, Bounds};
pub use closures::{
    ArgvFn, AssignFn, AsyncFn, BoxFuture, CheckFn, ComputeFn, GrowFn, KeepFn, KeyFn, MomentFn, NeedsFn,
    PickFn, PromptFn,
};
pub use command::{Command, CommandEnd, CommandLine, Redaction, Stdin};
pub(crate) use copy::{Copies, Copying};
pub use globs::Globs;
pub(crate) use identity::PlanId;
pub use kind::{
    Agent, Arm, Ask, Assignee, Call, Catch, Check, Choices, Compute, Derived, Expires, Fan, FanMode, Files,
    Keys, Kind, LocalStep, Needs, Placeholder, Prompt, Recursive, Repeat, Review, ReviewEnd, Text, Then,
    Until,
};
pub use node::{Location, Node, NodeId, NodeInput};
pub use replay::{OnChange, Rename, Replay};
pub(crate) use whole::Part;
pub use whole::{Edge, Graph};
