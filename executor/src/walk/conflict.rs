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
    ids::{Address, StepNo},
    journal::Group,
    path::{Mark, Segment, StepPath},
    request::Field,
    value::Val,
};
use hermes_plan::graph::{Kind, Node};
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

impl Conflict {
    /// Whether it is about the input of the run.
    pub(crate) fn changed_input(&self) -> bool {
        self.at == ROOT
    }
}

/// A call whose end a person has to settle.
#[derive(Clone, Debug)]
pub(crate) struct Doubtful {
    pub(crate) at: Address,
    pub(crate) path: StepPath,
    pub(crate) key: Digest,
    pub(crate) why: &'static str,
    /// Today's fingerprint: what an output given by hand answers.
    pub(crate) print: Digest,
    pub(crate) title: Option<String>,
}

/// What is stored beside records, by the digest of its bytes.
#[derive(Default)]
struct Blobs(Vec<Vec<u8>>);

impl Blobs {
    fn add(&mut self, text: String) -> Digest {
        let bytes = text.into_bytes();
        let address = Digest::of_bytes(&bytes);
        self.0.push(bytes);
        address
    }
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
    pub(crate) fn check_input(&mut self, input: &Val) {
        let given = input.digest();
        let known = self.state.cell(ROOT).is_none_or(|cell| cell.answers(&given));
        if !known {
            let changed = Changed {
                field: Field::RunInput,
                old: Some(self.state.input.short()),
                new: Some(given.short()),
            };
            let path = StepPath::new(vec![Segment { name: "input".to_owned(), mark: Mark::Plain }]);
            self.other_input = Some(input.clone());
            self.conflict(Conflict { at: ROOT, path, print: given, changed: vec![changed], not_kept: None });
        }
    }

    /// Whether what is stored of a call can be kept: it validates and decodes today.
    pub(super) fn not_kept(&self, at: At, cell: &Cell) -> Result<(), String> {
        let value = Val::stored(cell.output, Arc::clone(&self.fetch), cell.outcome.0);
        unfit(self.node(at.node), &value).map_err(|why| format!("what is stored {why}"))
    }

    /// Finished plan steps that today's plan lacks and nobody has dropped yet, with the number of their copies.
    pub(crate) fn missing(&self) -> BTreeMap<StepNo, u64> {
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

    /// The conflicts by plan step.
    pub(super) fn conflicts_by_step(&self) -> BTreeMap<StepNo, Vec<&Conflict>> {
        let mut by_step: BTreeMap<StepNo, Vec<&Conflict>> = BTreeMap::new();
        for conflict in &self.conflicts {
            by_step.entry(conflict.at.step).or_default().push(conflict);
        }
        by_step
    }

    /// Everything to decide, grouped by plan step, and the blobs that it names.
    pub(crate) fn groups(&self) -> (Vec<Group>, Vec<Vec<u8>>) {
        let mut blobs = Blobs::default();
        let mut groups = Vec::new();
        for (step, conflicts) in self.conflicts_by_step() {
            let mut fields: Vec<Changed> = Vec::new();
            for changed in conflicts.iter().flat_map(|conflict| &conflict.changed) {
                if !fields.iter().any(|known| known.field == changed.field) {
                    fields.push(changed.clone());
                }
            }
            let schema = match conflicts.as_slice() {
                [_] => self.output_schema(step).map(|schema| blobs.add(schema)),
                _ => None,
            };
            let input = self.other_input.as_ref().filter(|_| step == ROOT.step);
            let input = input.and_then(|input| input.text().ok()).map(|text| blobs.add(text.to_string()));
            groups.push(Group::Conflict {
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
                schema,
                input,
                title: match conflicts.as_slice() {
                    [one] => self.title_at(one.at),
                    _ => None,
                },
            });
        }
        groups.extend(self.missing().into_iter().map(|(step, count)| Group::Dropped {
            step,
            path: self.pattern(step).to_string(),
            difference: dropped(&self.pattern(step)),
            count,
            proposed: self.proposed_for(step),
        }));
        groups.extend(self.doubts.iter().map(|doubt| Group::InDoubt {
            at: doubt.at,
            path: doubt.path.to_string(),
            key: doubt.key,
            why: doubt.why.to_owned(),
            schema: self.output_schema(doubt.at.step).map(|schema| blobs.add(schema)),
            title: doubt.title.clone(),
        }));
        groups.extend(self.budget_groups());
        (groups, blobs.0)
    }

    /// The schema of what a call yields, as text; `None` of what makes no call.
    fn output_schema(&self, step: StepNo) -> Option<String> {
        let node = self.programs.node_of(step)?;
        let calls = matches!(node.kind, Kind::Agent(_) | Kind::Step(_) | Kind::Command(_));
        calls.then(|| node.schema.text().to_owned())
    }

    /// Whether a check found something that must be decided before anything is spent.
    pub(crate) fn differs(&self) -> bool {
        !self.conflicts.is_empty() || !self.missing().is_empty()
    }

    /// Whether somebody has to decide something before the run can end.
    pub(crate) fn undecided(&self) -> bool {
        self.differs() || !self.doubts.is_empty() || self.short_of_budget()
    }

    pub(crate) fn pattern(&self, step: StepNo) -> StepPath {
        if let Some((pattern, _)) = self.state.steps.get(step.0 as usize) {
            return pattern.clone();
        }
        self.programs.fresh(step).cloned().unwrap_or_default()
    }
}

/// Whether a value can be the output of a call: it validates and decodes today.
pub(crate) fn unfit(node: &Node, value: &Val) -> Result<(), String> {
    let check = match &node.kind {
        Kind::Agent(agent) => &agent.check,
        Kind::Step(step) => &step.check,
        Kind::Command(command) => &command.check,
        Kind::Files(files) => &files.check,
        Kind::Ask(ask) => &ask.check,
        _ => return Ok(()),
    };
    let json = value.json().map_err(|error| error.to_string())?;
    if let Err(violations) = node.schema.validate(&json) {
        let first = violations.first().map(ToString::to_string).unwrap_or_default();
        return Err(format!("is not valid for today's type: {first}"));
    }
    guarded(node.at, || check(std::slice::from_ref(value)))
        .map(drop)
        .map_err(|failure| format!("does not decode as today's type: {}", failure.message))
}

/// The id of a difference: which copies differ, and what they are today. If the plan changes again, so does it.
pub(super) fn difference(conflicts: &[&Conflict]) -> Digest {
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

pub(super) fn dropped(pattern: &StepPath) -> Digest {
    let mut writer = DigestWriter::new("hermes dropped step");
    writer.text(&pattern.to_string());
    writer.finish()
}
