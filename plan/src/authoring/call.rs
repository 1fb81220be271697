//! `plan.call`: a plan in a plan.

use super::{plan::Plan, step::Step};
use crate::{
    build::Group,
    graph::{Kind, Location},
};
use hermes_core::data::Data;

impl<I: Data, O: Data> Plan<I, O> {
    /// This plan as a part of the plan under construction, under a name: the paths of its steps begin with it. It has its
    /// own names, and fails as a whole.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let shout = Plan::new("shout", |word: Step<String>| {
    ///     step("upper").input("word", word).run(|word| word.to_uppercase())
    /// })?;
    /// let plan = Plan::new("twice", |word: Step<String>| {
    ///     let once = shout.call("once", word);
    ///     shout.call("again", once)
    /// })?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn call(&self, name: impl Into<String>, input: Step<I>) -> Step<O> {
        let at = Location::caller();
        let group = Group::new("call", name.into(), "");
        let input = group.input(input.used("input", at));
        let schema = group.begun().schema::<O>(at);
        let body = group.copy(self.graph());
        Step::new(group.finish(input, Kind::Call(body), schema))
    }
}
