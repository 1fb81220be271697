//! What agents, commands and local steps have in common.

use super::step::Step;
use crate::{
    build::{Begun, Join, Use},
    graph::{Kind, Location},
};
use hermes_core::{data::Data, effect::Effect, retry::Retry, schema::Schema};
use std::time::Duration;

/// The common options of a step under construction.
pub(super) struct Leaf {
    pub(super) begun: Begun,
    pub(super) key: Option<String>,
    pub(super) timeout: Option<Duration>,
    pub(super) stall: Option<Duration>,
    pub(super) retry: Option<Retry>,
    pub(super) effect: Option<Effect>,
    pub(super) version: Option<u32>,
    pub(super) inputs: Vec<Use>,
    pub(super) after: Vec<Use>,
}

impl Leaf {
    pub(super) fn new(begun: Begun) -> Self {
        let (inputs, after) = (Vec::new(), Vec::new());
        let (timeout, stall, retry) = (None, None, None);
        Self { begun, key: None, timeout, stall, retry, effect: None, version: None, inputs, after }
    }

    /// The schema of the output.
    pub(super) fn schema<T: Data>(&self) -> Schema {
        self.begun.schema::<T>(self.begun.at())
    }

    /// Joins the plan.
    #[track_caller]
    pub(super) fn join<T>(self, kind: Kind, schema: Schema) -> Step<T> {
        let Self { begun, key, inputs, after, .. } = self;
        begun.check_replay(match &kind {
            Kind::Agent(agent) => agent.effect,
            Kind::Step(step) => step.effect,
            Kind::Command(command) => command.effect,
            _ => Effect::Pure,
        });
        Step::new(begun.join(Join { key, inputs, after, kind, schema }))
    }

    pub(super) fn input<T>(&mut self, name: String, step: Step<T>, at: Location) {
        self.inputs.push(step.used(name, at));
    }
}

/// The options that agents, commands and local steps have in common.
macro_rules! leaf_options {
    () => {
        /// The key of a step that is made in a plain Rust loop: its path is `name[key]`.
        #[track_caller]
        pub fn key(mut self, key: impl Into<String>) -> Self {
            let key = key.into();
            if let Err(error) = crate::build::check_key(&key, crate::graph::Location::caller()) {
                self.leaf.begun.mistake(error);
            }
            self.leaf.key = Some(key);
            self
        }

        /// The longest one attempt may take.
        #[track_caller]
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.leaf.timeout = Some(self.leaf.begun.timeout(timeout, crate::graph::Location::caller()));
            self
        }

        /// How often it is tried again by itself when it fails in a way that may pass. What it is tried again under is the same
        /// idempotency key; attempts, and when the next is due, are in the journal. An `Unsafe` one is tried again only where
        /// its runner says that it never began. Without this, only rate limits are waited out.
        ///
        /// ```
        /// use hermes_plan::prelude::*;
        ///
        /// let plan = Plan::new("fetch", |page: Step<String>| {
        ///     agent("fetch").input("page", page).retry(Retry::attempts(3)).prompt("Fetch the page.").text()
        /// })?;
        /// # Ok::<(), PlanErrors>(())
        /// ```
        pub fn retry(mut self, retry: hermes_core::retry::Retry) -> Self {
            self.leaf.retry = Some(retry);
            self
        }

        /// What running it twice would do, which decides what happens after a crash.
        pub fn effect(mut self, effect: hermes_core::effect::Effect) -> Self {
            self.leaf.effect = Some(effect);
            self
        }

        /// The author's version: raise it when what the step does has changed in a way that its inputs do not show.
        pub fn version(mut self, version: u32) -> Self {
            self.leaf.version = Some(version);
            self
        }

        /// What becomes of it in a run in which it is finished, and its request differs today: it runs again, or its output is
        /// kept, and nobody is asked. Each use is in the journal. Without it, the run stops for a person.
        pub fn on_change(mut self, on_change: crate::graph::OnChange) -> Self {
            self.leaf.begun.on_change(on_change);
            self
        }

        /// Takes over the outcome that a step of any run on the ledger has really got for exactly the same request, where there is
        /// one, instead of doing it again; what it yields may be taken over in turn. For `Pure` steps only.
        pub fn memo(mut self) -> Self {
            self.leaf.begun.memo();
            self
        }

        crate::authoring::leaf::renamed_from!(leaf.begun);

        /// Starts only after `step` has succeeded, although no data flows.
        #[track_caller]
        pub fn after<S>(mut self, step: crate::authoring::Step<S>) -> Self {
            self.leaf.after.push(step.used("", crate::graph::Location::caller()));
            self
        }
    };
}
pub(super) use leaf_options;

/// The option that calls outside this process have in common.
macro_rules! stall_option {
    () => {
        /// How long nothing may be heard of one attempt: no output, no live line, no heartbeat of its runner. Then it is ended,
        /// and has failed as stalled.
        #[track_caller]
        pub fn stall(mut self, longest: std::time::Duration) -> Self {
            self.leaf.stall = Some(self.leaf.begun.stall(longest, crate::graph::Location::caller()));
            self
        }
    };
}
pub(super) use stall_option;

/// The option that all builders with a name have in common.
macro_rules! renamed_from {
    ($($part:ident).+) => {
        /// The name that it had in an earlier form of the plan, in the same place: what runs have recorded under it counts
        /// as this, and nobody is asked.
        #[track_caller]
        pub fn renamed_from(mut self, old: impl Into<String>) -> Self {
            self.$($part).+.renamed_from(old.into(), crate::graph::Location::caller());
            self
        }
    };
}
pub(super) use renamed_from;
