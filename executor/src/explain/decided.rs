//! How a decision differs from the recorded one: the value it was made from, and what was decided.

use super::{Change, FieldChange, old_values::OldValues};
use crate::{
    drive::Foreseen,
    error::DriveError,
    walk::{Conflict, Decided},
};
use hermes_core::{
    compare::list_change,
    digest::Digest,
    fold::{Cell, Scope},
    journal::{Event, Structure},
    request::Field,
    value::Val,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// What differs of a decision. Where the value that it was made from differs, so may the decision: both are told.
pub(super) fn changes(
    foreseen: &Foreseen,
    conflict: &Conflict,
    cell: &Cell,
    (from, decision): (Option<&Val>, &Decided),
    old: &OldValues,
) -> Result<Vec<FieldChange>, DriveError> {
    let mut changes = Vec::new();
    let named = conflict.changed.first().map(|changed| changed.field.clone());
    if let (Some(field @ Field::Input(_)), Some(from)) = (named, from) {
        let change = match (old.value(&cell.fingerprint, Some(from))?, decision) {
            (unknown @ Change::OldUnknown { .. }, Decided::Keys(keys, items)) => foreseen
                .walk
                .state()
                .scope(conflict.at)
                .map_or(unknown, |(_, scope)| items_change(scope, keys, items)),
            (change, _) => change,
        };
        changes.push(FieldChange { field, change });
    }
    let decided = match decision {
        Decided::Word(new) => {
            let word = |text: &str| Value::from(text.strip_prefix("arm ").unwrap_or(text));
            let field = if matches!(new.as_str(), "again" | "done") { Field::Flow } else { Field::Arm };
            let old = recorded(foreseen, cell)?;
            let same = old.as_ref() == Some(new);
            let change = Change::Plain { old: old.map(|old| word(&old)), new: Some(word(new)) };
            (!same).then_some(FieldChange { field, change })
        }
        Decided::Structure(new) => {
            let stored = recorded(foreseen, cell)?;
            let stored: Structure = match stored.map(|text| serde_json::from_str(&text)) {
                Some(Ok(stored)) => stored,
                _ => Structure::default(),
            };
            let change = list_change(&steps_of(&stored), &steps_of(new));
            let differs = stored != *new || changes.is_empty();
            let change = if stored == *new {
                // Which steps there are is the same: what they are made from is not.
                Change::Said { what: "the same steps, made from other ones".to_owned() }
            } else {
                Change::List(change)
            };
            differs.then_some(FieldChange { field: Field::Structure, change })
        }
        Decided::Keys(keys, _) => {
            let stored = foreseen.walk.state().scope(conflict.at).map(|(_, scope)| keys_of(scope));
            let stored = stored.unwrap_or_default();
            let change = if stored == *keys && changes.is_empty() {
                // Items that need each other are frozen with what they need.
                Some(Change::Said { what: "the same keys, and other needs of items".to_owned() })
            } else {
                (stored != *keys).then(|| Change::List(list_change(&stored, keys)))
            };
            change.map(|change| FieldChange { field: Field::Keys, change })
        }
        Decided::Members => {
            let members = recorded(foreseen, cell)?;
            let members: Vec<u32> =
                members.and_then(|members| serde_json::from_str(&members).ok()).unwrap_or_default();
            let scope = foreseen.walk.state().scopes.get(conflict.at.place.scope.0 as usize);
            let keys = scope.map(keys_of).unwrap_or_default();
            let key = |index: &u32| keys.get(*index as usize).cloned().unwrap_or_else(|| index.to_string());
            let old = members.iter().map(key).collect();
            Some(FieldChange { field: Field::Members, change: Change::Members { old } })
        }
    };
    changes.extend(decided);
    Ok(changes)
}

/// The recorded decision, where it is one in words.
fn recorded(foreseen: &Foreseen, cell: &Cell) -> Result<Option<String>, DriveError> {
    let record = foreseen.journal.record(cell.outcome).map_err(DriveError::Broken)?;
    match record.event().map_err(|error| DriveError::Broken(error.to_string()))? {
        Event::Decided(decided) => Ok(Some(decided.decision)),
        _ => Ok(None),
    }
}

fn steps_of(structure: &Structure) -> Vec<String> {
    let line =
        |step: &hermes_core::journal::PlannedStep| format!("{}: {} -> {}", step.path, step.kind, step.yields);
    structure.steps.iter().map(line).collect()
}

fn keys_of(scope: &Scope) -> Vec<String> {
    scope.order.iter().map(|ordinal| scope.keys.get(*ordinal).unwrap_or_default()).collect()
}

/// Which items are new, gone or other values.
fn items_change(scope: &Scope, keys: &[String], items: &[Digest]) -> Change {
    let before: BTreeMap<String, Digest> =
        keys_of(scope).into_iter().zip(scope.items.iter().copied()).collect();
    let after: BTreeMap<&String, Digest> = keys.iter().zip(items.iter().copied()).collect();
    let mut added = Vec::new();
    let mut changed = Vec::new();
    for (key, item) in keys.iter().zip(items) {
        match before.get(key) {
            None => added.push(key.clone()),
            Some(old) if old != item => changed.push(key.clone()),
            Some(_) => {}
        }
    }
    let removed = keys_of(scope).into_iter().filter(|key| !after.contains_key(key)).collect();
    Change::Items { added, removed, changed }
}
