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
/// follow one another; what the plan still has under its recorded path keeps it.
pub(crate) fn renamed(state: &RunState, graph: &Graph) -> Vec<Record> {
    let renames = graph.renames();
    if renames.is_empty() {
        return Vec::new();
    }
    let kinds: BTreeMap<&StepPath, &str> =
        graph.nodes().map(|node| (&node.pattern, node.kind.word())).collect();
    let with_records: BTreeSet<StepNo> = state.cells().map(|(at, _)| at.step).collect();
    let fits = |pattern: &StepPath, kind: &str| match kinds.get(pattern) {
        Some(today) => *today == kind,
        None => grown_from(graph, pattern).is_some(),
    };
    let mut taken: BTreeSet<StepPath> = BTreeSet::new();
    let mut records = Vec::new();
    for (step, (recorded, kind)) in (0..).map(StepNo).zip(&state.steps) {
        if recorded.is_empty() || !with_records.contains(&step) || fits(recorded, kind) {
            continue;
        }
        let free = |pattern: &StepPath| {
            let other = state.number(pattern).filter(|other| with_records.contains(other));
            other.is_none() && !taken.contains(pattern)
        };
        let Some(today) =
            reachable(recorded, &renames).into_iter().find(|pattern| fits(pattern, kind) && free(pattern))
        else {
            continue;
        };
        taken.insert(today.clone());
        let event = Event::Renamed(Renamed { pattern: today.to_string() });
        let at = Address { place: Place::ROOT, step };
        records.push(Record::new(at, 0, Digest::ZERO, Digest::ZERO, &event));
    }
    records
}

/// The paths that renamings lead to, those of the fewest first.
fn reachable(recorded: &StepPath, renames: &[Rename]) -> Vec<StepPath> {
    let mut found = vec![recorded.clone()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        for today in renames.iter().filter_map(|rename| rename.today(&path)) {
            // A renaming of a name to itself with more below it would never end.
            if found.len() <= renames.len() * 2 && !found.contains(&today) {
                found.push(today);
            }
        }
        next += 1;
    }
    found.remove(0);
    found
}
