//! Tests of the sorting of sets.

use super::*;
use crate::schema::Schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

fn sorted<T: JsonSchema>(mut value: Value) -> Value {
    sort_unique_lists(&mut value, Schema::of::<T>().json());
    value
}

#[derive(JsonSchema, Serialize)]
struct Node {
    tags: BTreeSet<String>,
    order: Vec<String>,
    children: Vec<Node>,
    by_name: BTreeMap<String, BTreeSet<i32>>,
    pair: (BTreeSet<i32>, Vec<i32>),
    maybe: Option<BTreeSet<i32>>,
}

#[test]
fn sets_are_sorted_everywhere_and_lists_nowhere() {
    let node = |children: Value| {
        json!({"tags": ["b", "a"], "order": ["b", "a"], "children": children, "by_name": {"x": [3, 1, 2]},
            "pair": [[2, 1], [2, 1]], "maybe": [2, 1]})
    };
    let done = |children: Value| {
        json!({"tags": ["a", "b"], "order": ["b", "a"], "children": children, "by_name": {"x": [1, 2, 3]},
            "pair": [[1, 2], [2, 1]], "maybe": [1, 2]})
    };
    let leaf = node(json!([]));
    assert_eq!(sorted::<Node>(node(json!([leaf]))), done(json!([done(json!([]))])));
    assert_eq!(sorted::<BTreeSet<(i32, String)>>(json!([[2, "a"], [1, "b"]])), json!([[1, "b"], [2, "a"]]));
    assert_eq!(sorted::<Vec<i32>>(json!([2, 1])), json!([2, 1]));
}

#[expect(dead_code, reason = "only its schema is used")]
#[derive(JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    Set { items: BTreeSet<i32> },
    List { items: Vec<i32> },
}

#[expect(dead_code, reason = "only its schema is used")]
#[derive(JsonSchema)]
#[serde(untagged)]
enum Untagged {
    Set { items: BTreeSet<i32> },
    List { items: Vec<i32> },
}

#[test]
fn a_list_in_another_variant_keeps_its_order() {
    assert_eq!(
        sorted::<Tagged>(json!({"kind": "Set", "items": [2, 1]})),
        json!({"kind": "Set", "items": [1, 2]})
    );
    assert_eq!(
        sorted::<Tagged>(json!({"kind": "List", "items": [2, 1]})),
        json!({"kind": "List", "items": [2, 1]})
    );
    // In doubt the order is kept.
    assert_eq!(sorted::<Untagged>(json!({"items": [2, 1]})), json!({"items": [2, 1]}));
    let result = sorted::<Result<BTreeSet<i32>, Vec<i32>>>(json!({"Err": [2, 1]}));
    assert_eq!(result, json!({"Err": [2, 1]}));
    assert_eq!(sorted::<Result<BTreeSet<i32>, Vec<i32>>>(json!({"Ok": [2, 1]})), json!({"Ok": [1, 2]}));
}

#[test]
fn endless_references_end() {
    let schema = json!({"$ref": "#/$defs/A", "uniqueItems": true,
        "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}]}, "B": {"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#"}]}}});
    let mut value = json!([2, 1]);
    sort_unique_lists(&mut value, &schema);
    assert_eq!(value, json!([1, 2]));
}

#[test]
fn a_tuple_of_unequal_parts_is_no_set() {
    let schema = json!({"type": "array", "uniqueItems": true, "prefixItems": [{"type": "string"}, {"type": "string"}]});
    let mut value = json!(["b", "a"]);
    sort_unique_lists(&mut value, &schema);
    assert_eq!(value, json!(["b", "a"]));
}
