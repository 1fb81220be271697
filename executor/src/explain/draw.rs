//! Explanations as text for people. Long lists and lines are cut, and it is said how much was left out.

use super::{
    Change, Explained, Explanation, FieldChange, PromptSource,
    lines::{diff_lines, line},
};
use hermes_core::digest::Digest;
use serde_json::Value;
use std::fmt;

/// Steps shown.
const STEPS: usize = 20;
/// Lines shown of one field.
const LINES: usize = 60;

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.steps.len() as u64 + self.left_out;
        match count {
            0 => return write!(f, "no step of run {} conflicts with plan {}", self.run, self.plan),
            1 => write!(f, "1 step of run {} conflicts with plan {}", self.run, self.plan)?,
            _ => write!(f, "{count} steps of run {} conflict with plan {}", self.run, self.plan)?,
        }
        for step in self.steps.iter().take(STEPS) {
            write!(f, "\n\n{step}")?;
        }
        match count.saturating_sub(STEPS as u64) {
            0 => Ok(()),
            more => write!(f, "\n\nand {more} more"),
        }
    }
}

impl fmt::Display for Explanation {
    /// A line for the step, and below it its fields.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", line(&self.path), self.kind)?;
        if self.changes.is_empty() {
            f.write_str("\n  what it was asked is not recorded")?;
        }
        for changed in &self.changes {
            for line in changed.to_string().lines() {
                write!(f, "\n  {line}")?;
            }
        }
        match &self.not_kept {
            Some(why) => write!(f, "\n  it cannot be kept: {}", line(why)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.field, self.change)
    }
}

impl fmt::Display for Change {
    /// Begins with a blank where it goes on in the same line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { diff, source } => {
                write!(f, " {} added, {} removed", counted(diff.added, "line"), diff.removed)?;
                if let Some(source) = source {
                    write!(f, "{source}")?;
                }
                below(f, diff_lines(&diff.unified).into_iter())
            }
            Self::Json { changes } if changes.is_empty() => f.write_str(" written in another way"),
            Self::Json { changes } => below(f, changes.iter().map(|change| line(&change.to_string()))),
            Self::Schema { changes } => below(f, changes.iter().map(|change| line(&change.to_string()))),
            Self::OldUnknown { old, new, why } => {
                let new = new.as_ref().map_or_else(|| "none".to_owned(), shown);
                write!(f, " {} → {new}\n  the old value cannot be shown: {why}", old.short())
            }
            Self::Items { added, removed, changed } => {
                let all = [("added", added), ("removed", removed), ("changed", changed)];
                let all = all.into_iter().filter(|(_, keys)| !keys.is_empty());
                below(f, all.map(|(word, keys)| line(&format!("items {word}: {}", keys.join(", ")))))
            }
            Self::List(change) => write!(f, " {}", line(&change.to_string())),
            Self::Hash { old, new } => write!(f, " {} → {}", hash(*old), hash(*new)),
            Self::Members { old } => {
                write!(f, " {} were chosen; today's are chosen anew", line(&old.join(", ")))
            }
            Self::Said { what } => write!(f, " {}", line(what)),
            Self::Plain { old, new } => {
                let said = |value: &Option<Value>| value.as_ref().map_or_else(|| "unset".to_owned(), shown);
                write!(f, " {} → {}", said(old), said(new))
            }
        }
    }
}

impl fmt::Display for PromptSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons = Vec::new();
        if let Some(id) = self.template.as_ref().filter(|_| self.source_changed) {
            reasons.push(format!("template `{id}` was changed"));
        }
        reasons.extend(self.inputs_changed.iter().map(|name| format!("input `{name}` differs")));
        match (&self.template, reasons.is_empty()) {
            (Some(id), true) => {
                write!(f, "; neither template `{id}` nor an input differs: it renders differently")
            }
            (None, true) => Ok(()),
            (_, false) => write!(f, "; {}", reasons.join(", ")),
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn hash(hash: Option<Digest>) -> String {
    hash.map_or_else(|| "no file".to_owned(), |hash| hash.short())
}

fn shown(value: &Value) -> String {
    line(&value.to_string())
}

/// Lines below a field, as many as are shown.
fn below(f: &mut fmt::Formatter<'_>, lines: impl Iterator<Item = String>) -> fmt::Result {
    let mut left_out = 0;
    for (index, line) in lines.enumerate() {
        if index < LINES {
            write!(f, "\n  {line}")?;
        } else {
            left_out += 1;
        }
    }
    match left_out {
        0 => Ok(()),
        1 => f.write_str("\n  … and 1 more line"),
        more => write!(f, "\n  … and {more} more lines"),
    }
}
