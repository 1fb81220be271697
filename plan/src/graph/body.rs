//! Bodies: the sub-graphs inside fan-outs, stages, loops and arms. Each run-time copy of a body is a frame.

use super::{Bounded, Location, NodeId};

/// A body's index in its graph. The plan itself is body 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyId(pub u32);

impl BodyId {
    /// The plan itself.
    pub const PLAN: Self = Self(0);
}

/// What a body is to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The plan itself.
    Plan,
    /// The body of a `parallel_each`: one copy an item.
    Item,
    /// A stage of a pipeline, from 1: one copy an item.
    Stage(u32),
    /// The child of a `parallel` with this key.
    Child(String),
    /// The body of a `repeat`: one copy a round.
    Round,
    /// A branch's arm.
    Arm(String),
    /// What a catch watches over.
    Try,
    /// A plan in a plan.
    Call,
    /// A level of a recursive part, from 1.
    Level(u32),
    /// What a `then` has built.
    Then,
    /// The else of a branch, loop or catch.
    Else,
    /// The revision of a review: one copy a round.
    Revise,
}

/// A sub-graph.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its index.
    pub id: BodyId,
    /// The node it belongs to; `None` for the plan itself.
    pub owner: Option<NodeId>,
    /// What it is to that node.
    pub role: Role,
    /// Its placeholders, in the closure's order.
    pub params: Vec<NodeId>,
    /// Its nodes, in the order in which they joined, placeholders included.
    pub nodes: Vec<NodeId>,
    /// The node whose output is the body's.
    pub result: NodeId,
    /// The budgets of it and of scopes in it.
    pub bounds: Vec<Bounded>,
    /// Where the author wrote it.
    pub at: Location,
}
