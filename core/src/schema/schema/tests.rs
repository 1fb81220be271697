//! Tests of the handle.

use super::*;
use serde_json::json;

#[test]
fn keys_are_sorted_and_text_reads_back() {
    let schema = Schema::of::<Vec<Option<String>>>();
    let again: Schema = serde_json::from_str(schema.text()).unwrap();
    assert_eq!(again, schema);
    assert_eq!(again.id(), schema.id());
    assert_eq!(serde_json::to_string(&schema).unwrap(), schema.text());
    let keys: Vec<&String> = schema.json().as_object().unwrap().keys().collect();
    assert!(keys.is_sorted());
}

#[test]
fn only_objects_and_booleans_are_schemas() {
    for json in [json!(null), json!(1), json!("string"), json!([])] {
        let error = Schema::from_json(json).unwrap_err();
        assert!(error.to_string().contains("a JSON object or a boolean"), "{error}");
    }
    assert!(Schema::from_json(json!(false)).unwrap().validate(&json!(1)).is_err());
    assert!(Schema::from_json(json!(true)).unwrap().validate(&json!(1)).is_ok());
}

#[test]
fn debug_is_short() {
    let shown = format!("{:?}", Schema::of::<Vec<String>>());
    assert!(shown.starts_with("Schema([string] "), "{shown}");
}
