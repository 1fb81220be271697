//! What a person has to decide: finished steps that differ, steps the plan no longer has, calls in doubt. Collected by
//! the walk, grouped by plan step, and settled by journaled decisions.

use super::{
    frame::At,
    guard::guarded,
    state::{ROOT, Walk},
};
use hermes_core::{
    digest::{Digest, DigestWriter},
    fingerprint::Changed,
    fold::Cell,
    ids::{Address, Place, StepNo},
    journal::{Accepted, CauseKind, Caused, DecisionMade, Dropped, Event, Group, Record},
    path::{Mark, Segment, StepPath},
    people::Decision,
    request::Field,
    value::Val,
};
use hermes_plan::graph::Kind;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A finished step whose request, or decision whose outcome, differs today with no cause above it.
#[derive(Clone, Debug)]
pub(crate) struct Conflict {
    pub(crate) at: Address,
    pub(crate) path: StepPath,
    /// Today's fingerprint: what `keep` accepts.
    pub(crate) print: Digest,
    pub(crate) changed: Vec<Changed>,
    /// Why what is stored cannot be kept, where it cannot.
    pub(crate) not_kept: Option<String>,
}

/// A call whose end a person has to settle.
#[derive(Clone, Debug)]
pub(crate) struct Doubtful {
    pub(crate) at: Address,
    pub(crate) path: StepPath,
    pub(crate) key: Digest,
    pub(crate) why: &'static str,
    pub(crate) title: Option<String>,
}

/// Paths shown of a group.
const EXAMPLES: usize = 3;

impl Walk {
    pub(super) fn conflict(&mut self, conflict: Conflict) {
        self.conflicts.push(conflict);
    }

    pub(super) fn doubt(&mut self, doubt: Doubtful) {
        self.doubts.push(doubt);
    }

    /// Another input than the one the run began with is a difference at the plan itself.
    pub(crate) fn check_input(&mut self, given: Digest) {
        let known = self.state.cell(ROOT).is_none_or(|cell| cell.answers(&given));
        if !known {
            let changed = Changed {
                field: Field::RunInput,
                old: Some(self.state.input.short()),
                new: Some(given.short()),
            };
            let path = StepPath::new(vec![Segment { name: "input".to_owned(), mark: Mark::Plain }]);
            self.conflict(Conflict { at: ROOT, path, print: given, changed: vec![changed], not_kept: None });
        }
    }

    /// Whether what is stored of a call can be kept: it validates and decodes today.
    pub(super) fn not_kept(&self, at: At, cell: &Cell) -> Result<(), String> {
        let value = Val::stored(cell.output, Arc::clone(&self.fetch), cell.outcome.0);
        let node = self.node(at.node);
        let check = match &node.kind {
            Kind::Agent(agent) => &agent.check,
            Kind::Step(step) => &step.check,
            Kind::Command(command) => &command.check,
            Kind::Files(files) => &files.check,
            _ => return Ok(()),
        };
        let json = value.json().map_err(|error| error.to_string())?;
        if let Err(violations) = node.schema.validate(&json) {
            let first = violations.first().map(ToString::to_string).unwrap_or_default();
            return Err(format!("what is stored is not valid for today's type: {first}"));
        }
        guarded(node.at, || check(std::slice::from_ref(&value)))
            .map(drop)
            .map_err(|failure| format!("what is stored does not decode as today's type: {}", failure.message))
    }

    /// Finished plan steps that today's plan lacks and nobody has dropped yet, with the number of their copies.
    fn missing(&self) -> BTreeMap<StepNo, u64> {
        let graph = &self.plan().graph;
        let mut today: BTreeSet<StepNo> = graph.nodes().map(|node| self.number(node.id)).collect();
        let mut missing = BTreeMap::new();
        for (at, cell) in self.state.cells() {
            if !cell.finished() || today.contains(&at.step) || self.state.dropped.contains(&at.step) {
                continue;
            }
            // Whether what is built at run time still has it, its recorded structure says.
            if self.programs.grown_from(&self.pattern(at.step)).is_some() {
                today.insert(at.step);
            } else {
                *missing.entry(at.step).or_default() += 1;
            }
        }
        missing
    }

    /// Everything to decide, grouped by plan step.
    pub(crate) fn groups(&self) -> Vec<Group> {
        let mut by_step: BTreeMap<StepNo, Vec<&Conflict>> = BTreeMap::new();
        for conflict in &self.conflicts {
            by_step.entry(conflict.at.step).or_default().push(conflict);
        }
        let conflicts = by_step.into_iter().map(|(step, conflicts)| {
            let mut fields: Vec<Changed> = Vec::new();
            for changed in conflicts.iter().flat_map(|conflict| &conflict.changed) {
                if !fields.iter().any(|known| known.field == changed.field) {
                    fields.push(changed.clone());
                }
            }
            Group::Conflict {
                step,
                path: match conflicts.as_slice() {
                    [one] => one.path.to_string(),
                    _ => self.pattern(step).to_string(),
                },
                difference: difference(&conflicts),
                count: conflicts.len() as u64,
                fields,
                examples: conflicts.iter().take(EXAMPLES).map(|conflict| conflict.path.to_string()).collect(),
                not_kept: conflicts.iter().find_map(|conflict| conflict.not_kept.clone()),
                title: match conflicts.as_slice() {
                    [one] => self.title_at(one.at),
                    _ => None,
                },
            }
        });
        let missing = self.missing().into_iter().map(|(step, count)| Group::Dropped {
            step,
            path: self.pattern(step).to_string(),
            difference: dropped(&self.pattern(step)),
            count,
        });
        let doubts = self.doubts.iter().map(|doubt| Group::InDoubt {
            at: doubt.at,
            path: doubt.path.to_string(),
            key: doubt.key,
            why: doubt.why.to_owned(),
            title: doubt.title.clone(),
        });
        conflicts.chain(missing).chain(doubts).collect()
    }

    /// Whether a check found something that must be decided before anything is spent.
    pub(crate) fn differs(&self) -> bool {
        !self.conflicts.is_empty() || !self.missing().is_empty()
    }

    /// Whether somebody has to decide something before the run can end.
    pub(crate) fn undecided(&self) -> bool {
        self.differs() || !self.doubts.is_empty()
    }

    fn pattern(&self, step: StepNo) -> StepPath {
        if let Some((pattern, _)) = self.state.steps.get(step.0 as usize) {
            return pattern.clone();
        }
        self.programs.fresh(step).cloned().unwrap_or_default()
    }

    /// The records that carry out what was decided since the run parked, as far as it answers today's differences.
    pub(crate) fn apply_decisions(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for made in &self.state.decisions {
            self.apply_decision(made, &mut records);
        }
        records
    }

    fn apply_decision(&self, made: &DecisionMade, records: &mut Vec<Record>) {
        let mut by_step: BTreeMap<StepNo, Vec<&Conflict>> = BTreeMap::new();
        for conflict in &self.conflicts {
            by_step.entry(conflict.at.step).or_default().push(conflict);
        }
        let cause = |kind, at| {
            let event = Event::Caused(Caused { kind, by: made.by.clone(), why: made.why.clone() });
            Record::new(at, 0, Digest::ZERO, Digest::ZERO, &event)
        };
        for conflicts in by_step.values().filter(|conflicts| difference(conflicts) == made.about) {
            for conflict in conflicts {
                records.push(match made.decision {
                    Decision::Rerun => cause(CauseKind::Rerun, conflict.at),
                    Decision::Keep => Record::new(
                        conflict.at,
                        0,
                        conflict.print,
                        Digest::ZERO,
                        &Event::Accepted(Accepted {}),
                    ),
                    _ => continue,
                });
            }
        }
        for step in self.missing().keys().filter(|step| dropped(&self.pattern(**step)) == made.about) {
            if made.decision == Decision::Drop {
                let at = Address { place: Place::ROOT, step: *step };
                let event = Event::Dropped(Dropped {});
                records.push(Record::new(at, 0, Digest::ZERO, Digest::ZERO, &event));
            }
        }
        for doubt in self.doubts.iter().filter(|doubt| doubt.key == made.about) {
            if made.decision == Decision::Retry {
                records.push(cause(CauseKind::InDoubt, doubt.at));
            }
        }
    }
}

/// The id of a difference: which copies differ, and what they are today. If the plan changes again, so does it.
fn difference(conflicts: &[&Conflict]) -> Digest {
    let mut parts: Vec<_> = conflicts.iter().map(|conflict| (conflict.at, conflict.print)).collect();
    parts.sort_unstable();
    let mut writer = DigestWriter::new("hermes difference");
    for (at, print) in parts {
        writer.u64(at.place.scope.0.into());
        writer.u64(at.place.ordinal.into());
        writer.u64(at.step.0.into());
        writer.digest(&print);
    }
    writer.finish()
}

fn dropped(pattern: &StepPath) -> Digest {
    let mut writer = DigestWriter::new("hermes dropped step");
    writer.text(&pattern.to_string());
    writer.finish()
}
