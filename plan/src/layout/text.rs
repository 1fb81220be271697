//! The text tree of a plan: one line a recorded step or group. Derived nodes, constants and placeholders have none; they
//! show as sources.

use super::{
    Drawing,
    sources::{Place, Sources},
    words,
};
use crate::graph::{Body, BodyId, Graph, Kind, Node};

/// Draws a plan.
pub(super) fn draw(graph: &Graph) -> Drawing {
    let text = Text { graph, sources: Sources::new(graph) };
    let line =
        format!("plan {}(input: {}) -> {}", graph.name(), graph.input().label(), graph.output().label());
    Drawing::with(line, text.inside(graph.body(BodyId::PLAN)))
}

/// Whether a node has a line of its own.
pub(super) fn has_line(node: &Node) -> bool {
    !matches!(node.kind, Kind::Placeholder(_) | Kind::Constant(_) | Kind::Derived(_))
}

struct Text<'a> {
    graph: &'a Graph,
    sources: Sources<'a>,
}

impl<'a> Text<'a> {
    fn inside(&self, body: &'a Body) -> Vec<Drawing> {
        let nodes = self.nodes(body);
        let mut lines = self.grouped(&nodes, 0);
        lines.extend(self.result(body, nodes.last().copied()).map(Drawing::leaf));
        lines
    }

    fn nodes(&self, body: &Body) -> Vec<&'a Node> {
        body.nodes.iter().map(|id| self.graph.node(*id)).filter(|node| has_line(node)).collect()
    }

    /// A line a node, and one around those of each scope that opens at this depth.
    fn grouped(&self, nodes: &[&'a Node], depth: usize) -> Vec<Drawing> {
        nodes
            .chunk_by(|one, other| {
                one.scopes.get(depth).is_some() && one.scopes.get(depth) == other.scopes.get(depth)
            })
            .flat_map(|run| match run.first().and_then(|node| node.scopes.get(depth)) {
                Some(scope) => vec![Drawing::with(format!("{scope}: scope"), self.grouped(run, depth + 1))],
                None => run.iter().map(|node| self.node(node)).collect(),
            })
            .collect()
    }

    /// What the body yields, where its last line does not say it.
    fn result(&self, body: &Body, last: Option<&Node>) -> Option<String> {
        let flow = self.sources.flow(body.result);
        if flow.is_none() && last.is_some_and(|last| last.id == body.result) {
            return None;
        }
        let labels = self.sources.labels(body.result, Place::end_of(body.id)).join(", ");
        Some(flow.map_or_else(|| format!("-> {labels}"), |flow| format!("-> {flow} {labels}")))
    }

    fn node(&self, node: &'a Node) -> Drawing {
        let place = Place::of(node);
        let sources = if words::takes_one(&node.kind) {
            self.sources.one(&node.inputs, place)
        } else {
            self.sources.list(&node.inputs, place)
        };
        let head = words::head(&node.kind, Some(&sources));
        let line = format!("{}: {head}{} -> {}", node.name, self.after(node), node.schema.label());
        let bodies = self.graph.bodies_of(node.id);
        Drawing::with(line, bodies.iter().flat_map(|body| self.body(node, self.graph.body(*body))).collect())
    }

    fn after(&self, node: &Node) -> String {
        if node.after.is_empty() {
            return String::new();
        }
        let of = |id: &_| self.sources.labels(*id, Place::of(node));
        format!(" after {}", node.after.iter().flat_map(of).collect::<Vec<_>>().join(", "))
    }

    fn body(&self, owner: &Node, body: &'a Body) -> Vec<Drawing> {
        let mut lines = self.inside(body);
        let Some(role) = words::role(owner, body) else { return lines };
        // A child with one line shares it with its key; what yields without a step of its own needs no second line.
        let short = matches!(owner.kind, Kind::Parallel { .. }) || self.nodes(body).is_empty();
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
