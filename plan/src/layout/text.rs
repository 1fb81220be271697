//! The text tree of a plan: one line a recorded step or group. Derived nodes, constants and placeholders have none; they
//! show as sources.

use super::{Drawing, Lines};
use crate::graph::{Body, BodyId, Graph, Kind, Node};

/// Draws a plan.
pub(super) fn draw(graph: &Graph, note: &dyn Fn(&Node) -> Option<String>) -> Drawing {
    let text = Text { graph, lines: Lines::new(graph), note };
    Drawing::with(text.lines.plan(), text.inside(graph.body(BodyId::PLAN)))
}

/// Whether a node has a line of its own.
pub(super) fn has_line(node: &Node) -> bool {
    !matches!(node.kind, Kind::Placeholder(_) | Kind::Constant(_) | Kind::Derived(_))
}

struct Text<'a> {
    graph: &'a Graph,
    lines: Lines<'a>,
    /// What is said of a node behind its line.
    note: &'a dyn Fn(&Node) -> Option<String>,
}

impl<'a> Text<'a> {
    fn inside(&self, body: &'a Body) -> Vec<Drawing> {
        let nodes = self.lines.nodes(body).map(|node| (node, self.node(node)));
        let scope = |name: &str, inside: Vec<(&'a Node, Drawing)>| {
            let first = inside[0].0;
            let inside = inside.into_iter().map(|(_, drawing)| drawing).collect();
            (first, Drawing::with(format!("{name}: scope"), inside))
        };
        let drawn = self.lines.scoped(nodes, |(node, _)| node, scope);
        let mut drawn: Vec<_> = drawn.into_iter().map(|(_, drawing)| drawing).collect();
        drawn.extend(self.lines.result(body).map(Drawing::leaf));
        drawn
    }

    fn node(&self, node: &'a Node) -> Drawing {
        let bodies = self.graph.bodies_of(node.id);
        let inside = bodies.iter().flat_map(|body| self.body(node, self.graph.body(*body))).collect();
        let line = self.lines.node(node);
        let line = (self.note)(node).map_or_else(|| line.clone(), |note| format!("{line} · {note}"));
        Drawing::with(line, inside)
    }

    fn body(&self, owner: &Node, body: &'a Body) -> Vec<Drawing> {
        let mut lines = self.inside(body);
        let Some(role) = self.lines.role(owner, body) else { return lines };
        // A child with one line shares it with its key; what yields without a step of its own needs no second line.
        let short = matches!(owner.kind, Kind::Parallel { .. }) || self.lines.nodes(body).next().is_none();
        match lines.pop() {
            Some(only) if short && lines.is_empty() => {
                vec![Drawing::with(format!("{role} {}", only.line), only.children)]
            }
            last => {
                lines.extend(last);
                vec![Drawing::with(role, lines)]
            }
        }
    }
}
