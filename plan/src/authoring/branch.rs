//! `branch`: a choice between arms.

use super::step::Step;
use crate::{
    build::{ELSE, Group, Inside, PlanError, PlanErrorKind, check_label, decode, encode},
    graph::{Arm, BodyId, Kind, Location, NodeInput, PickFn, Placeholder, Role},
};
use hermes_core::{data::Data, path::Mark, schema::Schema};
use std::{marker::PhantomData, sync::Arc};

/// A choice: the first arm that takes the value is run, at run time.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("greet", |age: Step<u32>| {
///     branch("adult", age)
///         .when("yes", |age| *age >= 18, |_| value("Good evening".to_owned()))
///         .otherwise(|_| value("Hi".to_owned()))
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn branch<V: Data>(name: impl Into<String>, on: Step<V>) -> BranchBuilder<V> {
    let at = Location::caller();
    let ends = "`.when(..)` or `.case(..)`, and then `.otherwise(|value| ..)` or `.or_fail()`";
    let group = Group::new("branch", name.into(), ends);
    let on = group.input(on.used("on", at));
    BranchBuilder { group, on, value: PhantomData }
}

/// A branch without an arm yet.
#[must_use = "a branch joins the plan at `.otherwise(|value| ..)` or `.or_fail()`, after `.when(..)` or `.case(..)`"]
pub struct BranchBuilder<V> {
    group: Group,
    on: Vec<NodeInput>,
    value: PhantomData<fn(V)>,
}

impl<V: Data> BranchBuilder<V> {
    crate::authoring::leaf::renamed_from!(group);

    /// Adds an arm: taken where `test` says so. `build` is called once, now, with a placeholder for the value.
    #[track_caller]
    pub fn when<T: Data>(
        self,
        label: impl Into<String>,
        test: impl Fn(&V) -> bool + Send + Sync + 'static,
        build: impl FnOnce(Step<V>) -> Step<T>,
    ) -> BranchArms<V, T> {
        self.arms().when(label, test, build)
    }

    /// Adds an arm: taken where `find` finds something in the value, which is handed to the arm.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// #[derive(Clone, Serialize, Deserialize, JsonSchema)]
    /// enum Ticket { Bug { steps: String }, Question(String) }
    ///
    /// let plan = Plan::new("triage", |ticket: Step<Ticket>| {
    ///     branch("kind", ticket)
    ///         .case("bug", |ticket| match ticket { Ticket::Bug { steps } => Some(steps.clone()), _ => None }, |steps| {
    ///             agent("reproduce").input("steps", steps).prompt("Reproduce it.").text()
    ///         })
    ///         .case("question", |ticket| match ticket { Ticket::Question(text) => Some(text.clone()), _ => None }, |text| {
    ///             agent("answer").input("question", text).prompt("Answer it.").text()
    ///         })
    ///         .or_fail()
    /// })?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn case<W: Data, T: Data>(
        self,
        label: impl Into<String>,
        find: impl Fn(&V) -> Option<W> + Send + Sync + 'static,
        build: impl FnOnce(Step<W>) -> Step<T>,
    ) -> BranchArms<V, T> {
        self.arms().case(label, find, build)
    }

    fn arms<T>(self) -> BranchArms<V, T> {
        let Self { group, on, .. } = self;
        BranchArms { group, on, arms: Vec::new(), types: PhantomData }
    }
}

/// A branch with arms, under construction; its output is a `T`.
#[must_use = "a branch joins the plan at `.otherwise(|value| ..)` or `.or_fail()`"]
pub struct BranchArms<V, T> {
    group: Group,
    on: Vec<NodeInput>,
    arms: Vec<Arm>,
    types: PhantomData<fn(V) -> T>,
}

impl<V: Data, T: Data> BranchArms<V, T> {
    /// Adds an arm: taken where `test` says so and no earlier arm was taken.
    #[track_caller]
    pub fn when(
        self,
        label: impl Into<String>,
        test: impl Fn(&V) -> bool + Send + Sync + 'static,
        build: impl FnOnce(Step<V>) -> Step<T>,
    ) -> Self {
        let at = Location::caller();
        self.arm(label.into(), false, build, |_| {
            Arc::new(move |value| {
                Ok(test(&*decode::<V>(std::slice::from_ref(value), 0, at)?).then(|| value.clone()))
            })
        })
    }

    /// Adds an arm: taken where `find` finds something in the value and no earlier arm was taken. What it found is handed
    /// to the arm.
    #[track_caller]
    pub fn case<W: Data>(
        self,
        label: impl Into<String>,
        find: impl Fn(&V) -> Option<W> + Send + Sync + 'static,
        build: impl FnOnce(Step<W>) -> Step<T>,
    ) -> Self {
        let at = Location::caller();
        self.arm(label.into(), true, build, |schema| {
            Arc::new(move |value| {
                let found = find(&*decode::<V>(std::slice::from_ref(value), 0, at)?);
                found.map(|found| encode(&found, &schema, at)).transpose()
            })
        })
    }

    #[track_caller]
    fn arm<W: Data>(
        mut self,
        label: String,
        case: bool,
        build: impl FnOnce(Step<W>) -> Step<T>,
        pick: impl FnOnce(Schema) -> PickFn,
    ) -> Self {
        let at = Location::caller();
        self.check(&label, at);
        let inside = Inside::open(&self.group, Role::Arm(label.clone()), Mark::Label(label.clone()));
        let result = build(Step::new(inside.param::<W>(Placeholder::Value)));
        let body = inside.close(result.handle());
        let pick = pick(self.group.begun().schema::<W>(at));
        self.arms.push(Arm { label, pick, case, body, at });
        self
    }

    fn check(&self, label: &str, at: Location) {
        let begun = self.group.begun();
        if let Err(error) = check_label(label, at) {
            begun.mistake(error);
        }
        if let Some(first) = self.arms.iter().find(|arm| arm.label == label) {
            let message = format!("two arms of `{}` are labelled `{}`", begun.name(), label.escape_debug());
            let error =
                PlanError::new(PlanErrorKind::DuplicateLabel, at, message, "label each arm differently");
            begun.mistake(error.also(first.at));
        }
    }

    /// Ends it: what happens where no arm takes the value.
    #[track_caller]
    pub fn otherwise(self, build: impl FnOnce(Step<V>) -> Step<T>) -> Step<T> {
        let inside = Inside::open(&self.group, Role::Else, Mark::Label(ELSE.to_owned()));
        let result = build(Step::new(inside.param::<V>(Placeholder::Value)));
        let body = inside.close(result.handle());
        self.end(Some(body))
    }

    /// Ends it: it fails where no arm takes the value.
    #[track_caller]
    pub fn or_fail(self) -> Step<T> {
        self.end(None)
    }

    #[track_caller]
    fn end(self, otherwise: Option<BodyId>) -> Step<T> {
        let begun = self.group.begun();
        let schema = begun.schema::<T>(begun.at());
        let kind = Kind::Branch { arms: self.arms, otherwise };
        Step::new(self.group.finish(self.on, kind, schema))
    }
}
