//! The plan graph: what the builders make, what layouts draw and what the executor walks. Complete before anything runs.

mod body;
mod closures;
mod kind;
mod node;
mod whole;

pub use body::{Body, BodyId, Role};
pub use closures::{AssignFn, AsyncFn, BoxFuture, ComputeFn, KeepFn, KeyFn, MomentFn, PickFn, PromptFn};
pub use kind::{
    Agent, Arm, Ask, Assignee, Call, Catch, Choices, Compute, Derived, Expires, Fan, FanMode, Keys, Kind,
    LocalStep, Placeholder, Prompt, Repeat, Review, ReviewEnd, Until,
};
pub use node::{Location, Node, NodeId, NodeInput};
pub use whole::{Edge, Graph};
