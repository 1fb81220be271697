//! The drawing of a run, read from the ledger.

use super::handle::Executor;
use crate::{drive::same_plan, error::DriveError, layout, ledger::Ledger};
use hermes_core::{
    fold::RunState,
    ids::{RunId, RunNo, Seq},
};
use hermes_plan::{
    Plan,
    graph::{Graph, Kind, NodeId},
};
use std::{collections::BTreeSet, sync::Arc};

/// Draws a run as text: the same as [`RunLayout::text`].
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
    RunLayout::read(executor, plan, run)?.text()
}

/// A run as it stands at one moment, and the forms in which it can be drawn: its plan, unrolled, each line with its state.
/// Nothing in it depends on when or where the run ran: no times, no ids, no costs.
///
/// Items stand as `[key]` below their fan-out, rounds as `[1]`, `[2]` below their loop or review, and below a branch only
/// the arm that was taken. More than 20 items are one line with counts by state, unless [`RunLayout::items`] asks for them.
/// Recorded steps that the plan does not have any more, and what has to be decided, come last in the text.
///
/// ```
/// use hermes_executor::{DriveError, Executor, RunLayout};
/// use hermes_core::ids::RunId;
/// use hermes_plan::Plan;
///
/// fn show(executor: &Executor, plan: &Plan<Vec<String>, Vec<String>>, run: &RunId) -> Result<(), DriveError> {
///     let layout = RunLayout::read(executor, plan, run)?;
///     println!("{}", layout.mermaid()?);
///     println!("{}", layout.items("pages")?.text()?);
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct RunLayout {
    graph: Arc<Graph>,
    ledger: Ledger,
    number: RunNo,
    state: Arc<RunState>,
    live: bool,
    expanded: BTreeSet<NodeId>,
}

impl std::fmt::Debug for RunLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunLayout").field(&self.graph.name()).finish()
    }
}

impl RunLayout {
    /// Reads a run. It need not be driven by anybody. Takes time linear in what the ledger has of it, as does each drawing.
    ///
    /// # Errors
    /// When the ledger has no such run, it was begun with another plan, or its journal cannot be read.
    pub fn read<I, O>(executor: &Executor, plan: &Plan<I, O>, run: &RunId) -> Result<Self, DriveError> {
        Self::of_graph(executor, plan.graph(), run)
    }

    /// The same without the plan's types.
    pub(crate) fn of_graph(executor: &Executor, graph: &Arc<Graph>, run: &RunId) -> Result<Self, DriveError> {
        let ledger = executor.ledger().clone();
        let graph = Arc::clone(graph);
        let Some(number) = ledger.find(run)? else { return Err(DriveError::NoSuchRun(run.to_string())) };
        // Asked before the state is read: what ends in between is then seen as ended.
        let live = executor.shared.is_live(run);
        let state = ledger.state(number)?;
        same_plan(&state, &graph, run)?;
        Ok(Self { graph, ledger, number, state: Arc::new(state), live, expanded: BTreeSet::new() })
    }

    /// The same, with the items of this fan-out drawn one by one, however many there are: `pages`, or `books[*]/pages` for
    /// one inside another, in all copies of it.
    ///
    /// # Errors
    /// When the plan has no such fan-out; the error names those there are.
    pub fn items(mut self, path: &str) -> Result<Self, DriveError> {
        let fans = || {
            self.graph.nodes().filter(|node| {
                matches!(node.kind, Kind::Parallel { .. } | Kind::Each { .. } | Kind::Pipeline { .. })
            })
        };
        let Some(fan) = fans().find(|node| node.pattern.to_string() == path).map(|node| node.id) else {
            let groups = fans().map(|node| node.pattern.to_string()).collect();
            return Err(DriveError::NoSuchGroup { path: path.to_owned(), groups });
        };
        self.expanded.insert(fan);
        Ok(self)
    }

    /// The text tree.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn text(&self) -> Result<String, DriveError> {
        self.drawn(layout::text)
    }

    /// A Mermaid flowchart: boxes are coloured by state, groups are subgraphs.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn mermaid(&self) -> Result<String, DriveError> {
        self.drawn(|run, plan| Ok(layout::picture(run, plan).mermaid()))
    }

    /// A Graphviz graph in DOT: boxes are coloured by state, groups are clusters.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn dot(&self) -> Result<String, DriveError> {
        self.drawn(|run, plan| Ok(layout::picture(run, plan).dot()))
    }

    /// JSON, format 1: `{"format": 1, "plan", "line", "state", "steps": [..]}`.
    ///
    /// A step is what it is in [the plan's JSON](hermes_plan::layout::Layout::json), without `bodies`, and has `state`
    /// (`{"is": one of the words of the text, "says": the whole of it}`), `items` (their number, for a fan-out) and, where
    /// something in it is drawn, `inside`: members `{"member": "[key]", "state", "steps"}`, or, for what was built at run
    /// time, `{"line", "copies": [states], "inside"}`. A scope is `{"scope", "steps"}`.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn json(&self) -> Result<serde_json::Value, DriveError> {
        self.drawn(|run, plan| Ok(layout::json(run, plan)))
    }

    fn drawn<T>(
        &self,
        draw: impl FnOnce(&layout::Unroll<'_>, &layout::Frame) -> Result<T, DriveError>,
    ) -> Result<T, DriveError> {
        let read = |seq: Seq| {
            let record = self.ledger.record(self.number, seq)?;
            record.event().map_err(|error| DriveError::Broken(error.to_string()))
        };
        let run = layout::Unroll::new(&self.graph, &self.state, self.live, &read, &self.expanded)?;
        draw(&run, &run.plan()?)
    }
}
