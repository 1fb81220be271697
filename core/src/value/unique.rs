//! Sorting of lists that are sets: a `HashSet` comes out in another order each time, and the stored JSON is the value.
//!
//! Only lists whose schema says `uniqueItems` are touched. Where a schema offers variants, those that cannot be this
//! value's are left aside, and a list that some fitting variant orders is never sorted.

use crate::schema::resolve;
use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// Sorts every array that its schema calls a set, by the text of its elements.
pub fn sort_unique_lists(value: &mut Value, schema: &Value) {
    // Most schemas have no set at all.
    if mentions_sets(schema) {
        sort(value, schema, vec![schema]);
    }
}

fn mentions_sets(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("uniqueItems") || map.values().any(mentions_sets),
        Value::Array(list) => list.iter().any(mentions_sets),
        _ => false,
    }
}

fn sort(value: &mut Value, root: &Value, schemas: Vec<&Value>) {
    let schemas = applying(value, root, schemas);
    if schemas.is_empty() {
        return;
    }
    match value {
        Value::Array(list) => {
            for (index, item) in list.iter_mut().enumerate() {
                sort(item, root, schemas.iter().filter_map(|schema| item_schema(schema, index)).collect());
            }
            let mut describing = schemas.iter().filter(|schema| describes_list(schema)).peekable();
            if describing.peek().is_some() && describing.all(|schema| is_set(schema)) {
                list.sort_by_cached_key(|item| {
                    let mut item = item.clone();
                    item.sort_all_objects();
                    item.to_string()
                });
            }
        }
        Value::Object(map) => {
            for (name, field) in map.iter_mut() {
                let inner: Vec<&Value> =
                    schemas.iter().flat_map(|schema| property_schemas(schema, name)).collect();
                sort(field, root, inner);
            }
        }
        _ => {}
    }
}

/// The schemas that say something about this very value: references followed, combinations flattened, each once.
fn applying<'s>(value: &Value, root: &'s Value, mut open: Vec<&'s Value>) -> Vec<&'s Map<String, Value>> {
    let mut found: Vec<&Map<String, Value>> = Vec::new();
    while let Some(schema) = open.pop() {
        let Value::Object(map) = schema else { continue };
        if found.iter().any(|seen| std::ptr::eq(*seen, map)) || !fits(value, map) {
            continue;
        }
        found.push(map);
        if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|to| resolve(root, to)) {
            open.push(target);
        }
        for combination in ["anyOf", "oneOf", "allOf"] {
            open.extend(map.get(combination).and_then(Value::as_array).into_iter().flatten());
        }
    }
    found
}

/// A cheap look at whether the value could be of this variant: kind, required keys, constants one level down.
fn fits(value: &Value, schema: &Map<String, Value>) -> bool {
    let kind_fits = match schema.get("type") {
        Some(Value::String(kind)) => is_kind(value, kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(|kind| is_kind(value, kind)),
        _ => true,
    };
    let constant_fits = |value: &Value, schema: &Value| {
        schema.get("const").is_none_or(|constant| constant == value)
            && schema.get("enum").and_then(Value::as_array).is_none_or(|list| list.contains(value))
    };
    let fields_fit = value.as_object().is_none_or(|map| {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        required.filter_map(Value::as_str).all(|name| map.contains_key(name))
            && properties
                .into_iter()
                .all(|(name, schema)| map.get(name).is_none_or(|field| constant_fits(field, schema)))
    });
    kind_fits && fields_fit
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => kind == "number" || kind == "integer",
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

fn describes_list(schema: &Map<String, Value>) -> bool {
    let typed = match schema.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    };
    typed || ["items", "prefixItems", "uniqueItems"].iter().any(|keyword| schema.contains_key(*keyword))
}

/// A list with `prefixItems` is a tuple: its positions mean something even if no two elements are equal.
fn is_set(schema: &Map<String, Value>) -> bool {
    schema.get("uniqueItems") == Some(&Value::Bool(true))
        && !schema.contains_key("prefixItems")
        && !schema.get("items").is_some_and(Value::is_array)
}

fn item_schema(schema: &Map<String, Value>, index: usize) -> Option<&Value> {
    let tuple = schema.get("prefixItems").or_else(|| schema.get("items")).and_then(Value::as_array);
    match tuple.and_then(|tuple| tuple.get(index)) {
        Some(item) => Some(item),
        None => schema.get("items").filter(|items| items.is_object()),
    }
}

fn property_schemas<'s>(schema: &'s Map<String, Value>, name: &str) -> Vec<&'s Value> {
    if let Some(property) = schema.get("properties").and_then(|properties| properties.get(name)) {
        return vec![property];
    }
    // Patterns are not matched here: a map's keys share one pattern, and `fits` sorts out the rest.
    let patterns = schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
    patterns.map(|(_, property)| property).chain(schema.get("additionalProperties")).collect()
}
