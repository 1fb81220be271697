//! What a run has built while it ran, drawn from its journal: the structures that its `then`s recorded, and the levels of
//! its recursive parts. Nothing is built again for it.

use super::{
    draw::with_state,
    group::{Built, Inside},
    standing::{Standing, State},
    unroll::Unroll,
};
use crate::error::DriveError;
use hermes_core::{
    ids::Address,
    journal::{EndKind, PlannedStep, Structure},
    path::StepPath,
};
use hermes_plan::{
    graph::{Around, BodyId, Graph, Kind, Node, NodeId, Recursive},
    layout::Drawing,
};
use std::sync::Arc;

impl Unroll<'_> {
    /// What the `then` at `at` has built; `None` before it has.
    pub(super) fn built(&self, at: Option<Address>) -> Result<Option<Inside>, DriveError> {
        let mut built = Vec::new();
        let begun = match at {
            Some(at) => self.add_built(at, None, &mut built)?,
            None => false,
        };
        Ok(begun.then_some(Inside::Grown(built)))
    }

    /// Adds what the `then` at `at` has built, and what was built in that. False before it has.
    fn add_built(
        &self,
        at: Address,
        inside: Option<usize>,
        built: &mut Vec<Built>,
    ) -> Result<bool, DriveError> {
        let Some(decision) = self.decision(Some(at))? else { return Ok(false) };
        let path = self.run.path(at);
        let structure: Structure = serde_json::from_str(&decision)
            .map_err(|error| DriveError::Broken(format!("the structure of {path}: {error}")))?;
        let first = built.len();
        built.extend(self.steps(&structure.steps, &path)?.into_iter().map(|step| {
            let owner = step.inside.map(|owner| first + owner);
            Built { inside: owner.or(inside), ..step }
        }));
        for (index, step) in structure.steps.iter().enumerate().filter(|(_, step)| step.kind == "then") {
            let number = self.run.number(&step.path);
            let cells = self.run.cells().map(|(at, _)| at).filter(|at| Some(at.step) == number);
            for inner in cells.filter(|inner| is_below(&self.run.path(*inner), &path)) {
                self.add_built(inner, Some(first + index), built)?;
            }
        }
        Ok(true)
    }

    /// The levels of a recursive part below the node that stands for it once more; `None` before one has begun.
    pub(super) fn levels(
        &self,
        node: &Node,
        of: NodeId,
        path: &StepPath,
    ) -> Result<Option<Inside>, DriveError> {
        let below = |other: &StepPath| is_below(other, path);
        if !self.run.cells().any(|(at, _)| below(&self.run.path(at))) {
            return Ok(None);
        }
        let graphs = vec![Arc::new(self.graph.clone())];
        let mut steps = Vec::new();
        level(graphs, node.id, of, 2, None, &mut steps);
        let mut built = self.steps(&steps, path)?;
        // Levels that were not reached are not drawn, but for what stands beside something that was.
        let reached: Vec<bool> = (0..built.len())
            .map(|step| {
                built.iter().enumerate().any(|(other, inner)| {
                    !inner.copies.is_empty() && (other == step || stands_in(&built, other, step))
                })
            })
            .collect();
        let mut keep: Vec<bool> = reached.clone();
        for (step, inner) in built.iter().enumerate() {
            keep[step] |= inner.inside.is_none_or(|owner| reached[owner]);
        }
        retain(&mut built, &keep);
        Ok(Some(Inside::Grown(built)))
    }

    fn steps(&self, steps: &[PlannedStep], path: &StepPath) -> Result<Vec<Built>, DriveError> {
        let built = steps.iter().map(|step| {
            let number = self.run.number(&step.path);
            let cells = self.run.cells().filter(|(at, _)| Some(at.step) == number);
            let cells = cells.filter(|(at, _)| is_below(&self.run.path(*at), path));
            let copies = cells.map(|(_, cell)| self.cell(cell)).collect::<Result<_, _>>()?;
            let name = step.path.segments().last().map_or("", |last| last.name.as_str());
            let line = format!("{name}: {} -> {}", step.kind, step.yields);
            let inside = step.inside.map(|inside| inside as usize);
            Ok(Built { line, copies, inside })
        });
        built.collect()
    }

    /// Where a group of these steps stands that has begun.
    pub(super) fn whole_of(&self, built: &[Built]) -> State {
        let standings = built.iter().flat_map(|step| &step.copies).map(|state| state.standing);
        match Standing::of(standings) {
            Some(standing) => standing.into(),
            None if matches!(self.end, Some(EndKind::Completed { .. })) => Standing::Done.into(),
            None => State::new(Standing::Begun, "built"),
        }
    }
}

/// Whether a path lies below another, or at an item of it.
fn is_below(path: &StepPath, above: &StepPath) -> bool {
    let (path, above) = (path.segments(), above.segments());
    let Some((last, around)) = above.split_last() else { return true };
    path.len() > above.len() && path.starts_with(around) && path[around.len()].name == last.name
}

/// Whether `step` stands in `owner`, at any depth.
fn stands_in(built: &[Built], step: usize, owner: usize) -> bool {
    let mut inside = built[step].inside;
    while let Some(group) = inside {
        if group == owner {
            return true;
        }
        inside = built[group].inside;
    }
    false
}

fn retain(built: &mut Vec<Built>, keep: &[bool]) {
    let mut numbers = vec![None; built.len()];
    let mut next = 0;
    for (number, keep) in numbers.iter_mut().zip(keep) {
        if *keep {
            *number = Some(next);
            next += 1;
        }
    }
    let mut index = 0;
    built.retain_mut(|step| {
        step.inside = step.inside.and_then(|inside| numbers[inside]);
        index += 1;
        keep[index - 1]
    });
}

/// The steps of one level of a recursive part, and of those in it.
fn level(
    graphs: Vec<Arc<Graph>>,
    owner: NodeId,
    of: NodeId,
    depth: u32,
    inside: Option<u32>,
    steps: &mut Vec<PlannedStep>,
) {
    let Some(source) = graphs.iter().find(|graph| graph.contains(of)) else { return };
    let Kind::Recursive(Recursive { max_depth, .. }) = source.node(of).kind else { return };
    if depth > max_depth.get() || depth > DRAWN {
        return;
    }
    let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
    let nodes = graphs.iter().map(|graph| count(graph.len())).sum();
    let bodies = graphs.iter().map(|graph| count(graph.bodies().len())).sum();
    let around =
        Around { graphs: graphs.clone(), owner, first_node: NodeId(nodes), first_body: BodyId(bodies) };
    let Some(graph) = around.level(of, depth) else { return };
    let graph = Arc::new(graph);
    let mut numbers = std::collections::BTreeMap::new();
    for node in graph.nodes().filter(|node| !node.pattern.is_empty()) {
        let number = count(steps.len());
        numbers.insert(node.id, number);
        let owner = graph.body(node.body).owner.and_then(|owner| numbers.get(&owner).copied());
        steps.push(PlannedStep {
            path: node.pattern.clone(),
            kind: node.kind.word().to_owned(),
            yields: node.schema.label().to_owned(),
            inside: owner.or(inside),
        });
        if let Kind::Again { of: other } = node.kind
            && other == of
        {
            let graphs = graphs.iter().cloned().chain([Arc::clone(&graph)]).collect();
            level(graphs, node.id, of, depth + 1, Some(number), steps);
        }
    }
}

/// Levels deeper than this are not drawn.
const DRAWN: u32 = 8;

/// The steps as lines, each below the group it stands in.
pub(super) fn draw(built: &[Built], inside: Option<usize>) -> Vec<Drawing> {
    let lines = built.iter().enumerate().filter(|(_, step)| step.inside == inside);
    let drawn = lines.map(|(index, step)| {
        let below = draw(built, Some(index));
        let state = match step.copies.as_slice() {
            [] if below.is_empty() => Some(Standing::NotStarted.word().to_owned()),
            [] => None,
            [one] => Some(one.to_string()),
            several => {
                let counts = Standing::counts(several.iter().map(|state| state.standing));
                Some(format!("{} copies: {counts}", several.len()))
            }
        };
        let line = state.map_or_else(|| step.line.clone(), |state| with_state(&step.line, &state));
        Drawing::with(line, below)
    });
    drawn.collect()
}
