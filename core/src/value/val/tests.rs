//! Tests of `Val`.

use super::*;
use crate::schema::Schema;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
};

/// JSON of any shape, with the keys and numbers most likely to be confused.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-3..4_i64).prop_map(Value::from),
        (-3..4_i32).prop_map(|number| Value::from(f64::from(number))),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[a-c\"é]{0,2}", inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The same value, composed from children down to a given level.
fn composed(value: &Value, levels: usize) -> Val {
    match value {
        Value::Array(list) if levels > 0 => {
            Val::list(list.iter().map(|item| composed(item, levels - 1)).collect())
        }
        Value::Object(map) if levels > 0 => {
            let fields =
                map.iter().rev().map(|(key, value)| (key.as_str().into(), composed(value, levels - 1)));
            Val::object(fields.collect())
        }
        other => Val::from_json(other.clone()),
    }
}

proptest! {
    #[test]
    fn composing_changes_neither_digest_nor_text(value in any_json(), levels in 0..5_usize) {
        let whole = Val::from_json(value.clone());
        let parts = composed(&value, levels);
        prop_assert_eq!(whole.digest(), digest_json(&value));
        prop_assert_eq!(parts.digest(), digest_json(&value));
        prop_assert_eq!(parts.text().unwrap(), whole.text().unwrap());
        prop_assert_eq!(&parts.json().unwrap(), &value);
        prop_assert_eq!(Val::variant("Ok", parts).digest(), digest_json(&json!({ "Ok": value })));
    }

    #[test]
    fn text_reads_back_with_the_same_digest(value in any_json()) {
        let val = Val::encode(&value);
        // `Value` inside a `Value` is never a `Some`, so nothing is refused.
        let val = val.unwrap();
        let text = val.text().unwrap();
        let again = Val::from_text(&text).unwrap();
        prop_assert_eq!(again.digest(), val.digest());
        prop_assert_eq!(again.text().unwrap(), text);
        prop_assert_eq!(&*again.decode::<Value>().unwrap(), &value);
    }

    #[test]
    fn elements_and_fields_agree_with_the_json(value in any_json(), levels in 0..3_usize) {
        let val = composed(&value, levels);
        match &value {
            Value::Array(list) => {
                let elements = val.elements().unwrap();
                prop_assert_eq!(elements.len(), list.len());
                for (element, item) in elements.iter().zip(list) {
                    prop_assert_eq!(element.digest(), digest_json(item));
                }
            }
            Value::Object(map) => {
                prop_assert!(val.elements().is_err());
                for (key, field) in map {
                    prop_assert_eq!(val.field(key).unwrap().unwrap().digest(), digest_json(field));
                }
                prop_assert!(val.field("no such key").unwrap().is_none());
            }
            _ => {
                prop_assert!(val.elements().is_err());
                prop_assert!(val.field("a").unwrap().is_none());
            }
        }
    }
}

#[test]
fn the_order_of_keys_is_no_matter() {
    let one = Val::from_text(r#"{"b": 1, "a": [ {"y":2,"x":1} ]}"#).unwrap();
    let other = Val::from_text(r#"{"a":[{"x":1,"y":2}],"b":1}"#).unwrap();
    assert_eq!(one, other);
    assert_eq!(&*one.text().unwrap(), r#"{"a":[{"x":1,"y":2}],"b":1}"#);
    let object =
        Val::object(vec![("b".into(), Val::null()), ("a".into(), Val::null()), ("b".into(), one.clone())]);
    assert_eq!(object.field("b").unwrap().unwrap(), one);
    assert_eq!(object.json().unwrap()["a"], json!(null));
}

#[test]
fn edges_of_integers_keep_their_value() {
    for text in
        ["0", "18446744073709551615", "9007199254740993", "-9223372036854775808", "1.0", "-0.0", "1e300"]
    {
        let val = Val::from_text(text).unwrap();
        let again = Val::from_text(&val.text().unwrap()).unwrap();
        assert_eq!(again, val);
    }
    assert_eq!(*Val::from_text("18446744073709551615").unwrap().decode::<u64>().unwrap(), u64::MAX);
    assert_ne!(Val::from_text("9007199254740993").unwrap(), Val::from_text("9007199254740992").unwrap());
    assert_ne!(Val::from_text("1").unwrap(), Val::from_text("1.0").unwrap());
}

struct Counting {
    text: Result<Arc<str>, Unreadable>,
    reads: AtomicUsize,
}

impl Counting {
    fn new(text: Result<Arc<str>, Unreadable>) -> Arc<Self> {
        Arc::new(Counting { text, reads: AtomicUsize::new(0) })
    }
}

impl Fetch for Counting {
    fn fetch(&self, at: u64) -> Result<Arc<str>, Unreadable> {
        assert_eq!(at, 7);
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.text.clone()
    }
}

#[test]
fn a_stored_value_is_read_when_needed_and_once() {
    let json = json!({"a": [1, 2]});
    let ledger = Counting::new(Ok(json.to_string().into()));
    let val = Val::stored(digest_json(&json), ledger.clone(), 7);
    let joined = Val::list(vec![val.clone(), Val::null()]);
    assert_eq!(joined.digest(), digest_json(&json!([json, null])));
    assert_eq!(val, Val::from_json(json.clone()));
    assert_eq!(ledger.reads.load(Ordering::SeqCst), 0);
    assert_eq!(joined.json().unwrap(), json!([json, null]));
    assert_eq!(val.field("a").unwrap().unwrap().elements().unwrap().len(), 2);
    assert_eq!(val.decode::<BTreeMap<String, Vec<u8>>>().unwrap()["a"], [1, 2]);
    assert_eq!(ledger.reads.load(Ordering::SeqCst), 1);
}

#[test]
fn a_value_that_cannot_be_read_says_so() {
    let ledger = Counting::new(Err(Unreadable("disk on fire".into())));
    let val = Val::stored(Digest::ZERO, ledger, 7);
    let expected = Unreadable("disk on fire".into());
    assert_eq!(val.text().unwrap_err(), expected);
    assert_eq!(Val::list(vec![val.clone()]).text().unwrap_err(), expected);
    assert_eq!(val.decode::<i32>().unwrap_err(), ValueError::Unreadable(expected.clone()));
    assert_eq!(val.elements().unwrap_err(), ValueError::Unreadable(expected.clone()));
    assert_eq!(val.field("a").unwrap_err(), ValueError::Unreadable(expected));
    let broken = Val::stored(Digest::ZERO, Counting::new(Ok("{".into())), 7);
    assert!(broken.json().unwrap_err().to_string().contains("not valid JSON"));
}

static DECODED: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Slow(#[expect(dead_code, reason = "only decoding counts")] u32);

impl<'de> Deserialize<'de> for Slow {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DECODED.fetch_add(1, Ordering::SeqCst);
        std::thread::yield_now();
        u32::deserialize(deserializer).map(Slow)
    }
}

#[test]
fn one_decoded_copy_is_shared_even_by_many_at_once() {
    let val = Val::from_json(json!(5));
    let barrier = std::sync::Barrier::new(8);
    let copies: Vec<Arc<Slow>> = std::thread::scope(|scope| {
        let decode = || {
            barrier.wait();
            val.clone().decode::<Slow>().unwrap()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(decode)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(DECODED.load(Ordering::SeqCst), 1);
    assert!(copies.iter().all(|copy| Arc::ptr_eq(copy, &copies[0])));
    // Another type gets its own copy, and both stay.
    assert_eq!(*val.decode::<u8>().unwrap(), 5);
    assert!(Arc::ptr_eq(&val.decode::<Slow>().unwrap(), &copies[0]));
    assert!(Arc::ptr_eq(&val.decode::<u8>().unwrap(), &val.decode::<u8>().unwrap()));
}

#[test]
fn a_panic_while_decoding_spoils_nothing() {
    #[derive(Debug)]
    struct Panics;
    impl<'de> Deserialize<'de> for Panics {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("an author's mistake")
        }
    }
    let val = Val::from_json(json!(5));
    let other = val.clone();
    assert!(std::thread::spawn(move || other.decode::<Panics>()).join().is_err());
    assert_eq!(*val.decode::<u8>().unwrap(), 5);
}

#[derive(Debug, Deserialize)]
struct Report {
    #[expect(dead_code, reason = "only decoding counts")]
    sections: Vec<Section>,
}

#[derive(Debug, Deserialize)]
struct Section {
    #[expect(dead_code, reason = "only decoding counts")]
    score: u8,
    #[expect(dead_code, reason = "only decoding counts")]
    tags: Option<BTreeMap<String, bool>>,
    #[expect(dead_code, reason = "only decoding counts")]
    kind: Option<Tag>,
}

#[derive(Debug, Deserialize)]
enum Tag {
    #[expect(dead_code, reason = "only decoding counts")]
    One(u8),
}

fn place_of(value: Value) -> String {
    match Val::from_json(value).decode::<Report>() {
        Err(ValueError::Decode { place, type_name, why, digest }) => {
            assert!(type_name.ends_with("Report"), "{type_name}");
            assert!(!why.is_empty() && digest.len() == 12);
            place
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_decode_error_names_the_place() {
    let with = |bad: Value| json!({"sections": [{"score": 1}, bad, {"score": 2}], "zz": 1});
    assert_eq!(place_of(with(json!({"score": "x", "tags": null}))), ".sections[1].score");
    assert_eq!(place_of(with(json!({"score": 300, "tags": null}))), ".sections[1].score");
    assert_eq!(place_of(with(json!({"score": 300}))), ".sections[1].score");
    assert_eq!(place_of(with(json!({"score": -1, "zz": 1}))), ".sections[1].score");
    assert_eq!(place_of(with(json!({"score": [1], "zz": 1}))), ".sections[1].score");
    assert_eq!(place_of(with(json!({"score": null, "zz": 1}))), ".sections[1].score");
    assert_eq!(place_of(with(json!({"score": 1.5, "zz": 1}))), ".sections[1].score");
    assert_eq!(place_of(with(json!({"tags": {}}))), ".sections[1]");
    assert_eq!(
        place_of(with(json!({"score": 1, "tags": {"a, b": true, "c": 1, "d": true}}))),
        ".sections[1].tags.c"
    );
    assert_eq!(place_of(with(json!({"score": 1, "kind": {"One": "x"}}))), ".sections[1].kind.One");
    assert_eq!(place_of(with(json!(7))), ".sections[1]");
    assert_eq!(place_of(json!({"sections": {}})), ".sections");
    assert_eq!(place_of(json!({})), ".");
    assert_eq!(place_of(json!([])), ".");
}

#[test]
fn depth_is_an_error_not_an_overflow() {
    let mut val = Val::null();
    for _ in 0..200 {
        val = Val::list(vec![val]);
    }
    assert!(!val.digest().is_zero());
    assert!(val.text().unwrap_err().to_string().contains("128 levels"));
    assert!(matches!(val.decode::<Value>(), Err(ValueError::Unreadable(_))));
    let deep = Val::from_text(&format!("{}{}", "[".repeat(127), "]".repeat(127))).unwrap();
    let deeper = Val::list(vec![deep]);
    assert!(matches!(deeper.decode::<Value>(), Err(ValueError::Decode { .. })));
    assert!(deeper.text().is_ok());
}

#[test]
#[expect(clippy::disallowed_types, reason = "a set's random order is what is tested")]
fn sets_are_encoded_in_one_order() {
    use std::collections::HashSet;
    let schema = Schema::of::<HashSet<String>>();
    let texts: std::collections::BTreeSet<Arc<str>> = (0..20)
        .map(|_| {
            let set: HashSet<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
            Val::encode_as(&set, &schema).unwrap().text().unwrap()
        })
        .collect();
    assert_eq!(texts.into_iter().collect::<Vec<_>>(), [r#"["a","b","c","d","e"]"#.into()]);
}

#[test]
fn debug_shows_no_content() {
    let shown = format!("{:?}", Val::from_json(json!("secret")));
    assert!(shown.starts_with("Val(leaf ") && !shown.contains("secret"), "{shown}");
}
