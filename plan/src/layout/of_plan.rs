//! The layout of a plan, typed or not.

use super::Layout;
use crate::authoring::{AnyPlan, Plan};

impl<I, O> Plan<I, O> {
    /// How the plan is drawn.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("greet", |who: Step<String>| agent("greet").input("who", who).prompt("Greet them.").text())?;
    /// assert_eq!(
    ///     plan.layout().text(),
    ///     "plan greet(input: string) -> string\n\
    ///      └─ greet: agent(input) -> string"
    /// );
    /// # Ok::<(), PlanErrors>(())
    /// ```
    pub fn layout(&self) -> Layout<'_> {
        Layout::new(self.graph())
    }
}

impl AnyPlan {
    /// How the plan is drawn.
    pub fn layout(&self) -> Layout<'_> {
        Layout::new(self.graph())
    }
}
