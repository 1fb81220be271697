//! Tests of labels.
#![expect(dead_code, reason = "the types are used for their schemas only")]

use crate::data::Keyed;
use crate::schema::Schema;
use schemars::JsonSchema;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(JsonSchema)]
struct SectionPlan {
    title: String,
}

#[derive(JsonSchema)]
struct ResearchPacket {
    sections: Vec<SectionPlan>,
}

#[derive(JsonSchema)]
struct Name(String);

#[derive(JsonSchema)]
enum Tree {
    Leaf(String),
    Node(Vec<Tree>),
}

#[derive(JsonSchema)]
enum Mood {
    Good,
    Bad,
}

#[derive(JsonSchema)]
struct Page<T> {
    items: Vec<T>,
}

#[track_caller]
fn label<T: JsonSchema>(expected: &str) {
    let schema = Schema::of::<T>();
    assert_eq!(schema.label(), expected, "{}", schema.text());
}

#[test]
fn types_are_called_what_their_author_calls_them() {
    label::<String>("string");
    label::<char>("string");
    label::<i32>("integer");
    label::<u64>("integer");
    label::<f64>("number");
    label::<bool>("boolean");
    label::<()>("null");
    label::<Value>("json");
    label::<Vec<SectionPlan>>("[SectionPlan]");
    label::<BTreeSet<Vec<String>>>("[[string]]");
    label::<[u8; 3]>("[integer]");
    label::<ResearchPacket>("ResearchPacket");
    label::<Name>("Name");
    label::<Vec<Name>>("[Name]");
    label::<Vec<Keyed<Name>>>("[Keyed<Name>]");
    label::<(Keyed<u8>, Keyed<Option<String>>)>("(Keyed<integer>, Keyed<string?>)");
    label::<Mood>("Mood");
    label::<Option<Mood>>("Mood?");
    label::<Tree>("Tree");
    label::<Vec<Tree>>("[Tree]");
    label::<Option<String>>("string?");
    label::<Option<ResearchPacket>>("ResearchPacket?");
    label::<Vec<Option<ResearchPacket>>>("[ResearchPacket?]");
    label::<Option<Vec<SectionPlan>>>("[SectionPlan]?");
    label::<(String, i32)>("(string, integer)");
    label::<(SectionPlan, Option<Mood>)>("(SectionPlan, Mood?)");
    label::<BTreeMap<String, i32>>("{string: integer}");
    label::<BTreeMap<u32, SectionPlan>>("{integer: SectionPlan}");
    label::<Result<String, i32>>("Result<string, integer>");
    label::<Vec<Result<SectionPlan, String>>>("[Result<SectionPlan, string>]");
    label::<Option<Result<Vec<SectionPlan>, Mood>>>("Result<[SectionPlan], Mood>?");
    label::<Page<SectionPlan>>("Page");
}

#[test]
fn schemas_without_names_are_spelled_out() {
    let label = |json: Value| Schema::from_json(json).unwrap().label().to_owned();
    assert_eq!(label(json!(true)), "json");
    assert_eq!(label(json!({})), "json");
    assert_eq!(label(json!({"type": "array"})), "[json]");
    assert_eq!(label(json!({"type": "object", "properties": {"a": {}}})), "object");
    assert_eq!(label(json!({"type": "object"})), "{string: json}");
    assert_eq!(label(json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})), "string | integer");
    assert_eq!(label(json!({"type": ["string", "integer", "null"]})), "(string | integer)?");
    assert_eq!(label(json!({"enum": ["a", "b"]})), "string");
    assert_eq!(label(json!({"$ref": "#/$defs/Missing"})), "json");
    assert_eq!(label(json!({"$ref": "#"})), "json");
    let endless =
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}});
    assert!(label(endless).contains('…'));
}
