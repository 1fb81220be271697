//! The plan graph: what the builders make, what layouts draw and what the executor walks. Complete before anything runs.

mod around;
mod body;
mod closures;
mod copy;
mod globs;
mod kind;
mod node;
mod structure;
mod whole;

pub use around::{Around, Grown};
pub use body::{Body, BodyId, Role};
pub use closures::{
    AsyncFn, BoxFuture, CheckFn, ComputeFn, GrowFn, KeepFn, KeyFn, NeedsFn, PickFn, PromptFn,
};
pub(crate) use copy::{Copies, Copying};
pub use globs::Globs;
pub use kind::{
    Agent, Arm, Ask, Call, Catch, Check, Choices, Compute, Derived, Fan, FanMode, Files, Keys, Kind,
    LocalStep, Needs, Placeholder, Prompt, Recursive, Repeat, Review, Text, Then,
};
pub use node::{Location, Node, NodeId, NodeInput};
pub(crate) use whole::Part;
pub use whole::{Edge, Graph};
