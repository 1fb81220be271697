//! The values that recorded requests name by their digests, found again: among what the walk has at hand, in recorded
//! outcomes, inside of them, and in the lists that fan-outs made of them. What is not found is never guessed.

use super::{Change, asked::named_values};
use crate::{
    drive::Foreseen,
    error::DriveError,
    ledger::stored_value,
    walk::{Conflict, Today},
};
use hermes_core::{
    compare::json_changes,
    digest::Digest,
    fold::{Cell, CellStatus, Scope},
    ids::Seq,
    journal::Event,
    request::Field,
    value::Val,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most bytes of recorded values that are searched for what is inside of them.
const SEARCHED: usize = 32 * 1024 * 1024;
/// How deep a value is searched.
const DEEPEST: usize = 8;

/// Reads a blob of the ledger.
pub(super) type Blob<'a> = dyn Fn(&Digest) -> Result<Option<Vec<u8>>, DriveError> + 'a;

/// Old values by their digests.
pub(super) struct OldValues {
    found: BTreeMap<Digest, Value>,
    /// Whether all there is was searched.
    whole: bool,
}

/// A value as JSON.
pub(super) fn json(value: &Val) -> Result<Value, DriveError> {
    value.json().map_err(|error| DriveError::Broken(error.to_string()))
}

impl OldValues {
    pub(super) fn get(&self, digest: &Digest) -> Option<&Value> {
        self.found.get(digest)
    }

    /// How the value with this digest differs from today's.
    pub(super) fn value(&self, old: &Digest, new: Option<&Val>) -> Result<Change, DriveError> {
        let new = new.map(json).transpose()?;
        Ok(match (self.get(old), new) {
            (Some(old), Some(new)) => Change::Json { changes: json_changes(old, &new) },
            (Some(old), None) => Change::Plain { old: Some(old.clone()), new: None },
            (None, new) => {
                let mut why = "it is not among the recorded values: a closure made it, \
                    or it was a long constant, or it is from another run"
                    .to_owned();
                if !self.whole {
                    why.push_str(
                        "; or it is a part of a value, and there are too many of these to search all",
                    );
                }
                Change::OldUnknown { old: *old, new, why }
            }
        })
    }

    /// Looks for what the conflicts need.
    pub(super) fn of(
        foreseen: &Foreseen,
        conflicts: &[&Conflict],
        blob: &Blob<'_>,
    ) -> Result<Self, DriveError> {
        let mut search = Search { foreseen, wanted: BTreeSet::new(), found: BTreeMap::new(), left: SEARCHED };
        for conflict in conflicts {
            search.want(conflict, blob)?;
        }
        search.at_hand()?;
        search.in_cells()?;
        search.in_constants()?;
        search.in_journal()?;
        Ok(Self { found: search.found, whole: search.left > 0 })
    }
}

struct Search<'a> {
    foreseen: &'a Foreseen,
    wanted: BTreeSet<Digest>,
    found: BTreeMap<Digest, Value>,
    /// How many bytes may still be searched.
    left: usize,
}

impl Search<'_> {
    /// Notes what a conflict needs, but for what stands beside its question.
    fn want(&mut self, conflict: &Conflict, blob: &Blob<'_>) -> Result<(), DriveError> {
        let walk = &self.foreseen.walk;
        if conflict.changed_input() {
            self.wanted.insert(walk.state().input);
        }
        let Some(cell) = walk.state().cell(conflict.at) else { return Ok(()) };
        match walk.today().get(&conflict.at) {
            Some(Today::Decided { from: Some(from), .. }) if from.digest() != cell.fingerprint => {
                self.wanted.insert(cell.fingerprint);
            }
            Some(Today::Asked { request, .. }) => {
                let stored = walk.stored_request(cell.request).map_err(DriveError::Broken)?;
                let Some(stored) = stored else { return Ok(()) };
                let today = named_values(request);
                let differs = |(field, digest): &(Field, Digest)| today.get(field) != Some(digest);
                self.wanted
                    .extend(named_values(&stored).into_iter().filter(differs).map(|(_, digest)| digest));
                self.beside_question(cell, blob)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// What a question showed is stored beside it.
    fn beside_question(&mut self, cell: &Cell, blob: &Blob<'_>) -> Result<(), DriveError> {
        let record = self.foreseen.journal.record(cell.request).map_err(DriveError::Broken)?;
        let Event::Asked(asked) = record.event().map_err(|error| DriveError::Broken(error.to_string()))?
        else {
            return Ok(());
        };
        for address in asked.shown.iter().map(|(_, address)| address).chain(&asked.choices) {
            let Some(text) = blob(address)?.and_then(|bytes| String::from_utf8(bytes).ok()) else { continue };
            if let Ok(value) = Val::from_text(&text) {
                self.offer(&value)?;
            }
        }
        Ok(())
    }

    fn offer(&mut self, value: &Val) -> Result<(), DriveError> {
        let digest = value.digest();
        if self.wanted.remove(&digest) {
            self.found.insert(digest, json(value)?);
        }
        Ok(())
    }

    fn at_hand(&mut self) -> Result<(), DriveError> {
        let foreseen = self.foreseen;
        foreseen.walk.values_at_hand().try_for_each(|value| self.offer(value))
    }

    /// The outcomes that count, the run's input, and the lists that fan-outs made.
    fn in_cells(&mut self) -> Result<(), DriveError> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        let state = self.foreseen.walk.state();
        let input = self.stored(state.input, state.input_at);
        self.offer(&input)?;
        for (_, cell) in state.cells() {
            if let Some(value) = self.output(cell) {
                self.offer(&value)?;
                // What a loop goes on or ends with.
                self.offer(&Val::variant("Again", value.clone()))?;
                self.offer(&Val::variant("Done", value))?;
            }
        }
        for scope in &state.scopes {
            self.in_scope(scope)?;
        }
        Ok(())
    }

    /// The constants of the plan, as they were.
    fn in_constants(&mut self) -> Result<(), DriveError> {
        let state = self.foreseen.walk.state();
        let known = self.wanted.iter().filter_map(|digest| state.constants.get(digest));
        for seq in known.copied().collect::<BTreeSet<_>>() {
            let record = self.foreseen.journal.record(seq).map_err(DriveError::Broken)?;
            let broken = |error: &dyn std::fmt::Display| DriveError::Broken(error.to_string());
            let Event::Named(named) = record.event().map_err(|error| broken(&error))? else { continue };
            for kept in named.constants {
                self.offer(&Val::from_text(kept.value.get()).map_err(|error| broken(&error))?)?;
            }
        }
        Ok(())
    }

    fn stored(&self, digest: Digest, at: Seq) -> Val {
        Val::stored(digest, self.foreseen.journal.fetch(), at.0)
    }

    fn output(&self, cell: &Cell) -> Option<Val> {
        let has_value = matches!(cell.status, CellStatus::Succeeded | CellStatus::Answered);
        has_value.then(|| self.stored(cell.output, cell.outcome))
    }

    /// The list of what one step yielded for each item.
    fn in_scope(&mut self, scope: &Scope) -> Result<(), DriveError> {
        let Some(first) = scope.order.first() else { return Ok(()) };
        let steps = scope.cells.range((*first, hermes_core::ids::StepNo(0))..);
        let steps: Vec<_> = steps
            .map(|((ordinal, step), _)| (ordinal, *step))
            .take_while(|(ordinal, _)| *ordinal == first)
            .collect();
        for (_, step) in steps {
            let outputs = scope.order.iter().map(|ordinal| self.output(scope.cells.get(&(*ordinal, step))?));
            if let Some(outputs) = outputs.collect::<Option<Vec<_>>>() {
                self.offer(&Val::list(outputs))?;
            }
        }
        Ok(())
    }

    /// Earlier outcomes and inputs, and what is inside of values.
    fn in_journal(&mut self) -> Result<(), DriveError> {
        for seq in 1..=self.foreseen.records {
            if self.wanted.is_empty() {
                return Ok(());
            }
            let record = self.foreseen.journal.record(Seq(seq)).map_err(DriveError::Broken)?;
            let Ok(Some(text)) = stored_value(&record) else { continue };
            let whole = self.wanted.contains(&record.header.output);
            if !whole && text.len() > self.left {
                self.left = 0;
                continue;
            }
            let broken = |error: serde_json::Error| DriveError::Broken(error.to_string());
            let value: Value = serde_json::from_str(text).map_err(broken)?;
            if whole {
                self.offer(&Val::from_json(value.clone()))?;
            }
            self.left = self.left.saturating_sub(text.len());
            self.inside(&value, DEEPEST)?;
        }
        Ok(())
    }

    fn inside(&mut self, value: &Value, depth: usize) -> Result<(), DriveError> {
        if depth == 0 {
            return Ok(());
        }
        let parts: Vec<&Value> = match value {
            Value::Array(list) => list.iter().collect(),
            Value::Object(fields) => fields.values().collect(),
            _ => Vec::new(),
        };
        for part in parts {
            self.offer(&Val::from_json(part.clone()))?;
            self.inside(part, depth - 1)?;
        }
        Ok(())
    }
}
