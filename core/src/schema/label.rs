//! What drawings call a type: `string`, `[SectionPlan]`, `ResearchPacket?`. For people; never an identity.

use super::refs::{defined_name, resolve};
use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// A type nested deeper than this in unnamed shapes is not drawn in full.
const DEEPEST: usize = 16;

/// The label of a whole schema.
pub(super) fn of(root: &Value) -> String {
    let name = root.get("title").and_then(Value::as_str).filter(|title| is_type_name(title));
    label(root, root, name, 0)
}

/// Names schemars makes up for shapes: the shape itself says it better.
fn is_type_name(title: &str) -> bool {
    let made_up = ["Array_", "Nullable_", "Tuple_of_", "Map_of_", "Map_from_", "Set_of_", "Result_of_"];
    let of_shapes = ["AnyValue", "Character", "EmptyArray", "Number"];
    title.starts_with(char::is_uppercase)
        && !of_shapes.contains(&title)
        && !made_up.iter().any(|start| title.starts_with(start))
}

fn label(root: &Value, schema: &Value, name: Option<&str>, depth: usize) -> String {
    let Value::Object(map) = schema else { return "json".to_owned() };
    if depth > DEEPEST {
        return name.unwrap_or("…").to_owned();
    }
    let inner = |schema: &Value| label(root, schema, None, depth + 1);
    if let Some(name) = name {
        return keyed_value(name, map)
            .map_or_else(|| name.to_owned(), |value| format!("Keyed<{}>", inner(value)));
    }
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        return referred(root, reference, depth);
    }
    if let Some((ok, err)) = result_parts(map) {
        return format!("Result<{}, {}>", inner(ok), inner(err));
    }
    for combination in ["anyOf", "oneOf", "allOf"] {
        if let Some(variants) = map.get(combination).and_then(Value::as_array) {
            return joined(variants.iter().map(inner).collect());
        }
    }
    match map.get("type") {
        Some(Value::String(kind)) => of_kind(map, kind, &inner),
        Some(Value::Array(kinds)) => {
            joined(kinds.iter().filter_map(Value::as_str).map(|kind| of_kind(map, kind, &inner)).collect())
        }
        _ => constant_kind(map).unwrap_or("json").to_owned(),
    }
}

fn referred(root: &Value, reference: &str, depth: usize) -> String {
    let Some(target) = resolve(root, reference) else { return "json".to_owned() };
    if reference == "#" {
        let title = root.get("title").and_then(Value::as_str).filter(|title| is_type_name(title));
        // A root without a name that contains itself cannot be spelled out.
        return title.unwrap_or("json").to_owned();
    }
    let name = defined_name(reference).filter(|name| is_type_name(name));
    label(root, target, name.as_deref(), depth + 1)
}

/// Several kinds as one label: null is a question mark, a kind named twice is named once.
fn joined(labels: Vec<String>) -> String {
    let mut kinds: Vec<String> = Vec::new();
    let mut optional = false;
    for label in labels {
        if label == "null" {
            optional = true;
        } else if !kinds.contains(&label) {
            kinds.push(label);
        }
    }
    match (kinds.as_slice(), optional) {
        ([], true) => "null".to_owned(),
        ([], false) => "json".to_owned(),
        ([one], true) if one.ends_with('?') || one == "json" => one.clone(),
        ([one], true) => format!("{one}?"),
        ([one], false) => one.clone(),
        (several, true) => format!("({})?", several.join(" | ")),
        (several, false) => several.join(" | "),
    }
}

/// What is under the key in a `Keyed<T>`: schemars tells the instances of a generic type apart by numbers only.
fn keyed_value<'a>(name: &str, map: &'a Map<String, Value>) -> Option<&'a Value> {
    let numbered = name.strip_prefix("Keyed")?.bytes().all(|digit| digit.is_ascii_digit());
    let fields = map.get("properties").and_then(Value::as_object).filter(|fields| fields.len() == 2)?;
    fields.get("value").filter(|_| numbered && fields.contains_key("key"))
}

/// The shape schemars gives `Result<T, E>`: one object with `Ok`, one with `Err`.
fn result_parts(map: &Map<String, Value>) -> Option<(&Value, &Value)> {
    let Some([ok, err]) = map.get("oneOf").and_then(Value::as_array).map(Vec::as_slice) else { return None };
    let only = |schema: &'_ Value, name: &str| -> bool {
        schema
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|map| map.len() == 1 && map.contains_key(name))
            && schema.get("required").and_then(Value::as_array).is_some_and(|list| list.len() == 1)
    };
    if !only(ok, "Ok") || !only(err, "Err") {
        return None;
    }
    Some((ok.get("properties")?.get("Ok")?, err.get("properties")?.get("Err")?))
}

fn of_kind(map: &Map<String, Value>, kind: &str, inner: &dyn Fn(&Value) -> String) -> String {
    match kind {
        "array" => list(map, inner),
        "object" => object(map, inner),
        other => other.to_owned(),
    }
}

fn list(map: &Map<String, Value>, inner: &dyn Fn(&Value) -> String) -> String {
    if let Some(items) = map.get("prefixItems").and_then(Value::as_array) {
        let items: Vec<String> = items.iter().map(inner).collect();
        return format!("({})", items.join(", "));
    }
    format!("[{}]", map.get("items").map_or_else(|| "json".to_owned(), inner))
}

fn object(map: &Map<String, Value>, inner: &dyn Fn(&Value) -> String) -> String {
    if map.get("properties").and_then(Value::as_object).is_some_and(|properties| !properties.is_empty()) {
        return "object".to_owned();
    }
    let patterns = map.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
    let mut values: Vec<(&str, &Value)> = patterns
        .map(|(pattern, value)| (if pattern.contains("\\d") { "integer" } else { "string" }, value))
        .collect();
    values.extend(
        map.get("additionalProperties").filter(|value| value.is_object()).map(|value| ("string", value)),
    );
    match values.as_slice() {
        [(key, value), ..] => format!("{{{key}: {}}}", inner(value)),
        [] if map.get("additionalProperties") == Some(&Value::Bool(false)) => "{}".to_owned(),
        [] => "{string: json}".to_owned(),
    }
}

fn constant_kind(map: &Map<String, Value>) -> Option<&'static str> {
    let listed = map.get("enum").and_then(Value::as_array).and_then(|list| list.first());
    match map.get("const").or(listed)? {
        Value::Null => Some("null"),
        Value::Bool(_) => Some("boolean"),
        Value::String(_) => Some("string"),
        Value::Number(number) if number.is_f64() => Some("number"),
        Value::Number(_) => Some("integer"),
        Value::Array(_) | Value::Object(_) => None,
    }
}
