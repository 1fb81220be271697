//! A plan under construction: the nodes and bodies so far, where the author is, and the mistakes so far.

use super::{
    errors::{PlanError, PlanErrorKind, PlanErrors},
    names::{Claim, Names, Space},
    templates,
};
use crate::graph::{
    Around, Body, BodyId, Compute, Copies, Copying, Derived, Graph, Kind, Location, Node, NodeId, NodeInput,
    Part, Placeholder, PlanId, Replay, Role,
};
use hermes_core::{
    path::{Mark, Segment, StepPath, check_name, escape},
    schema::Schema,
};
use std::{any::TypeId, collections::BTreeMap};

/// A `Step<T>` without its type.
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    pub(crate) plan: PlanId,
    pub(crate) node: NodeId,
    pub(crate) made: Location,
}

/// The use of a handle, and where.
#[derive(Clone)]
pub struct Use {
    pub(crate) name: String,
    pub(crate) handle: Handle,
    pub(crate) at: Location,
}

/// What a node gets with its builder's last call.
pub(crate) struct Filled {
    pub(crate) inputs: Vec<NodeInput>,
    pub(crate) after: Vec<NodeId>,
    pub(crate) kind: Kind,
    pub(crate) schema: Schema,
    pub(crate) replay: Replay,
}

/// What there is to know of a node, in the draft or around it.
pub(super) struct Seen<'a> {
    pub(super) body: BodyId,
    pub(super) scopes: &'a [String],
    pub(super) name: &'a str,
    pattern: &'a StepPath,
    pub(super) at: Location,
    inputs: &'a [NodeInput],
    /// `None` for a group that is still being built.
    pub(super) kind: Option<&'a Kind>,
}

struct Slot {
    body: BodyId,
    scopes: Vec<String>,
    name: String,
    pattern: StepPath,
    at: Location,
    filled: Option<Filled>,
}

/// A body that is open: where the author's closures are.
pub(super) struct Frame {
    body: BodyId,
    prefix: Vec<Segment>,
    scopes: Vec<String>,
    spaces: Vec<Space>,
}

/// A builder that waits for its last call.
struct Pending {
    what: String,
    ends: &'static str,
    at: Location,
}

/// A plan under construction.
pub(crate) struct Draft {
    id: PlanId,
    /// What it is built in, if that is running already.
    around: Option<Around>,
    /// The copied bodies around it, outermost first, and the plan of each copy.
    copied: Vec<(Copies, PlanId)>,
    name: String,
    slots: Vec<Slot>,
    bodies: Vec<Body>,
    copies: Vec<Copies>,
    open: Vec<Frame>,
    names: Names,
    pending: BTreeMap<u32, Pending>,
    tickets: u32,
    schemas: BTreeMap<TypeId, Schema>,
    errors: Vec<PlanError>,
}

impl Draft {
    /// An empty plan; its body is open.
    pub(crate) fn new(name: String, at: Location) -> Self {
        let mut draft = Self::empty(name, None);
        if let Err(why) = check_name(&draft.name) {
            let message = format!("`{}` cannot name a plan: {why}", draft.name.escape_debug());
            draft.errors.push(PlanError::new(
                PlanErrorKind::InvalidName,
                at,
                message,
                "give it another name",
            ));
        }
        let space = draft.names.space();
        draft.enter(None, Role::Plan, Vec::new(), space, at);
        draft
    }

    /// An empty part of a running plan; its body is open, and so are those around it.
    pub(crate) fn within(around: Around, at: Location) -> Self {
        let owner = around.owner;
        let bodies: Vec<_> = around.bodies().into_iter().map(|(body, _)| body).collect();
        let name = around.node(owner).map(|node| node.pattern.to_string()).unwrap_or_default();
        let mut draft = Self::empty(name, Some(around));
        for body in bodies {
            draft.open.push(Frame { body, prefix: Vec::new(), scopes: Vec::new(), spaces: Vec::new() });
        }
        let space = draft.names.space();
        draft.enter_body(owner, Role::Then, Mark::Plain, space, at);
        draft
    }

    fn empty(name: String, around: Option<Around>) -> Self {
        Self {
            id: PlanId::next(),
            copied: around.as_ref().map(Around::copies).unwrap_or_default(),
            around,
            name,
            slots: Vec::new(),
            bodies: Vec::new(),
            copies: Vec::new(),
            open: Vec::new(),
            names: Names::default(),
            pending: BTreeMap::new(),
            tickets: 0,
            schemas: BTreeMap::new(),
            errors: Vec::new(),
        }
    }

    pub(crate) fn id(&self) -> PlanId {
        self.id
    }

    /// Notes a mistake.
    pub(crate) fn mistake(&mut self, error: PlanError) {
        self.errors.push(error);
    }

    /// A fresh namespace.
    pub(super) fn space(&mut self) -> Space {
        self.names.space()
    }

    // Where the author is.

    /// How many bodies are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Opens a body.
    fn enter(
        &mut self,
        owner: Option<NodeId>,
        role: Role,
        prefix: Vec<Segment>,
        space: Space,
        at: Location,
    ) -> BodyId {
        let id = BodyId(self.first().1.0 + index(self.bodies.len()));
        // The result is known when the body's closure has returned.
        let (nodes, bounds) = (Vec::new(), Vec::new());
        let body = Body { id, owner, role, params: Vec::new(), nodes, result: NodeId(0), bounds, at };
        self.bodies.push(body);
        self.open.push(Frame { body: id, prefix, scopes: Vec::new(), spaces: vec![space] });
        id
    }

    /// Opens a body of `owner`, whose steps' paths go on from the owner's with `mark` on it.
    pub(super) fn enter_body(
        &mut self,
        owner: NodeId,
        role: Role,
        mark: Mark,
        space: Space,
        at: Location,
    ) -> BodyId {
        let mut prefix: Vec<Segment> =
            self.seen(owner).map(|seen| seen.pattern.segments().to_vec()).unwrap_or_default();
        if let Some(last) = prefix.last_mut() {
            last.mark = mark;
        }
        self.enter(Some(owner), role, prefix, space, at)
    }

    /// Closes every body above `depth`: normally one, after a caught panic maybe more.
    pub(super) fn leave_to(&mut self, depth: usize) {
        self.open.truncate(depth);
    }

    /// Says what the output of an open body is.
    pub(super) fn result(&mut self, body: BodyId, result: &Use) {
        let node = self.check(result);
        if let Some(body) = self.body_mut(body) {
            body.result = node;
        }
    }

    /// Enters a `scope(..)`; gives what [`Draft::leave_scope`] wants.
    pub(super) fn enter_scope(&mut self, name: &str, at: Location) -> (usize, usize) {
        self.claim(name, Claim::Group, at);
        let space = self.names.space();
        let depth = self.open.len();
        self.open.last_mut().map_or((depth, 0), |frame| {
            frame.prefix.push(Segment::plain(name));
            frame.scopes.push(name.to_owned());
            frame.spaces.push(space);
            (depth, frame.scopes.len() - 1)
        })
    }

    /// Leaves a `scope(..)`.
    pub(super) fn leave_scope(&mut self, (depth, scopes): (usize, usize)) {
        self.open.truncate(depth);
        if let Some(frame) = self.open.last_mut() {
            let left = frame.scopes.len().saturating_sub(scopes);
            frame.prefix.truncate(frame.prefix.len().saturating_sub(left));
            frame.scopes.truncate(scopes);
            frame.spaces.truncate(scopes + 1);
        }
    }

    /// Whether the author is inside a body of `owner`.
    pub(super) fn stands_in(&self, owner: NodeId) -> bool {
        let first = self.first().1.0;
        self.open.iter().any(|frame| {
            let own = frame.body.0.checked_sub(first).and_then(|index| self.bodies.get(index as usize));
            own.is_some_and(|body| body.owner == Some(owner))
        })
    }

    // Handles.

    /// Where its own ids begin.
    fn first(&self) -> (NodeId, BodyId) {
        self.around.as_ref().map_or((NodeId(0), BodyId(0)), |around| (around.first_node, around.first_body))
    }

    fn slot(&self, node: NodeId) -> Option<&Slot> {
        self.slots.get(node.0.checked_sub(self.first().0.0)? as usize)
    }

    pub(super) fn body(&self, body: BodyId) -> Option<&Body> {
        self.bodies.get(body.0.checked_sub(self.first().1.0)? as usize)
    }

    /// The innermost body, and the scopes in it where the author is.
    pub(super) fn innermost(&self) -> Option<(BodyId, Vec<String>)> {
        self.open.last().map(|frame| (frame.body, frame.scopes.clone()))
    }

    pub(super) fn body_mut(&mut self, body: BodyId) -> Option<&mut Body> {
        let index = body.0.checked_sub(self.first().1.0)?;
        self.bodies.get_mut(index as usize)
    }

    /// A node of the draft, or of what is around it.
    pub(super) fn seen(&self, node: NodeId) -> Option<Seen<'_>> {
        if let Some(slot) = self.slot(node) {
            let Slot { body, scopes, name, pattern, at, filled } = slot;
            let inputs = filled.as_ref().map_or(&[][..], |filled| &filled.inputs);
            let kind = filled.as_ref().map(|filled| &filled.kind);
            return Some(Seen { body: *body, scopes, name, pattern, at: *at, inputs, kind });
        }
        let Node { body, scopes, name, pattern, at, inputs, kind, .. } = self.around.as_ref()?.node(node)?;
        Some(Seen { body: *body, scopes, name, pattern, at: *at, inputs, kind: Some(kind) })
    }

    /// Its own nodes.
    pub(super) fn own(&self) -> impl Iterator<Item = NodeId> + use<> {
        let first = self.first().0.0;
        (first..first + index(self.slots.len())).map(NodeId)
    }

    /// The group in one of whose bodies a node stands.
    pub(super) fn owner_of(&self, node: NodeId) -> Option<NodeId> {
        let body = self.seen(node)?.body;
        match body.0.checked_sub(self.first().1.0) {
            Some(index) => self.bodies.get(index as usize)?.owner,
            None => self.around.as_ref()?.body_owner(body),
        }
    }

    /// The handle that stands here for this one: inside a copied body, that of the copy.
    fn here(&self, mut handle: Handle) -> Handle {
        // The innermost copy is meant; what it is a copy of may be a copy itself.
        for _ in 0..self.copied.len() {
            let of = |copies: &Copies| {
                copies.nodes.get(&handle.node).copied().filter(|_| copies.from == handle.plan)
            };
            let copy = self.copied.iter().rev().find_map(|(copies, plan)| Some((of(copies)?, *plan)));
            let Some((node, plan)) = copy else { break };
            handle = Handle { plan, node, made: handle.made };
        }
        handle
    }

    /// The node that a handle stands for, if the handle was made in the draft or in what is around it.
    fn known(&self, handle: Handle) -> Option<Seen<'_>> {
        let handle = self.here(handle);
        let made = match &self.around {
            _ if self.slot(handle.node).is_some() => Some(self.id),
            Some(around) => around.graph_of(handle.node).map(|graph| graph.part().plan),
            None => None,
        };
        if made == Some(handle.plan) { self.seen(handle.node) } else { None }
    }

    /// The node that a handle stands for, if it may be used here. Where it may not, any node: the plan fails anyway.
    pub(crate) fn check(&mut self, used: &Use) -> NodeId {
        let Handle { node, made, .. } = self.here(used.handle);
        let Some(body) = self.known(used.handle).map(|seen| seen.body) else {
            let (message, mend) = if self.around.is_some() {
                (
                    "a step of another plan, or of what another `then` has built, is used here",
                    "make the step inside this closure, or use one that stands around it",
                )
            } else {
                (
                    "a step of another plan is used here",
                    "make the step inside this plan, or let its value be part of this plan's input",
                )
            };
            let error = PlanError::new(PlanErrorKind::ForeignHandle, used.at, message, mend);
            self.errors.push(error.also(made));
            return NodeId(0);
        };
        if !self.open.iter().any(|frame| frame.body == body) {
            let first = self.first().1.0;
            let own = body.0.checked_sub(first).and_then(|index| self.bodies.get(index as usize));
            let owner = own.and_then(|body| body.owner);
            let group = owner.and_then(|owner| self.seen(owner)).map_or("the plan", |seen| seen.name);
            let message = format!(
                "{} was made inside the body of `{group}` and is used outside it",
                self.describe(node)
            );
            let mend = format!("return it from the body, and use the output of `{group}` here");
            let error = PlanError::new(PlanErrorKind::LeakedHandle, used.at, message, mend);
            self.errors.push(error.also(made));
            return NodeId(0);
        }
        node
    }

    fn describe(&self, node: NodeId) -> String {
        let Some(seen) = self.seen(node) else { return "a step".to_owned() };
        match seen.kind {
            Some(Kind::Placeholder(placeholder)) => format!("the `{}`", placeholder.word()),
            Some(Kind::Derived(derived)) => format!("a `{}`", derived.verb),
            Some(Kind::Constant(_)) => "a `value`".to_owned(),
            _ => format!("`{}`", seen.name),
        }
    }

    /// The node whose keys a list has, and where the fan-out is that they come from, if the list is the result of one, or
    /// of a verb that keeps them.
    pub(crate) fn keys_of(&self, list: Handle) -> Option<(NodeId, Location)> {
        let mut node = self.here(list).node;
        self.known(list)?;
        loop {
            let seen = self.seen(node)?;
            match seen.kind? {
                Kind::Parallel { .. } | Kind::Each { .. } | Kind::Pipeline { .. } => {
                    return Some((self.here(list).node, seen.at));
                }
                Kind::Derived(Derived { compute: Compute::Kept(_), .. }) => {
                    node = seen.inputs.first()?.node;
                }
                _ => return None,
            }
        }
    }

    // Nodes.

    fn claim(&mut self, name: &str, claim: Claim<'_>, at: Location) {
        let space = self.open.last().and_then(|frame| frame.spaces.last().copied());
        if let Some(space) = space {
            let errors = self.names.claim(space, name, claim, at);
            self.errors.extend(errors);
        }
    }

    fn push(&mut self, name: String, pattern: StepPath, at: Location, filled: Option<Filled>) -> NodeId {
        let id = NodeId(self.first().0.0 + index(self.slots.len()));
        let frame = self.open.last();
        let body = frame.map_or(self.first().1, |frame| frame.body);
        let scopes = frame.map(|frame| frame.scopes.clone()).unwrap_or_default();
        self.slots.push(Slot { body, scopes, name, pattern, at, filled });
        if let Some(body) = self.body_mut(body) {
            body.nodes.push(id);
        }
        id
    }

    /// Adds a node that has a name, and a path.
    pub(super) fn named(
        &mut self,
        name: &str,
        claim: Claim<'_>,
        at: Location,
        filled: Option<Filled>,
    ) -> NodeId {
        self.claim(name, claim, at);
        let (mark, shown) = match claim {
            Claim::Keyed(key) => (Mark::Key(key.to_owned()), format!("{name}[{}]", escape(key))),
            Claim::Step | Claim::Group => (Mark::Plain, name.to_owned()),
        };
        let mut segments = self.open.last().map(|frame| frame.prefix.clone()).unwrap_or_default();
        segments.push(Segment { name: name.to_owned(), mark });
        self.push(shown, StepPath::new(segments), at, filled)
    }

    /// Adds a node that is only derived from others.
    pub(crate) fn derived(&mut self, kind: Kind, inputs: Vec<Use>, schema: Schema, at: Location) -> NodeId {
        let inputs = self.inputs(inputs);
        let filled = Filled { inputs, after: Vec::new(), kind, schema, replay: Replay::default() };
        self.push(String::new(), StepPath::default(), at, Some(filled))
    }

    /// Adds the outcome of a node as a value. It stands where the node itself does: a body's failure can only be handled in
    /// that body.
    pub(crate) fn settled(&mut self, kind: Kind, of: Use, schema: Schema, at: Location) -> NodeId {
        let made = of.handle.made;
        let elsewhere = self.known(of.handle).is_some_and(|seen| {
            self.open.last().is_some_and(|frame| frame.body != seen.body)
                && self.open.iter().any(|frame| frame.body == seen.body)
        });
        if elsewhere {
            let message = format!(
                "{} was made outside this body, which cannot handle its failure",
                self.describe(of.handle.node)
            );
            let mend = "call `.settled()` where the step is made, and use the result here";
            self.errors.push(PlanError::new(PlanErrorKind::SettledElsewhere, at, message, mend).also(made));
        }
        self.derived(kind, vec![of], schema, at)
    }

    /// Adds a placeholder of the innermost body.
    pub(crate) fn placeholder(&mut self, placeholder: Placeholder, schema: Schema, at: Location) -> NodeId {
        let id = self.derived(Kind::Placeholder(placeholder), Vec::new(), schema, at);
        let body = self.open.last().map_or(self.first().1, |frame| frame.body);
        if let Some(body) = self.body_mut(body) {
            body.params.push(id);
        }
        id
    }

    /// Checked inputs.
    pub(crate) fn inputs(&mut self, inputs: Vec<Use>) -> Vec<NodeInput> {
        let mut checked = Vec::with_capacity(inputs.len());
        for input in inputs {
            let node = self.check(&input);
            checked.push(NodeInput { name: input.name, node });
        }
        checked
    }

    /// Completes a node that [`Draft::named`] added without its content.
    pub(super) fn fill(&mut self, node: NodeId, filled: Filled) {
        let first = self.first().0.0;
        let slot = node.0.checked_sub(first).and_then(|index| self.slots.get_mut(index as usize));
        if let Some(slot) = slot {
            slot.filled = Some(filled);
        }
    }

    /// The schema of a type that was met before. Making one runs author code, so it happens outside.
    pub(crate) fn schema(&self, of: TypeId) -> Option<Schema> {
        self.schemas.get(&of).cloned()
    }

    /// Remembers the schema of a type; one that cannot be used is a mistake where it was first met.
    pub(crate) fn met_schema(&mut self, of: TypeId, schema: &Schema, error: Option<PlanError>) {
        if self.schemas.insert(of, schema.clone()).is_none() {
            self.errors.extend(error);
        }
    }

    // Builders.

    /// Notes a builder that waits for its last call.
    pub(super) fn begin(&mut self, what: String, ends: &'static str, at: Location) -> u32 {
        self.tickets += 1;
        self.pending.insert(self.tickets, Pending { what, ends, at });
        self.tickets
    }

    /// Notes that a builder's last call has come.
    pub(super) fn end(&mut self, ticket: u32) {
        self.pending.remove(&ticket);
    }

    /// Copies a body of another graph, with everything in it, into the innermost body as one of `owner`'s.
    pub(crate) fn copy(&mut self, graph: &Graph, root: BodyId, owner: NodeId, role: &Role) -> BodyId {
        let first = self.first();
        let first =
            (NodeId(first.0.0 + index(self.slots.len())), BodyId(first.1.0 + index(self.bodies.len())));
        let prefix = self.seen(owner).map(|seen| seen.pattern.segments().to_vec()).unwrap_or_default();
        let copied = Copying::new(graph, root, first, (0, &prefix)).copied(owner, role);
        self.bodies.extend(copied.bodies);
        self.copies.extend(copied.copies);
        self.slots.extend(copied.nodes.into_iter().map(|node| {
            let Node { body, scopes, name, pattern, inputs, after, kind, schema, replay, at, .. } = node;
            let filled = Filled { inputs, after, kind, schema, replay };
            Slot { body, scopes, name, pattern, at, filled: Some(filled) }
        }));
        first.1
    }

    /// What templates read and their steps' inputs do not have.
    fn template_mistakes(&self) -> Vec<PlanError> {
        // A handle that may not be used stands for any node: what a template reads of that is no mistake of its own.
        let any_node = [PlanErrorKind::ForeignHandle, PlanErrorKind::LeakedHandle];
        if self.errors.iter().any(|error| any_node.contains(&error.kind)) {
            return Vec::new();
        }
        let schema = |id: NodeId| match self.slot(id) {
            Some(slot) => slot.filled.as_ref().map(|filled| filled.schema.clone()),
            None => self.around.as_ref()?.node(id).map(|node| node.schema.clone()),
        };
        let steps = self.slots.iter().filter_map(|slot| Some((slot.name.as_str(), slot.filled.as_ref()?)));
        steps
            .flat_map(|(name, filled)| templates::mistakes(name, &filled.kind, &filled.inputs, &schema))
            .collect()
    }

    /// The whole plan, or every mistake in it.
    pub(crate) fn finish(mut self, result: &Use) -> Result<Graph, PlanErrors> {
        let (first_node, first_body) = self.first();
        self.result(first_body, result);
        for Pending { what, ends, at } in std::mem::take(&mut self.pending).into_values() {
            let message = format!("{what} was dropped before its last call, so it is not in the plan");
            let mend = format!("end it with {ends}");
            self.errors.push(PlanError::new(PlanErrorKind::Unfinished, at, message, mend));
        }
        let templates = self.template_mistakes();
        self.errors.extend(templates);
        self.check_limits();
        self.check_budgets();
        if !self.errors.is_empty() {
            return Err(PlanErrors::new(self.name, self.errors));
        }
        let around = self.around;
        let schema = |id: NodeId, nodes: &[Node]| {
            let own = id.0.checked_sub(first_node.0).and_then(|index| nodes.get(index as usize));
            let outer = || around.as_ref().and_then(|around| around.node(id));
            own.or_else(outer).map(|node| node.schema.clone())
        };
        let mut nodes = Vec::with_capacity(self.slots.len());
        for (slot, id) in self.slots.into_iter().zip(first_node.0..) {
            // Only a builder that never ended leaves one empty, and that was reported.
            let Some(filled) = slot.filled else { continue };
            let Filled { inputs, after, kind, schema, replay } = filled;
            let Slot { body, scopes, name, pattern, at, .. } = slot;
            let id = NodeId(id);
            nodes.push(Node { id, body, scopes, name, pattern, inputs, after, kind, schema, replay, at });
        }
        let root = self.bodies.first();
        let output = root.and_then(|body| schema(body.result, &nodes));
        // A part has no input of its own: it uses what stands around it.
        let input = root.and_then(|body| schema(body.params.first().copied().unwrap_or(body.result), &nodes));
        let part = Part { plan: self.id, first_node: first_node.0, first_body: first_body.0 };
        match (input, output) {
            (Some(input), Some(output)) => {
                let bodies = (self.bodies, self.copies);
                Ok(Graph::new(part, self.name, input, output, nodes, bodies))
            }
            _ => Err(PlanErrors::new(self.name, self.errors)),
        }
    }
}

/// An index as ids have it. A plan of four billion nodes does not fit into memory.
fn index(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
