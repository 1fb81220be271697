//! The graph itself: a petgraph graph of nodes with data and order edges, and the bodies that contain them.

use super::{Body, BodyId, Bounded, Bounds, Compute, Copies, Kind, Node, NodeId, PlanId, Rename, ReviewEnd};
use hermes_core::{path::StepPath, schema::Schema};
use petgraph::{
    Direction,
    stable_graph::{NodeIndex, StableDiGraph},
    visit::EdgeRef,
};
use std::collections::BTreeSet;

/// Where the ids of a graph begin, and under which identity its handles were made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) plan: PlanId,
    pub(crate) first_node: u32,
    pub(crate) first_body: u32,
}

/// Why one node comes after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    /// The output is an input: the position among the inputs.
    Data(u32),
    /// `.after(..)`.
    After,
}

/// A complete plan graph; or a part of one that was built while the plan ran, whose ids go on from those around it.
#[derive(Clone, Debug)]
pub struct Graph {
    part: Part,
    name: String,
    input: Schema,
    output: Schema,
    nodes: StableDiGraph<Node, Edge>,
    bodies: Vec<Body>,
    copies: Vec<Copies>,
    renames: Vec<Rename>,
    old_names: Vec<String>,
}

impl Graph {
    /// Puts a graph together from nodes and bodies with ids in a row. Edges follow from the nodes.
    pub(crate) fn new(
        part: Part,
        name: String,
        input: Schema,
        output: Schema,
        nodes: Vec<Node>,
        (bodies, copies): (Vec<Body>, Vec<Copies>),
    ) -> Self {
        let mut graph = StableDiGraph::with_capacity(nodes.len(), nodes.len());
        let mut edges = Vec::new();
        let index =
            |id: NodeId| id.0.checked_sub(part.first_node).map(|index| NodeIndex::new(index as usize));
        for node in nodes {
            let to = node.id;
            for (port, input) in (0..).zip(&node.inputs) {
                edges.push((input.node, to, Edge::Data(port)));
            }
            edges.extend(node.after.iter().map(|from| (*from, to, Edge::After)));
            graph.add_node(node);
        }
        for (from, to, edge) in edges {
            // What comes from around a part is no edge of its own.
            if let (Some(from), Some(to)) = (index(from), index(to)) {
                graph.add_edge(from, to, edge);
            }
        }
        let (renames, old_names) = (Vec::new(), Vec::new());
        Self { part, name, input, output, nodes: graph, bodies, copies, renames, old_names }
    }

    /// Where its ids begin, and what it was built as.
    pub(crate) fn part(&self) -> Part {
        self.part
    }

    /// What stood under another path in an earlier form of the plan, outermost first.
    pub fn renames(&self) -> Vec<Rename> {
        let of = |node: &Node| {
            let old = node.replay.renamed_from.as_ref()?;
            let mut segments = node.pattern.segments().to_vec();
            segments.last_mut()?.name.clone_from(old);
            Some(Rename { old: StepPath::new(segments), new: node.pattern.clone() })
        };
        let mut renames: Vec<_> = self.renames.iter().cloned().chain(self.nodes().filter_map(of)).collect();
        renames.sort_by_key(|rename| rename.new.segments().len());
        renames
    }

    /// The names that the plan itself had before.
    pub fn old_names(&self) -> &[String] {
        &self.old_names
    }

    /// Bounds what may be spent in the plan as a whole.
    pub(crate) fn bound(&mut self, bounds: Bounds) {
        if let Some(body) = self.bodies.first_mut() {
            body.bounds.push(Bounded { scopes: Vec::new(), bounds });
        }
    }

    pub(crate) fn rename(&mut self, rename: Rename) {
        self.renames.push(rename);
    }

    pub(crate) fn rename_plan(&mut self, old: String) {
        self.old_names.push(old);
    }

    /// The bodies in it that are copies.
    pub(crate) fn copies(&self) -> &[Copies] {
        &self.copies
    }

    /// Whether a node is its own.
    pub fn contains(&self, id: NodeId) -> bool {
        id.0.checked_sub(self.part.first_node).is_some_and(|index| (index as usize) < self.nodes.node_count())
    }

    /// Whether a body is its own.
    pub fn contains_body(&self, id: BodyId) -> bool {
        id.0.checked_sub(self.part.first_body).is_some_and(|index| (index as usize) < self.bodies.len())
    }

    /// The id of its first node: the others follow in a row.
    pub fn first_node(&self) -> NodeId {
        NodeId(self.part.first_node)
    }

    /// The body that all others are in.
    pub fn root(&self) -> BodyId {
        BodyId(self.part.first_body)
    }

    fn index(&self, id: NodeId) -> NodeIndex {
        NodeIndex::new(id.0.wrapping_sub(self.part.first_node) as usize)
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
        &self.nodes[self.index(id)]
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
        &self.bodies[id.0.wrapping_sub(self.part.first_body) as usize]
    }

    /// All bodies; the first is the plan itself.
    pub fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    /// The bodies that belong to `node`, in order.
    pub fn bodies_of(&self, node: NodeId) -> Vec<BodyId> {
        match &self.node(node).kind {
            Kind::Parallel { children, .. } => children.iter().map(|(_, body)| *body).collect(),
            Kind::Each { body, .. } | Kind::Call(body) => vec![*body],
            Kind::Pipeline { stages, .. } => stages.clone(),
            Kind::Repeat(repeat) => [Some(repeat.body), repeat.or_else].into_iter().flatten().collect(),
            Kind::Branch { arms, otherwise } => {
                arms.iter().map(|arm| arm.body).chain(otherwise.iter().copied()).collect()
            }
            Kind::Review(review) => {
                let arms = match review.end {
                    ReviewEnd::Decide { approved, rejected } => vec![approved, rejected],
                    ReviewEnd::Approved | ReviewEnd::Decision => Vec::new(),
                };
                review.revise.into_iter().chain(arms).collect()
            }
            Kind::Recursive(recursive) => vec![recursive.body],
            Kind::Catch(catch) => [Some(catch.body), catch.or_else].into_iter().flatten().collect(),
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
            .edges_directed(self.index(node), Direction::Incoming)
            .map(|edge| (self.nodes[edge.source()].id, *edge.weight()))
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
            let next = matches!(
                kind,
                Kind::Pipeline { .. } | Kind::Repeat(_) | Kind::Review(_) | Kind::Each { needs: Some(_), .. }
            );
            if (enter || next) && entered.insert(id) {
                let inside = self.bodies_of(id).into_iter().flat_map(|body| &self.body(body).nodes);
                open.extend(inside.map(|inner| (*inner, true)));
            }
            if found.insert(id) {
                open.extend(self.body(self.node(id).body).owner.map(|owner| (owner, false)));
                let after = self.nodes.neighbors_directed(self.index(id), Direction::Outgoing);
                open.extend(after.map(|index| (self.nodes[index].id, true)));
            }
        }
        found
    }
}
