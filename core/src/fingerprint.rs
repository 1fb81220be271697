//! Fingerprints: one digest over all of a request that counts, and the difference of two requests by field.

use crate::{
    digest::{Digest, DigestWriter},
    request::{Field, FieldRef, Part, Request, TemplateUse},
};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The version of the encoding below. It is part of every fingerprint; a request stored under another version is
/// fingerprinted again with today's code before anything is called a conflict.
const FINGERPRINT_VERSION: u64 = 1;

/// The fingerprint of `request`: blake3 over the fields that [`Request::visit`] names, each tagged and length-prefixed.
pub fn fingerprint(request: &Request) -> Digest {
    let mut writer = DigestWriter::new("hermes fingerprint");
    writer.u64(FINGERPRINT_VERSION);
    request.visit(&mut |field, part| {
        write_field(&mut writer, field);
        write_part(&mut writer, part);
    });
    writer.finish()
}

fn write_field(writer: &mut DigestWriter, field: FieldRef<'_>) {
    match field {
        FieldRef::One(field) => writer.text(tag(field)),
        FieldRef::Input(name) => writer.text("input").text(name),
        FieldRef::File(path) => writer.text("file").text(path),
        FieldRef::Variable(name) => writer.text("variable").text(name),
    };
}

/// The wire name of a field: fixed for ever, unlike what people are shown.
fn tag(field: &Field) -> &'static str {
    match field {
        Field::Kind => "kind",
        Field::Composition => "composition",
        Field::Prompt => "prompt",
        Field::TemplateSource(_) => "template source",
        Field::Title => "title",
        Field::Input(_) | Field::Inputs => "input",
        Field::Schema => "schema",
        Field::Choices => "choices",
        Field::Tools => "tools",
        Field::Skills => "skills",
        Field::File(_) | Field::Files => "file",
        Field::Globs => "globs",
        Field::Model => "model",
        Field::Variant => "variant",
        Field::Isolation => "isolation",
        Field::Tree => "tree",
        Field::Version => "version",
        Field::Argv => "argv",
        Field::Shell => "shell",
        Field::Stdin => "stdin",
        Field::Directory => "directory",
        Field::Variable(_) => "variable",
        Field::Keys => "keys",
        Field::Arm => "arm",
        Field::Flow => "flow",
        Field::Structure => "structure",
        Field::Members => "members",
        Field::RunInput => "run input",
    }
}

fn write_part(writer: &mut DigestWriter, part: Part<'_>) {
    match part {
        Part::Number(number) => {
            writer.u64(number);
        }
        Part::Text(text) => {
            writer.text(text);
        }
        Part::MaybeText(text) => {
            writer.optional_text(text);
        }
        Part::MaybeNumber(number) => {
            writer.bool(number.is_some());
            writer.u64(number.unwrap_or(0));
        }
        Part::Digest(digest) => {
            writer.digest(digest);
        }
        Part::Texts(texts) => {
            writer.list(texts.len());
            for text in texts {
                writer.text(text);
            }
        }
    }
}

/// One field that differs between a stored request and today's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The field.
    pub field: Field,
    /// What it was, shortened for a line of text; `None` where the field was not there.
    pub old: Option<String>,
    /// What it is today; `None` where it is no longer there.
    pub new: Option<String>,
}

/// The fields in which `old` and `new` differ, in the order of the table. A prompt that differs is followed by its
/// template where that has another source than before; where it has not, an input made the prompt differ.
pub fn difference(old_request: &Request, new_request: &Request) -> Vec<Changed> {
    let (before, after) = (collect(old_request), collect(new_request));
    let mut changed = Vec::new();
    for (field, old) in &before {
        let new = after.iter().find(|(name, _)| name == field).map(|(_, part)| part);
        if new != Some(old) {
            changed.push(Changed { field: field.to_field(), old: Some(show(old)), new: new.map(show) });
            if *field == FieldRef::One(&Field::Prompt) {
                changed.extend(template_difference(template_of(old_request), template_of(new_request)));
            }
        }
    }
    for (field, new) in &after {
        if !before.iter().any(|(name, _)| name == field) {
            changed.push(Changed { field: field.to_field(), old: None, new: Some(show(new)) });
        }
    }
    if changed.is_empty() && before != after {
        changed.push(Changed { field: Field::Inputs, old: None, new: None });
    }
    changed
}

fn template_of(request: &Request) -> Option<&TemplateUse> {
    match request {
        Request::Agent(agent) => agent.template.as_ref(),
        _ => None,
    }
}

/// How the source of a prompt differs: another source under one id, or a template where there was none, or none any
/// more. A source that was only moved says the same.
fn template_difference(old: Option<&TemplateUse>, new: Option<&TemplateUse>) -> Option<Changed> {
    if old.map(|old| old.source) == new.map(|new| new.source) {
        return None;
    }
    let id = &new.or(old)?.id;
    let show = |used: &TemplateUse| match used.source.short() {
        source if used.id == *id => source,
        source => format!("{source} of {}", used.id),
    };
    Some(Changed { field: Field::TemplateSource(id.clone()), old: old.map(show), new: new.map(show) })
}

fn collect(request: &Request) -> Vec<(FieldRef<'_>, Part<'_>)> {
    let mut fields = Vec::new();
    request.visit(&mut |field, part| fields.push((field, part)));
    fields
}

fn show(part: &Part<'_>) -> String {
    const SHOWN: usize = 60;
    let shorten = |text: &str| {
        let line: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
        if text.chars().nth(SHOWN).is_some() { format!("{line}…") } else { line }
    };
    match part {
        Part::Number(number) => number.to_string(),
        Part::Text(text) => shorten(text),
        Part::MaybeText(text) => text.map_or_else(|| "unset".to_owned(), shorten),
        Part::MaybeNumber(number) => number.map_or_else(|| "unset".to_owned(), |n| n.to_string()),
        Part::Digest(digest) => digest.short(),
        Part::Texts(texts) => shorten(&texts.join(", ")),
    }
}

/// The idempotency key of a dispatch: crashes and automatic retries keep it, causes change it.
pub fn idempotency_key(run: &str, path: &str, fingerprint: &Digest, generation: u32) -> Digest {
    let mut writer = DigestWriter::new("hermes idempotency key");
    writer.text(run);
    writer.text(path);
    writer.digest(fingerprint);
    writer.u64(generation.into());
    writer.finish()
}
