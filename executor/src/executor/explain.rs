//! Explanations: asking why finished steps conflict.

use super::handle::Executor;
use crate::{drive::foresee, error::DriveError, explain::Explained};
use hermes_core::{data::Data, ids::RunId, value::Val};
use hermes_plan::Plan;
use std::sync::Arc;

impl Executor {
    /// Why the finished steps of a run conflict with this plan: for each of them the fields that differ, with what is
    /// recorded and what is there today. Computed by the same check that a resume makes, and without writing anything.
    ///
    /// It needs no runner, and works on a ledger that is [open for reading only](crate::Ledger::open_read_only).
    ///
    /// ```
    /// use hermes_executor::{DriveError, Executor};
    /// use hermes_core::ids::RunId;
    /// use hermes_plan::Plan;
    ///
    /// fn show(executor: &Executor, plan: &Plan<String, String>, run: &RunId) -> Result<(), DriveError> {
    ///     let explained = executor.explain(plan, run)?;
    ///     // 1 step of run r conflicts with plan post
    ///     //
    ///     // draft (agent)
    ///     //   prompt: 1 line added, 1 removed
    ///     //     @@ -1 +1 @@
    ///     //     -Write a draft.
    ///     //     +Write a short draft.
    ///     println!("{explained}");
    ///     for step in &explained.steps {
    ///         for changed in &step.changes {
    ///             println!("{}: {}", step.path, changed.field);
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// When the ledger has no such run, it does not fit the plan, or its journal cannot be read.
    pub fn explain<I, O>(&self, plan: &Plan<I, O>, run: &RunId) -> Result<Explained, DriveError> {
        self.explain_of(plan, run, None)
    }

    /// The same for a `start` with this input, which may be another than the run's.
    ///
    /// # Errors
    /// As [`Executor::explain`]; also when the input cannot be written.
    pub fn explain_with<I: Data, O>(
        &self,
        plan: &Plan<I, O>,
        run: &RunId,
        input: &I,
    ) -> Result<Explained, DriveError> {
        let input = Val::encode_as(input, plan.graph().input());
        let input = input.map_err(|error| DriveError::Input(error.to_string()))?;
        self.explain_of(plan, run, Some(input))
    }

    fn explain_of<I, O>(
        &self,
        plan: &Plan<I, O>,
        run: &RunId,
        input: Option<Val>,
    ) -> Result<Explained, DriveError> {
        let services = &self.shared.services;
        let Some(number) = services.ledger.find(run)? else {
            return Err(DriveError::NoSuchRun(run.to_string()));
        };
        let foreseen = foresee(services, run, number, Arc::clone(plan.graph()), input)?;
        Explained::of(run, &foreseen, &|digest| Ok(services.ledger.blob(digest)?))
    }
}
