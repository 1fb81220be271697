//! `Layout`: one plan, and the forms in which it can be drawn.

use super::{Drawing, json, painter, text};
use crate::graph::{Graph, Node};
use std::fmt;

/// The drawing of a plan. Its `Display` is the text tree; every form is the same for the same plan.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    graph: &'a Graph,
}

impl<'a> Layout<'a> {
    /// The drawing of this graph.
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph }
    }

    /// The plan's name.
    pub fn name(&self) -> &'a str {
        self.graph.name()
    }

    /// The text tree, one line a node, without a line feed at the end.
    pub fn text(&self) -> String {
        self.drawing().to_string()
    }

    /// The text tree before it is written out.
    pub fn drawing(&self) -> Drawing {
        self.noted(|_| None)
    }

    /// The text tree with a note behind the lines of some nodes: `greet: agent(input) -> string · reuse`.
    pub fn noted(&self, note: impl Fn(&Node) -> Option<String>) -> Drawing {
        text::draw(self.graph, &note)
    }

    /// A Mermaid flowchart. Groups are subgraphs, order without data is dashed.
    pub fn mermaid(&self) -> String {
        painter::paint(self.graph).mermaid()
    }

    /// A Graphviz graph in DOT. Groups are clusters, order without data is dashed.
    pub fn dot(&self) -> String {
        painter::paint(self.graph).dot()
    }

    /// The plan as JSON, format 1: `{"format": 1, "plan", "input", "output", "line", "steps": [..], "yields"}`.
    ///
    /// A step is `{"step", "path", "kind", "line", "from": [..], "after": [..], "type", "bodies": [{"role", "steps",
    /// "yields"}]}`: its name, the pattern of its path, what it is, its line in the text tree, what its inputs and its order
    /// come from, what drawings call its type, and the bodies of a group (absent for others). A scope is `{"scope", "steps"}`.
    /// `role` and `yields` are null where the text tree says nothing. Fields may be added to the format.
    pub fn json(&self) -> serde_json::Value {
        json::write(self.graph)
    }
}

impl fmt::Display for Layout<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.drawing(), f)
    }
}
