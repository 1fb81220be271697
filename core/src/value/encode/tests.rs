//! Tests of the checking serializer.

use super::*;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
enum Kind {
    Unit,
    New(Option<f64>),
    Pair(u8, f64),
    Named {
        score: f64,
        #[serde(default)]
        note: Option<String>,
    },
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Marker;

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Section {
    title: String,
    score: f64,
    kinds: Vec<Kind>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    left_out: Option<i32>,
    nested: Option<Box<Section>>,
    by_number: BTreeMap<i32, (char, bool)>,
    marker: Marker,
    small: f32,
}

#[derive(Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
enum Review {
    Approve,
    Change { reason: String },
}

fn section() -> Section {
    Section {
        title: "ü\"\n".into(),
        score: 0.1,
        kinds: vec![
            Kind::Unit,
            Kind::New(Some(1.0)),
            Kind::New(None),
            Kind::Pair(3, -0.5),
            Kind::Named { score: 2.5, note: None },
        ],
        left_out: None,
        nested: None,
        by_number: BTreeMap::from([(-3, ('x', true)), (10, ('é', false))]),
        marker: Marker,
        small: 0.1,
    }
}

fn refused<T: Serialize + ?Sized>(value: &T) -> (String, String) {
    let error = encode(value).unwrap_err();
    assert!(error.to_string().contains(&error.place), "{error}");
    (error.place, error.why)
}

#[test]
fn writes_what_serde_json_writes() {
    let mut outer = section();
    outer.nested = Some(Box::new(section()));
    assert_eq!(encode(&outer).unwrap(), serde_json::to_value(&outer).unwrap());
    let reviews = [Review::Approve, Review::Change { reason: "x".into() }];
    assert_eq!(encode(&reviews).unwrap(), serde_json::to_value(&reviews).unwrap());
    assert_eq!(encode(&json!({"a": [1, null, {"b": 1.5}]})).unwrap(), json!({"a": [1, null, {"b": 1.5}]}));
    assert_eq!(encode(&()).unwrap(), json!(null));
    assert_eq!(encode("x").unwrap(), json!("x"));
    assert_eq!(encode(&None::<i32>).unwrap(), json!(null));
    assert_eq!(encode(&Ok::<i32, String>(1)).unwrap(), json!({"Ok": 1}));
    assert_eq!(encode(&BTreeMap::from([((), 1)].map(|_| ('c', 1)))).unwrap(), json!({"c": 1}));
    assert_eq!(encode(&BTreeMap::from([(true, 1)])).unwrap(), json!({"true": 1}));
    assert_eq!(encode(&vec![("u", Marker)]).unwrap(), json!([["u", null]]));
}

#[test]
fn a_value_reads_back_as_it_was() {
    let before = section();
    let text = encode(&before).unwrap().to_string();
    assert_eq!(serde_json::from_str::<Section>(&text).unwrap(), before);
}

#[test]
fn floats_must_be_finite() {
    #[derive(Serialize)]
    struct Report {
        sections: Vec<Section>,
    }
    let mut report = Report { sections: vec![section(), section()] };
    report.sections[1].score = f64::INFINITY;
    let (place, why) = refused(&report);
    assert_eq!(place, ".sections[1].score");
    assert!(why.contains("inf") && why.contains("Option"), "{why}");
    report.sections[1].score = 0.0;
    report.sections[1].kinds = vec![Kind::Unit, Kind::Named { score: f64::NAN, note: None }];
    assert_eq!(refused(&report).0, ".sections[1].kinds[1].Named.score");
    report.sections[1].kinds = vec![Kind::Pair(1, f64::NEG_INFINITY)];
    assert_eq!(refused(&report).0, ".sections[1].kinds[0].Pair[1]");
    report.sections[1].kinds = vec![Kind::New(Some(f64::NAN))];
    assert_eq!(refused(&report).0, ".sections[1].kinds[0].New");
    assert_eq!(refused(&f32::NAN).0, ".");
    assert_eq!(refused(&[1.0, f64::NAN]).0, ".[1]");
}

#[test]
fn a_some_must_not_look_like_none() {
    assert_eq!(refused(&Some(None::<i32>)).0, ".");
    assert_eq!(refused(&BTreeMap::from([("a", Some(()))])).0, ".a");
    assert_eq!(refused(&vec![Some(Marker)]).0, ".[0]");
    assert_eq!(refused(&Some(serde_json::Value::Null)).0, ".");
    assert!(refused(&Some(Some(None::<i32>))).1.contains("None"));
    assert_eq!(encode(&Some(Some(1))).unwrap(), json!(1));
}

#[test]
fn integers_have_64_bits() {
    assert_eq!(encode(&i128::from(i64::MIN)).unwrap(), json!(i64::MIN));
    assert_eq!(encode(&i128::from(u64::MAX)).unwrap(), json!(u64::MAX));
    assert_eq!(encode(&u128::from(u64::MAX)).unwrap(), json!(u64::MAX));
    assert_eq!(refused(&(u128::from(u64::MAX) + 1)).0, ".");
    assert_eq!(refused(&[i128::from(i64::MIN) - 1]).0, ".[0]");
    assert!(refused(&(u128::from(u64::MAX) + 1)).1.contains("18446744073709551616"));
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(untagged)]
enum Either {
    Number(u8),
    Text(String),
}

#[derive(Serialize)]
struct Flat {
    name: String,
    #[serde(flatten)]
    more: BTreeMap<String, i32>,
}

#[test]
fn keys_must_be_texts_and_distinct() {
    assert!(refused(&BTreeMap::from([((1, 2), 1)])).1.contains("tuple"));
    assert!(refused(&BTreeMap::from([(None::<i32>, 1)])).1.contains("Option"));
    assert!(refused(&BTreeMap::from([(vec![1], 1)])).1.contains("list"));

    let clash = BTreeMap::from([(Either::Number(1), "a"), (Either::Text("1".into()), "b")]);
    let (place, why) = refused(&BTreeMap::from([("m", clash)]));
    assert_eq!(place, ".m.1");
    assert!(why.contains("same text"), "{why}");

    let flat = Flat { name: "n".into(), more: BTreeMap::from([("name".to_owned(), 1)]) };
    assert_eq!(refused(&flat).0, ".name");
}

#[test]
fn an_authors_refusal_gets_its_place() {
    struct Never;
    impl Serialize for Never {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(ser::Error::custom("never written"))
        }
    }
    let (place, why) = refused(&BTreeMap::from([("a", vec![Never])]));
    assert_eq!((place.as_str(), why.as_str()), (".a[0]", "never written"));
}

#[test]
fn bytes_are_numbers() {
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&[1, 255])
        }
    }
    assert_eq!(encode(&Bytes).unwrap(), json!([1, 255]));
}

#[derive(Serialize, Deserialize, Debug)]
enum Deep {
    End,
    In(Box<Deep>),
    List(Vec<Deep>),
}

#[test]
fn whatever_is_written_can_be_read() {
    for variant in
        [|inner| Deep::In(Box::new(inner)), |inner| Deep::List(vec![inner])] as [fn(Deep) -> Deep; 2]
    {
        let mut deep = Deep::End;
        let mut refusals = 0;
        for _ in 0..140 {
            match encode(&deep) {
                Ok(json) => {
                    assert_eq!(refusals, 0);
                    serde_json::from_str::<Value>(&json.to_string()).unwrap();
                }
                Err(error) => {
                    assert!(error.why.contains("128 levels"), "{error}");
                    refusals += 1;
                }
            }
            deep = variant(deep);
        }
        assert!(refusals > 0);
    }
    let deepest = format!("{}{}", "[".repeat(127), "]".repeat(127));
    let json: Value = serde_json::from_str(&deepest).unwrap();
    assert_eq!(encode(&json).unwrap(), json);
    assert!(encode(&[json]).is_err());
}

#[test]
fn endless_types_are_refused_in_time() {
    let mut deep = Deep::End;
    for _ in 0..20_000 {
        deep = Deep::In(Box::new(deep));
    }
    assert!(encode(&deep).is_err());
    // Dropping it would overflow the stack; that is the test's doing, not the encoder's.
    std::mem::forget(deep);
}

proptest! {
    #[test]
    fn every_finite_float_reads_back_bit_by_bit(bits in any::<u64>()) {
        let number = f64::from_bits(bits);
        prop_assume!(number.is_finite());
        let text = encode(&number).unwrap().to_string();
        prop_assert_eq!(serde_json::from_str::<f64>(&text).unwrap().to_bits(), bits);
    }

    #[test]
    fn every_small_float_reads_back_bit_by_bit(bits in any::<u32>()) {
        let number = f32::from_bits(bits);
        prop_assume!(number.is_finite());
        let text = encode(&number).unwrap().to_string();
        prop_assert_eq!(serde_json::from_str::<f32>(&text).unwrap().to_bits(), bits);
    }

    #[test]
    fn every_integer_reads_back(unsigned in any::<u64>(), signed in any::<i64>()) {
        prop_assert_eq!(serde_json::from_str::<u64>(&encode(&unsigned).unwrap().to_string()).unwrap(), unsigned);
        prop_assert_eq!(serde_json::from_str::<i64>(&encode(&signed).unwrap().to_string()).unwrap(), signed);
    }
}
