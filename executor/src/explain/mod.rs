//! Why finished steps conflict: field by field, what was recorded and what is there today. Nothing is written for it.

mod asked;
mod decided;
mod draw;
mod lines;
mod old_values;

use crate::{
    drive::Foreseen,
    error::DriveError,
    walk::{Conflict, Today},
};
use hermes_core::{
    compare::{JsonChange, ListChange, SchemaChange, TextChange},
    digest::Digest,
    ids::RunId,
    request::Field,
};
use old_values::{Blob, OldValues};
use serde::Serialize;
use serde_json::Value;

/// The difference of one field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "form", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// A text of several lines: a prompt, a script, a standard input.
    Text {
        /// What differs, as a unified diff.
        diff: TextChange,
        /// What a prompt was made from; `None` for other texts.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<PromptSource>,
    },
    /// A value: an input of a step, the input of the run.
    Json {
        /// What differs, by its place in the value.
        changes: Vec<JsonChange>,
    },
    /// A value whose old form cannot be shown.
    OldUnknown {
        /// The digest of the old value.
        old: Digest,
        /// The new value; `None` where there is none any more.
        new: Option<Value>,
        /// Why it cannot be shown.
        why: String,
    },
    /// The items of a fan-out, of which only the digests are kept.
    Items {
        /// The keys of items that are new.
        added: Vec<String>,
        /// The keys of items that are gone.
        removed: Vec<String>,
        /// The keys of items that are other values.
        changed: Vec<String>,
    },
    /// The schema of what a step yields.
    Schema {
        /// What differs, by its place in a value.
        changes: Vec<SchemaChange>,
    },
    /// A list of names: tools, skills, choices, arguments, keys.
    List(ListChange),
    /// The content of a file or a template's source, by its hash; `None` where there was, or is, no such file.
    Hash {
        /// The hash that is recorded.
        old: Option<Digest>,
        /// Today's.
        new: Option<Digest>,
    },
    /// The members that a quorum chose: those of today are not chosen yet.
    Members {
        /// The keys of the items that were chosen.
        old: Vec<String>,
    },
    /// A difference that has no old and new to show: a `then` built the same steps from other ones.
    Said {
        /// What differs, in words.
        what: String,
    },
    /// A word or a number: a model, a version, an arm.
    Plain {
        /// What is recorded; `None` where it was not set.
        old: Option<Value>,
        /// What it is today; `None` where it is not set.
        new: Option<Value>,
    },
}

/// What made a prompt differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptSource {
    /// The id of the template it is rendered from today, or was where it no longer is; `None` for a prompt that stands in the
    /// plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Whether the source of the template differs.
    pub source_changed: bool,
    /// The named inputs of the step that differ.
    pub inputs_changed: Vec<String>,
}

/// One field that differs, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// The field.
    pub field: Field,
    /// How it differs.
    pub change: Change,
}

/// Why one concrete step conflicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Its path.
    pub path: String,
    /// The step of the plan: its path with `[*]` for any key. Empty where the run's input differs.
    pub step: String,
    /// What it is, e.g. `agent`.
    pub kind: String,
    /// What differs. Empty only where the journal does not have what the step was asked.
    pub changes: Vec<FieldChange>,
    /// Why what is stored cannot be kept, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
}

/// Why the finished steps of a run conflict with today's plan, or with another input. Its `Display` is for people: long
/// texts are cut there, and it says how much was left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The form of its JSON: 1. Fields may be added.
    pub format: u32,
    /// The run.
    pub run: RunId,
    /// The plan's name.
    pub plan: String,
    /// The conflicting steps by path: up to 1000, those that the check met first.
    pub steps: Vec<Explanation>,
    /// How many more steps conflict.
    pub left_out: u64,
}

impl Explained {
    /// As JSON, format 1: the fields of this type. Nothing is cut in it.
    ///
    /// # Errors
    /// None that is known: all of it is text and numbers.
    pub fn to_json(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }

    pub(crate) fn of(run: &RunId, foreseen: &Foreseen, blob: &Blob<'_>) -> Result<Self, DriveError> {
        let walk = &foreseen.walk;
        let kept = |conflict: &&Conflict| conflict.changed_input() || walk.today().contains_key(&conflict.at);
        let conflicts: Vec<&Conflict> = walk.conflicts().iter().filter(kept).collect();
        let old = OldValues::of(foreseen, &conflicts, blob)?;
        let mut steps = Vec::with_capacity(conflicts.len());
        for conflict in &conflicts {
            steps.push(explanation(foreseen, conflict, &old)?);
        }
        steps.sort_by(|one, other| one.path.cmp(&other.path));
        let left_out = (walk.conflicts().len() - conflicts.len()) as u64;
        let plan = walk.plan().graph.name().to_owned();
        Ok(Self { format: 1, run: run.clone(), plan, steps, left_out })
    }
}

fn explanation(foreseen: &Foreseen, conflict: &Conflict, old: &OldValues) -> Result<Explanation, DriveError> {
    let walk = &foreseen.walk;
    let at = conflict.at;
    let changes = match (walk.today().get(&at), walk.state().cell(at)) {
        (Some(Today::Asked { request, schema, values, choices }), Some(cell)) => {
            let stored = walk.stored_request(cell.request).map_err(DriveError::Broken)?;
            let today = asked::Side { request, schema, values, choices: choices.as_ref() };
            match stored {
                Some(stored) => asked::changes(&stored, &today, foreseen, old)?,
                None => Vec::new(),
            }
        }
        (Some(Today::Decided { from, decision }), Some(cell)) => {
            decided::changes(foreseen, conflict, cell, (from.as_ref(), decision), old)?
        }
        _ => match walk.other_input().filter(|_| conflict.changed_input()) {
            Some(input) => vec![FieldChange {
                field: Field::RunInput,
                change: old.value(&walk.state().input, Some(input))?,
            }],
            None => Vec::new(),
        },
    };
    let recorded_kind = || walk.state().steps.get(at.step.0 as usize).map(|(_, kind)| kind.clone());
    let kind = walk.node_at(at).map(|node| node.kind.word().to_owned()).or_else(recorded_kind);
    Ok(Explanation {
        path: conflict.path.to_string(),
        step: walk.pattern(at.step).to_string(),
        kind: kind.unwrap_or_default(),
        changes,
        not_kept: conflict.not_kept.clone(),
    })
}
