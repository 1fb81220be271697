//! `agent`: a durable call to an intelligent worker.

use super::{
    arity::for_each_arity,
    inputs::{Inputs, Room},
    leaf::{Leaf, leaf_options},
    prompt::{BeforePrompt, Given, HasPrompt, NoPrompt, PromptText, Prompted},
    step::Step,
    value::value,
};
use crate::{
    build::{Begun, checker},
    graph::{Agent, Kind, Location, Prompt},
};
use hermes_core::{
    data::Data,
    effect::{Effect, Isolation},
};
use std::{marker::PhantomData, sync::Arc};

/// A durable call to an intelligent worker. It needs a prompt, and joins the plan with `.returns::<T>()` or `.text()`.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("titles", |topic: Step<String>| {
///     agent("titles")
///         .input("topic", topic)
///         .prompt_with(|topic| format!("Five titles for a post about {topic}."))
///         .returns::<Vec<String>>()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
///
/// # Panics
/// Outside any plan, at the caller's line; like every primitive.
#[track_caller]
pub fn agent(name: impl Into<String>) -> AgentBuilder<(), NoPrompt> {
    let begun = Begun::new("agent", name.into(), "`.returns::<T>()` or `.text()`");
    AgentBuilder {
        leaf: Leaf::new(begun),
        options: Options::default(),
        prompt: NoPrompt::new(),
        inputs: PhantomData,
    }
}

#[derive(Default)]
struct Options {
    tools: Vec<String>,
    skills: Vec<String>,
    model: Option<String>,
    variant: Option<String>,
    isolation: Isolation,
    runner: Option<String>,
}

/// An agent under construction: `I` are the types of its inputs, `P` says whether it has its prompt.
#[must_use = "an agent joins the plan at `.returns::<T>()` or `.text()`"]
pub struct AgentBuilder<I, P> {
    leaf: Leaf,
    options: Options,
    prompt: P,
    inputs: PhantomData<fn(I)>,
}

impl<I: Inputs, P> AgentBuilder<I, P> {
    leaf_options!();

    /// Gives it the output of a step, under a name. Inputs come before the prompt, up to 8.
    #[track_caller]
    pub fn input<T: Data>(mut self, name: impl Into<String>, step: Step<T>) -> AgentBuilder<I::With<T>, P>
    where
        I: Room,
        P: BeforePrompt,
    {
        self.leaf.input(name.into(), step, Location::caller());
        let Self { leaf, options, prompt, .. } = self;
        AgentBuilder { leaf, options, prompt, inputs: PhantomData }
    }

    /// Gives it a constant, under a name: the same as `.input(name, value(constant))`.
    #[track_caller]
    pub fn input_value<T: Data>(self, name: impl Into<String>, constant: &T) -> AgentBuilder<I::With<T>, P>
    where
        I: Room,
        P: BeforePrompt,
    {
        self.input(name, value(constant.clone()))
    }

    /// The prompt: a fixed text, which each input follows as a named block of JSON; or a
    /// [`Template`](crate::Template), which reads the inputs by name and is sent as rendered.
    #[track_caller]
    pub fn prompt(self, text: impl PromptText) -> AgentBuilder<I, Prompted>
    where
        P: BeforePrompt,
    {
        let at = Location::caller();
        let prompt = match text.into_given() {
            Given::Text(text) => {
                if text.trim().is_empty() {
                    self.leaf.begun.blank_prompt(at);
                }
                Prompt::Text(text)
            }
            Given::Template(template) => self.leaf.begun.template(template, at),
        };
        self.prompted(prompt)
    }

    fn prompted(self, prompt: Prompt) -> AgentBuilder<I, Prompted> {
        let Self { leaf, options, .. } = self;
        AgentBuilder { leaf, options, prompt: Prompted { prompt }, inputs: PhantomData }
    }

    /// Tools it may use, by name.
    #[track_caller]
    pub fn tools<N: Into<String>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        let at = Location::caller();
        self.options.tools.extend(tools.into_iter().map(|tool| self.leaf.begun.option("a tool", tool, at)));
        self
    }

    /// Skills it may use, by name.
    #[track_caller]
    pub fn skills<N: Into<String>>(mut self, skills: impl IntoIterator<Item = N>) -> Self {
        let at = Location::caller();
        self.options
            .skills
            .extend(skills.into_iter().map(|skill| self.leaf.begun.option("a skill", skill, at)));
        self
    }

    /// The model asked for; without it, the runner's own default.
    #[track_caller]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.options.model = Some(self.leaf.begun.option("the model", model, Location::caller()));
        self
    }

    /// The variant of the model asked for.
    #[track_caller]
    pub fn variant(mut self, variant: impl Into<String>) -> Self {
        self.options.variant = Some(self.leaf.begun.option("the variant", variant, Location::caller()));
        self
    }

    /// Where it works. With [`Isolation::None`] it is [`Effect::Unsafe`] unless `.effect(..)` says otherwise.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.options.isolation = isolation;
        self
    }

    /// The runner that performs it, by name; without it, the executor's default.
    #[track_caller]
    pub fn runner(mut self, runner: impl Into<String>) -> Self {
        self.options.runner = Some(self.leaf.begun.option("the runner", runner, Location::caller()));
        self
    }

    /// Joins the plan; the answer is a `T`, or the step fails.
    #[track_caller]
    pub fn returns<T: Data>(self) -> Step<T>
    where
        P: HasPrompt,
    {
        self.join(false)
    }

    /// Joins the plan; the answer is plain text.
    #[track_caller]
    pub fn text(self) -> Step<String>
    where
        P: HasPrompt,
    {
        self.join(true)
    }

    #[track_caller]
    fn join<T: Data>(self, text: bool) -> Step<T>
    where
        P: HasPrompt,
    {
        let Self { leaf, options, prompt, .. } = self;
        let Options { tools, skills, model, variant, isolation, runner } = options;
        let default = if isolation == Isolation::None { Effect::Unsafe } else { Effect::Idempotent };
        let agent = Agent {
            prompt: prompt.into_prompt(),
            text,
            tools,
            skills,
            model,
            variant,
            isolation,
            runner,
            timeout: leaf.timeout,
            effect: leaf.effect.unwrap_or(default),
            version: leaf.version,
            check: checker::<T>(leaf.begun.at()),
        };
        let schema = leaf.schema::<T>();
        leaf.join(Kind::Agent(Box::new(agent)), schema)
    }
}

macro_rules! prompt_with {
    ($($T:ident $v:ident $i:literal),*) => {
        impl<$($T: Data),*> AgentBuilder<($($T,)*), NoPrompt> {
            /// The prompt, made from the inputs: one reference for each, in order. It is sent as it is.
            #[track_caller]
            pub fn prompt_with(
                self,
                build: impl Fn($(&$T),*) -> String + Send + Sync + 'static,
            ) -> AgentBuilder<($($T,)*), Prompted> {
                let at = Location::caller();
                let build = Arc::new(move |inputs: &[_]| {
                    let ($($v,)*) = <($($T,)*)>::decode(inputs, at)?;
                    Ok(build($(&$v),*))
                });
                self.prompted(Prompt::Built { build, at })
            }
        }
    };
}
for_each_arity!(prompt_with);
