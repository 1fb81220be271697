//! Steps that a run knows under another path than today's plan: as its author says, they are the same.

use super::programs::grown_from;
use hermes_core::{
    digest::Digest,
    fold::RunState,
    ids::{Address, Place, StepNo},
    journal::{Event, Record, Renamed},
    path::StepPath,
};
use hermes_plan::graph::{Graph, Rename};
use std::collections::{BTreeMap, BTreeSet};

/// The records that give what was recorded under another path the one it has in today's plan. Several renamings may
/// follow one another; what the plan still has under its recorded path keeps it, unless another step claims that path.
pub(crate) fn renamed(state: &RunState, graph: &Graph) -> Vec<Record> {
    let renames = graph.renames();
    if renames.is_empty() {
        return Vec::new();
    }
    let today = Today::of(graph);
    let mut recorded: BTreeSet<StepNo> = state.cells().map(|(at, _)| at.step).collect();
    let mut records = Vec::new();
    // A path is free once what had it has got another: until then, and where it never does, what claims it waits.
    loop {
        let mut moved = Vec::new();
        for step in &recorded {
            let Some((path, kind)) = state.steps.get(step.0 as usize).filter(|(path, _)| !path.is_empty())
            else {
                continue;
            };
            let claimed = || renames.iter().any(|rename| rename.new == *path);
            if today.has(path, kind) && !claimed() {
                continue;
            }
            let free = |path: &StepPath| {
                let holder = state.number(path).filter(|holder| recorded.contains(holder));
                holder.is_none() && !moved.iter().any(|(_, taken)| taken == path)
            };
            let target = Rename::reachable(path, &renames)
                .into_iter()
                .find(|path| today.has(path, kind) && free(path));
            moved.extend(target.map(|target| (*step, target)));
        }
        if moved.is_empty() {
            return records;
        }
        for (step, path) in moved {
            recorded.remove(&step);
            let at = Address { place: Place::ROOT, step };
            let event = Event::Renamed(Renamed { pattern: path.to_string() });
            records.push(Record::new(at, 0, Digest::ZERO, Digest::ZERO, &event));
        }
    }
}

/// What today's plan has.
struct Today<'a> {
    graph: &'a Graph,
    kinds: BTreeMap<&'a StepPath, &'static str>,
}

impl<'a> Today<'a> {
    fn of(graph: &'a Graph) -> Self {
        Self { graph, kinds: graph.nodes().map(|node| (&node.pattern, node.kind.word())).collect() }
    }

    /// Whether there is such a step, or may be once it is built.
    fn has(&self, path: &StepPath, kind: &str) -> bool {
        match self.kinds.get(path) {
            Some(today) => *today == kind,
            None => grown_from(self.graph, path).is_some(),
        }
    }
}
