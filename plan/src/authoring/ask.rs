//! `ask`: a typed question to a person, or to a service.

use super::{
    arity::for_each_arity,
    expiry::{AnswersAs, Expiring, ExpiryState, NoExpiry, OnExpiry},
    inputs::{Inputs, Room},
    step::Step,
};
use crate::{
    build::{Begun, Join, PlanError, PlanErrorKind, Use, checker},
    graph::{Ask, Assignee, Choices, Expires, Kind, Location},
};
use hermes_core::{data::Data, value::Val};
use std::{marker::PhantomData, sync::Arc, time::Duration};

/// A typed question to a person, or with a service as the actor to a machine: what comes in through a webhook is an answer.
/// It joins the plan with `.returns::<T>()`, or `.choose_from(options)` and then `.one()` or `.many()`.
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
pub fn ask(name: impl Into<String>) -> AskBuilder<(), NoExpiry> {
    let ends = "`.returns::<T>()`, or `.choose_from(options)` and then `.one()` or `.many()`";
    AskBuilder { parts: Parts::new(Begun::new("ask", name.into(), ends)), types: PhantomData }
}

/// What a question has, but for its types.
struct Parts {
    begun: Begun,
    title: Option<String>,
    inputs: Vec<Use>,
    after: Vec<Use>,
    assignee: Option<Assignee>,
    expires: Option<Expires>,
}

impl Parts {
    fn new(begun: Begun) -> Self {
        let (inputs, after) = (Vec::new(), Vec::new());
        Self { begun, title: None, inputs, after, assignee: None, expires: None }
    }
}

/// A question under construction: `I` are the types of its inputs, `X` says whether it expires.
#[must_use = "a question joins the plan at `.returns::<T>()`, or at `.choose_from(options)` and `.one()` or `.many()`"]
pub struct AskBuilder<I, X> {
    parts: Parts,
    types: PhantomData<fn(I, X)>,
}

impl<I: Inputs, X: ExpiryState> AskBuilder<I, X> {
    crate::authoring::leaf::renamed_from!(parts.begun);

    /// What the person reads first. Without it, the question's name.
    #[track_caller]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        let title = title.into();
        self.parts.begun.not_blank("the title", &title, PlanErrorKind::BlankTitle, Location::caller());
        self.parts.title = Some(title);
        self
    }

    /// Shows the person the output of a step, under a name. Up to 8.
    #[track_caller]
    pub fn input<T: Data>(mut self, name: impl Into<String>, step: Step<T>) -> AskBuilder<I::With<T>, X>
    where
        I: Room,
    {
        self.parts.inputs.push(step.used(name, Location::caller()));
        AskBuilder { parts: self.parts, types: PhantomData }
    }

    /// Asks only after `step` has succeeded, although no data flows.
    #[track_caller]
    pub fn after<S>(mut self, step: Step<S>) -> Self {
        self.parts.after.push(step.used("", Location::caller()));
        self
    }

    /// Whom it is for. Shown with the question; anybody may answer. A plan that names somebody else later gives the open
    /// question to them.
    #[track_caller]
    pub fn assign_to(mut self, who: impl Into<String>) -> Self {
        let who = self.parts.begun.option("the assignee", who, Location::caller());
        self.parts.assignee = Some(Assignee::Fixed(who));
        self
    }

    /// Joins the plan: the answer is a `T`.
    #[track_caller]
    pub fn returns<T: AnswersAs<X>>(self) -> Step<T> {
        self.parts.join(None)
    }

    /// The answer is chosen from this list, which the person is shown as the input `options`.
    #[track_caller]
    pub fn choose_from<T: Data>(mut self, options: Step<Vec<T>>) -> ChooseBuilder<T, X> {
        self.parts.inputs.push(options.used("options", Location::caller()));
        ChooseBuilder { parts: self.parts, types: PhantomData }
    }
}

impl<I: Inputs> AskBuilder<I, NoExpiry> {
    /// How long it is open, from its opening on, and what then; without it, for ever, at no cost.
    ///
    /// The moment is recorded with the question. From then on it takes no answer: whoever writes next records the expiry
    /// first, also a process without the plan that comes with an answer. A value is not held against the options of a choice.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("deploy", |version: Step<String>| {
    ///     ask("go").input("version", version)
    ///         .assign_with(|version| format!("on-call for {version}"))
    ///         .expires_in(Duration::from_secs(3600), OnExpiry::Value(false))
    ///         .returns::<bool>()
    /// })?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn expires_in<V: Data>(
        mut self,
        duration: Duration,
        then: OnExpiry<V>,
    ) -> AskBuilder<I, Expiring<V>> {
        let at = Location::caller();
        let after = self.parts.begun.some_time("the expiry", duration, at);
        let value = match then {
            OnExpiry::Fail => None,
            OnExpiry::Value(value) => Some(self.parts.stored(&value, at)),
        };
        self.parts.expires = Some(Expires { after, value });
        AskBuilder { parts: self.parts, types: PhantomData }
    }
}

macro_rules! assign_with {
    ($($T:ident $v:ident $i:literal),*) => {
        impl<$($T: Data,)* X: ExpiryState> AskBuilder<($($T,)*), X> {
            /// Whom it is for, by the inputs named so far: one reference for each, in order. A blank name is nobody's.
            #[track_caller]
            pub fn assign_with(
                mut self,
                build: impl Fn($(&$T),*) -> String + Send + Sync + 'static,
            ) -> Self {
                let at = Location::caller();
                let build = Arc::new(move |inputs: &[_]| {
                    let ($($v,)*) = <($($T,)*)>::decode(inputs, at)?;
                    Ok(build($(&$v),*))
                });
                self.parts.assignee = Some(Assignee::Built { build, at });
                self
            }
        }
    };
}
for_each_arity!(assign_with);

impl Parts {
    /// A value of the author's as it will be stored.
    fn stored<V: Data>(&self, value: &V, at: Location) -> Val {
        let schema = self.begun.schema::<V>(at);
        let stored = Val::encode_as(value, &schema).map_err(|why| why.to_string());
        let read = stored.and_then(|val| val.decode::<V>().map(|_| val).map_err(|why| why.to_string()));
        read.unwrap_or_else(|why| {
            let message = format!("what `{}` has on expiry does not survive JSON: {why}", self.begun.name());
            let mend = "use a value that JSON can hold: finite numbers, no `Some(None)`, integers of 64 bits";
            self.begun.mistake(PlanError::new(PlanErrorKind::Unencodable, at, message, mend));
            Val::null()
        })
    }

    #[track_caller]
    fn join<T: Data>(self, choices: Option<Choices>) -> Step<T> {
        let Self { begun, title, inputs, after, assignee, expires } = self;
        let (schema, check) = (begun.schema::<T>(begun.at()), checker::<T>(begun.at()));
        let title = title.unwrap_or_else(|| begun.name().to_owned());
        let kind = Kind::Ask(Box::new(Ask { title, choices, assignee, expires, check }));
        Step::new(begun.join(Join { key: None, inputs, after, kind, schema }))
    }
}

/// A question with choices, under construction.
#[must_use = "a question with choices joins the plan at `.one()` or `.many()`"]
pub struct ChooseBuilder<T, X> {
    parts: Parts,
    types: PhantomData<fn(T, X)>,
}

impl<T: Data, X: ExpiryState> ChooseBuilder<T, X> {
    /// Joins the plan: the answer is one of the options.
    #[track_caller]
    pub fn one(self) -> Step<T>
    where
        T: AnswersAs<X>,
    {
        let input = self.parts.inputs.len() - 1;
        self.parts.join(Some(Choices { input, many: false }))
    }

    /// Joins the plan: the answer is some of the options.
    #[track_caller]
    pub fn many(self) -> Step<Vec<T>>
    where
        Vec<T>: AnswersAs<X>,
    {
        let input = self.parts.inputs.len() - 1;
        self.parts.join(Some(Choices { input, many: true }))
    }
}
