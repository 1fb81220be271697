//! What would become of each step: what the check met, held against everything that is recorded.

use super::{Fate, PreviewStep, Tally, cause::Causes};
use crate::{
    drive::Foreseen,
    error::DriveError,
    walk::{Met, Walk},
};
use hermes_core::{
    fold::{Cell, CellStatus},
    ids::{Address, StepNo},
    journal::Event,
    receipt::Cost,
};
use hermes_plan::graph::{Kind, Node, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// The fates of all steps.
pub(super) struct Fates {
    pub(super) counts: Tally,
    /// Of each node of the plan.
    pub(super) by_node: BTreeMap<NodeId, Tally>,
    /// Those that are not simply reused, nor left out, by path.
    pub(super) steps: Vec<PreviewStep>,
}

impl Fates {
    pub(super) fn of(foreseen: &Foreseen, live: bool, causes: &Causes<'_>) -> Result<Self, DriveError> {
        let walk = &foreseen.walk;
        let mut telling = Telling {
            foreseen,
            live,
            missing: walk.missing().into_keys().collect(),
            fates: Self { counts: Tally::default(), by_node: BTreeMap::new(), steps: Vec::new() },
        };
        telling.all(causes)?;
        let mut fates = telling.fates;
        fates.steps.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(fates)
    }
}

/// Whether a step of this kind has an outcome of its own, and not only what it unrolls to.
fn is_leaf(node: &Node) -> bool {
    matches!(
        node.kind,
        Kind::Agent(_)
            | Kind::Ask(_)
            | Kind::Review(_)
            | Kind::Command(_)
            | Kind::Step(_)
            | Kind::Wait(_)
            | Kind::Files(_)
    )
}

struct Telling<'a> {
    foreseen: &'a Foreseen,
    live: bool,
    missing: BTreeSet<StepNo>,
    fates: Fates,
}

impl Telling<'_> {
    fn walk(&self) -> &Walk {
        &self.foreseen.walk
    }

    fn met(&self, at: Address) -> Option<Met> {
        self.walk().met()?.get(&at).copied()
    }

    fn all(&mut self, causes: &Causes<'_>) -> Result<(), DriveError> {
        let foreseen = self.foreseen;
        let walk = &foreseen.walk;
        for (at, cell) in walk.state().cells() {
            if let Some((fate, says)) = self.recorded(at, cell) {
                self.tell(at, fate, says, Some(cell), causes)?;
            }
        }
        let new = walk.met().into_iter().flatten().filter(|(at, _)| walk.state().cell(**at).is_none());
        for (at, met) in new {
            if matches!(met, Met::Held(_)) && walk.node_at(*at).is_some_and(is_leaf) {
                self.tell(*at, Fate::Run, Vec::new(), None, causes)?;
            }
        }
        for node in walk.plan().graph.nodes().filter(|node| is_leaf(node)) {
            if !self.fates.by_node.contains_key(&node.id) && self.may_come(node) {
                self.fates.counts.add(Fate::Unknown);
                self.fates.by_node.entry(node.id).or_default().add(Fate::Unknown);
            }
        }
        Ok(())
    }

    /// What becomes of a recorded step, and what is to be said of it; nothing of a group that is well.
    fn recorded(&self, at: Address, cell: &Cell) -> Option<(Fate, Vec<String>)> {
        let walk = self.walk();
        if let Some(conflict) = walk.conflicts().iter().find(|conflict| conflict.at == at) {
            let fields = conflict.changed.iter().map(|changed| changed.field.to_string()).collect();
            return Some((Fate::Conflict, fields));
        }
        if let Some(doubt) = walk.doubts().iter().find(|doubt| doubt.at == at) {
            return Some((Fate::InDoubt, vec![doubt.why.to_owned()]));
        }
        if self.missing.contains(&at.step) {
            return cell.finished().then(|| (Fate::Dropped, Vec::new()));
        }
        if walk.state().dropped.contains(&at.step) {
            return None;
        }
        let Some(node) = walk.node_at(at) else {
            // What was built at run time is not built again yet.
            return cell.finished().then(|| (Fate::Unknown, Vec::new()));
        };
        if !is_leaf(node) {
            return None;
        }
        // A review's own cell only holds its rounds.
        if matches!(node.kind, Kind::Review(_)) && walk.state().opened.contains_key(&at) {
            return None;
        }
        let fate = match self.met(at) {
            Some(Met::Settled) => Fate::Reuse,
            Some(Met::Open) => Fate::Open,
            Some(Met::Held(_))
                if self.live && matches!(cell.status, CellStatus::Started | CellStatus::Delayed) =>
            {
                Fate::Open
            }
            Some(Met::Held(_)) if cell.finished() || cell.attempts > 0 => Fate::RunAgain,
            Some(Met::Held(_)) => Fate::Run,
            None if self.left_out(at, node) => Fate::LeftOut,
            None => Fate::Unknown,
        };
        Some((fate, Vec::new()))
    }

    /// Whether the check went past a step without it: what it belongs to is settled.
    fn left_out(&self, at: Address, node: &Node) -> bool {
        let walk = self.walk();
        if walk.end().is_some() {
            return true;
        }
        let settled = |at: Address| matches!(self.met(at), Some(Met::Settled));
        // The arm of a branch and the like are in the place of their owner.
        if let Some(owner) = self.owner(node)
            && settled(Address { place: at.place, step: walk.step_number(owner.id) })
        {
            return true;
        }
        let mut place = at.place;
        while let Some(group) = walk.state().scopes.get(place.scope.0 as usize).and_then(|scope| scope.group)
        {
            if settled(group) {
                return true;
            }
            place = group.place;
        }
        false
    }

    fn owner(&self, node: &Node) -> Option<&Node> {
        let graph = &self.walk().plan().graph;
        let body = graph.contains(node.id).then(|| graph.body(node.body))?;
        body.owner.map(|owner| graph.node(owner))
    }

    /// Whether a plan step of which nothing is recorded may still come to run.
    fn may_come(&self, node: &Node) -> bool {
        let walk = self.walk();
        if walk.end().is_some() {
            return false;
        }
        let Some(owner) = self.owner(node) else { return true };
        let number = walk.step_number(owner.id);
        let mut copies = walk.met().into_iter().flatten().filter(|(at, _)| at.step == number).peekable();
        match copies.peek() {
            None => self.may_come(owner),
            Some(_) => copies.any(|(_, met)| !matches!(met, Met::Settled)),
        }
    }

    fn tell(
        &mut self,
        at: Address,
        fate: Fate,
        says: Vec<String>,
        cell: Option<&Cell>,
        causes: &Causes<'_>,
    ) -> Result<(), DriveError> {
        let foreseen = self.foreseen;
        let walk = &foreseen.walk;
        let node = walk.node_at(at);
        self.fates.counts.add(fate);
        if let Some(node) = node {
            self.fates.by_node.entry(node.id).or_default().add(fate);
        }
        if matches!(fate, Fate::Reuse | Fate::LeftOut) {
            return Ok(());
        }
        let held = match self.met(at) {
            Some(Met::Held(held)) => Some(held),
            _ => None,
        };
        let recorded_kind = || walk.state().steps.get(at.step.0 as usize).map(|(_, kind)| kind.clone());
        let path = match cell {
            Some(_) => walk.state().path(at).to_string(),
            None => held.map_or_else(String::new, |held| walk.question_path(held).to_string()),
        };
        let because = match (fate, held) {
            (Fate::RunAgain | Fate::Run, Some(held)) => causes.of(held)?,
            _ => Vec::new(),
        };
        let last_cost = match cell {
            Some(cell) if matches!(node.map(|node| &node.kind), Some(Kind::Agent(_))) => self.cost(cell)?,
            _ => None,
        };
        let kind = node.map(|node| node.kind.word().to_owned()).or_else(recorded_kind).unwrap_or_default();
        let path = if path.is_empty() { "input".to_owned() } else { path };
        self.fates.steps.push(PreviewStep { path, kind, fate, says, because, last_cost });
        Ok(())
    }

    /// What a finished agent call cost.
    fn cost(&self, cell: &Cell) -> Result<Option<Cost>, DriveError> {
        if !matches!(cell.status, CellStatus::Succeeded | CellStatus::Failed) {
            return Ok(None);
        }
        let record = self.foreseen.journal.record(cell.outcome).map_err(DriveError::Broken)?;
        let receipt = match record.event().map_err(|error| DriveError::Broken(error.to_string()))? {
            Event::Succeeded(succeeded) => succeeded.receipt,
            Event::Failed(failed) => failed.receipt,
            _ => return Ok(None),
        };
        Ok(receipt.map(|receipt| receipt.cost.unwrap_or_default()))
    }
}
