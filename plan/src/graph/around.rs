//! What is around a part of a plan that is built, or copied, while the plan runs.

use super::{BodyId, Copies, Copying, Graph, Kind, Node, NodeId, Part, Recursive, Role};
use crate::build::PlanId;
use hermes_core::{digest::Digest, journal::Structure, path::Mark};
use std::sync::Arc;

/// The graphs around a part of a plan that is yet to be built, and where it will stand in them.
#[derive(Clone, Debug)]
pub struct Around {
    /// The plan's own graph, and the parts of it in which the new part will stand, outermost first.
    pub graphs: Vec<Arc<Graph>>,
    /// The node it will belong to.
    pub owner: NodeId,
    /// The id of its first node: none of it is in use yet, nor any after it.
    pub first_node: NodeId,
    /// The id of its first body, likewise.
    pub first_body: BodyId,
}

impl Around {
    pub(crate) fn graph_of(&self, id: NodeId) -> Option<&Arc<Graph>> {
        self.graphs.iter().rev().find(|graph| graph.contains(id))
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.graph_of(id).map(|graph| graph.node(id))
    }

    /// The copied bodies that are open where the owner stands, outermost first, and the plan of each copy.
    pub(crate) fn copies(&self) -> Vec<(Copies, PlanId)> {
        let of = |(body, graph): (BodyId, &Graph)| {
            let copies = graph.copies().iter().filter(move |copies| copies.root == body);
            let plan = graph.part().plan;
            copies.map(move |copies| (copies.clone(), plan)).collect::<Vec<_>>()
        };
        self.bodies().into_iter().flat_map(of).collect()
    }

    /// The recursive part `of` once more, as the level `depth`: a copy that belongs to the owner.
    pub fn level(&self, of: NodeId, depth: u32) -> Option<Graph> {
        let source = self.graph_of(of)?;
        let recursive = source.node(of);
        let Kind::Recursive(Recursive { body, .. }) = &recursive.kind else { return None };
        let mut prefix = self.node(self.owner)?.pattern.segments().to_vec();
        if let Some(last) = prefix.last_mut() {
            last.mark = Mark::Key(depth.to_string());
        }
        let skip = recursive.pattern.segments().len();
        let first = (self.first_node, self.first_body);
        let copied =
            Copying::new(source, *body, first, (skip, &prefix)).copied(self.owner, &Role::Level(depth));
        let plan = PlanId::next();
        let part = Part { plan, first_node: self.first_node.0, first_body: self.first_body.0 };
        let input = recursive.inputs.first().and_then(|input| self.node(input.node));
        let input = input.map_or_else(|| recursive.schema.clone(), |input| input.schema.clone());
        let (name, output) = (recursive.name.clone(), recursive.schema.clone());
        Some(Graph::new(part, name, input, output, copied.nodes, (copied.bodies, copied.copies)))
    }

    /// The group that a body around the part belongs to.
    pub(crate) fn body_owner(&self, body: BodyId) -> Option<NodeId> {
        self.graphs.iter().rev().find(|graph| graph.contains_body(body))?.body(body).owner
    }

    /// The bodies that are open where the owner stands, outermost first, each with its graph.
    pub(crate) fn bodies(&self) -> Vec<(BodyId, &Graph)> {
        let mut bodies = Vec::new();
        let mut graphs = self.graphs.iter().rev().peekable();
        let mut owner = Some(self.owner);
        while let Some(id) = owner {
            while graphs.next_if(|graph| !graph.contains(id)).is_some() {}
            let Some(graph) = graphs.peek() else { break };
            let body = graph.node(id).body;
            bodies.push((body, &***graph));
            owner = graph.body(body).owner;
        }
        bodies.reverse();
        bodies
    }
}

/// A part of a plan that was built while the plan ran.
#[derive(Clone, Debug)]
pub struct Grown {
    /// Its graph.
    pub graph: Arc<Graph>,
    /// The digest of its shape: which steps there are, of which kinds and types, and what they are made from.
    pub shape: Digest,
    /// Its steps, as a journal keeps them.
    pub structure: Structure,
}
