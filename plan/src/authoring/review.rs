//! `review`: the ready-made approve-or-revise loop.

use super::step::Step;
use crate::{
    build::{Group, Inside, PlanError, PlanErrorKind, checker},
    graph::{BodyId, Kind, Location, NodeInput, Placeholder, Review, ReviewEnd, Role},
};
use hermes_core::{
    data::Data,
    path::Mark,
    people::{ApprovalAnswer, DecidingApprovalAnswer, DecidingReviewAnswer, ReviewAnswer, Verdict},
    schema::Schema,
};
use std::{marker::PhantomData, num::NonZeroU32};

/// How many rounds a review has unless the author says otherwise.
const ROUNDS: u32 = 3;
/// The labels of the two ways on.
const APPROVED: &str = "approved";
const REJECTED: &str = "rejected";

/// The ready-made loop in which a person approves a value, edits it, or requests changes. It joins the plan with
/// `.approved()`; with `.decide(..)` or `.decision()` the person may also reject the value.
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
    let group = Group::new("review", name.into(), "`.approved()`, `.decide(..)` or `.decision()`");
    let value = group.input(value.used("value", at));
    ReviewBuilder { group, value, title: None, revise: None, rounds: ROUNDS, types: PhantomData }
}

/// A review under construction.
#[must_use = "a review joins the plan at `.approved()`, `.decide(..)` or `.decision()`"]
pub struct ReviewBuilder<T> {
    group: Group,
    value: Vec<NodeInput>,
    title: Option<String>,
    revise: Option<(BodyId, Location)>,
    rounds: u32,
    types: PhantomData<fn(T) -> T>,
}

impl<T: Data> ReviewBuilder<T> {
    crate::authoring::leaf::renamed_from!(group);

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
        self.end(ReviewEnd::Approved)
    }

    /// Ends it: the person may also reject the value, and the plan goes on one of two ways. `approved` gets the approved or
    /// edited value; `rejected` gets the value as it was shown, and the reason, which is never blank. Both are called once,
    /// now, with placeholders. It fails when the rounds are used up.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("offer", |offer: Step<String>| {
    ///     review("offer", offer).decide(
    ///         |offer| agent("send").input("offer", offer).prompt("Send it.").text(),
    ///         |_, reason| reason,
    ///     )
    /// })?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn decide<U: Data>(
        self,
        approved: impl FnOnce(Step<T>) -> Step<U>,
        rejected: impl FnOnce(Step<T>, Step<String>) -> Step<U>,
    ) -> Step<U> {
        let open = |label: &str| {
            Inside::open(&self.group, Role::Arm(label.to_owned()), Mark::Label(label.to_owned()))
        };
        let inside = open(APPROVED);
        let result = approved(Step::new(inside.param::<T>(Placeholder::Value)));
        let approved = inside.close(result.handle());
        let inside = open(REJECTED);
        let value = Step::new(inside.param::<T>(Placeholder::Value));
        let reason = Step::new(inside.param::<String>(Placeholder::Reason));
        let result = rejected(value, reason);
        let rejected = inside.close(result.handle());
        self.end(ReviewEnd::Decide { approved, rejected })
    }

    /// Ends it: the person may also reject the value, and what was decided is a value. It fails when the rounds are used up.
    #[track_caller]
    pub fn decision(self) -> Step<Verdict<T>> {
        self.end(ReviewEnd::Decision)
    }

    #[track_caller]
    fn end<U: Data>(self, end: ReviewEnd) -> Step<U> {
        let Self { group, value, title, revise, rounds, .. } = self;
        let (begun, at) = (group.begun(), group.begun().at());
        let answer = match (end, &revise) {
            (ReviewEnd::Approved, Some(_)) => Schema::of::<ReviewAnswer<T>>(),
            (ReviewEnd::Approved, None) => Schema::of::<ApprovalAnswer<T>>(),
            (_, Some(_)) => Schema::of::<DecidingReviewAnswer<T>>(),
            (_, None) => Schema::of::<DecidingApprovalAnswer<T>>(),
        };
        let review = Review {
            title: title.unwrap_or_else(|| begun.name().to_owned()),
            revise: revise.map(|(body, _)| body),
            max_rounds: NonZeroU32::new(rounds).unwrap_or(NonZeroU32::MIN),
            answer,
            end,
            check: checker::<T>(at),
        };
        let schema = begun.schema::<U>(at);
        Step::new(group.finish(value, Kind::Review(Box::new(review)), schema))
    }
}
