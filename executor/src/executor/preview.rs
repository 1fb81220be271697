//! Previews: asking what a resume would do.

use super::handle::Executor;
use crate::{drive::foresee, error::DriveError, preview::Preview};
use hermes_core::{data::Data, ids::RunId, value::Val};
use hermes_plan::Plan;
use std::sync::Arc;

impl Executor {
    /// What resuming the run with this plan would do, computed by the same check that a resume makes, and without writing
    /// anything: what is reused, what runs and why, what a person would have to decide, what it cost last time. What comes
    /// after a step that runs is unknown: it depends on what that yields.
    ///
    /// It needs no runner, and works on a ledger that is [open for reading only](crate::Ledger::open_read_only).
    ///
    /// ```
    /// use hermes_executor::{DriveError, Executor};
    /// use hermes_core::ids::RunId;
    /// use hermes_plan::Plan;
    ///
    /// fn show(executor: &Executor, plan: &Plan<String, String>, run: &RunId) -> Result<(), DriveError> {
    ///     let preview = executor.preview(plan, run)?;
    ///     // preview of plan post(input: string) -> string · 1 reuse, 1 run again
    ///     // ├─ facts: agent(input) -> string · reuse
    ///     // └─ draft: agent(facts) -> string · run again
    ///     println!("{preview}");
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// When the ledger has no such run, it does not fit the plan, or its journal cannot be read.
    pub fn preview<I, O>(&self, plan: &Plan<I, O>, run: &RunId) -> Result<Preview, DriveError> {
        self.preview_of(plan, run, None)
    }

    /// The same for a `start` with this input, which may be another than the run's.
    ///
    /// # Errors
    /// As [`Executor::preview`]; also when the input cannot be written.
    pub fn preview_with<I: Data, O>(
        &self,
        plan: &Plan<I, O>,
        run: &RunId,
        input: &I,
    ) -> Result<Preview, DriveError> {
        let input = Val::encode_as(input, plan.graph().input());
        let input = input.map_err(|error| DriveError::Input(error.to_string()))?;
        self.preview_of(plan, run, Some(input))
    }

    fn preview_of<I, O>(
        &self,
        plan: &Plan<I, O>,
        run: &RunId,
        input: Option<Val>,
    ) -> Result<Preview, DriveError> {
        let services = &self.shared.services;
        let Some(number) = services.ledger.find(run)? else {
            return Err(DriveError::NoSuchRun(run.to_string()));
        };
        let live = self.shared.is_live(run);
        let foreseen = foresee(services, run, number, Arc::clone(plan.graph()), input)?;
        Preview::of(run, &foreseen, live)
    }
}
