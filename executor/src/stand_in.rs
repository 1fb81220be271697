//! What a rehearsal puts in the place of calls: the one seam between it and the engine that runs everything else.

use crate::walk::{CallEnd, Noted};
use hermes_core::path::StepPath;
use hermes_plan::graph::Node;

/// Ends calls itself, so that nothing is started for them.
pub(crate) trait StandIn: Send + Sync {
    /// How the call of `node` at `path` ends; `None` where it is to be made.
    fn instead(&self, path: &StepPath, node: &Node) -> Option<CallEnd>;

    /// Hears what becomes of a step.
    fn note(&self, node: &Node, noted: Noted);
}
