//! The graph itself: a petgraph graph of nodes with data and order edges, and the bodies that contain them.

use super::{Body, BodyId, Compute, Kind, Node, NodeId};
use hermes_core::schema::Schema;
use petgraph::{
    Direction,
    stable_graph::{NodeIndex, StableDiGraph},
    visit::EdgeRef,
};
use std::collections::BTreeSet;

/// Why one node comes after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    /// The output is an input: the position among the inputs.
    Data(u32),
    /// `.after(..)`.
    After,
}

/// A complete plan graph.
#[derive(Clone, Debug)]
pub struct Graph {
    name: String,
    input: Schema,
    output: Schema,
    nodes: StableDiGraph<Node, Edge>,
    bodies: Vec<Body>,
}

impl Graph {
    /// Puts a graph together from nodes whose index is their id, and bodies likewise. Edges follow from the nodes.
    pub(crate) fn new(
        name: String,
        input: Schema,
        output: Schema,
        nodes: Vec<Node>,
        bodies: Vec<Body>,
    ) -> Self {
        let mut graph = StableDiGraph::with_capacity(nodes.len(), nodes.len());
        let mut edges = Vec::new();
        for node in nodes {
            let to = NodeIndex::new(node.id.0 as usize);
            for (port, input) in (0..).zip(&node.inputs) {
                edges.push((input.node, to, Edge::Data(port)));
            }
            edges.extend(node.after.iter().map(|from| (*from, to, Edge::After)));
            graph.add_node(node);
        }
        for (from, to, edge) in edges {
            graph.add_edge(NodeIndex::new(from.0 as usize), to, edge);
        }
        Self { name, input, output, nodes: graph, bodies }
    }

    /// The plan's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The schema of the plan's input.
    pub fn input(&self) -> &Schema {
        &self.input
    }

    /// The schema of the plan's output.
    pub fn output(&self) -> &Schema {
        &self.output
    }

    /// The node with this id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[NodeIndex::new(id.0 as usize)]
    }

    /// All nodes, in the order in which they joined.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.node_weights()
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.node_count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.node_count() == 0
    }

    /// The body with this id.
    pub fn body(&self, id: BodyId) -> &Body {
        &self.bodies[id.0 as usize]
    }

    /// All bodies; the first is the plan itself.
    pub fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    /// The bodies that belong to `node`, in order.
    pub fn bodies_of(&self, node: NodeId) -> Vec<BodyId> {
        match &self.node(node).kind {
            Kind::Parallel { children, .. } => children.iter().map(|(_, body)| *body).collect(),
            Kind::Each { body, .. } => vec![*body],
            Kind::Pipeline { stages, .. } => stages.clone(),
            Kind::Repeat(repeat) => [Some(repeat.body), repeat.or_else].into_iter().flatten().collect(),
            Kind::Branch { arms, otherwise } => {
                arms.iter().map(|arm| arm.body).chain(otherwise.iter().copied()).collect()
            }
            Kind::Catch(catch) => [Some(catch.body), catch.or_else].into_iter().flatten().collect(),
            Kind::Review(review) => review.revise.into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The nodes whose failure is a value: what `.settled()` looks at.
    pub fn settled(&self) -> BTreeSet<NodeId> {
        let looks = |node: &&Node| matches!(&node.kind, Kind::Derived(derived) if matches!(derived.compute, Compute::Settled));
        self.nodes().filter(looks).flat_map(|node| &node.inputs).map(|input| input.node).collect()
    }

    /// The edges into `node`, by kind and port.
    pub fn edges_into(&self, node: NodeId) -> Vec<(NodeId, Edge)> {
        let mut edges: Vec<_> = self
            .nodes
            .edges_directed(NodeIndex::new(node.0 as usize), Direction::Incoming)
            .map(|edge| (NodeId(u32::try_from(edge.source().index()).unwrap_or(u32::MAX)), *edge.weight()))
            .collect();
        // petgraph lists the newest first.
        edges.sort_by_key(|&(from, edge)| (edge, from));
        edges
    }

    /// Every node that depends on `node`, by data or order, itself included. A node inside a body makes the group that
    /// owns the body depend on it; a group's inputs reach everything in its bodies, and so does a step of a round or
    /// stage, whose output enters the next.
    pub fn downstream(&self, node: NodeId) -> BTreeSet<NodeId> {
        let mut found = BTreeSet::new();
        let mut entered = BTreeSet::new();
        let mut open = vec![(node, true)];
        while let Some((id, enter)) = open.pop() {
            let kind = &self.node(id).kind;
            let next = matches!(kind, Kind::Pipeline { .. } | Kind::Repeat(_) | Kind::Review(_));
            if (enter || next) && entered.insert(id) {
                let inside = self.bodies_of(id).into_iter().flat_map(|body| &self.body(body).nodes);
                open.extend(inside.map(|inner| (*inner, true)));
            }
            if found.insert(id) {
                open.extend(self.body(self.node(id).body).owner.map(|owner| (owner, false)));
                let after = self.nodes.neighbors_directed(NodeIndex::new(id.0 as usize), Direction::Outgoing);
                open.extend(after.map(|index| (self.nodes[index].id, true)));
            }
        }
        found
    }
}
