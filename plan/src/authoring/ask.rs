//! `ask`: a typed question to a person.

use super::step::Step;
use crate::{
    build::{Begun, Join, PlanErrorKind, Use, checker},
    graph::{Ask, Choices, Kind, Location},
};
use hermes_core::data::Data;
use std::marker::PhantomData;

/// A typed question to a person. It joins the plan with `.returns::<T>()`, or `.choose_from(options)` and then `.one()`
/// or `.many()`.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("choose", |titles: Step<Vec<String>>| {
///     ask("title").title("Which title?").choose_from(titles).one()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn ask(name: impl Into<String>) -> AskBuilder {
    let ends = "`.returns::<T>()`, or `.choose_from(options)` and then `.one()` or `.many()`";
    AskBuilder {
        begun: Begun::new("ask", name.into(), ends),
        title: None,
        inputs: Vec::new(),
        after: Vec::new(),
    }
}

/// A question under construction.
#[must_use = "a question joins the plan at `.returns::<T>()`, or at `.choose_from(options)` and `.one()` or `.many()`"]
pub struct AskBuilder {
    begun: Begun,
    title: Option<String>,
    inputs: Vec<Use>,
    after: Vec<Use>,
}

impl AskBuilder {
    /// What the person reads first. Without it, the question's name.
    #[track_caller]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        let title = title.into();
        self.begun.not_blank("the title", &title, PlanErrorKind::BlankTitle, Location::caller());
        self.title = Some(title);
        self
    }

    /// Shows the person the output of a step, under a name.
    #[track_caller]
    pub fn input<T: Data>(mut self, name: impl Into<String>, step: Step<T>) -> Self {
        self.inputs.push(step.used(name, Location::caller()));
        self
    }

    /// Asks only after `step` has succeeded, although no data flows.
    #[track_caller]
    pub fn after<S>(mut self, step: Step<S>) -> Self {
        self.after.push(step.used("", Location::caller()));
        self
    }

    /// Joins the plan: the answer is a `T`.
    #[track_caller]
    pub fn returns<T: Data>(self) -> Step<T> {
        self.join(None)
    }

    /// The answer is chosen from this list, which the person is shown as the input `options`.
    #[track_caller]
    pub fn choose_from<T: Data>(self, options: Step<Vec<T>>) -> ChooseBuilder<T> {
        ChooseBuilder { ask: self.input("options", options), options: PhantomData }
    }

    #[track_caller]
    fn join<T: Data>(self, choices: Option<Choices>) -> Step<T> {
        let Self { begun, title, inputs, after } = self;
        let (schema, check) = (begun.schema::<T>(begun.at()), checker::<T>(begun.at()));
        let title = title.unwrap_or_else(|| begun.name().to_owned());
        let kind = Kind::Ask(Box::new(Ask { title, choices, check }));
        Step::new(begun.join(Join { key: None, inputs, after, kind, schema }))
    }
}

/// A question with choices, under construction.
#[must_use = "a question with choices joins the plan at `.one()` or `.many()`"]
pub struct ChooseBuilder<T> {
    ask: AskBuilder,
    options: PhantomData<fn(T)>,
}

impl<T: Data> ChooseBuilder<T> {
    /// Joins the plan: the answer is one of the options.
    #[track_caller]
    pub fn one(self) -> Step<T> {
        let input = self.ask.inputs.len() - 1;
        self.ask.join(Some(Choices { input, many: false }))
    }

    /// Joins the plan: the answer is some of the options.
    #[track_caller]
    pub fn many(self) -> Step<Vec<T>> {
        let input = self.ask.inputs.len() - 1;
        self.ask.join(Some(Choices { input, many: true }))
    }
}
