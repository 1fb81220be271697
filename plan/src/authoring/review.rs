//! `review`: the ready-made approve-or-revise loop.

use super::step::Step;
use crate::{
    build::{Group, Inside, PlanError, PlanErrorKind, checker},
    graph::{BodyId, Kind, Location, NodeInput, Placeholder, Review, Role},
};
use hermes_core::{
    data::Data,
    path::Mark,
    people::{ApprovalAnswer, ReviewAnswer},
    schema::Schema,
};
use std::{marker::PhantomData, num::NonZeroU32};

/// How many rounds a review has unless the author says otherwise.
const ROUNDS: u32 = 3;

/// The ready-made loop in which a person approves a value, edits it, or requests changes. It joins the plan with
/// `.approved()`.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("outline", |outline: Step<Vec<String>>| {
///     review("outline", outline)
///         .revise(|outline, feedback| {
///             agent("revise").input("outline", outline).input("feedback", feedback).prompt("Revise it.").returns()
///         })
///         .approved()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn review<T: Data>(name: impl Into<String>, value: Step<T>) -> ReviewBuilder<T> {
    let at = Location::caller();
    let group = Group::new("review", name.into(), "`.approved()`");
    let value = group.input(value.used("value", at));
    ReviewBuilder { group, value, title: None, revise: None, rounds: ROUNDS, types: PhantomData }
}

/// A review under construction.
#[must_use = "a review joins the plan at `.approved()`"]
pub struct ReviewBuilder<T> {
    group: Group,
    value: Vec<NodeInput>,
    title: Option<String>,
    revise: Option<(BodyId, Location)>,
    rounds: u32,
    types: PhantomData<fn(T) -> T>,
}

impl<T: Data> ReviewBuilder<T> {
    /// What the person reads first. Without it, the review's name.
    #[track_caller]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        let title = title.into();
        let begun = self.group.begun();
        begun.not_blank("the title", &title, PlanErrorKind::BlankTitle, Location::caller());
        self.title = Some(title);
        self
    }

    /// How requested changes are made: from the value and the feedback to the next value. Without it, nobody can request
    /// changes. `build` is called once, now, with placeholders.
    #[track_caller]
    pub fn revise(mut self, build: impl FnOnce(Step<T>, Step<String>) -> Step<T>) -> Self {
        let at = Location::caller();
        let inside = Inside::open(&self.group, Role::Revise, Mark::Any);
        let value = Step::new(inside.param::<T>(Placeholder::Value));
        let feedback = Step::new(inside.param::<String>(Placeholder::Feedback));
        let result = build(value, feedback);
        let body = inside.close(result.handle());
        if let Some((_, first)) = self.revise.replace((body, at)) {
            let begun = self.group.begun();
            let message = format!("the review `{}` has two revisions", begun.name());
            let error =
                PlanError::new(PlanErrorKind::RevisedTwice, at, message, "keep one `.revise(..)` of the two");
            begun.mistake(error.also(first));
        }
        self
    }

    /// The most rounds; 3 without it.
    #[track_caller]
    pub fn max_rounds(mut self, rounds: u32) -> Self {
        if rounds == 0 {
            let begun = self.group.begun();
            let message = format!("the review `{}` has no round", begun.name());
            let mend = "allow at least 1 round";
            begun.mistake(PlanError::new(PlanErrorKind::ZeroRounds, Location::caller(), message, mend));
        }
        self.rounds = rounds;
        self
    }

    /// Ends it: the approved value. It fails when the rounds are used up.
    #[track_caller]
    pub fn approved(self) -> Step<T> {
        let Self { group, value, title, revise, rounds, .. } = self;
        let (begun, at) = (group.begun(), group.begun().at());
        let answer = match revise {
            Some(_) => Schema::of::<ReviewAnswer<T>>(),
            None => Schema::of::<ApprovalAnswer<T>>(),
        };
        let review = Review {
            title: title.unwrap_or_else(|| begun.name().to_owned()),
            revise: revise.map(|(body, _)| body),
            max_rounds: NonZeroU32::new(rounds).unwrap_or(NonZeroU32::MIN),
            answer,
            check: checker::<T>(at),
        };
        let schema = begun.schema::<T>(at);
        Step::new(group.finish(value, Kind::Review(Box::new(review)), schema))
    }
}
