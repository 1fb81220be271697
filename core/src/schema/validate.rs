//! Validation. The only file that knows jsonschema: it has a release every few days, and its defaults fetch over HTTP.

use super::error::SchemaError;
use jsonschema::{Retrieve, Uri, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;
use std::fmt;

#[cfg(test)]
mod tests;

/// More than this helps nobody, neither a person nor a model that is to repair its reply.
const MOST_VIOLATIONS: usize = 50;
/// A message quotes the offending value, which may be the whole reply.
const LONGEST_REASON: usize = 500;

/// One way in which a value breaks its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where in the value, as a JSON pointer: `/sections/3/score`; `/` is the value itself.
    pub place: String,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at `{}`: {}", self.place, self.why)
    }
}

/// Refuses every look outside the document, whatever features another crate switches on in jsonschema.
struct NoRetrieval;

impl Retrieve for NoRetrieval {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("schemas are never fetched: {uri}").into())
    }
}

/// A schema made ready for checking.
pub(super) struct Checker(Validator);

impl Checker {
    pub(super) fn new(schema: &Value) -> Result<Self, SchemaError> {
        jsonschema::options().with_retriever(NoRetrieval).build(schema).map(Checker).map_err(|error| {
            SchemaError::Invalid {
                place: format!("#{}", error.instance_path()),
                why: shortened(error.to_string()),
            }
        })
    }

    pub(super) fn check(&self, value: &Value) -> Result<(), Vec<Violation>> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        let mut found = Vec::new();
        for error in self.0.iter_errors(value) {
            explain(&error, &mut found);
            if found.len() >= MOST_VIOLATIONS {
                break;
            }
        }
        Err(found)
    }
}

/// Says what is wrong. "None of the variants" helps nobody, so the variant that came closest is explained instead.
fn explain(error: &ValidationError<'_>, found: &mut Vec<Violation>) {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        found.push(Violation { place: place(error), why: shortened(error.to_string()) });
        return;
    };
    let closest =
        context.iter().filter(|errors| !errors.is_empty()).min_by_key(|errors| distance(error, errors));
    found.push(Violation {
        place: place(error),
        why: format!(
            "it fits none of the {} variants allowed here{}",
            context.len(),
            if closest.is_some() { "; the closest one says" } else { "" }
        ),
    });
    for inner in closest.into_iter().flatten() {
        explain(inner, found);
    }
}

/// How far a variant is from fitting. One that is refused at its very top, or by its tag, was not meant.
fn distance(outer: &ValidationError<'_>, errors: &[ValidationError<'_>]) -> (bool, bool, usize) {
    let at_top = |error: &ValidationError<'_>| error.instance_path() == outer.instance_path();
    let of_other_kind =
        errors.iter().any(|error| at_top(error) && matches!(error.kind(), ValidationErrorKind::Type { .. }));
    let other_tag = errors.iter().any(|error| matches!(error.kind(), ValidationErrorKind::Constant { .. }));
    (of_other_kind, other_tag, errors.len())
}

fn place(error: &ValidationError<'_>) -> String {
    match error.instance_path().as_str() {
        "" => "/".to_owned(),
        pointer => pointer.to_owned(),
    }
}

fn shortened(reason: String) -> String {
    match reason.char_indices().nth(LONGEST_REASON) {
        None => reason,
        // The end says what was expected, the start what was found: both are wanted.
        Some((cut, _)) => {
            let skip = reason.chars().count() - LONGEST_REASON / 2;
            let end: String = reason.chars().skip(skip).collect();
            let half = reason.char_indices().nth(LONGEST_REASON / 2).map_or(cut, |(index, _)| index);
            format!("{} … {end}", &reason[..half])
        }
    }
}
