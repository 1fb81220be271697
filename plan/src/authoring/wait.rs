//! `wait`: a recorded moment, and nothing that runs until then.

use super::step::Step;
use crate::{
    build::{Begun, Join, Use, decode},
    graph::{Kind, Location, Until},
};
use hermes_core::timestamp::Timestamp;
use std::{sync::Arc, time::Duration};

/// A wait: what needs it starts when its moment has come. It joins the plan with `.for_(duration)` or `.until(moment)`, and
/// yields the moment it waited for.
///
/// The moment is recorded when the wait begins, and does not change: not by a restart, not by a plan that would choose
/// another, not by a clock that is set back. Nothing runs and no thread is held meanwhile, and a wait takes no place in a
/// `limit`.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("remind", |who: Step<String>| {
///     let day_after = wait("a_day").for_(Duration::from_secs(24 * 60 * 60));
///     agent("remind").input("who", who).prompt("Remind them.").after(day_after).text()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn wait(name: impl Into<String>) -> WaitBuilder {
    WaitBuilder {
        begun: Begun::new("wait", name.into(), "`.for_(duration)` or `.until(moment)`"),
        after: Vec::new(),
    }
}

/// A wait under construction.
#[must_use = "a wait joins the plan at `.for_(duration)` or `.until(moment)`"]
pub struct WaitBuilder {
    begun: Begun,
    after: Vec<Use>,
}

impl WaitBuilder {
    crate::authoring::leaf::renamed_from!(begun);

    /// Begins only after `step` has succeeded: the time counts from then.
    #[track_caller]
    pub fn after<S>(mut self, step: Step<S>) -> Self {
        self.after.push(step.used("", Location::caller()));
        self
    }

    /// Joins the plan: it is over so long after it began. Without [`WaitBuilder::after`] it begins with what is around it: the
    /// plan, the item, the round.
    #[track_caller]
    pub fn for_(self, duration: Duration) -> Step<Timestamp> {
        let duration = self.begun.some_time("the wait", duration, Location::caller());
        self.join(Vec::new(), Until::After(duration))
    }

    /// Joins the plan: it is over at the moment that `step` yields; at once, if that has passed.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("embargo", |text: Step<String>| {
    ///     let lifted = ask("embargo").title("When may it be published?").returns::<Timestamp>();
    ///     let now = wait("embargo_lifted").until(lifted);
    ///     agent("publish").input("text", text).prompt("Publish it.").after(now).text()
    /// })?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn until(self, step: Step<Timestamp>) -> Step<Timestamp> {
        let at = Location::caller();
        let read = move |moment: &_| Ok(*decode::<Timestamp>(std::slice::from_ref(moment), 0, at)?);
        self.join(vec![step.used("until", at)], Until::Moment(Arc::new(read)))
    }

    #[track_caller]
    fn join(self, inputs: Vec<Use>, until: Until) -> Step<Timestamp> {
        let Self { begun, after } = self;
        let schema = begun.schema::<Timestamp>(begun.at());
        Step::new(begun.join(Join { key: None, inputs, after, kind: Kind::Wait(until), schema }))
    }
}
