//! How one JSON value differs from another, place by place.

use super::text::printable;
use crate::value::write_field;
use serde::Serialize;
use serde_json::Value;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::{collections::BTreeSet, fmt};

/// Lists with more elements than this, both together, are compared position by position.
const ALIGNED: usize = 4000;
/// The most characters of a value in a line of text.
const SHOWN: usize = 200;

/// One difference of two JSON values. Places are written as `.sections[3].score`; `.` is the value itself. An element
/// that is new, or differs, stands where the new list has it; one that is gone, where the old list had it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum JsonChange {
    /// Something is there that was not.
    Added {
        /// Where.
        path: String,
        /// What.
        new: Value,
    },
    /// Something is not there any more.
    Removed {
        /// Where it was.
        path: String,
        /// What it was.
        old: Value,
    },
    /// Something is another value.
    Changed {
        /// Where.
        path: String,
        /// What it was.
        old: Value,
        /// What it is.
        new: Value,
    },
}

impl JsonChange {
    /// Where it is.
    pub fn path(&self) -> &str {
        match self {
            Self::Added { path, .. } | Self::Removed { path, .. } | Self::Changed { path, .. } => path,
        }
    }
}

impl fmt::Display for JsonChange {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { path, new } => write!(f, "{path}: added {}", short(new)),
            Self::Removed { path, old } => write!(f, "{path}: removed {}", short(old)),
            Self::Changed { path, old, new } => write!(f, "{path}: {} → {}", short(old), short(new)),
        }
    }
}

fn short(value: &Value) -> String {
    let text = printable(&value.to_string());
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}… and {} more characters", &text[..at], text[at..].chars().count()),
        None => text,
    }
}

/// Compares two JSON values. Numbers are the same where they are written the same: 1 and 1.0 differ.
///
/// ```
/// use hermes_core::compare::json_changes;
/// use serde_json::json;
///
/// let changes = json_changes(&json!({"title": "Old", "tags": ["a"]}), &json!({"title": "New", "tags": ["a", "b"]}));
/// let lines: Vec<_> = changes.iter().map(ToString::to_string).collect();
/// assert_eq!(lines, [r#".tags[1]: added "b""#, r#".title: "Old" → "New""#]);
/// ```
pub fn json_changes(old: &Value, new: &Value) -> Vec<JsonChange> {
    let mut found = Vec::new();
    compare(old, new, "", &mut found);
    found
}

fn compare(old: &Value, new: &Value, path: &str, found: &mut Vec<JsonChange>) {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for name in names {
                let mut path = path.to_owned();
                // Writing to a String cannot fail.
                let _ = write_field(&mut path, name);
                pair(before.get(name), after.get(name), &path, found);
            }
        }
        (Value::Array(before), Value::Array(after)) => lists(before, after, path, found),
        _ if same(old, new) => {}
        _ => {
            found.push(JsonChange::Changed { path: shown(path), old: old.clone(), new: new.clone() });
        }
    }
}

fn pair(old: Option<&Value>, new: Option<&Value>, path: &str, found: &mut Vec<JsonChange>) {
    match (old, new) {
        (Some(old), Some(new)) => compare(old, new, path, found),
        (Some(old), None) => found.push(JsonChange::Removed { path: shown(path), old: old.clone() }),
        (None, Some(new)) => found.push(JsonChange::Added { path: shown(path), new: new.clone() }),
        (None, None) => {}
    }
}

fn lists(before: &[Value], after: &[Value], path: &str, found: &mut Vec<JsonChange>) {
    let at = |index: usize| {
        let dot = if path.is_empty() { "." } else { "" };
        format!("{path}{dot}[{index}]")
    };
    let mut between = |old: std::ops::Range<usize>, new: std::ops::Range<usize>| {
        let both = old.len().min(new.len());
        for (old, new) in old.clone().zip(new.clone()) {
            compare(&before[old], &after[new], &at(new), found);
        }
        for index in old.skip(both) {
            found.push(JsonChange::Removed { path: at(index), old: before[index].clone() });
        }
        for index in new.skip(both) {
            found.push(JsonChange::Added { path: at(index), new: after[index].clone() });
        }
    };
    if before.len() + after.len() > ALIGNED {
        return between(0..before.len(), 0..after.len());
    }
    let texts = |list: &[Value]| list.iter().map(Value::to_string).collect::<Vec<_>>();
    for op in capture_diff_slices(Algorithm::Myers, &texts(before), &texts(after)) {
        match op {
            DiffOp::Equal { .. } => {}
            op => between(op.old_range(), op.new_range()),
        }
    }
}

/// Whether two values that are not both lists or both objects are the same.
fn same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        // Minus zero is another number than zero.
        (Value::Number(old), Value::Number(new)) => old.to_string() == new.to_string(),
        _ => old == new,
    }
}

fn shown(path: &str) -> String {
    if path.is_empty() { ".".to_owned() } else { path.to_owned() }
}
