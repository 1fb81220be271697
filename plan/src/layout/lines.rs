//! The line of each node and body of a plan. Drawings that arrange them otherwise, such as a run's, which has one for each
//! copy, say the same words as the plan's own tree.

use super::{
    sources::{Place, Sources},
    text::has_line,
    words,
};
use crate::graph::{Body, Graph, Node, NodeId};

/// The lines of one plan.
pub struct Lines<'a> {
    graph: &'a Graph,
    sources: Sources<'a>,
}

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Lines").field(&self.graph.name()).finish()
    }
}

impl<'a> Lines<'a> {
    /// The lines of this plan.
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph, sources: Sources::new(graph) }
    }

    /// The plan: `plan greet(input: string) -> string`.
    pub fn plan(&self) -> String {
        let Self { graph, .. } = self;
        format!("plan {}(input: {}) -> {}", graph.name(), graph.input().label(), graph.output().label())
    }

    /// A node: `greet: agent(input) -> string`.
    pub fn node(&self, node: &Node) -> String {
        let place = Place::of(node);
        let sources = if words::takes_one(&node.kind) {
            self.sources.one(&node.inputs, place)
        } else {
            self.sources.list(&node.inputs, place)
        };
        let head = words::head(&node.kind, Some(&sources));
        format!("{}: {head}{} -> {}", node.name, self.after(node), node.schema.label())
    }

    /// A node as JSON, without its bodies; see [`Layout::json`](super::Layout::json).
    pub fn json(&self, node: &Node) -> serde_json::Value {
        let from = node.inputs.iter().flat_map(|input| self.sources.labels(input.node, Place::of(node)));
        let after = node.after.iter().flat_map(|id| self.sources.labels(*id, Place::of(node)));
        serde_json::json!({
            "step": node.name,
            "path": node.pattern.to_string(),
            "kind": node.kind.word(),
            "line": self.node(node),
            "from": from.collect::<Vec<_>>(),
            "after": after.collect::<Vec<_>>(),
            "type": node.schema.label(),
        })
    }

    /// What a node is, without its sources: `agent`, `parallel each by key, limit 4, fail fast`.
    pub fn head(&self, node: &Node) -> String {
        words::head(&node.kind, None)
    }

    /// The nodes that the output of `id` is made from, derived ones seen through.
    pub fn sources(&self, id: NodeId) -> Vec<NodeId> {
        self.sources.of(id).into_iter().map(|source| source.node).collect()
    }

    /// What each input of a node is made from, in order.
    pub fn inputs(&self, node: &Node) -> Vec<Vec<String>> {
        let labels = |id| self.sources.labels(id, Place::of(node));
        node.inputs.iter().map(|input| labels(input.node)).collect()
    }

    /// What a node comes after, although no data flows.
    pub fn order(&self, node: &Node) -> Vec<String> {
        node.after.iter().flat_map(|id| self.sources.labels(*id, Place::of(node))).collect()
    }

    fn after(&self, node: &Node) -> String {
        let order = self.order(node);
        if order.is_empty() { String::new() } else { format!(" after {}", order.join(", ")) }
    }

    /// A body, as what it is to its owner: `stage 1`, `when yes`; `None` where the owner's line says it.
    pub fn role(&self, owner: &Node, body: &Body) -> Option<String> {
        words::role(owner, body)
    }

    /// What a body yields, where its last line does not say it: `-> again fix`.
    pub fn result(&self, body: &Body) -> Option<String> {
        let last = body.nodes.iter().rev().map(|id| self.graph.node(*id)).find(|node| has_line(node));
        let flow = self.sources.flow(body.result);
        if flow.is_none() && last.is_some_and(|last| last.id == body.result) {
            return None;
        }
        let labels = self.sources.labels(body.result, Place::end_of(body.id)).join(", ");
        Some(flow.map_or_else(|| format!("-> {labels}"), |flow| format!("-> {flow} {labels}")))
    }

    /// The nodes of a body that have a line.
    pub fn nodes(&self, body: &Body) -> impl Iterator<Item = &'a Node> {
        let graph = self.graph;
        body.nodes.iter().map(move |id| graph.node(*id)).filter(|node| has_line(node))
    }

    /// The nodes of a body in the order and the scopes in which they are drawn. `of` gives the node of an item; `scope`
    /// makes one item of a scope's name and what is inside it.
    pub fn scoped<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        of: impl Fn(&T) -> &'a Node,
        mut scope: impl FnMut(&str, Vec<T>) -> T,
    ) -> Vec<T> {
        let items = items.into_iter().map(|item| (of(&item).scopes.as_slice(), item)).collect();
        scoped(items, 0, &mut scope)
    }
}

fn scoped<T>(items: Vec<(&[String], T)>, depth: usize, scope: &mut impl FnMut(&str, Vec<T>) -> T) -> Vec<T> {
    let mut drawn = Vec::with_capacity(items.len());
    let mut items = items.into_iter().peekable();
    while let Some((scopes, item)) = items.next() {
        let Some(name) = scopes.get(depth) else {
            drawn.push(item);
            continue;
        };
        let mut inside = vec![(scopes, item)];
        while let Some(next) = items.next_if(|(scopes, _)| scopes.get(depth) == Some(name)) {
            inside.push(next);
        }
        let inside = scoped(inside, depth + 1, scope);
        drawn.push(scope(name, inside));
    }
    drawn
}
