//! The drawing of a run, read from the ledger.

use super::handle::Executor;
use crate::{drive::same_plan, error::DriveError, layout};
use hermes_core::ids::{RunId, Seq};
use hermes_plan::{Plan, graph::Graph};

/// Draws a run: the drawing of its plan, unrolled, each line with its state. Nothing in it depends on when or where the run
/// ran: no times, no ids, no costs.
///
/// Items stand as `[key]` below their fan-out, rounds as `[1]`, `[2]` below their loop or review, and below a branch only
/// the arm that was taken. More than 20 items are one line with counts by state. Recorded steps that the plan does not have
/// any more, and what has to be decided, come last.
///
/// The run need not be driven by anybody. Takes time linear in what the ledger has of it.
///
/// ```
/// use hermes_executor::{DriveError, Executor, run_layout};
/// use hermes_core::ids::RunId;
/// use hermes_plan::Plan;
///
/// fn show(executor: &Executor, plan: &Plan<String, String>, run: &RunId) -> Result<(), DriveError> {
///     // run of plan greet(input: string) -> string · completed
///     // └─ greet: agent(input) -> string · done
///     println!("{}", run_layout(executor, plan, run)?);
///     Ok(())
/// }
/// ```
///
/// # Errors
/// When the ledger has no such run, it was begun with another plan, or its journal cannot be read.
pub fn run_layout<I, O>(executor: &Executor, plan: &Plan<I, O>, run: &RunId) -> Result<String, DriveError> {
    graph_layout(executor, plan.graph(), run)
}

/// The same without the plan's types.
pub(crate) fn graph_layout(executor: &Executor, graph: &Graph, run: &RunId) -> Result<String, DriveError> {
    let ledger = executor.ledger();
    let Some(number) = ledger.find(run)? else { return Err(DriveError::NoSuchRun(run.to_string())) };
    // Asked before the state is read: what ends in between is then seen as ended.
    let live = executor.shared.is_live(run);
    let state = ledger.state(number)?;
    same_plan(&state, graph, run)?;
    let read = |seq: Seq| {
        let record = ledger.record(number, seq)?;
        record.event().map_err(|error| DriveError::Broken(error.to_string()))
    };
    layout::draw(graph, &state, live, &read)
}
