//! How today's request differs from the recorded one, field by field.

use super::{Change, FieldChange, PromptSource, old_values::OldValues};
use crate::{drive::Foreseen, error::DriveError};
use hermes_core::{
    compare::{list_change, schema_changes, text_change},
    digest::Digest,
    fingerprint::difference,
    journal::Event,
    request::{Field, FieldRef, Part, Request, TemplateUse},
    schema::Schema,
    value::Val,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Today's request, with what its digests stand for.
pub(super) struct Side<'a> {
    pub(super) request: &'a Request,
    pub(super) schema: &'a Schema,
    pub(super) values: &'a [(String, Val)],
    pub(super) choices: Option<&'a Val>,
}

type Parts<'a> = Vec<(FieldRef<'a>, Part<'a>)>;

pub(super) fn parts(request: &Request) -> Parts<'_> {
    let mut parts = Vec::new();
    request.visit(&mut |field, part| parts.push((field, part)));
    parts
}

fn part<'a>(parts: &Parts<'a>, field: &Field) -> Option<Part<'a>> {
    parts.iter().find(|(known, _)| known.to_field() == *field).map(|(_, part)| *part)
}

/// The fields that differ, in the order of the table of requests.
pub(super) fn changes(
    stored: &Request,
    today: &Side<'_>,
    foreseen: &Foreseen,
    old: &OldValues,
) -> Result<Vec<FieldChange>, DriveError> {
    let (before, after) = (parts(stored), parts(today.request));
    let changed = difference(stored, today.request);
    let inputs = changed.iter().filter_map(|changed| match &changed.field {
        Field::Input(name) => Some(name.clone()),
        _ => None,
    });
    let prompt = prompt_source(stored, today.request, inputs.collect());
    let mut told = Vec::with_capacity(changed.len());
    for field in changed.into_iter().map(|changed| changed.field) {
        let (was, is) = (part(&before, &field), part(&after, &field));
        let change = match &field {
            Field::Prompt => text(was, is, Some(prompt.clone())),
            Field::Shell | Field::Stdin => text(was, is, None),
            Field::Input(name) => {
                let new = today.values.iter().find(|(known, _)| known == name).map(|(_, value)| value);
                value(was, new.filter(|_| is.is_some()), old)?
            }
            Field::Choices => choices(value(was, today.choices, old)?, was, today.choices, old)?,
            Field::Schema => schema(was, is, today, foreseen)?,
            Field::File(_) => Change::Hash { old: hash(was), new: hash(is) },
            Field::TemplateSource(_) => {
                let source = |used: Option<&TemplateUse>| used.map(|used| used.source);
                Change::Hash { old: source(template(stored)), new: source(template(today.request)) }
            }
            // Only the order of what has names differs.
            Field::Inputs | Field::Files => Change::List(list_change(&names(&before), &names(&after))),
            _ => match (was, is) {
                (Some(Part::Texts(was)), Some(Part::Texts(is))) => Change::List(list_change(was, is)),
                _ => Change::Plain { old: was.and_then(plain), new: is.and_then(plain) },
            },
        };
        told.push(FieldChange { field, change });
    }
    Ok(told)
}

fn template(request: &Request) -> Option<&TemplateUse> {
    match request {
        Request::Agent(agent) => agent.template.as_ref(),
        _ => None,
    }
}

fn prompt_source(old: &Request, new: &Request, inputs_changed: Vec<String>) -> PromptSource {
    let (old, new) = (template(old), template(new));
    PromptSource {
        template: new.or(old).map(|used| used.id.clone()),
        source_changed: old.map(|used| used.source) != new.map(|used| used.source),
        inputs_changed,
    }
}

fn names(parts: &Parts<'_>) -> Vec<String> {
    let named = parts.iter().filter(|(field, _)| !matches!(field, FieldRef::One(_)));
    named.map(|(field, _)| field.to_field().to_string()).collect()
}

fn text(was: Option<Part<'_>>, is: Option<Part<'_>>, source: Option<PromptSource>) -> Change {
    let said = |part: Option<Part<'_>>| match part {
        Some(Part::Text(text) | Part::MaybeText(Some(text))) => text.to_owned(),
        _ => String::new(),
    };
    Change::Text { diff: text_change(&said(was), &said(is)), source }
}

fn value(was: Option<Part<'_>>, new: Option<&Val>, old: &OldValues) -> Result<Change, DriveError> {
    match was {
        Some(Part::Digest(digest)) => old.value(digest, new),
        _ => Ok(Change::Plain { old: None, new: new.map(super::old_values::json).transpose()? }),
    }
}

/// Choices that are texts are a list of names.
fn choices(
    as_json: Change,
    was: Option<Part<'_>>,
    new: Option<&Val>,
    old: &OldValues,
) -> Result<Change, DriveError> {
    let (Some(Part::Digest(was)), Some(new)) = (was, new) else { return Ok(as_json) };
    let Some(was) = old.get(was) else { return Ok(as_json) };
    let texts = |value: Value| -> Option<Vec<String>> {
        let list = value.as_array()?.iter();
        list.map(|choice| choice.as_str().map(ToOwned::to_owned)).collect()
    };
    Ok(match (texts(was.clone()), texts(super::old_values::json(new)?)) {
        (Some(was), Some(is)) => Change::List(list_change(&was, &is)),
        _ => as_json,
    })
}

fn hash(part: Option<Part<'_>>) -> Option<Digest> {
    match part {
        Some(Part::Digest(digest)) if !digest.is_zero() => Some(*digest),
        _ => None,
    }
}

fn plain(part: Part<'_>) -> Option<Value> {
    match part {
        Part::Number(number) => Some(number.into()),
        Part::Text(text) => Some(text.into()),
        Part::MaybeText(text) => text.map(Into::into),
        Part::MaybeNumber(number) => number.map(Into::into),
        Part::Digest(digest) => Some(digest.to_string().into()),
        Part::Texts(texts) => Some(texts.into()),
    }
}

fn schema(
    was: Option<Part<'_>>,
    is: Option<Part<'_>>,
    today: &Side<'_>,
    foreseen: &Foreseen,
) -> Result<Change, DriveError> {
    let stored = match was {
        Some(Part::Digest(id)) => kept_schema(foreseen, id)?,
        _ => None,
    };
    Ok(match (was, is, &stored) {
        (Some(Part::Digest(_)), Some(Part::Digest(_)), Some(stored)) => {
            // Only what is said to an agent counts with its descriptions.
            let words = matches!(today.request, Request::Agent(_));
            Change::Schema { changes: schema_changes(stored, today.schema, words) }
        }
        (Some(Part::Digest(id)), Some(Part::Digest(_)), None) => Change::OldUnknown {
            old: *id,
            new: Some(today.schema.json().clone()),
            why: "the journal does not have the old schema: it was not kept when this step was recorded"
                .to_owned(),
        },
        (was, is, stored) => {
            let label = |part: Part<'_>, schema: Option<&Schema>| match part {
                Part::Digest(_) => schema.map(|schema| Value::from(format!("JSON: {}", schema.label()))),
                part => plain(part),
            };
            let unknown = || Value::from("JSON of a schema that was not kept");
            let old = was.map(|was| label(was, stored.as_ref()).unwrap_or_else(unknown));
            Change::Plain { old, new: is.and_then(|is| label(is, Some(today.schema))) }
        }
    })
}

/// The schema that requests of this run name by this id.
fn kept_schema(foreseen: &Foreseen, id: &Digest) -> Result<Option<Schema>, DriveError> {
    let Some(seq) = foreseen.walk.state().schemas.get(id) else { return Ok(None) };
    let broken = |why: String| DriveError::Broken(format!("a kept schema does not read: {why}"));
    let record = foreseen.journal.record(*seq).map_err(broken)?;
    let Event::Named(named) = record.event().map_err(|error| broken(error.to_string()))? else {
        return Ok(None);
    };
    let Some(kept) = named.schemas.into_iter().find(|kept| kept.id == *id) else { return Ok(None) };
    let json = serde_json::from_str(kept.schema.get()).map_err(|error| broken(error.to_string()))?;
    Schema::from_json(json).map(Some).map_err(|error| broken(error.to_string()))
}

/// The values that a recorded request names by their digests, with their names.
pub(super) fn named_values(request: &Request) -> BTreeMap<Field, Digest> {
    let values = parts(request).into_iter().filter_map(|(field, part)| match (field.to_field(), part) {
        (field @ (Field::Input(_) | Field::Choices), Part::Digest(digest)) => Some((field, *digest)),
        _ => None,
    });
    values.collect()
}
