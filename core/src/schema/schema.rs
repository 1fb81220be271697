//! `Schema`: a cheap handle on one JSON Schema; what is derived from it is made once, when first asked for.

use super::{
    error::SchemaError,
    label, refs,
    structural::{self, Words},
    validate::{Checker, Violation},
};
use crate::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

#[cfg(test)]
mod tests;

/// The JSON Schema of a value. Clones share everything that was derived from it.
#[derive(Clone)]
pub struct Schema(Arc<Inner>);

struct Inner {
    json: Value,
    text: String,
    id: OnceLock<Digest>,
    bare_id: OnceLock<Digest>,
    label: OnceLock<String>,
    checker: OnceLock<Result<Checker, SchemaError>>,
}

impl Schema {
    /// The schema of a Rust type, as schemars gives it.
    pub fn of<T: JsonSchema + ?Sized>() -> Self {
        Schema::new(schemars::SchemaGenerator::default().into_root_schema_for::<T>().to_value())
    }

    /// A schema written as JSON. Whether it can be checked against is told by [`Schema::expressible`].
    pub fn from_json(json: Value) -> Result<Self, SchemaError> {
        match json {
            Value::Object(_) | Value::Bool(_) => Ok(Schema::new(json)),
            other => {
                let text: String = other.to_string().chars().take(80).collect();
                Err(SchemaError::NotASchema { found: format!("`{text}`") })
            }
        }
    }

    fn new(mut json: Value) -> Self {
        json.sort_all_objects();
        let text = json.to_string();
        Schema(Arc::new(Inner {
            json,
            text,
            id: OnceLock::new(),
            bare_id: OnceLock::new(),
            label: OnceLock::new(),
            checker: OnceLock::new(),
        }))
    }

    /// The schema itself, keys sorted.
    pub fn json(&self) -> &Value {
        &self.0.json
    }

    /// The same as compact text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Identity by structure, descriptions included: they reach the model, so agents use this one.
    pub fn id(&self) -> Digest {
        *self.0.id.get_or_init(|| structural::identity(&self.0.json, Words::Count))
    }

    /// Identity by structure alone: titles, descriptions and examples are left out everywhere.
    pub fn bare_id(&self) -> Digest {
        *self.0.bare_id.get_or_init(|| structural::identity(&self.0.json, Words::Ignored))
    }

    /// What drawings call it, e.g. `[SectionPlan]`.
    pub fn label(&self) -> &str {
        self.0.label.get_or_init(|| label::of(&self.0.json))
    }

    /// Checks a value; every violation is listed, up to a sensible number.
    pub fn validate(&self, value: &Value) -> Result<(), Vec<Violation>> {
        match self.checker() {
            Ok(checker) => checker.check(value),
            Err(error) => Err(vec![Violation { place: "/".to_owned(), why: error.to_string() }]),
        }
    }

    /// Refuses a schema that nothing can be checked against: references that leave the document or lead nowhere, and
    /// keywords used wrongly.
    pub fn expressible(&self) -> Result<(), SchemaError> {
        self.checker().as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn checker(&self) -> &Result<Checker, SchemaError> {
        self.0.checker.get_or_init(|| {
            refs::check(&self.0.json)?;
            Checker::new(&self.0.json)
        })
    }
}

impl PartialEq for Schema {
    /// Equal texts. Two schemas may differ here and still have one identity.
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Schema {}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({} {})", self.label(), self.id().short())
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Schema::from_json(Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
