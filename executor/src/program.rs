//! A plan prepared for walking: what each node waits for, and who waits for it. Made once per driven run.

use hermes_plan::graph::{BodyId, Compute, Derived, Graph, Keys, Kind, NodeId};
use std::sync::Arc;

/// Stands for "the body's result" where a frame itself waits for an outer node.
pub(crate) const RESULT: NodeId = NodeId(u32::MAX);

/// The tables beside a graph.
pub(crate) struct Program {
    pub(crate) graph: Arc<Graph>,
    /// By node: what it waits for, each once.
    pub(crate) deps: Vec<Vec<NodeId>>,
    /// By node: the nodes of the same body that wait for it.
    pub(crate) dependents: Vec<Vec<NodeId>>,
    /// By node: its position in its body.
    pub(crate) local: Vec<u32>,
    /// By body: whether its result is made outside it.
    pub(crate) outer_result: Vec<bool>,
    /// By node: whether a fan-out inherits its keys.
    pub(crate) inherited: Vec<bool>,
    /// By node: whether its failure is a value, which fails nothing by itself.
    pub(crate) handled: Vec<bool>,
    /// By body: whether questions can open in it, at any depth.
    pub(crate) asks: Vec<bool>,
}

impl Program {
    pub(crate) fn new(graph: Arc<Graph>) -> Self {
        let mut program = Self {
            deps: Vec::with_capacity(graph.len()),
            dependents: vec![Vec::new(); graph.len()],
            local: vec![0; graph.len()],
            outer_result: Vec::new(),
            inherited: vec![false; graph.len()],
            handled: vec![false; graph.len()],
            asks: Vec::new(),
            graph: Arc::clone(&graph),
        };
        for body in graph.bodies() {
            for (local, node) in (0..).zip(&body.nodes) {
                program.local[node.0 as usize] = local;
            }
            program.outer_result.push(graph.node(body.result).body != body.id);
        }
        for node in graph.nodes() {
            let mut deps: Vec<NodeId> =
                node.inputs.iter().map(|input| input.node).chain(node.after.iter().copied()).collect();
            deps.sort_unstable();
            deps.dedup();
            for dep in &deps {
                if graph.node(*dep).body == node.body {
                    program.dependents[dep.0 as usize].push(node.id);
                }
            }
            if let Kind::Each { keys: Keys::Inherited(from), .. }
            | Kind::Pipeline { keys: Keys::Inherited(from), .. } = &node.kind
            {
                program.inherit(*from);
            }
            program.deps.push(deps);
        }
        for node in graph.settled() {
            program.handled[node.0 as usize] = true;
        }
        // Bodies are numbered outside in, so an inner body's answer is known before its owner's is needed.
        program.asks = vec![false; graph.bodies().len()];
        for body in graph.bodies().iter().rev() {
            let asks = body.nodes.iter().any(|id| {
                matches!(graph.node(*id).kind, Kind::Ask(_) | Kind::Review(_))
                    || graph.bodies_of(*id).iter().any(|inner| program.asks[inner.0 as usize])
            });
            program.asks[body.id.0 as usize] = asks;
        }
        program
    }

    /// Notes that somebody inherits the keys of `from`: with a verb that keeps keys, also those of its list.
    fn inherit(&mut self, mut from: NodeId) {
        let graph = Arc::clone(&self.graph);
        loop {
            self.inherited[from.0 as usize] = true;
            let node = graph.node(from);
            match (&node.kind, node.inputs.first()) {
                (Kind::Derived(Derived { compute: Compute::Kept(_), .. }), Some(list)) => from = list.node,
                _ => return,
            }
        }
    }

    pub(crate) fn body_of(&self, node: NodeId) -> BodyId {
        self.graph.node(node).body
    }
}
