//! Answers nobody has to write: values made from a schema, with texts made from what was asked.

use serde_json::{Map, Value, json};

/// What an agent answers to `told`, beginning with these words. Told anything else, it says something else: an output
/// made from a wrong or missing input cannot pass for the right one.
pub(crate) fn text(words: &str, told: &str) -> String {
    format!("{words} {}", &blake3::hash(told.as_bytes()).to_hex()[..8])
}

/// A value of this schema. Lists have two elements, and each text is `said` with its place, so that no two are alike.
pub(crate) fn sample(schema: &Value, said: &str) -> Value {
    let value = of(schema, schema, said);
    jsonschema_holds(schema, &value);
    value
}

fn jsonschema_holds(schema: &Value, value: &Value) {
    let schema = hermes_workflows::core::schema::Schema::from_json(schema.clone()).unwrap();
    assert_eq!(
        schema.validate(value).map_err(|wrong| format!("{wrong:?}")),
        Ok(()),
        "{value} for {schema:?}"
    );
}

fn of(schema: &Value, root: &Value, said: &str) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.strip_prefix('#').expect("a reference within the schema");
        return of(root.pointer(pointer).expect("a reference to something"), root, said);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(first) = ["anyOf", "oneOf", "allOf"].iter().find_map(|of| schema[of].get(0)) {
        return of(first, root, said);
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or_default();
    match kind {
        "object" => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Value::Object(
                fields
                    .map(|(name, field)| (name.clone(), of(field, root, &format!("{said} {name}"))))
                    .collect::<Map<_, _>>(),
            )
        }
        "array" => match schema["prefixItems"].as_array() {
            Some(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| of(item, root, &format!("{said} {index}")))
                .collect(),
            None => (0..2).map(|index| of(&schema["items"], root, &format!("{said} {index}"))).collect(),
        },
        "string" => json!(said),
        "integer" | "number" => json!(schema["minimum"].as_u64().unwrap_or(0).max(1)),
        "boolean" => json!(true),
        _ => Value::Null,
    }
}
