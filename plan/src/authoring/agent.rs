//! `agent`: a durable call to an intelligent worker.

use super::{
    arity::for_each_arity,
    inputs::{Inputs, Room},
    leaf::{Leaf, leaf_options, stall_option},
    prompt::{BeforePrompt, Checked, Given, HasPrompt, NoPrompt, PromptText, Prompted, Yields},
    step::Step,
    value::value,
};
use crate::{
    build::{Begun, PlanErrorKind, checker, decode},
    graph::{Agent, Check, Kind, Location, Prompt, Text},
};
use hermes_core::{
    budget::Budget,
    data::Data,
    effect::{Effect, Isolation},
    value::Val,
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
pub(super) struct Options {
    pub(super) title: Option<Text>,
    pub(super) tools: Vec<String>,
    pub(super) skills: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) model: Option<Text>,
    pub(super) variant: Option<String>,
    pub(super) isolation: Isolation,
    pub(super) runner: Option<String>,
    pub(super) repair: u32,
    pub(super) budget: Option<Budget>,
}

/// An agent under construction: `I` are the types of its inputs, `P` says whether it has its prompt.
#[must_use = "an agent joins the plan at `.returns::<T>()` or `.text()`"]
pub struct AgentBuilder<I, P> {
    pub(super) leaf: Leaf,
    pub(super) options: Options,
    prompt: P,
    inputs: PhantomData<fn(I)>,
}

impl<I: Inputs, P> AgentBuilder<I, P> {
    leaf_options!();
    stall_option!();

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

    /// Files that it is given, relative to the executor's base directory: the runner gets their paths, and their contents are
    /// compared, so that a changed file is noticed like a changed input. They are read when the call is made; one that is
    /// not there is a value too. A list of files that is only known at run time comes from [`files`](crate::files).
    #[track_caller]
    pub fn files<N: Into<String>>(mut self, files: impl IntoIterator<Item = N>) -> Self {
        let at = Location::caller();
        self.options
            .files
            .extend(files.into_iter().map(|file| self.leaf.begun.relative("a file", file.into(), at)));
        self
    }

    /// What people call it, in the drawing of a run and where they have to decide something; nothing depends on it.
    #[track_caller]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        let title = title.into();
        self.leaf.begun.not_blank("the title", &title, PlanErrorKind::BlankTitle, Location::caller());
        self.options.title = Some(Text::Fixed(title));
        self
    }

    /// The model asked for; without it, the runner's own default.
    #[track_caller]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        let model = self.leaf.begun.option("the model", model, Location::caller());
        self.options.model = Some(Text::Fixed(model));
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

    /// How many more turns an attempt may take when an answer is refused: because it is not valid for the schema, does not
    /// decode as the type, or does not stand a `.check(..)`. The runner is told what is wrong, in the same session; every
    /// refused answer is durable before the next turn begins. 0 without it: the first answer counts.
    pub fn repair(mut self, turns: u32) -> Self {
        self.options.repair = turns;
        self
    }

    /// What one call of it may cost at most, all its turns together: in money, in tokens, or both. It is reserved in every
    /// budget around before the call begins, and the runner is told. What is not known of a call's cost counts as this. Once
    /// a call has cost more, no other of the step begins, and the run parks until a person raises the bound.
    #[track_caller]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.options.budget = Some(self.leaf.begun.call_budget(budget, Location::caller()));
        self
    }

    /// What the answer has to stand beyond its schema: an error says what is wrong, and is what `.repair(..)` tells the
    /// runner. It comes after the prompt, and says of which type the answer is:
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("titles", |topic: Step<String>| {
    ///     agent("titles")
    ///         .input("topic", topic)
    ///         .prompt("Five titles.")
    ///         .check(|titles: &Vec<String>| match titles.len() {
    ///             5 => Ok(()),
    ///             n => Err(format!("there are {n} titles, and 5 were asked for")),
    ///         })
    ///         .repair(2)
    ///         .returns()
    /// })?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    ///
    /// What the closure does is not compared when the run is resumed: a stored answer is not checked again.
    #[track_caller]
    pub fn check<T: Data>(
        self,
        check: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static,
    ) -> AgentBuilder<I, Checked<T>>
    where
        P: HasPrompt + Yields<T>,
    {
        let at = Location::caller();
        let test = Arc::new(move |answer: &Val| {
            let answer = decode::<T>(std::slice::from_ref(answer), 0, at)?;
            Ok(check(&answer).err())
        });
        let Self { leaf, options, prompt, .. } = self;
        let (prompt, mut checks) = prompt.into_parts();
        checks.push(Check { test, at });
        let prompt = Checked { prompt, checks, answer: PhantomData };
        AgentBuilder { leaf, options, prompt, inputs: PhantomData }
    }

    /// Joins the plan; the answer is a `T`, or the step fails.
    #[track_caller]
    pub fn returns<T: Data>(self) -> Step<T>
    where
        P: HasPrompt + Yields<T>,
    {
        self.join(false)
    }

    /// Joins the plan; the answer is plain text.
    #[track_caller]
    pub fn text(self) -> Step<String>
    where
        P: HasPrompt + Yields<String>,
    {
        self.join(true)
    }

    #[track_caller]
    fn join<T: Data>(self, text: bool) -> Step<T>
    where
        P: HasPrompt,
    {
        let Self { leaf, options, prompt, .. } = self;
        let Options { title, tools, skills, files, model, variant, isolation, runner, repair, budget } =
            options;
        let default = if isolation == Isolation::None { Effect::Unsafe } else { Effect::Idempotent };
        let (prompt, checks) = prompt.into_parts();
        let agent = Agent {
            prompt,
            text,
            checks,
            repair,
            title,
            tools,
            skills,
            files,
            model,
            variant,
            isolation,
            runner,
            timeout: leaf.timeout,
            stall: leaf.stall,
            retry: leaf.retry.unwrap_or_default(),
            effect: leaf.effect.unwrap_or(default),
            version: leaf.version,
            budget,
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

        impl<$($T: Data,)* P> AgentBuilder<($($T,)*), P> {
            /// What people call a copy of it, made from the inputs given so far: one reference for each, in order. It is made
            /// when the copy is called; nothing depends on it. A blank one is none.
            #[track_caller]
            pub fn title_with(mut self, title: impl Fn($(&$T),*) -> String + Send + Sync + 'static) -> Self {
                let at = Location::caller();
                let make = Arc::new(move |inputs: &[_]| {
                    let ($($v,)*) = <($($T,)*)>::decode(inputs, at)?;
                    Ok(title($(&$v),*))
                });
                self.options.title = Some(Text::Made { make, at });
                self
            }

            /// The model asked for, made from the inputs given so far: one reference for each, in order. It must not be
            /// blank.
            #[track_caller]
            pub fn model_with(mut self, model: impl Fn($(&$T),*) -> String + Send + Sync + 'static) -> Self {
                let at = Location::caller();
                let make = Arc::new(move |inputs: &[_]| {
                    let ($($v,)*) = <($($T,)*)>::decode(inputs, at)?;
                    Ok(model($(&$v),*))
                });
                self.options.model = Some(Text::Made { make, at });
                self
            }
        }
    };
}
for_each_arity!(prompt_with);
