//! A plan under construction: the nodes and bodies so far, where the author is, and the mistakes so far.

use super::{
    errors::{PlanError, PlanErrorKind, PlanErrors},
    names::{Claim, Names, Space},
};
use crate::graph::{
    Body, BodyId, Compute, Derived, Graph, Kind, Location, Node, NodeId, NodeInput, Placeholder, Role,
};
use hermes_core::{
    path::{Mark, Segment, StepPath, check_name, escape},
    schema::Schema,
};
use std::{
    any::TypeId,
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

/// A plan's identity in this process: what tells a handle of one plan from a handle of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanId(u64);

impl PlanId {
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

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
    name: String,
    slots: Vec<Slot>,
    bodies: Vec<Body>,
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
        let mut draft = Self {
            id: PlanId::next(),
            name,
            slots: Vec::new(),
            bodies: Vec::new(),
            open: Vec::new(),
            names: Names::default(),
            pending: BTreeMap::new(),
            tickets: 0,
            schemas: BTreeMap::new(),
            errors: Vec::new(),
        };
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
        let id = BodyId(index(self.bodies.len()));
        // The result is known when the body's closure has returned.
        let body = Body { id, owner, role, params: Vec::new(), nodes: Vec::new(), result: NodeId(0), at };
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
            self.slot(owner).map(|slot| slot.pattern.segments().to_vec()).unwrap_or_default();
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
        if let Some(body) = self.bodies.get_mut(body.0 as usize) {
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

    // Handles.

    fn slot(&self, node: NodeId) -> Option<&Slot> {
        self.slots.get(node.0 as usize)
    }

    /// The node that a handle stands for, if it may be used here. Where it may not, any node: the plan fails anyway.
    pub(crate) fn check(&mut self, used: &Use) -> NodeId {
        let Handle { plan, node, made } = used.handle;
        let body = self.slot(node).filter(|_| plan == self.id).map(|slot| slot.body);
        let Some(body) = body else {
            let message = "a step of another plan is used here";
            let mend = "make the step inside this plan, or let its value be part of this plan's input";
            let error = PlanError::new(PlanErrorKind::ForeignHandle, used.at, message, mend);
            self.errors.push(error.also(made));
            return NodeId(0);
        };
        if !self.open.iter().any(|frame| frame.body == body) {
            let owner = self.bodies.get(body.0 as usize).and_then(|body| body.owner);
            let group = owner.and_then(|owner| self.slot(owner)).map_or("the plan", |slot| &slot.name);
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
        let Some(slot) = self.slot(node) else { return "a step".to_owned() };
        match slot.filled.as_ref().map(|filled| &filled.kind) {
            Some(Kind::Placeholder(placeholder)) => format!("the `{}`", placeholder.word()),
            Some(Kind::Derived(derived)) => format!("a `{}`", derived.verb),
            Some(Kind::Constant(_)) => "a `value`".to_owned(),
            _ => format!("`{}`", slot.name),
        }
    }

    /// The node whose keys a list has, and where the fan-out is that they come from, if the list is the result of one, or
    /// of a verb that keeps them.
    pub(crate) fn keys_of(&self, list: Handle) -> Option<(NodeId, Location)> {
        let mut node = list.node;
        loop {
            let slot = self.slot(node).filter(|_| list.plan == self.id)?;
            let filled = slot.filled.as_ref()?;
            match &filled.kind {
                Kind::Parallel { .. } | Kind::Each { .. } | Kind::Pipeline { .. } => {
                    return Some((list.node, slot.at));
                }
                Kind::Derived(Derived { compute: Compute::Kept(_), .. }) => {
                    node = filled.inputs.first()?.node;
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
        let id = NodeId(index(self.slots.len()));
        let frame = self.open.last();
        let body = frame.map_or(BodyId::PLAN, |frame| frame.body);
        let scopes = frame.map(|frame| frame.scopes.clone()).unwrap_or_default();
        self.slots.push(Slot { body, scopes, name, pattern, at, filled });
        if let Some(body) = self.bodies.get_mut(body.0 as usize) {
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
        let filled = Filled { inputs, after: Vec::new(), kind, schema };
        self.push(String::new(), StepPath::default(), at, Some(filled))
    }

    /// Adds the outcome of a node as a value. It stands where the node itself does: a body's failure can only be handled in
    /// that body.
    pub(crate) fn settled(&mut self, kind: Kind, of: Use, schema: Schema, at: Location) -> NodeId {
        let made = of.handle.made;
        let elsewhere = self.slot(of.handle.node).filter(|_| of.handle.plan == self.id).is_some_and(|slot| {
            self.open.last().is_some_and(|frame| frame.body != slot.body)
                && self.open.iter().any(|frame| frame.body == slot.body)
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
        let body = self.open.last().map_or(BodyId::PLAN, |frame| frame.body);
        if let Some(body) = self.bodies.get_mut(body.0 as usize) {
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
        if let Some(slot) = self.slots.get_mut(node.0 as usize) {
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

    /// The whole plan, or every mistake in it.
    pub(crate) fn finish(mut self, result: &Use) -> Result<Graph, PlanErrors> {
        self.result(BodyId::PLAN, result);
        for Pending { what, ends, at } in std::mem::take(&mut self.pending).into_values() {
            let message = format!("{what} was dropped before its last call, so it is not in the plan");
            let mend = format!("end it with {ends}");
            self.errors.push(PlanError::new(PlanErrorKind::Unfinished, at, message, mend));
        }
        let result = self.bodies.first().map_or(NodeId(0), |body| body.result);
        let ends = [NodeId(0), result].map(|node| {
            let filled = self.slot(node).and_then(|slot| slot.filled.as_ref());
            filled.map(|filled| filled.schema.clone())
        });
        let mut nodes = Vec::with_capacity(self.slots.len());
        for (slot, id) in self.slots.into_iter().zip(0..) {
            // Only a builder that never ended leaves one empty, and that was reported.
            let Some(filled) = slot.filled else { continue };
            let Filled { inputs, after, kind, schema } = filled;
            let Slot { body, scopes, name, pattern, at, .. } = slot;
            nodes.push(Node { id: NodeId(id), body, scopes, name, pattern, inputs, after, kind, schema, at });
        }
        match ends {
            [Some(input), Some(output)] if self.errors.is_empty() => {
                Ok(Graph::new(self.name, input, output, nodes, self.bodies))
            }
            _ => Err(PlanErrors::new(self.name, self.errors)),
        }
    }
}

/// An index as ids have it. A plan of four billion nodes does not fit into memory.
fn index(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
