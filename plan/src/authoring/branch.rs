//! `branch`: a choice between arms.

use super::step::Step;
use crate::{
    build::{ELSE, Group, Inside, PlanError, PlanErrorKind, check_label, decode},
    graph::{Arm, BodyId, Kind, Location, NodeInput, Placeholder, Role, TestFn},
};
use hermes_core::{data::Data, path::Mark};
use std::{marker::PhantomData, sync::Arc};

/// A choice: the first arm whose test takes the value is run, at run time.
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
    let ends = "`.when(..)` and then `.otherwise(|value| ..)` or `.or_fail()`";
    let group = Group::new("branch", name.into(), ends);
    let on = group.input(on.used("on", at));
    BranchBuilder { group, on, value: PhantomData }
}

/// A branch without an arm yet.
#[must_use = "a branch joins the plan at `.otherwise(|value| ..)` or `.or_fail()`, after `.when(..)`"]
pub struct BranchBuilder<V> {
    group: Group,
    on: Vec<NodeInput>,
    value: PhantomData<fn(V)>,
}

impl<V: Data> BranchBuilder<V> {
    /// Adds an arm: taken where `test` says so. `build` is called once, now, with a placeholder for the value.
    #[track_caller]
    pub fn when<T: Data>(
        self,
        label: impl Into<String>,
        test: impl Fn(&V) -> bool + Send + Sync + 'static,
        build: impl FnOnce(Step<V>) -> Step<T>,
    ) -> BranchArms<V, T> {
        let Self { group, on, .. } = self;
        BranchArms { group, on, arms: Vec::new(), types: PhantomData }.when(label, test, build)
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
        mut self,
        label: impl Into<String>,
        test: impl Fn(&V) -> bool + Send + Sync + 'static,
        build: impl FnOnce(Step<V>) -> Step<T>,
    ) -> Self {
        let (at, label) = (Location::caller(), label.into());
        self.check(&label, at);
        let inside = Inside::open(&self.group, Role::Arm(label.clone()), Mark::Label(label.clone()));
        let result = build(Step::new(inside.param::<V>(Placeholder::Value)));
        let body = inside.close(result.handle());
        let test: TestFn =
            Arc::new(move |value| Ok(test(&*decode::<V>(std::slice::from_ref(value), 0, at)?)));
        self.arms.push(Arm { label, test, body, at });
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
