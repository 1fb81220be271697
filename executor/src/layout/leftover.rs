//! What stands below a run's tree: recorded steps that today's plan does not have, and what people have to decide.

use super::{
    draw::{WIDE, with_state},
    standing::Standing,
    unroll::Unroll,
};
use crate::error::DriveError;
use hermes_core::{
    fold::Cell,
    ids::{Address, StepNo},
    people::{Need, NeedKind},
};
use hermes_plan::layout::Drawing;
use std::collections::BTreeMap;

pub(super) fn sections(run: &Unroll<'_>) -> Result<Vec<Drawing>, DriveError> {
    let decide: Vec<_> = run.run.summary.needs().values().filter_map(need).collect();
    let sections = [("not in this plan:", unknown(run)?), ("to decide:", decide)];
    let filled = sections.into_iter().filter(|(_, lines)| !lines.is_empty());
    Ok(filled.map(|(title, lines)| Drawing::with(title, lines)).collect())
}

/// Steps of the journal that the plan does not have, by plan step.
fn unknown(run: &Unroll<'_>) -> Result<Vec<Drawing>, DriveError> {
    let known = run.known();
    let mut cells: BTreeMap<StepNo, Vec<(Address, &Cell)>> = BTreeMap::new();
    for (at, cell) in run.run.cells().filter(|(at, _)| at.step != StepNo(0) && !known.contains(&at.step)) {
        cells.entry(at.step).or_default().push((at, cell));
    }
    let mut lines = Vec::new();
    for (step, cells) in cells {
        let Some((pattern, kind)) = run.run.steps.get(step.0 as usize) else { continue };
        if run.run.dropped.contains(&step) {
            let line = format!("{pattern}: {kind}");
            lines.push(Drawing::leaf(with_state(&line, &format!("{}, dropped", copies(cells.len())))));
            continue;
        }
        let states = cells.iter().map(|(at, cell)| Ok((*at, run.cell(cell)?)));
        let states = states.collect::<Result<Vec<_>, DriveError>>()?;
        if states.len() > WIDE {
            let counts = Standing::counts(states.iter().map(|(_, state)| state.standing));
            let state = format!("{}: {counts}", copies(states.len()));
            lines.push(Drawing::leaf(with_state(&format!("{pattern}: {kind}"), &state)));
        } else {
            lines.extend(states.into_iter().map(|(at, state)| {
                Drawing::leaf(with_state(&format!("{}: {kind}", run.run.path(at)), &state.to_string()))
            }));
        }
    }
    Ok(lines)
}

/// What a person has to decide; `None` for questions, which have theirs in the tree.
fn need(need: &Need) -> Option<Drawing> {
    let (count, examples) = match &need.kind {
        NeedKind::Review { .. } => return None,
        NeedKind::Conflict { count, examples, .. } => (*count, examples.as_slice()),
        NeedKind::Dropped { count, .. } => (*count, &[][..]),
        NeedKind::InDoubt { .. } | NeedKind::Budget { .. } => (1, &[][..]),
    };
    let path = if need.path.is_empty() { "the run" } else { &need.path };
    let line = format!("{path}: {}", need.title);
    if count <= 1 {
        return Some(Drawing::leaf(line));
    }
    let mut which: Vec<_> = examples.iter().map(Drawing::leaf).collect();
    let more = count.saturating_sub(examples.len() as u64);
    if more > 0 && !which.is_empty() {
        which.push(Drawing::leaf(format!("{more} more")));
    }
    Some(Drawing::with(format!("{line} ({count} copies)"), which))
}

fn copies(number: usize) -> String {
    if number == 1 { "1 copy".to_owned() } else { format!("{number} copies") }
}
