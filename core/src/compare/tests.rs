//! Differences of texts, lists, values and schemas, each told right.

use super::*;
use crate::{digest::Digest, schema::Schema, value::digest_json};
use proptest::prelude::*;
use serde_json::{Value, json};

fn lines<T: std::fmt::Display>(changes: &[T]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

#[test]
fn texts_differ_by_lines_with_three_around() {
    let old =
        "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\nline 11\nline 12\n";
    let new = old.replace("line 6\n", "line six\nline 6b\n");
    let change = text_change(old, &new);
    assert_eq!((change.added, change.removed), (2, 1));
    assert_eq!(
        change.unified,
        "@@ -3,7 +3,8 @@\n line 3\n line 4\n line 5\n-line 6\n+line six\n+line 6b\n line 7\n line 8\n line 9\n"
    );
}

#[test]
fn a_line_break_at_the_end_is_told_only_where_it_differs() {
    assert!(!text_change("a", "b").unified.contains("newline"));
    assert!(text_change("a", "a\n").unified.contains("No newline"));
}

#[test]
fn very_long_texts_are_not_aligned() {
    let (old, new) = ("a\n".repeat(15_000), "b\n".repeat(15_000));
    let change = text_change(&old, &new);
    assert_eq!((change.added, change.removed), (15_000, 15_000));
    assert!(change.unified.contains("-… and 14980 more lines"), "{}", change.unified);
}

#[test]
fn what_is_shown_cannot_move_the_cursor() {
    assert_eq!(printable("a\u{1b}[2Jb\n\tc\r"), "a\\u{1b}[2Jb\n\tc\\r");
}

#[test]
fn lists_differ_by_what_is_new_and_gone_and_moved() {
    let list = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
    let change = list_change(&list("a b c"), &list("a d c b"));
    assert_eq!(change.to_string(), "added `d`; in another order: `a`, `b`, `c` → `a`, `d`, `c`, `b`");
    assert_eq!(list_change(&list("a b"), &list("b")).to_string(), "removed `a`");
    assert_eq!(list_change(&list("a a"), &list("a")).removed, ["a"]);
}

#[test]
fn values_differ_place_by_place() {
    let old = json!({"sections": [{"title": "A"}, {"title": "B", "score": 1}], "gone": null, "odd name": 1});
    let new =
        json!({"sections": [{"title": "New"}, {"title": "A"}, {"title": "B", "score": 1.0}], "odd name": 2});
    assert_eq!(
        lines(&json_changes(&old, &new)),
        [
            ".gone: removed null",
            r#"."odd name": 1 → 2"#,
            r#".sections[0]: added {"title":"New"}"#,
            ".sections[2].score: 1 → 1.0",
        ]
    );
    assert_eq!(lines(&json_changes(&json!([1, 2]), &json!([2]))), [".[0]: removed 1"]);
    assert_eq!(lines(&json_changes(&json!(-0.0), &json!(0.0))), [".: -0.0 → 0.0"]);
}

fn schema(json: Value) -> Schema {
    Schema::from_json(json).unwrap()
}

#[track_caller]
fn told(old: Value, new: Value) -> Vec<String> {
    lines(&schema_changes(&schema(old), &schema(new), true))
}

#[test]
fn fields_and_types_of_schemas_are_told_in_words() {
    let of = |fields: Value, required: &[&str]| json!({"type": "object", "properties": fields, "required": required});
    let before = of(
        json!({"a": {"type": "string"}, "b": {"type": "number"}, "c": {"type": ["string", "null"]}}),
        &["a"],
    );
    let after = of(
        json!({"a": {"type": "string", "minLength": 1}, "b": {"type": "integer"}, "d": {"type": "boolean"}}),
        &["a", "b", "d"],
    );
    assert_eq!(
        told(before, after),
        [
            ".a: minLength narrowed: none → 1",
            ".b: was optional, is required",
            ".b: type narrowed: number → integer",
            ".c: optional field removed (string or null)",
            ".d: required field added (boolean)",
        ]
    );
    let list = |item: &str| json!({"type": "array", "items": {"type": item}});
    assert_eq!(told(list("string"), list("integer")), [".[]: type changed: string → integer"]);
    assert_eq!(
        told(list("string"), json!({"type": "array"})),
        [r#".: items changed: {"type":"string"} → none"#]
    );
    assert_eq!(told(json!({"type": "string"}), json!({})), [".: type widened: string → anything"]);
    let kinds = |kinds: &[&str]| json!({"type": "string", "enum": kinds});
    assert_eq!(
        told(kinds(&["a", "b"]), kinds(&["a", "c"])),
        [r#".: case removed: "b""#, r#".: case added: "c""#]
    );
    assert_eq!(told(json!({"type": "string"}), kinds(&["a"])), [r#".: type narrowed: string → "a""#]);
}

#[test]
fn cases_are_known_by_their_tags() {
    let case = |tag: &str, field: Value| json!({"type": "object", "properties": {"kind": {"const": tag, "type": "string"}, "x": field}, "required": ["kind", "x"]});
    let before =
        json!({"oneOf": [case("one", json!({"type": "string"})), case("two", json!({"type": "string"}))]});
    let after = json!({"oneOf": [case("three", json!({"type": "string"})), case("one", json!({"type": ["string", "null"]}))]});
    assert_eq!(
        told(before, after),
        [
            r#"(kind "one").x: type widened: string → string or null"#,
            r#".: case removed: kind "two""#,
            r#".: case added: kind "three""#,
        ]
    );
}

#[test]
fn a_recursive_schema_ends_and_its_references_are_followed() {
    let tree = |leaf: &str| {
        json!({"$ref": "#/$defs/Tree", "$defs": {"Tree": {"type": "object", "properties": {
            "label": {"type": leaf}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
            "parent": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]}
        }, "required": ["label"]}}})
    };
    assert_eq!(told(tree("number"), tree("integer")), [".label: type narrowed: number → integer"]);
    let itself = json!({"oneOf": [{"$ref": "#"}, {"type": "string"}]});
    assert!(!told(itself, json!({"type": "string"})).is_empty());
}

#[test]
fn descriptions_count_only_where_they_are_asked_for() {
    let of = |text: &str| {
        schema(json!({"type": "object", "properties": {"a": {"type": "string", "description": text}}}))
    };
    assert_eq!(
        lines(&schema_changes(&of("Short."), &of("Long."), true)),
        [r#".a: description changed: "Short." → "Long.""#]
    );
    assert!(schema_changes(&of("Short."), &of("Long."), false).is_empty());
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        Just(json!(1.0)),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    /// Values differ in some place exactly where their digests do.
    #[test]
    fn values_differ_where_their_digests_do(old in values(), new in values()) {
        let same: Digest = digest_json(&old);
        prop_assert_eq!(json_changes(&old, &new).is_empty(), same == digest_json(&new));
        prop_assert!(json_changes(&old, &old.clone()).is_empty());
    }

    /// A text is made from the other by its diff.
    #[test]
    fn a_diff_says_something_exactly_where_texts_differ(old in "([ab]{0,2}\n){0,6}", new in "([ab]{0,2}\n){0,6}") {
        let change = text_change(&old, &new);
        prop_assert_eq!(change.unified.is_empty(), old == new);
        let count = |mark| change.unified.lines().filter(|line| line.starts_with(mark)).count();
        prop_assert_eq!((count('+'), count('-')), (change.added, change.removed));
    }

    /// Where two schemas have another structure, something is told of it.
    #[test]
    fn something_is_told_of_every_difference(old in schemas(), new in schemas()) {
        let (old, new) = (schema(old), schema(new));
        prop_assert_eq!(schema_changes(&old, &new, true).is_empty(), old.id() == new.id());
        prop_assert_eq!(schema_changes(&old, &new, false).is_empty(), old.bare_id() == new.bare_id());
    }
}

fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        prop::sample::select(vec!["string", "integer", "number", "null"])
            .prop_map(|kind| json!({"type": kind})),
        Just(json!({"type": ["string", "null"], "description": "A."})),
        Just(json!({"enum": ["a", "b"]})),
        Just(json!({"const": "a"})),
        Just(json!({"$ref": "#"})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|item| json!({"type": "array", "items": item})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|cases| json!({"oneOf": cases})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| json!({"allOf": parts})),
            (prop::collection::btree_map("[ab]", inner, 0..3), any::<bool>()).prop_map(|(fields, all)| {
                let required: Vec<_> = if all { fields.keys().cloned().collect() } else { Vec::new() };
                json!({"type": "object", "properties": fields, "required": required})
            }),
        ]
    })
}
