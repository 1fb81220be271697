//! `goal`: attempts until a check says that the goal is met.

use crate::prelude::*;

/// What became of a [`goal`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Goal<S> {
    /// The check said yes to this state.
    Met(S),
    /// The attempts are used up; this is the last state, to which the check said no.
    Missed(S),
}

/// Attempts, at most `max` of them, until `check` says yes to what an attempt made of the state. The initial state itself
/// is not checked: there is always at least one attempt.
///
/// ```
/// use hermes_plan::{patterns::{Goal, goal}, prelude::*};
///
/// let plan = Plan::new("short", |text: Step<String>| {
///     goal(
///         "shorten",
///         text,
///         5,
///         |text| agent("shorter").input("text", text).prompt("Shorten it.").text(),
///         |text| text.map(|text| text.len() < 100),
///     )
/// })?;
/// # let plan: Plan<String, Goal<String>> = plan;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn goal<S: Data>(
    name: impl Into<String>,
    initial: Step<S>,
    max: u32,
    attempt: impl FnOnce(Step<S>) -> Step<S>,
    check: impl FnOnce(Step<S>) -> Step<bool>,
) -> Step<Goal<S>> {
    repeat(name, initial, max, |state| {
        let next = attempt(state);
        branch("met", check(next))
            .when("yes", |met| *met, |_| next.map(|state| Goal::Met(state.clone())).done())
            .otherwise(|_| next.again())
    })
    .or_else(|last| last.map(|state| Goal::Missed(state.clone())))
}
