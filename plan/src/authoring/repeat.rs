//! `repeat`: a bounded loop.

use super::{flow::Flow, step::Step};
use crate::{
    build::{ELSE, Group, Inside, PlanError, PlanErrorKind},
    graph::{BodyId, Kind, Location, NodeInput, Placeholder, Repeat, Role},
};
use hermes_core::{data::Data, path::Mark};
use std::{marker::PhantomData, num::NonZeroU32};

/// A bounded loop. `build` is called once, now, with a placeholder for the state; each round says `x.again()` or
/// `x.done()`.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("until-short", |text: Step<String>| {
///     repeat("shorten", text, 5, |text| {
///         branch("short", text.map(|text| text.len() < 100))
///             .when("yes", |short| *short, |_| text.done())
///             .otherwise(|_| agent("shorter").input("text", text).prompt("Shorten it.").text().again())
///     })
///     .or_else(|last| last)
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn repeat<S: Data, O: Data>(
    name: impl Into<String>,
    initial: Step<S>,
    max: u32,
    build: impl FnOnce(Step<S>) -> Step<Flow<S, O>>,
) -> RepeatBuilder<S, O> {
    let at = Location::caller();
    let group = Group::new("repeat", name.into(), "`.or_fail()` or `.or_else(|last| ..)`");
    if max == 0 {
        let message = format!("the loop `{}` has no round", group.begun().name());
        let error = PlanError::new(PlanErrorKind::ZeroRounds, at, message, "allow at least 1 round");
        group.begun().mistake(error);
    }
    let initial = group.input(initial.used("initial", at));
    let inside = Inside::open(&group, Role::Round, Mark::Any);
    let result = build(Step::new(inside.param::<S>(Placeholder::State)));
    let body = inside.close(result.handle());
    let max = NonZeroU32::new(max).unwrap_or(NonZeroU32::MIN);
    RepeatBuilder { group, initial, body, max, types: PhantomData }
}

/// A loop under construction.
#[must_use = "a loop joins the plan at `.or_fail()` or `.or_else(|last| ..)`"]
pub struct RepeatBuilder<S, O> {
    group: Group,
    initial: Vec<NodeInput>,
    body: BodyId,
    max: NonZeroU32,
    types: PhantomData<fn(S) -> O>,
}

impl<S: Data, O: Data> RepeatBuilder<S, O> {
    crate::authoring::leaf::renamed_from!(group);

    /// Ends it: it fails when the rounds are used up.
    #[track_caller]
    pub fn or_fail(self) -> Step<O> {
        self.end(None)
    }

    /// Ends it: when the rounds are used up, the output is made from the last state.
    #[track_caller]
    pub fn or_else(self, build: impl FnOnce(Step<S>) -> Step<O>) -> Step<O> {
        let inside = Inside::open(&self.group, Role::Else, Mark::Label(ELSE.to_owned()));
        let result = build(Step::new(inside.param::<S>(Placeholder::State)));
        let body = inside.close(result.handle());
        self.end(Some(body))
    }

    #[track_caller]
    fn end(self, or_else: Option<BodyId>) -> Step<O> {
        let begun = self.group.begun();
        let schema = begun.schema::<O>(begun.at());
        let kind = Kind::Repeat(Repeat { body: self.body, max: self.max, or_else });
        Step::new(self.group.finish(self.initial, kind, schema))
    }
}
