//! Tests of validation and its messages.
#![expect(dead_code, reason = "the types are used for their schemas only")]

use super::*;
use crate::schema::Schema;
use schemars::JsonSchema;
use serde_json::json;

#[derive(JsonSchema)]
struct Report {
    sections: Vec<Section>,
    next: Option<Box<Report>>,
    decision: Decision,
}

#[derive(JsonSchema)]
struct Section {
    title: String,
    score: u8,
}

#[derive(JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
enum Decision {
    Approve,
    Change { reason: String, days: u8 },
}

fn violations<T: JsonSchema>(value: &Value) -> Vec<String> {
    match Schema::of::<T>().validate(value) {
        Ok(()) => vec![],
        Err(found) => found.iter().map(ToString::to_string).collect(),
    }
}

fn report(decision: Value) -> Value {
    json!({"sections": [{"title": "a", "score": 1}], "next": null, "decision": decision})
}

#[test]
fn a_fitting_value_passes() {
    let mut value = report(json!({"decision": "approve"}));
    value["next"] = report(json!({"decision": "change", "reason": "x", "days": 3}));
    // Extra properties are kept, not refused.
    value["more"] = json!(1);
    assert_eq!(violations::<Report>(&value), [""; 0]);
    assert!(Schema::of::<Report>().expressible().is_ok());
}

#[test]
fn every_violation_names_its_place() {
    let mut value = report(json!({"decision": "approve"}));
    value["sections"] = json!([{"title": 1, "score": 1}, {"title": "a"}, {"title": "b", "score": -1}]);
    let found = violations::<Report>(&value);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("`/sections/0/title`") && found[0].contains("string"), "{found:?}");
    assert!(found[1].contains("`/sections/1`") && found[1].contains("\"score\" is a required"), "{found:?}");
    assert!(found[2].contains("`/sections/2/score`") && found[2].contains("-1"), "{found:?}");
    assert!(violations::<Report>(&json!(7))[0].starts_with("at `/`: "));
}

#[test]
fn the_closest_variant_is_explained() {
    let found = violations::<Report>(&report(json!({"decision": "change", "reason": 5, "days": 1})));
    assert!(found[0].contains("none of the 2 variants"), "{found:?}");
    assert!(found[1].contains("`/decision/reason`") && found[1].contains("string"), "{found:?}");
    assert_eq!(found.len(), 2);
    let mut value = report(json!({"decision": "approve"}));
    value["next"] = report(json!({"decision": "approve"}));
    value["next"]["sections"] = json!("none");
    let found = violations::<Report>(&value);
    assert!(
        found.iter().any(|line| line.contains("`/next/sections`") && line.contains("array")),
        "{found:?}"
    );
}

#[test]
fn messages_stay_short() {
    let long = "é".repeat(100_000);
    let found = violations::<u8>(&json!([long]));
    assert_eq!(found.len(), 1);
    assert!(found[0].len() < 2_000 && found[0].contains("is not of type \"integer\""), "{}", found[0]);
    let many = json!({"sections": vec![json!(1); 1000], "decision": {"decision": "approve"}});
    assert!(violations::<Report>(&many).len() <= MOST_VIOLATIONS);
}

#[test]
fn what_cannot_be_checked_is_refused() {
    let refused = |json: Value| Schema::from_json(json).unwrap().expressible().unwrap_err();
    let distant = refused(json!({"properties": {"a": {"$ref": "https://example.com/x.json"}}}));
    assert!(
        matches!(&distant, SchemaError::Remote { place, .. } if place == "#/properties/a/$ref"),
        "{distant}"
    );
    assert!(distant.to_string().contains("$defs"), "{distant}");
    let on_disk = refused(json!({"$ref": "other.json#/a"}));
    assert!(matches!(on_disk, SchemaError::Remote { .. }), "{on_disk}");
    let dangling = refused(json!({"items": {"$ref": "#/$defs/Itm"}, "$defs": {"Item": {}}}));
    assert!(dangling.to_string().contains("`#/$defs/Itm`; it defines: Item"), "{dangling}");
    let hidden = refused(json!({"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}]}}}));
    assert!(matches!(hidden, SchemaError::Unresolved { .. }), "{hidden}");
    for json in [
        json!({"type": "strin"}),
        json!({"properties": {"a": 3}}),
        json!({"pattern": "("}),
        json!({"$ref": "#no_such_anchor"}),
        json!({"$schema": "https://example.com/own"}),
        json!({"$id": "https://example.com/a", "$ref": "b"}),
    ] {
        let error = refused(json.clone());
        assert!(error.to_string().starts_with("the schema"), "{json} {error}");
    }
    // A name that only looks like a reference is none.
    let fine = json!({"properties": {"$ref": {"const": {"$ref": "https://example.com"}}}});
    assert!(Schema::from_json(fine).unwrap().expressible().is_ok());
}

#[test]
fn a_schema_that_cannot_be_checked_lets_nothing_pass() {
    let schema = Schema::from_json(json!({"type": "strin"})).unwrap();
    let found = schema.validate(&json!("x")).unwrap_err();
    assert!(found[0].why.contains("the schema is invalid"), "{found:?}");
}
