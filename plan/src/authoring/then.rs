//! `then`: a part of the plan whose shape depends on a value.

use super::step::Step;
use crate::{
    build::{Draft, Group, decode, open},
    graph::{Around, GrowFn, Grown, Kind, Location, Then},
};
use hermes_core::{
    data::Data,
    failure::{Failure, FailureClass},
    value::Val,
};
use std::sync::Arc;

impl<T: Data> Step<T> {
    /// A part of the plan whose shape depends on this step's value: `build` is called at run time, with the value, and what
    /// it builds is recorded. When the run is resumed it is built again and compared, so `build` must be a pure function of
    /// the value. It may use the steps around it, which then are those of the same item and round.
    ///
    /// What can be said with `branch`, `repeat` or `parallel_each` is better said so: a drawing of the plan shows nothing of
    /// what a `then` will build. A function that calls itself through `then` is a loop, of at most 256 levels.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// fn improve(draft: Step<String>) -> Step<String> {
    ///     let verdict = agent("judge").input("draft", draft).prompt("Is it good?").returns::<bool>();
    ///     verdict.then("again", move |good| {
    ///         if *good { draft } else { improve(agent("mend").input("draft", draft).prompt("Mend it.").text()) }
    ///     })
    /// }
    ///
    /// let plan = Plan::new("improve", improve)?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn then<U: Data>(
        self,
        name: impl Into<String>,
        build: impl Fn(&T) -> Step<U> + Send + Sync + 'static,
    ) -> Step<U> {
        let at = Location::caller();
        let group = Group::new("then", name.into(), "");
        let value = group.input(self.used("value", at));
        let schema = group.begun().schema::<U>(at);
        let build: GrowFn = Arc::new(move |value: &Val, around| {
            let value = decode::<T>(std::slice::from_ref(value), 0, at)?;
            grow(&around, at, || build(&value))
        });
        Step::new(group.finish(value, Kind::Then(Box::new(Then { build, at })), schema))
    }
}

/// Builds a part of a running plan.
fn grow<U: Data>(around: &Around, at: Location, build: impl FnOnce() -> Step<U>) -> Result<Grown, Failure> {
    let opened = open(Draft::within(around.clone(), at));
    let result = build().used("", at);
    let Some(draft) = opened.close() else {
        unreachable!("a draft stays on the stack until whoever put it there takes it")
    };
    let graph = draft.finish(&result).map_err(|errors| {
        let mistakes: Vec<_> = errors.iter().map(ToString::to_string).collect();
        Failure::new(FailureClass::InvalidPlan, mistakes.join("; ")).located(at)
    })?;
    Ok(Grown::new(graph, around))
}
