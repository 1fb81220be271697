//! The plan graph: what the builders make, what layouts draw and what the executor walks. Complete before anything runs.

mod body;
mod closures;
mod command;
mod kind;
mod node;
mod whole;

pub use body::{Body, BodyId, Role};
pub use closures::{ArgvFn, AsyncFn, BoxFuture, ComputeFn, KeepFn, KeyFn, PickFn, PromptFn};
pub use command::{Command, CommandEnd, CommandLine, Redaction, Stdin};
pub use kind::{
    Agent, Arm, Ask, Call, Catch, Choices, Compute, Derived, Fan, FanMode, Keys, Kind, LocalStep,
    Placeholder, Prompt, Repeat, Review,
};
pub use node::{Location, Node, NodeId, NodeInput};
pub use whole::{Edge, Graph};
