//! The plan graph: what the builders make, what layouts draw and what the executor walks. Complete before anything runs.

mod body;
mod closures;
mod globs;
mod kind;
mod node;
mod whole;

pub use body::{Body, BodyId, Role};
pub use closures::{AsyncFn, BoxFuture, CheckFn, ComputeFn, KeepFn, KeyFn, PickFn, PromptFn};
pub use globs::Globs;
pub use kind::{
    Agent, Arm, Ask, Call, Catch, Check, Choices, Compute, Derived, Fan, FanMode, Files, Keys, Kind,
    LocalStep, Placeholder, Prompt, Repeat, Review, Text,
};
pub use node::{Location, Node, NodeId, NodeInput};
pub use whole::{Edge, Graph};
