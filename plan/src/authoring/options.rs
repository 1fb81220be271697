//! `AgentOptions`: the options of agents that no input types, as a value to be shared.

use super::{agent::AgentBuilder, inputs::Inputs};
use crate::graph::{Location, Text};
use hermes_core::{
    budget::Budget,
    effect::{Effect, Isolation},
    retry::Retry,
};
use std::time::Duration;
use typed_builder::TypedBuilder;

/// Options for several agents; made with [`AgentOptions::builder`], given with `.with(&options)`. What is not set changes
/// nothing.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let careful = AgentOptions::builder().model("large").tools(["read", "grep"]).repair(2).build();
/// let plan = Plan::new("find", |report: Step<String>| {
///     agent("find").input("report", report).with(&careful).prompt("Find the cause.").text()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, TypedBuilder)]
#[builder(field_defaults(default))]
pub struct AgentOptions {
    /// Tools they may use, by name; added to those an agent has.
    #[builder(setter(transform = |tools: impl IntoIterator<Item = impl Into<String>>| {
        tools.into_iter().map(Into::into).collect::<Vec<String>>()
    }))]
    tools: Vec<String>,
    /// Skills they may use, by name; added to those an agent has.
    #[builder(setter(transform = |skills: impl IntoIterator<Item = impl Into<String>>| {
        skills.into_iter().map(Into::into).collect::<Vec<String>>()
    }))]
    skills: Vec<String>,
    /// The model asked for.
    #[builder(setter(strip_option, into))]
    model: Option<String>,
    /// The variant of the model asked for.
    #[builder(setter(strip_option, into))]
    variant: Option<String>,
    /// Where they work.
    #[builder(setter(strip_option))]
    isolation: Option<Isolation>,
    /// The runner that performs them, by name.
    #[builder(setter(strip_option, into))]
    runner: Option<String>,
    /// The longest one attempt may take.
    #[builder(setter(strip_option))]
    timeout: Option<Duration>,
    /// How long nothing may be heard of one attempt.
    #[builder(setter(strip_option))]
    stall: Option<Duration>,
    /// How often they are tried again by themselves.
    #[builder(setter(strip_option))]
    retry: Option<Retry>,
    /// What running them twice would do.
    #[builder(setter(strip_option))]
    effect: Option<Effect>,
    /// The author's version.
    #[builder(setter(strip_option))]
    version: Option<u32>,
    /// How many more turns an attempt may take when an answer is refused.
    #[builder(setter(strip_option))]
    repair: Option<u32>,
    /// What one call may cost at most.
    #[builder(setter(strip_option))]
    budget: Option<Budget>,
}

impl<I: Inputs, P> AgentBuilder<I, P> {
    /// Takes over what these options set, as if each were given here: of two, the later call counts. Tools and skills are
    /// added to those it has.
    #[track_caller]
    pub fn with(mut self, options: &AgentOptions) -> Self {
        let at = Location::caller();
        let begun = &self.leaf.begun;
        let named = |what: &str, name: &Option<String>| {
            name.as_ref().map(|name| begun.option(what, name.as_str(), at))
        };
        let all = |what: &str, names: &[String]| -> Vec<String> {
            names.iter().map(|name| begun.option(what, name.as_str(), at)).collect()
        };
        let own = &mut self.options;
        for (has, more) in [
            (&mut own.tools, all("a tool", &options.tools)),
            (&mut own.skills, all("a skill", &options.skills)),
        ] {
            for name in more {
                if !has.contains(&name) {
                    has.push(name);
                }
            }
        }
        own.model = named("the model", &options.model).map(Text::Fixed).or(own.model.take());
        own.variant = named("the variant", &options.variant).or(own.variant.take());
        own.runner = named("the runner", &options.runner).or(own.runner.take());
        own.isolation = options.isolation.unwrap_or(own.isolation);
        own.repair = options.repair.unwrap_or(own.repair);
        own.budget = options.budget.map(|budget| begun.call_budget(budget, at)).or(own.budget);
        let timeout = options.timeout.map(|timeout| begun.timeout(timeout, at));
        self.leaf.timeout = timeout.or(self.leaf.timeout);
        let stall = options.stall.map(|stall| begun.stall(stall, at));
        self.leaf.stall = stall.or(self.leaf.stall);
        self.leaf.retry = options.retry.or(self.leaf.retry);
        self.leaf.effect = options.effect.or(self.leaf.effect);
        self.leaf.version = options.version.or(self.leaf.version);
        self
    }
}
