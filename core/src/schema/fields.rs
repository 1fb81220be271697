//! What a schema tells of the fields of its values: which there are, and where nothing can be said.

use super::{label, refs::resolve, schema::Schema};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, ptr};

#[cfg(test)]
mod tests;

/// References and combinations nested deeper than this are taken to tell nothing.
const DEEPEST: usize = 64;

/// A field that no value of a schema has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoField {
    /// How many names of the path were found before the one that is missing.
    pub found: usize,
    /// What drawings call the type that lacks it.
    pub of: String,
    /// The fields that the type has; none where it is not an object.
    pub known: Vec<String>,
}

impl Schema {
    /// Whether a value can have something at this path of field names. Where the schema does not tell, it can: the value
    /// may be anything, or has fields that the schema does not list.
    ///
    /// An object whose schema lists its properties and says nothing of additional ones has those it lists.
    ///
    /// ```
    /// use hermes_core::schema::Schema;
    ///
    /// #[derive(schemars::JsonSchema)]
    /// struct Section { title: String }
    ///
    /// let section = Schema::of::<Section>();
    /// assert!(section.reaches(&["title"]).is_ok());
    /// assert_eq!(section.reaches(&["titel"]).map_err(|missing| missing.known), Err(vec!["title".to_owned()]));
    /// ```
    ///
    /// # Errors
    /// The first name on the path that cannot be there.
    pub fn reaches(&self, path: &[&str]) -> Result<(), NoField> {
        let root = self.json();
        let mut here = vec![root];
        for (found, name) in path.iter().enumerate() {
            let tell = |schema| Search { root, name, met: BTreeSet::new() }.tell(schema, 0);
            match any(here.iter().copied().filter_map(tell).collect()) {
                Told::Has(next) => here = next,
                Told::Open | Told::Silent => return Ok(()),
                Told::Lacks(known) => {
                    let of = match here.as_slice() {
                        _ if found == 0 => self.label().to_owned(),
                        parts => label::of_parts(root, parts),
                    };
                    let known = known.into_iter().map(ToOwned::to_owned).collect();
                    return Err(NoField { found, of, known });
                }
            }
        }
        Ok(())
    }
}

/// What is known of one field.
enum Told<'s> {
    /// It may be there, and is one of these.
    Has(Vec<&'s Value>),
    /// It may be there, and is anything.
    Open,
    /// It is not there; these are.
    Lacks(BTreeSet<&'s str>),
    /// Nothing is said of fields.
    Silent,
}

/// Looks for one field. A schema that is met again says nothing new.
struct Search<'s> {
    root: &'s Value,
    name: &'s str,
    met: BTreeSet<usize>,
}

impl<'s> Search<'s> {
    fn tell(&mut self, schema: &'s Value, depth: usize) -> Option<Told<'s>> {
        let Value::Object(map) = schema else {
            let never = schema == &Value::Bool(false);
            return Some(if never { Told::Lacks(BTreeSet::new()) } else { Told::Silent });
        };
        if !self.met.insert(ptr::from_ref(schema).addr()) {
            return None;
        }
        // What these say hangs on the value, or on other documents.
        let elsewhere = ["$dynamicRef", "$recursiveRef", "$id", "if", "dependentSchemas", "dependencies"];
        if depth > DEEPEST || elsewhere.iter().any(|keyword| map.contains_key(*keyword)) {
            return Some(Told::Open);
        }
        let mut parts = vec![own(map, self.name)];
        let mut met_again = false;
        let mut part = |search: &mut Self, schema| {
            let told = search.tell(schema, depth + 1);
            met_again |= told.is_none();
            told
        };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            match resolve(self.root, reference) {
                Some(target) => parts.extend(part(self, target)),
                None => parts.push(Told::Open),
            }
        }
        let list = |keyword: &str| map.get(keyword).and_then(Value::as_array);
        for schema in list("allOf").into_iter().flatten() {
            parts.extend(part(self, schema));
        }
        for alternatives in ["anyOf", "oneOf"].into_iter().filter_map(list) {
            let told: Vec<_> = alternatives.iter().filter_map(|schema| part(self, schema)).collect();
            parts.push(any(told));
        }
        match all(parts) {
            Told::Silent if met_again => None,
            told => Some(told),
        }
    }
}

/// What a schema's own keywords say.
fn own<'s>(map: &'s Map<String, Value>, name: &str) -> Told<'s> {
    let is_object = match map.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
        None => match (map.get("enum").and_then(Value::as_array), map.get("const")) {
            (Some(values), _) => values.iter().any(Value::is_object),
            (None, Some(value)) => value.is_object(),
            (None, None) => true,
        },
    };
    if !is_object {
        return Told::Lacks(BTreeSet::new());
    }
    let properties = map.get("properties").and_then(Value::as_object);
    if let Some(field) = properties.and_then(|properties| properties.get(name)) {
        return Told::Has(vec![field]);
    }
    match map.get("additionalProperties") {
        Some(additional @ Value::Object(_)) => return Told::Has(vec![additional]),
        Some(Value::Bool(true)) => return Told::Open,
        _ => {}
    }
    let unevaluated = map.get("unevaluatedProperties").is_some_and(|more| more != &Value::Bool(false));
    if unevaluated || map.contains_key("patternProperties") {
        return Told::Open;
    }
    match properties {
        Some(properties) => Told::Lacks(properties.keys().map(String::as_str).collect()),
        None if map.contains_key("additionalProperties") => Told::Lacks(BTreeSet::new()),
        None => Told::Silent,
    }
}

/// Of alternatives.
fn any(alternatives: Vec<Told<'_>>) -> Told<'_> {
    let sum = Sum::of(alternatives);
    match sum {
        Sum { has, .. } if !has.is_empty() => Told::Has(has),
        Sum { open: true, .. } => Told::Open,
        Sum { silent: false, lacks: Some(known), .. } => Told::Lacks(known),
        _ => Told::Silent,
    }
}

/// Of parts that all apply.
fn all(parts: Vec<Told<'_>>) -> Told<'_> {
    let sum = Sum::of(parts);
    match sum {
        Sum { has, .. } if !has.is_empty() => Told::Has(has),
        Sum { open: true, .. } => Told::Open,
        Sum { lacks: Some(known), .. } => Told::Lacks(known),
        _ => Told::Silent,
    }
}

#[derive(Default)]
struct Sum<'s> {
    has: Vec<&'s Value>,
    open: bool,
    lacks: Option<BTreeSet<&'s str>>,
    silent: bool,
}

impl<'s> Sum<'s> {
    fn of(parts: Vec<Told<'s>>) -> Self {
        let mut sum = Self::default();
        for part in parts {
            match part {
                Told::Has(mut fields) => sum.has.append(&mut fields),
                Told::Open => sum.open = true,
                Told::Lacks(mut known) => sum.lacks.get_or_insert_default().append(&mut known),
                Told::Silent => sum.silent = true,
            }
        }
        sum
    }
}
