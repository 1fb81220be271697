//! A builder between its first call and its last.

use super::{
    ambient,
    budgets::{empty, misplaced},
    draft::{Draft, Filled, Handle, Use},
    errors::{PlanError, PlanErrorKind},
    names::Claim,
};
use crate::graph::{BodyId, Graph, Kind, Location, NodeId, NodeInput, OnChange, PlanId, Replay, Role};
use hermes_core::{budget::Budget, data::Data, effect::Effect, path::check_name, schema::Schema};
use std::{
    any::TypeId,
    path::{Component, Path},
    time::Duration,
};

/// The part that every builder has: which plan it belongs to, what it is called, where it began.
///
/// The plan knows of it until its last call, so one that is dropped, forgotten or carried away is found.
pub(crate) struct Begun {
    plan: PlanId,
    ticket: u32,
    name: String,
    at: Location,
    replay: Replay,
}

/// What a step has when it joins the plan.
pub(crate) struct Join {
    pub(crate) key: Option<String>,
    pub(crate) inputs: Vec<Use>,
    pub(crate) after: Vec<Use>,
    pub(crate) kind: Kind,
    pub(crate) schema: Schema,
}

impl Begun {
    /// Begins a builder in the innermost plan.
    #[track_caller]
    pub(crate) fn new(primitive: &str, name: String, ends: &'static str) -> Self {
        let at = Location::caller();
        let what = || format!("`{primitive}({name:?}, ..)`");
        let (plan, ticket) = ambient::current(what, |draft| (draft.id(), draft.begin(what(), ends, at)));
        Self { plan, ticket, name, at, replay: Replay::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn at(&self) -> Location {
        self.at
    }

    /// The name it had in an earlier form of the plan.
    pub(crate) fn renamed_from(&mut self, old: String, at: Location) {
        if let Err(why) = check_name(&old) {
            let message =
                format!("`{}` cannot have been the name of `{}`: {why}", old.escape_debug(), self.name);
            let mend = "give the name that it had, without the path around it";
            self.mistake(PlanError::new(PlanErrorKind::InvalidName, at, message, mend));
        }
        self.replay.renamed_from = Some(old);
    }

    pub(crate) fn on_change(&mut self, on_change: OnChange) {
        self.replay.on_change = Some(on_change);
    }

    pub(crate) fn memo(&mut self) {
        self.replay.memo = true;
    }

    /// What runs twice at a price must not run again unasked, nor be taken for what it is not; and what does something must
    /// do it in each run.
    pub(crate) fn check_replay(&self, effect: Effect) {
        if self.replay.memo && effect != Effect::Pure {
            let message =
                format!("`{}` is not `Pure`, so another run's outcome is not as good as its own", self.name);
            let mend =
                "leave `.memo()` out, or declare that nothing but its output matters with `.effect(Pure)`";
            self.mistake(PlanError::new(PlanErrorKind::MemoNotPure, self.at, message, mend));
        }
        if self.replay.on_change.is_some() && effect == Effect::Unsafe {
            let message = format!(
                "`{}` is `Unsafe`, so nothing but a person may say what a change of it means",
                self.name
            );
            let mend =
                "leave `.on_change(..)` out, or declare an effect that may happen twice with `.effect(..)`";
            self.mistake(PlanError::new(PlanErrorKind::OnChangeUnsafe, self.at, message, mend));
        }
    }

    pub(crate) fn plan(&self) -> PlanId {
        self.plan
    }

    /// Notes a mistake.
    pub(crate) fn mistake(&self, error: PlanError) {
        ambient::in_plan(self.plan, |draft| draft.mistake(error));
    }

    /// The schema of a type; one that nothing can be checked against is a mistake at `at`.
    pub(crate) fn schema<T: Data>(&self, at: Location) -> Schema {
        schema_in::<T>(self.plan, at)
    }

    /// A text that must say something.
    pub(crate) fn not_blank(&self, what: &str, text: &str, kind: PlanErrorKind, at: Location) {
        if text.trim().is_empty() {
            let message = format!("{what} of `{}` is blank", self.name);
            self.mistake(PlanError::new(kind, at, message, "write it, or leave the call out"));
        }
    }

    /// A prompt must say something.
    pub(crate) fn blank_prompt(&self, at: Location) {
        let message = format!("the prompt of `{}` is blank", self.name);
        let mend = "say what the agent should do";
        self.mistake(PlanError::new(PlanErrorKind::BlankPrompt, at, message, mend));
    }

    /// The name of a tool, a model or the like.
    pub(crate) fn option(&self, what: &str, text: impl Into<String>, at: Location) -> String {
        let text = text.into();
        self.not_blank(what, &text, PlanErrorKind::BlankOption, at);
        text
    }

    /// The fan-out whose keys a list has, and where it is, if the list is the result of one.
    pub(crate) fn keys_of(&self, list: Handle) -> Option<(NodeId, Location)> {
        ambient::in_plan(self.plan, |draft| draft.keys_of(list)).flatten()
    }

    /// Whether the author is inside a body of `owner`, in this plan.
    pub(crate) fn stands_in(&self, owner: NodeId) -> bool {
        ambient::in_plan(self.plan, |draft| draft.stands_in(owner)).unwrap_or(false)
    }

    /// A timeout must be some time.
    pub(crate) fn timeout(&self, timeout: Duration, at: Location) -> Duration {
        if timeout.is_zero() {
            let message = format!("the timeout of `{}` is zero, so it could never succeed", self.name);
            let mend = "give it more time, or leave `.timeout(..)` out";
            self.mistake(PlanError::new(PlanErrorKind::ZeroTimeout, at, message, mend));
        }
        timeout
    }

    /// A silence that is allowed must be some time.
    pub(crate) fn stall(&self, stall: Duration, at: Location) -> Duration {
        if stall.is_zero() {
            let message =
                format!("the silence that `{}` is allowed is zero, so it could never succeed", self.name);
            let mend = "give it more time, or leave `.stall(..)` out";
            self.mistake(PlanError::new(PlanErrorKind::ZeroTimeout, at, message, mend));
        }
        stall
    }

    /// What one call may cost must be something, and a cost.
    pub(crate) fn call_budget(&self, budget: Budget, at: Location) -> Budget {
        let mistake = empty(&format!("the agent `{}`", self.name), &budget, at)
            .or_else(|| misplaced(&self.name, &budget, at));
        if let Some(error) = mistake {
            self.mistake(error);
        }
        budget
    }

    /// A command must start something.
    pub(crate) fn no_program(&self, what: &str, at: Location) {
        let message = format!("the command `{}` starts nothing: {what}", self.name);
        let mend = "name a program: `.argv([\"git\", \"log\"])`";
        self.mistake(PlanError::new(PlanErrorKind::NoProgram, at, message, mend));
    }

    /// The name of a variable in an environment.
    pub(crate) fn variable(&self, name: String, at: Location) -> String {
        if name.is_empty() || name.contains(['=', '\0']) {
            let shown = name.escape_debug();
            let message = format!("`{shown}` at `{}` cannot name a variable of an environment", self.name);
            let mend = "give a name that is not empty and has no `=` and no zero byte in it";
            self.mistake(PlanError::new(PlanErrorKind::InvalidVariable, at, message, mend));
        }
        name
    }

    /// A path below the directory it is relative to.
    pub(crate) fn relative(&self, what: &str, path: String, at: Location) -> String {
        let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if path.is_empty() || path.contains('\0') || !Path::new(&path).components().all(inside) {
            let message = format!(
                "{what} of `{}` is `{}`, which is not a path below the directory it is relative to",
                self.name,
                path.escape_debug()
            );
            let mend = "give a relative path without `..`, or set `Executor::builder().base_dir(..)`";
            self.mistake(PlanError::new(PlanErrorKind::InvalidPath, at, message, mend));
        }
        path
    }

    /// A cap must leave something.
    pub(crate) fn zero_cap(&self, at: Location) {
        let message =
            format!("the cap of `{}` is 0 bytes, so nothing of its output would be kept", self.name);
        let mend = "give it some bytes, or leave `.cap(..)` out";
        self.mistake(PlanError::new(PlanErrorKind::ZeroCap, at, message, mend));
    }

    /// A wait or an expiry must be some time.
    pub(crate) fn some_time(&self, what: &str, duration: Duration, at: Location) -> Duration {
        if duration.is_zero() {
            let message = format!("{what} of `{}` is no time at all", self.name);
            let mend = "give it some time, or leave it out";
            self.mistake(PlanError::new(PlanErrorKind::ZeroDuration, at, message, mend));
        }
        duration
    }

    /// The last call of a builder that is one step: it joins the plan in the innermost body.
    #[track_caller]
    pub(crate) fn join(self, join: Join) -> Handle {
        self.check_inputs(&join.inputs);
        let Join { key, inputs, after, kind, schema } = join;
        let replay = self.replay.clone();
        let node = self.last(|draft| {
            let inputs = draft.inputs(inputs);
            let after = after.iter().map(|after| draft.check(after)).collect();
            let claim = key.as_deref().map_or(Claim::Step, Claim::Keyed);
            draft.named(&self.name, claim, self.at, Some(Filled { inputs, after, kind, schema, replay }))
        });
        Handle { plan: self.plan, node, made: self.at }
    }

    fn check_inputs(&self, inputs: &[Use]) {
        for (index, input) in inputs.iter().enumerate() {
            if let Err(why) = check_name(&input.name) {
                let message = format!("`{}` cannot name an input: {why}", input.name.escape_debug());
                let error =
                    PlanError::new(PlanErrorKind::InvalidName, input.at, message, "give it another name");
                self.mistake(error);
            }
            if let Some(first) = inputs[..index].iter().find(|first| first.name == input.name) {
                let message = format!("two inputs of `{}` are named `{}`", self.name, input.name);
                let error =
                    PlanError::new(PlanErrorKind::DuplicateInput, input.at, message, "rename one of them");
                self.mistake(error.also(first.at));
            }
        }
    }

    /// The last call.
    #[track_caller]
    fn last<R>(&self, work: impl FnOnce(&mut Draft) -> R) -> R {
        let done = ambient::in_plan(self.plan, |draft| {
            draft.end(self.ticket);
            work(draft)
        });
        match done {
            Some(done) => done,
            None => panic!(
                "`{}` was begun in a plan that is no longer being built; end it inside the function that you give to \
                 `Plan::new(name, f)`",
                self.name
            ),
        }
    }
}

/// The schema of a type in a plan under construction.
pub(super) fn schema_in<T: Data>(plan: PlanId, at: Location) -> Schema {
    let of = TypeId::of::<T>();
    if let Some(schema) = ambient::in_plan(plan, |draft| draft.schema(of)).flatten() {
        return schema;
    }
    let schema = Schema::of::<T>();
    let error = schema.expressible().err().map(|why| {
        let message = format!("the schema of `{}` cannot be used: {why}", std::any::type_name::<T>());
        let mend = "mend its `JsonSchema`, most simply by deriving it";
        PlanError::new(PlanErrorKind::InexpressibleSchema, at, message, mend)
    });
    ambient::in_plan(plan, |draft| draft.met_schema(of, &schema, error));
    schema
}

/// The schema of a type in the innermost plan.
#[track_caller]
pub(crate) fn schema_here<T: Data>(what: impl FnOnce() -> String, at: Location) -> Schema {
    let plan = ambient::current(what, |draft| draft.id());
    schema_in::<T>(plan, at)
}

/// A builder of a group: it has its place in the plan from its first call, before what is inside it.
pub(crate) struct Group {
    begun: Begun,
    node: NodeId,
}

impl Group {
    /// Begins a group in the innermost body of the innermost plan.
    #[track_caller]
    pub(crate) fn new(primitive: &str, name: String, ends: &'static str) -> Self {
        let begun = Begun::new(primitive, name, ends);
        let reserved =
            ambient::in_plan(begun.plan, |draft| draft.named(&begun.name, Claim::Group, begun.at, None));
        let node = reserved.unwrap_or(NodeId(0));
        Self { begun, node }
    }

    pub(crate) fn begun(&self) -> &Begun {
        &self.begun
    }

    pub(crate) fn node(&self) -> NodeId {
        self.node
    }

    /// The name it had in an earlier form of the plan.
    pub(crate) fn renamed_from(&mut self, old: String, at: Location) {
        self.begun.renamed_from(old, at);
    }

    /// Checks the use of a handle as this group's input.
    pub(crate) fn input(&self, input: Use) -> Vec<NodeInput> {
        ambient::in_plan(self.begun.plan, |draft| draft.inputs(vec![input])).unwrap_or_default()
    }

    /// Copies a whole plan into the group, as its body.
    pub(crate) fn copy(&self, graph: &Graph) -> BodyId {
        let copied = ambient::in_plan(self.begun.plan, |draft| {
            draft.copy(graph, graph.root(), self.node, &Role::Call)
        });
        copied.unwrap_or(BodyId::PLAN)
    }

    /// The group's last call.
    #[track_caller]
    pub(crate) fn finish(self, inputs: Vec<NodeInput>, kind: Kind, schema: Schema) -> Handle {
        let replay = self.begun.replay.clone();
        let filled = Filled { inputs, after: Vec::new(), kind, schema, replay };
        self.begun.last(|draft| draft.fill(self.node, filled));
        Handle { plan: self.begun.plan, node: self.node, made: self.begun.at }
    }
}
