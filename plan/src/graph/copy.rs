//! Copies of a body and everything in it, with ids and paths of their own: a plan in a plan, a recursive part once more.

use super::{
    Arm, Body, BodyId, Catch, Graph, Keys, Kind, Node, NodeId, NodeInput, PlanId, Recursive, Repeat,
    ReviewEnd, Role,
};
use hermes_core::path::{Segment, StepPath};
use std::{collections::BTreeMap, sync::Arc};

/// A body being copied.
pub(crate) struct Copying<'a> {
    graph: &'a Graph,
    nodes: BTreeMap<NodeId, NodeId>,
    bodies: BTreeMap<BodyId, BodyId>,
    /// How many segments of a path stand for the body, and what stands there instead.
    prefix: (usize, &'a [Segment]),
}

/// The copies, in the order of their ids.
pub(crate) struct Copied {
    pub(crate) nodes: Vec<Node>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) copies: Vec<Copies>,
}

/// What stands for what inside a copied body: closures in it still hold handles on what it was copied from.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    /// The copied body.
    pub(crate) root: BodyId,
    /// The plan whose handles they are.
    pub(crate) from: PlanId,
    /// The copies by what they are copied from.
    pub(crate) nodes: Arc<BTreeMap<NodeId, NodeId>>,
}

impl<'a> Copying<'a> {
    /// Copies `root` of `graph` to ids from `first` on. `prefix`: so many segments of each path become these.
    pub(crate) fn new(
        graph: &'a Graph,
        root: BodyId,
        first: (NodeId, BodyId),
        prefix: (usize, &'a [Segment]),
    ) -> Self {
        let mut copying = Self { graph, nodes: BTreeMap::new(), bodies: BTreeMap::new(), prefix };
        // Bodies are numbered outside in.
        for body in graph.bodies() {
            let inside = body.id == root
                || body.owner.is_some_and(|owner| {
                    graph.contains(owner) && copying.bodies.contains_key(&graph.node(owner).body)
                });
            if inside {
                let number = u32::try_from(copying.bodies.len()).unwrap_or(u32::MAX);
                copying.bodies.insert(body.id, BodyId(first.1.0 + number));
            }
        }
        for node in graph.nodes().filter(|node| copying.bodies.contains_key(&node.body)) {
            let number = u32::try_from(copying.nodes.len()).unwrap_or(u32::MAX);
            copying.nodes.insert(node.id, NodeId(first.0.0 + number));
        }
        copying
    }

    /// The copies; the first body is the root's, belongs to `owner` and is `role` to it.
    pub(crate) fn copied(&self, owner: NodeId, role: &Role) -> Copied {
        let nodes = self.nodes.keys().map(|id| self.copy(self.graph.node(*id))).collect();
        let mut bodies: Vec<Body> =
            self.bodies.keys().map(|id| self.copy_body(self.graph.body(*id))).collect();
        let mut copies = Vec::new();
        if let Some(root) = bodies.first_mut() {
            root.owner = Some(owner);
            root.role = role.clone();
            let from = self.graph.part().plan;
            copies.push(Copies { root: root.id, from, nodes: Arc::new(self.nodes.clone()) });
        }
        for inner in self.graph.copies().iter().filter(|inner| self.bodies.contains_key(&inner.root)) {
            let nodes = inner.nodes.iter().map(|(from, to)| (*from, self.node(*to))).collect();
            copies.push(Copies { root: self.body(inner.root), from: inner.from, nodes: Arc::new(nodes) });
        }
        Copied { nodes, bodies, copies }
    }

    /// What is not copied stays what it is: it lies around the body.
    fn node(&self, id: NodeId) -> NodeId {
        self.nodes.get(&id).copied().unwrap_or(id)
    }

    fn body(&self, id: BodyId) -> BodyId {
        self.bodies.get(&id).copied().unwrap_or(id)
    }

    fn copy(&self, node: &Node) -> Node {
        let input = |input: &NodeInput| NodeInput { name: input.name.clone(), node: self.node(input.node) };
        Node {
            id: self.node(node.id),
            body: self.body(node.body),
            scopes: node.scopes.clone(),
            name: node.name.clone(),
            pattern: self.pattern(&node.pattern),
            inputs: node.inputs.iter().map(input).collect(),
            after: node.after.iter().map(|id| self.node(*id)).collect(),
            kind: self.kind(&node.kind),
            schema: node.schema.clone(),
            replay: node.replay.clone(),
            at: node.at,
        }
    }

    fn copy_body(&self, body: &Body) -> Body {
        let nodes = |ids: &[NodeId]| ids.iter().map(|id| self.node(*id)).collect();
        Body {
            id: self.body(body.id),
            owner: body.owner.map(|owner| self.node(owner)),
            role: body.role.clone(),
            params: nodes(&body.params),
            nodes: nodes(&body.nodes),
            result: self.node(body.result),
            bounds: body.bounds.clone(),
            at: body.at,
        }
    }

    fn pattern(&self, pattern: &StepPath) -> StepPath {
        if pattern.is_empty() {
            return StepPath::default();
        }
        let (skip, prefix) = self.prefix;
        let rest = pattern.segments().iter().skip(skip);
        StepPath::new(prefix.iter().chain(rest).cloned().collect())
    }

    fn keys(&self, keys: &Keys) -> Keys {
        match keys {
            Keys::Inherited(from) => Keys::Inherited(self.node(*from)),
            other => other.clone(),
        }
    }

    fn kind(&self, kind: &Kind) -> Kind {
        match kind {
            Kind::Parallel { children, fan } => Kind::Parallel {
                children: children.iter().map(|(key, body)| (key.clone(), self.body(*body))).collect(),
                fan: fan.clone(),
            },
            Kind::Each { body, keys, needs, fan } => Kind::Each {
                body: self.body(*body),
                keys: self.keys(keys),
                needs: needs.clone(),
                fan: fan.clone(),
            },
            Kind::Pipeline { stages, keys, fan } => Kind::Pipeline {
                stages: stages.iter().map(|body| self.body(*body)).collect(),
                keys: self.keys(keys),
                fan: fan.clone(),
            },
            Kind::Repeat(repeat) => Kind::Repeat(Repeat {
                body: self.body(repeat.body),
                max: repeat.max,
                or_else: repeat.or_else.map(|body| self.body(body)),
            }),
            Kind::Branch { arms, otherwise } => Kind::Branch {
                arms: arms.iter().map(|arm| Arm { body: self.body(arm.body), ..arm.clone() }).collect(),
                otherwise: otherwise.map(|body| self.body(body)),
            },
            Kind::Catch(catch) => Kind::Catch(Catch {
                body: self.body(catch.body),
                or_else: catch.or_else.map(|body| self.body(body)),
            }),
            Kind::Call(body) => Kind::Call(self.body(*body)),
            Kind::Recursive(recursive) => {
                Kind::Recursive(Recursive { body: self.body(recursive.body), max_depth: recursive.max_depth })
            }
            Kind::Again { of } => Kind::Again { of: self.node(*of) },
            Kind::Review(review) => {
                let mut review = review.clone();
                review.revise = review.revise.map(|body| self.body(body));
                if let ReviewEnd::Decide { approved, rejected } = review.end {
                    let (approved, rejected) = (self.body(approved), self.body(rejected));
                    review.end = ReviewEnd::Decide { approved, rejected };
                }
                Kind::Review(review)
            }
            leaf @ (Kind::Placeholder(_)
            | Kind::Constant(_)
            | Kind::Derived(_)
            | Kind::Agent(_)
            | Kind::Ask(_)
            | Kind::Step(_)
            | Kind::Command(_)
            | Kind::Wait(_)
            | Kind::Files(_)
            | Kind::Then(_)) => leaf.clone(),
        }
    }
}
