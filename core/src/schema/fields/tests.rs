//! Which fields schemas have, as schemars writes them and as people do.

use super::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Section {
    title: String,
    author: Option<Author>,
    notes: BTreeMap<String, Author>,
    tags: Vec<String>,
    inner: Option<Box<Section>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Author {
    name: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Answer {
    Approve,
    Change { feedback: String },
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Flat {
    id: u32,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Extra {
    id: u32,
    #[serde(flatten)]
    more: BTreeMap<String, String>,
}

fn lacks(schema: &Schema, path: &str) -> NoField {
    let path: Vec<_> = path.split('.').collect();
    schema.reaches(&path).expect_err("the schema tells that it is not there")
}

fn has(schema: &Schema, paths: &[&str]) {
    for path in paths {
        let names: Vec<_> = path.split('.').collect();
        assert_eq!(schema.reaches(&names), Ok(()), "{path} of {}", schema.text());
    }
}

fn schema(json: Value) -> Schema {
    Schema::from_json(json).unwrap()
}

#[test]
fn fields_of_structs_behind_options_boxes_and_maps() {
    let section = Schema::of::<Section>();
    has(&section, &["title", "author.name", "notes.anybody.name", "inner.inner.title", "tags"]);
    let missing = lacks(&section, "titel");
    assert_eq!((missing.found, missing.of.as_str()), (0, "Section"));
    assert_eq!(missing.known, ["author", "inner", "notes", "tags", "title"]);
    let missing = lacks(&section, "author.nme");
    assert_eq!((missing.found, missing.of.as_str(), missing.known), (1, "Author?", vec!["name".to_owned()]));
    assert_eq!(lacks(&section, "inner.inner.titel").found, 2);
    assert_eq!(lacks(&section, "notes.anybody.nme").of, "Author");
}

#[test]
fn what_is_no_object_has_no_fields() {
    let section = Schema::of::<Section>();
    assert_eq!(lacks(&section, "title.length").known, Vec::<String>::new());
    assert_eq!(lacks(&section, "tags.first").of, "[string]");
    for json in [json!({"type": "string"}), json!({"const": 1}), json!({"enum": ["a", "b"]}), json!(false)] {
        assert_eq!(lacks(&schema(json), "x").known, Vec::<String>::new());
    }
}

#[test]
fn a_field_of_one_variant_is_a_field() {
    let answer = Schema::of::<Answer>();
    has(&answer, &["kind", "feedback"]);
    assert_eq!(lacks(&answer, "reason").known, ["feedback", "kind"]);
    let flat = Schema::of::<Flat>();
    has(&flat, &["id", "kind", "feedback"]);
    assert_eq!(lacks(&flat, "reason").known, ["feedback", "id", "kind"]);
}

#[test]
fn where_the_schema_does_not_tell_nothing_is_missing() {
    has(&Schema::of::<Value>(), &["a", "a.b.c"]);
    has(&Schema::of::<BTreeMap<String, Value>>(), &["a.b"]);
    has(&Schema::of::<Extra>(), &["id", "anything"]);
    for json in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}),
        json!({"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {}}}),
        json!({"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object"}]}),
        json!({"if": {"type": "object"}, "properties": {"a": {}}}),
        json!({"$ref": "#/nowhere", "properties": {"a": {}}}),
        json!({"$ref": "#"}),
        json!({"anyOf": [{"$ref": "#"}, {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}]}),
    ] {
        has(&schema(json), &["b"]);
    }
}

#[test]
fn parts_that_all_apply_have_the_fields_of_all() {
    let both = schema(json!({"allOf": [
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"properties": {"b": {"properties": {"c": {}}, "additionalProperties": false}}},
        {"description": "says nothing of fields"},
    ]}));
    has(&both, &["a", "b", "b.c"]);
    assert_eq!(lacks(&both, "c").known, ["a", "b"]);
    assert_eq!(lacks(&both, "b.d").known, ["c"]);
}

#[test]
fn a_type_met_again_says_what_it_said() {
    let again = schema(json!({
        "$defs": {"A": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "anyOf": [{"$ref": "#/$defs/A"}, {"allOf": [{"$ref": "#/$defs/A"}]}, {"$ref": "#"}],
    }));
    has(&again, &["a"]);
    assert_eq!(lacks(&again, "b").known, ["a"]);
}
