//! `catch` and `.settled()`: a failure as a value.

use super::step::Step;
use crate::{
    build::{ELSE, Group, Handle, Inside, current, schema_here},
    graph::{BodyId, Catch, Compute, Derived, Kind, Location, Placeholder, Role},
};
use hermes_core::{data::Data, failure::Failure, path::Mark};
use std::marker::PhantomData;

/// A part of the plan whose failure does not fail what is around it. `build` is called once, now. On the first failure
/// nothing new starts in that part; when what runs in it has ended, the failure is a value.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("summary", |text: Step<String>| {
///     catch("by_agent", || agent("sum_up").input("text", text).prompt("Sum it up.").text())
///         .or_else(|failure| failure.map(|failure| format!("(no summary: {})", failure.message)))
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn catch<T: Data>(name: impl Into<String>, build: impl FnOnce() -> Step<T>) -> CatchBuilder<T> {
    let group = Group::new("catch", name.into(), "`.result()` or `.or_else(|failure| ..)`");
    let inside = Inside::open(&group, Role::Try, Mark::Plain);
    let result = build();
    let body = inside.close(result.handle());
    CatchBuilder { group, body, output: PhantomData }
}

/// A caught part of a plan, under construction.
#[must_use = "a catch joins the plan at `.result()` or `.or_else(|failure| ..)`"]
pub struct CatchBuilder<T> {
    group: Group,
    body: BodyId,
    output: PhantomData<fn() -> T>,
}

impl<T: Data> CatchBuilder<T> {
    crate::authoring::leaf::renamed_from!(group);

    /// Ends it: the output, or the failure, as a value.
    #[track_caller]
    pub fn result(self) -> Step<Result<T, Failure>> {
        self.end(None)
    }

    /// Ends it: what `build` makes of the failure takes the output's place. `build` is called once, now, with a
    /// placeholder.
    #[track_caller]
    pub fn or_else(self, build: impl FnOnce(Step<Failure>) -> Step<T>) -> Step<T> {
        let inside = Inside::open(&self.group, Role::Else, Mark::Label(ELSE.to_owned()));
        let result = build(Step::new(inside.param::<Failure>(Placeholder::Failure)));
        let body = inside.close(result.handle());
        self.end(Some(body))
    }

    #[track_caller]
    fn end<Out: Data>(self, or_else: Option<BodyId>) -> Step<Out> {
        let begun = self.group.begun();
        let schema = begun.schema::<Out>(begun.at());
        let kind = Kind::Catch(Catch { body: self.body, or_else });
        Step::new(self.group.finish(Vec::new(), kind, schema))
    }
}

impl<T: Data> Step<T> {
    /// What becomes of this step: its output, or its failure. The failure then is a value and fails nothing by itself;
    /// what uses the step's output directly still fails with it.
    ///
    /// It is to be called where the step was made. `.after(step.settled())` waits for the step in any case.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("tidy", |text: Step<String>| {
    ///     let draft = agent("draft").input("text", text).prompt("Rewrite it.").text();
    ///     step("tidy_up").after(draft.settled()).run(|| "tidied".to_owned())
    /// })?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn settled(self) -> Step<Result<T, Failure>> {
        let at = Location::caller();
        let what = || "`settled`".to_owned();
        let schema = schema_here::<Result<T, Failure>>(what, at);
        let kind = Kind::Derived(Derived { verb: "settled", compute: Compute::Settled });
        let used = self.used("value", at);
        let (plan, node) = current(what, |draft| (draft.id(), draft.settled(kind, used, schema, at)));
        Step::new(Handle { plan, node, made: at })
    }
}
