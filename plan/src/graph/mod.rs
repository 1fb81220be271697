//! The plan graph: what the builders make, what layouts draw and what the executor walks. Complete before anything runs.

mod around;
mod body;
mod closures;
mod copy;
mod kind;
mod node;
mod structure;
mod whole;

pub use around::{Around, Grown};
pub use body::{Body, BodyId, Role};
pub use closures::{
    AssignFn, AsyncFn, BoxFuture, ComputeFn, GrowFn, KeepFn, KeyFn, MomentFn, NeedsFn, PickFn, PromptFn,
};
pub(crate) use copy::{Copies, Copying};
pub use kind::{
    Agent, Arm, Ask, Assignee, Call, Catch, Choices, Compute, Derived, Expires, Fan, FanMode, Keys, Kind,
    LocalStep, Needs, Placeholder, Prompt, Recursive, Repeat, Review, ReviewEnd, Then, Until,
};
pub use node::{Location, Node, NodeId, NodeInput};
pub(crate) use whole::Part;
pub use whole::{Edge, Graph};
