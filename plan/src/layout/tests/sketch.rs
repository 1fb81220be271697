//! Graphs put together by hand, for the layouts' tests.

use crate::graph::{
    Agent, Arm, Ask, Body, BodyId, Call, Compute, ComputeFn, Derived, Fan, FanMode, Graph, Keys, Kind,
    LocalStep, Location, Node, NodeId, NodeInput, Placeholder, Prompt, Repeat, Replay, Review, ReviewEnd,
    Role,
};
use crate::graph::{Part, PlanId};
use hermes_core::{
    effect::{Effect, Isolation},
    path::{Segment, StepPath},
    retry::Retry,
    schema::Schema,
    value::Val,
};
use serde_json::json;
use std::{num::NonZeroU32, sync::Arc};

/// A schema with this label: `string`, `Name` or `[Name]`.
pub(super) fn ty(label: &str) -> Schema {
    let one = |name: &str| {
        if name.starts_with(char::is_lowercase) {
            json!({"type": name})
        } else {
            json!({"$ref": format!("#/$defs/{name}")})
        }
    };
    let json = match label.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(item) => json!({"type": "array", "items": one(item), "$defs": {(item): {"type": "object"}}}),
        None if label.starts_with(char::is_lowercase) => json!({"type": label}),
        None => json!({"title": label, "type": "object"}),
    };
    Schema::from_json(json).unwrap()
}

fn nothing() -> ComputeFn {
    Arc::new(|values| Ok(values[0].clone()))
}

fn times(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

pub(super) fn fan(limit: u32, mode: FanMode) -> Fan {
    Fan { limit: NonZeroU32::new(limit), shared: None, bounds: None, streaming: false, mode, keyed: false }
}

/// A graph under construction.
pub(super) struct Sketch {
    nodes: Vec<Node>,
    bodies: Vec<Body>,
    open: Vec<BodyId>,
    scopes: Vec<String>,
    pub(super) input: NodeId,
    input_type: String,
}

impl Sketch {
    pub(super) fn new(input: &str) -> Self {
        let mut sketch = Self {
            nodes: Vec::new(),
            bodies: Vec::new(),
            open: Vec::new(),
            scopes: Vec::new(),
            input: NodeId(0),
            input_type: input.to_owned(),
        };
        sketch.open(Role::Plan, &[(Placeholder::Input, input)]);
        sketch
    }

    fn open(&mut self, role: Role, params: &[(Placeholder, &str)]) -> Vec<NodeId> {
        let id = BodyId(u32::try_from(self.bodies.len()).unwrap());
        let at = Location::caller();
        self.bodies.push(Body {
            id,
            owner: None,
            role,
            params: vec![],
            nodes: vec![],
            result: NodeId(0),
            bounds: vec![],
            at,
        });
        self.open.push(id);
        let add = |(word, label): &(Placeholder, &str)| self.node("", &[], Kind::Placeholder(*word), label);
        let params: Vec<_> = params.iter().map(add).collect();
        self.bodies[id.0 as usize].params.clone_from(&params);
        params
    }

    /// A body, filled by `fill`, which gets its placeholders and gives its result.
    pub(super) fn body(
        &mut self,
        role: Role,
        params: &[(Placeholder, &str)],
        fill: impl FnOnce(&mut Self, &[NodeId]) -> NodeId,
    ) -> BodyId {
        let scopes = std::mem::take(&mut self.scopes);
        let params = self.open(role, params);
        let result = fill(self, &params);
        self.scopes = scopes;
        let body = self.open.pop().unwrap();
        self.bodies[body.0 as usize].result = result;
        body
    }

    pub(super) fn scope<T>(&mut self, name: &str, fill: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(name.to_owned());
        let value = fill(self);
        self.scopes.pop();
        value
    }

    pub(super) fn node(&mut self, name: &str, inputs: &[NodeId], kind: Kind, label: &str) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap());
        let body = *self.open.last().unwrap();
        let inputs = inputs.iter().map(|node| NodeInput { name: "in".to_owned(), node: *node }).collect();
        let segments = self.scopes.iter().map(String::as_str).chain([name]).map(Segment::plain).collect();
        self.nodes.push(Node {
            id,
            body,
            scopes: self.scopes.clone(),
            name: name.to_owned(),
            pattern: StepPath::new(segments),
            inputs,
            after: Vec::new(),
            kind,
            schema: ty(label),
            replay: Replay::default(),
            at: Location::caller(),
        });
        self.bodies[body.0 as usize].nodes.push(id);
        id
    }

    pub(super) fn after(&mut self, node: NodeId, before: NodeId) {
        self.nodes[node.0 as usize].after.push(before);
    }

    fn group(&mut self, name: &str, inputs: &[NodeId], kind: Kind, bodies: &[BodyId], label: &str) -> NodeId {
        let id = self.node(name, inputs, kind, label);
        for body in bodies {
            self.bodies[body.0 as usize].owner = Some(id);
        }
        id
    }

    pub(super) fn agent(&mut self, name: &str, inputs: &[NodeId], label: &str) -> NodeId {
        let agent = Agent {
            prompt: Prompt::Text(String::new()),
            text: false,
            check: nothing(),
            tools: Vec::new(),
            skills: Vec::new(),
            files: Vec::new(),
            checks: Vec::new(),
            repair: 0,
            title: None,
            model: None,
            variant: None,
            isolation: Isolation::Workspace,
            runner: None,
            timeout: None,
            stall: None,
            retry: Retry::default(),
            effect: Effect::Idempotent,
            budget: None,
            version: None,
        };
        self.node(name, inputs, Kind::Agent(Box::new(agent)), label)
    }

    pub(super) fn ask(&mut self, name: &str, inputs: &[NodeId], label: &str) -> NodeId {
        let title = name.to_owned();
        let ask = Ask { title, choices: None, assignee: None, expires: None, check: nothing() };
        self.node(name, inputs, Kind::Ask(Box::new(ask)), label)
    }

    pub(super) fn step(&mut self, name: &str, inputs: &[NodeId], label: &str) -> NodeId {
        let step = LocalStep {
            call: Call::Blocking(nothing()),
            at: Location::caller(),
            check: nothing(),
            timeout: None,
            retry: Retry::default(),
            effect: Effect::Pure,
            version: None,
        };
        self.node(name, inputs, Kind::Step(Box::new(step)), label)
    }

    pub(super) fn derived(&mut self, verb: &'static str, inputs: &[NodeId]) -> NodeId {
        self.node("", inputs, Kind::Derived(Derived { verb, compute: Compute::Value(nothing()) }), "string")
    }

    pub(super) fn value(&mut self) -> NodeId {
        self.node("", &[], Kind::Constant(Val::from_json(json!(1))), "integer")
    }

    pub(super) fn each(
        &mut self,
        name: &str,
        items: NodeId,
        (keys, fan): (Keys, Fan),
        label: &str,
        fill: impl FnOnce(&mut Self, NodeId) -> NodeId,
    ) -> NodeId {
        let body =
            self.body(Role::Item, &[(Placeholder::Item, "Item")], |sketch, params| fill(sketch, params[0]));
        self.group(name, &[items], Kind::Each { needs: None, body, keys, fan }, &[body], label)
    }

    pub(super) fn parallel(
        &mut self,
        name: &str,
        children: Vec<(&str, BodyId)>,
        fan: Fan,
        label: &str,
    ) -> NodeId {
        let bodies: Vec<_> = children.iter().map(|(_, body)| *body).collect();
        let children = children.into_iter().map(|(key, body)| (key.to_owned(), body)).collect();
        self.group(name, &[], Kind::Parallel { children, fan }, &bodies, label)
    }

    pub(super) fn pipeline(
        &mut self,
        name: &str,
        items: NodeId,
        (keys, fan): (Keys, Fan),
        stages: Vec<BodyId>,
        label: &str,
    ) -> NodeId {
        let bodies = stages.clone();
        self.group(name, &[items], Kind::Pipeline { stages, keys, fan }, &bodies, label)
    }

    pub(super) fn repeat(
        &mut self,
        name: &str,
        initial: NodeId,
        max: u32,
        (body, or_else): (BodyId, Option<BodyId>),
        label: &str,
    ) -> NodeId {
        let bodies: Vec<_> = [Some(body), or_else].into_iter().flatten().collect();
        self.group(name, &[initial], Kind::Repeat(Repeat { body, max: times(max), or_else }), &bodies, label)
    }

    pub(super) fn branch(
        &mut self,
        name: &str,
        on: NodeId,
        arms: Vec<(&str, BodyId)>,
        otherwise: Option<BodyId>,
        label: &str,
    ) -> NodeId {
        let bodies: Vec<_> = arms.iter().map(|(_, body)| *body).chain(otherwise).collect();
        let at = Location::caller();
        let arm = |(label, body): (&str, _)| Arm {
            label: label.to_owned(),
            pick: Arc::new(|value| Ok(Some(value.clone()))),
            case: false,
            body,
            at,
        };
        let arms = arms.into_iter().map(arm).collect();
        self.group(name, &[on], Kind::Branch { arms, otherwise }, &bodies, label)
    }

    pub(super) fn review(
        &mut self,
        name: &str,
        value: NodeId,
        max: u32,
        revise: Option<BodyId>,
        label: &str,
    ) -> NodeId {
        let review = Review {
            title: name.to_owned(),
            revise,
            max_rounds: times(max),
            answer: ty("string"),
            end: ReviewEnd::Approved,
            check: nothing(),
        };
        let bodies: Vec<_> = revise.into_iter().collect();
        self.group(name, &[value], Kind::Review(Box::new(review)), &bodies, label)
    }

    pub(super) fn plan(mut self, name: &str, result: NodeId, label: &str) -> Graph {
        self.bodies[0].result = result;
        let part = Part { plan: PlanId::next(), first_node: 0, first_body: 0 };
        Graph::new(
            part,
            name.to_owned(),
            ty(&self.input_type),
            ty(label),
            self.nodes,
            (self.bodies, Vec::new()),
        )
    }
}
