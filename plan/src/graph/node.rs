//! One node of the graph: what it is, what it needs, where the author wrote it.

use super::{BodyId, Kind, Replay};
use hermes_core::{path::StepPath, schema::Schema};
use std::{fmt, panic};

/// A node's index in its graph. Not durable: identity in the journal is the node's pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Where in the author's source something was written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Location(&'static panic::Location<'static>);

impl Location {
    /// The caller's location.
    #[track_caller]
    pub fn caller() -> Self {
        Self(panic::Location::caller())
    }

    /// The source file, as the compiler was given it.
    pub fn file(&self) -> &'static str {
        self.0.file()
    }

    /// The line, from 1.
    pub fn line(&self) -> u32 {
        self.0.line()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.file(), self.0.line())
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One data input of a node.
#[derive(Clone, Debug)]
pub struct NodeInput {
    /// The author's name for it; a fixed word (`items`, `value`, `initial`, `on`) where the primitive gives none.
    pub name: String,
    /// The node whose output it is.
    pub node: NodeId,
}

/// A node: a step, a group, or something derived.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its index.
    pub id: NodeId,
    /// The body it belongs to.
    pub body: BodyId,
    /// The `scope(..)`s around it inside its body, outermost first.
    pub scopes: Vec<String>,
    /// Its name as its path has it, with the static key if it has one (`lint[core]`); empty for what is derived.
    pub name: String,
    /// The pattern of its path: unique in the plan, and its identity in the journal. Empty for what is derived.
    pub pattern: StepPath,
    /// Its data inputs, in the author's order.
    pub inputs: Vec<NodeInput>,
    /// Nodes that must have succeeded before it (`.after(..)`).
    pub after: Vec<NodeId>,
    /// What it is.
    pub kind: Kind,
    /// The schema of its output.
    pub schema: Schema,
    /// What its author says of it for runs that were begun earlier.
    pub replay: Replay,
    /// Where the author wrote it.
    pub at: Location,
}
