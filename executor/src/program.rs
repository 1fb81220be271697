//! A plan, or a part of one that was built while it ran, prepared for walking: what each node waits for, and who waits for
//! it.

use hermes_plan::graph::{BodyId, Compute, Derived, Graph, Keys, Kind, NodeId};
use std::sync::Arc;

/// Stands for "the body's result" where a frame itself waits for an outer node.
pub(crate) const RESULT: NodeId = NodeId(u32::MAX);

/// The tables beside a graph. Asked for another graph's node, they panic: a fault of ours.
pub(crate) struct Program {
    pub(crate) graph: Arc<Graph>,
    first: (u32, u32),
    nodes: Vec<Tables>,
    bodies: Vec<BodyTables>,
}

/// What is known of a node.
#[derive(Default)]
struct Tables {
    deps: Vec<NodeId>,
    dependents: Vec<NodeId>,
    local: u32,
    inherited: bool,
    handled: bool,
}

/// What is known of a body.
#[derive(Default)]
struct BodyTables {
    outer_result: bool,
    asks: bool,
}

impl Program {
    pub(crate) fn new(graph: Arc<Graph>) -> Self {
        let root = graph.root();
        let first = (graph.first_node().0, root.0);
        let mut program = Self {
            first,
            nodes: (0..graph.len()).map(|_| Tables::default()).collect(),
            bodies: (0..graph.bodies().len()).map(|_| BodyTables::default()).collect(),
            graph: Arc::clone(&graph),
        };
        for body in graph.bodies() {
            for (local, node) in (0..).zip(&body.nodes) {
                program.node(*node).local = local;
            }
            let outer = !graph.contains(body.result) || graph.node(body.result).body != body.id;
            program.body(body.id).outer_result = outer;
        }
        // What will be built at run time may inherit any fan-out's keys.
        let grows = graph.nodes().any(|node| matches!(node.kind, Kind::Then(_)));
        for node in graph.nodes() {
            let mut deps: Vec<NodeId> =
                node.inputs.iter().map(|input| input.node).chain(node.after.iter().copied()).collect();
            deps.sort_unstable();
            deps.dedup();
            for dep in deps.iter().filter(|dep| graph.contains(**dep)) {
                if graph.node(*dep).body == node.body {
                    program.node(*dep).dependents.push(node.id);
                }
            }
            if let Kind::Each { keys: Keys::Inherited(from), .. }
            | Kind::Pipeline { keys: Keys::Inherited(from), .. } = &node.kind
            {
                program.inherit(*from);
            }
            program.node(node.id).deps = deps;
            program.node(node.id).inherited |= grows;
        }
        for node in graph.settled().into_iter().filter(|node| graph.contains(*node)) {
            program.node(node).handled = true;
        }
        // Bodies are numbered outside in, so an inner body's answer is known before its owner's is needed.
        for body in graph.bodies().iter().rev() {
            let asks = body.nodes.iter().any(|id| {
                matches!(
                    graph.node(*id).kind,
                    Kind::Ask(_) | Kind::Review(_) | Kind::Then(_) | Kind::Again { .. }
                ) || graph.bodies_of(*id).iter().any(|inner| program.asks(*inner))
            });
            program.body(body.id).asks = asks;
        }
        program
    }

    fn node(&mut self, id: NodeId) -> &mut Tables {
        &mut self.nodes[id.0.wrapping_sub(self.first.0) as usize]
    }

    fn body(&mut self, id: BodyId) -> &mut BodyTables {
        &mut self.bodies[id.0.wrapping_sub(self.first.1) as usize]
    }

    fn of(&self, id: NodeId) -> &Tables {
        &self.nodes[id.0.wrapping_sub(self.first.0) as usize]
    }

    fn of_body(&self, id: BodyId) -> &BodyTables {
        &self.bodies[id.0.wrapping_sub(self.first.1) as usize]
    }

    /// Notes that somebody inherits the keys of `from`: with a verb that keeps keys, also those of its list.
    fn inherit(&mut self, mut from: NodeId) {
        let graph = Arc::clone(&self.graph);
        while graph.contains(from) {
            self.node(from).inherited = true;
            let node = graph.node(from);
            match (&node.kind, node.inputs.first()) {
                (Kind::Derived(Derived { compute: Compute::Kept(_), .. }), Some(list)) => from = list.node,
                _ => return,
            }
        }
    }

    /// What a node waits for, each once.
    pub(crate) fn deps(&self, node: NodeId) -> &[NodeId] {
        &self.of(node).deps
    }

    /// The nodes of the same body that wait for a node.
    pub(crate) fn dependents(&self, node: NodeId) -> &[NodeId] {
        &self.of(node).dependents
    }

    /// A node's position in its body.
    pub(crate) fn local(&self, node: NodeId) -> usize {
        self.of(node).local as usize
    }

    /// Whether a fan-out inherits this one's keys.
    pub(crate) fn inherited(&self, node: NodeId) -> bool {
        self.of(node).inherited
    }

    /// Whether the failure of a node is a value, which fails nothing by itself.
    pub(crate) fn handled(&self, node: NodeId) -> bool {
        self.of(node).handled
    }

    /// Whether a body's result is made outside it.
    pub(crate) fn outer_result(&self, body: BodyId) -> bool {
        self.of_body(body).outer_result
    }

    /// Whether questions can open in a body, at any depth.
    pub(crate) fn asks(&self, body: BodyId) -> bool {
        self.of_body(body).asks
    }
}
