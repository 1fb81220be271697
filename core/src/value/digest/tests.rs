//! Tests of the recursive digest.

use super::*;
use serde_json::json;
use std::collections::BTreeMap;

#[test]
fn near_values_differ() {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(1.0),
        json!(-1),
        json!(-1.0),
        json!(0.0),
        json!(-0.0),
        json!("1"),
        json!(""),
        json!([]),
        json!({}),
        json!([[]]),
        json!([null]),
        json!([1]),
        json!([1, null]),
        json!([[1]]),
        json!({"": null}),
        json!({"a": null}),
        json!({"a": {}}),
        json!({"a": 1, "b": 2}),
        json!({"a": 2, "b": 1}),
        json!(["a", 1]),
        json!([["a", 1]]),
        json!("true"),
        json!("null"),
        json!(9_007_199_254_740_992_u64),
        json!(9_007_199_254_740_993_u64),
        json!(9_007_199_254_740_992.0),
        json!(u64::MAX),
        json!(u64::MAX - 1),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(i64::MIN + 1),
        json!(1e308),
        json!(5e-324),
    ];
    let mut seen: BTreeMap<Digest, &Value> = BTreeMap::new();
    for value in &values {
        let digest = digest_json(value);
        assert!(!digest.is_zero());
        if let Some(other) = seen.insert(digest, value) {
            panic!("{value} and {other} have one digest");
        }
        assert_eq!(digest, digest_json(&value.clone()));
    }
}

#[test]
fn lengths_around_the_stack_buffer() {
    let mut seen = BTreeMap::new();
    for len in 0..1200 {
        let text = "x".repeat(len);
        assert_eq!(seen.insert(digest_json(&json!(text)), len), None);
    }
    // The same bytes, whether hashed at once or piece by piece.
    let long = "y".repeat(SMALL * 3);
    let mut bytes = vec![JSON, kind::TEXT];
    bytes.extend((long.len() as u64).to_le_bytes());
    bytes.extend(long.as_bytes());
    assert_eq!(digest_json(&json!(long)).as_bytes(), blake3::hash(&bytes).as_bytes());
    let many: Vec<Digest> = (0..100).map(|number| digest_json(&json!(number))).collect();
    assert_eq!(digest_list(many.iter().copied()), digest_json(&json!((0..100).collect::<Vec<_>>())));
}

#[test]
fn the_order_of_fields_is_no_matter() {
    let (one, two) = (digest_json(&json!(1)), digest_json(&json!(2)));
    let expected = digest_json(&json!({"a": 1, "b": 2}));
    assert_eq!(digest_object(&[("a", one), ("b", two)]), expected);
    assert_eq!(digest_object(&[("b", two), ("a", one)]), expected);
    assert_eq!(
        digest_object(&[("b", one), ("a", one), ("b", two)]),
        expected,
        "the last of equal keys counts"
    );
}

#[test]
fn keys_sort_by_bytes() {
    // U+FF5E sorts after U+1F600 in UTF-16 but before it in bytes.
    let (one, two) = (digest_json(&json!(1)), digest_json(&json!(2)));
    let value = json!({"\u{ff5e}": 1, "\u{1f600}": 2});
    assert_eq!(digest_object(&[("\u{1f600}", two), ("\u{ff5e}", one)]), digest_json(&value));
}

#[test]
fn deep_nesting_needs_no_deep_stack() {
    let mut value = json!(1);
    for level in 0..5_000 {
        value = if level % 2 == 0 {
            Value::Array(vec![value])
        } else {
            Value::Object(Map::from_iter([("k".to_owned(), value)]))
        };
    }
    let small = std::thread::Builder::new().stack_size(128 * 1024);
    std::thread::scope(|scope| {
        let digest = small.spawn_scoped(scope, || digest_json(&value)).unwrap().join().unwrap();
        assert!(!digest.is_zero());
    });
    // Dropping it would overflow the stack; that is the test's doing, not the digest's.
    std::mem::forget(value);
}

#[test]
fn the_format_is_pinned() {
    // A change here breaks every stored fingerprint: raise the version byte and keep the old reading.
    assert_eq!(digest_json(&json!(null)).short(), "39e61b227475");
    assert_eq!(digest_json(&json!({"a": [1, -1, 1.5, "x", true]})).short(), "dd4f52474fbb");
}
