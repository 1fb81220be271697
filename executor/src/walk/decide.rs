//! What people decided and asked for, as the records that carry it out: each decision answers today's differences, or
//! does nothing.

use super::{
    conflict::{Conflict, difference, dropped, unfit},
    frame::At,
    state::{ROOT, Walk},
};
use hermes_core::{
    digest::Digest,
    effect::Effect,
    failure::{Failure, FailureClass},
    fingerprint::fingerprint,
    fold::{Cell, CellStatus},
    ids::{Address, Place, Seq, StepNo},
    journal::{
        Accepted, CauseKind, Caused, DecisionMade, Directed, Dropped, Event, Failed, Given, Record, Renamed,
    },
    path::StepPath,
    people::{Actor, Decision},
    value::Val,
};
use hermes_plan::graph::{Kind, Node};
use std::sync::Arc;

/// Who decided, and why.
struct Said<'a> {
    by: &'a Actor,
    why: &'a Option<String>,
}

impl Said<'_> {
    fn cause(&self, kind: CauseKind, at: Address) -> Record {
        let event = Event::Caused(Caused { kind, by: self.by.clone(), why: self.why.clone() });
        record(at, Digest::ZERO, &event)
    }
}

fn record(at: Address, print: Digest, event: &Event) -> Record {
    Record::new(at, 0, print, Digest::ZERO, event)
}

impl Walk {
    /// The records that carry out what was decided and asked for since the run parked, as far as it answers today's
    /// differences. An accepted input is for whoever can read it.
    pub(crate) fn apply_decisions(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for made in &self.state.decisions {
            self.apply_decision(made, &mut records);
        }
        for directed in &self.state.directed {
            self.apply_directed(directed, &mut records);
        }
        records
    }

    fn apply_decision(&self, made: &DecisionMade, records: &mut Vec<Record>) {
        let said = Said { by: &made.by, why: &made.why };
        let by_step = self.conflicts_by_step();
        for conflict in by_step.values().filter(|all| difference(all) == made.about).flatten() {
            self.settle_conflict(conflict, &made.decision, &said, records);
        }
        for step in self.missing().keys().filter(|step| dropped(&self.pattern(**step)) == made.about) {
            let at = Address { place: Place::ROOT, step: *step };
            match &made.decision {
                Decision::Drop => records.push(record(at, Digest::ZERO, &Event::Dropped(Dropped {}))),
                Decision::Adopt { step } if self.may_become(at.step, step) => {
                    let event = Event::Renamed(Renamed { pattern: step.clone() });
                    records.push(record(at, Digest::ZERO, &event));
                }
                _ => {}
            }
        }
        for doubt in self.doubts.iter().filter(|doubt| doubt.key == made.about) {
            let Some(cell) = self.state.cell(doubt.at) else { continue };
            match &made.decision {
                Decision::Retry => records.push(said.cause(CauseKind::InDoubt, doubt.at)),
                Decision::Failed { why } => {
                    let failure = Failure::new(FailureClass::Interrupted, why.clone());
                    let failure = failure.at(|| doubt.path.to_string());
                    let failed = Failed { failure, may_have_acted: false, request: None, receipt: None };
                    let event = Event::Failed(failed);
                    let (generation, print) = (cell.generation, cell.fingerprint);
                    records.push(Record::new(doubt.at, generation, print, Digest::ZERO, &event));
                }
                Decision::Set { value } => {
                    let value = Val::from_json(value.clone());
                    self.give((doubt.at, cell, doubt.print), &value, None, &said, records);
                }
                _ => {}
            }
        }
    }

    fn settle_conflict(
        &self,
        conflict: &Conflict,
        decision: &Decision,
        said: &Said<'_>,
        records: &mut Vec<Record>,
    ) {
        let at = conflict.at;
        match decision {
            Decision::Rerun => records.push(said.cause(self.again(at.step), at)),
            Decision::Keep => records.push(record(at, conflict.print, &Event::Accepted(Accepted {}))),
            Decision::Set { value } => {
                let Some(cell) = self.state.cell(at) else { return };
                let value = Val::from_json(value.clone());
                self.give((at, cell, conflict.print), &value, None, said, records);
            }
            _ => {}
        }
    }

    /// What was asked for by path.
    fn apply_directed(&self, directed: &Directed, records: &mut Vec<Record>) {
        let said = Said { by: &directed.by, why: &directed.why };
        let Ok(steps) = directed.steps.parse::<StepPath>() else { return };
        for (at, cell) in self.state.cells().filter(|(at, _)| *at != ROOT) {
            let path = self.state.path(at);
            let named = steps.matches(&path);
            match &directed.decision {
                Decision::Rerun if named || steps.encloses(&path) && !self.unsafe_today(at.step) => {
                    let ran = cell.finished()
                        || matches!(
                            cell.status,
                            CellStatus::Interrupted | CellStatus::Decided | CellStatus::Delayed
                        );
                    if ran {
                        records.push(said.cause(self.again(at.step), at));
                    }
                }
                Decision::Set { value } if named => {
                    let value = Val::from_json(value.clone());
                    self.give((at, cell, self.print_today(at, cell)), &value, None, &said, records);
                }
                Decision::Restore { outcome } if named => {
                    let Ok(earlier) = self.lookup.record(*outcome) else { continue };
                    if earlier.header.at == at {
                        let value = Val::stored(earlier.header.output, Arc::clone(&self.fetch), outcome.0);
                        let print = self.print_today(at, cell);
                        self.give((at, cell, print), &value, Some(*outcome), &said, records);
                    }
                }
                _ => {}
            }
        }
    }

    /// The cause under which a step runs again because a person said so.
    fn again(&self, step: StepNo) -> CauseKind {
        let asks = |node: &Node| matches!(node.kind, Kind::Ask(_) | Kind::Review(_));
        if self.programs.node_of(step).is_some_and(asks) { CauseKind::AskAgain } else { CauseKind::Rerun }
    }

    fn unsafe_today(&self, step: StepNo) -> bool {
        self.programs.node_of(step).is_some_and(|node| match &node.kind {
            Kind::Agent(agent) => agent.effect == Effect::Unsafe,
            Kind::Step(step) => step.effect == Effect::Unsafe,
            Kind::Command(command) => command.effect == Effect::Unsafe,
            _ => false,
        })
    }

    /// The fingerprint of today's request where the walk has come to the step; otherwise that of the recorded one.
    fn print_today(&self, at: Address, cell: &Cell) -> Digest {
        let conflict =
            self.conflicts.iter().find(|conflict| conflict.at == at).map(|conflict| conflict.print);
        let held = || {
            let held = self.held.iter().find(|held| self.address(**held) == at)?;
            self.held_print(*held)
        };
        conflict.or_else(held).unwrap_or(cell.fingerprint)
    }

    /// The fingerprint of a call that a check holds back.
    pub(super) fn held_print(&self, at: At) -> Option<Digest> {
        let (values, _) = self.inputs(at);
        let (request, _) = self.call_request(at, &values).ok()?;
        Some(fingerprint(&request))
    }

    /// Gives a step an outcome that nobody called for: a cause of its own, and the outcome.
    fn give(
        &self,
        (at, cell, print): (Address, &Cell, Digest),
        value: &Val,
        from: Option<Seq>,
        said: &Said<'_>,
        records: &mut Vec<Record>,
    ) {
        let Some(node) = self.programs.node_of(at.step) else { return };
        if let Err(why) = unfit(node, value) {
            let path = self.state.path(at).to_string();
            tracing::warn!(run = %self.run, %path, "the output that was given {why}; it is not taken");
            return;
        }
        let Ok(text) = value.text() else { return };
        let Ok(output) = super::request::raw(&text) else { return };
        let event = Event::Given(Given { output, from, by: said.by.clone(), why: said.why.clone() });
        records.push(said.cause(CauseKind::Set, at));
        records.push(Record::new(at, cell.generation, print, value.digest(), &event));
    }

    /// Whether a recorded step may go by the path of a step of today's plan that has no records yet.
    fn may_become(&self, step: StepNo, pattern: &str) -> bool {
        let Ok(pattern) = pattern.parse::<StepPath>() else { return false };
        let kind = self.state.steps.get(step.0 as usize).map(|(_, kind)| kind.as_str());
        let today = self.plan().graph.nodes().find(|node| node.pattern == pattern);
        today.is_some_and(|node| Some(node.kind.word()) == kind && self.unrecorded_yet(node))
    }

    fn unrecorded_yet(&self, node: &Node) -> bool {
        let number = self.number(node.id);
        !self.state.cells().any(|(at, _)| at.step == number)
    }

    /// A step of today's plan without records, of the kind and with the request of a recorded one that the plan lacks.
    pub(super) fn proposed_for(&self, step: StepNo) -> Option<String> {
        let (_, kind) = self.state.steps.get(step.0 as usize)?;
        let prints: Vec<Digest> =
            self.state.cells().filter(|(at, _)| at.step == step).map(|(_, cell)| cell.fingerprint).collect();
        let same = |at: &&At| {
            let node = self.node(at.node);
            node.kind.word() == kind && self.held_print(**at).is_some_and(|print| prints.contains(&print))
        };
        let held = self.held.iter().find(same)?;
        let node = self.node(held.node);
        (self.plan().graph.contains(node.id) && self.unrecorded_yet(node)).then(|| node.pattern.to_string())
    }
}
