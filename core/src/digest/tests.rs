//! Tests of digests and their builder.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn hex_reads_back() {
    let digest = Digest::of_bytes(b"x");
    let hex = digest.to_string();
    assert_eq!(hex.len(), 64);
    assert_eq!(hex, blake3::hash(b"x").to_hex().as_str());
    assert_eq!(hex.parse::<Digest>(), Ok(digest));
    assert_eq!(hex.to_uppercase().parse::<Digest>(), Ok(digest));
    assert_eq!(format!("{digest:?}"), hex);
    assert_eq!(digest.short(), hex[..12]);
    let json = serde_json::to_string(&digest).unwrap();
    assert_eq!(json, format!("\"{hex}\""));
    assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
    assert_eq!(serde_json::from_value::<Digest>(serde_json::json!(hex)).unwrap(), digest);
    assert!(Digest::ZERO.is_zero() && !digest.is_zero());
}

#[test]
fn other_texts_are_refused() {
    for text in ["", "12", &"g".repeat(64), &"é".repeat(32), &"0".repeat(65)] {
        let refused = text.parse::<Digest>().unwrap_err().to_string();
        assert!(refused.contains("64 hex digits"), "{refused}");
        assert!(serde_json::from_value::<Digest>(serde_json::json!(text)).is_err());
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Bytes(u8, Vec<u8>),
    Text(String),
    U64(u64),
    I64(i64),
    Bool(bool),
    Digest(Digest),
    Optional(Option<String>),
    List(usize),
}

fn write(domain: &'static str, parts: &[Part]) -> Digest {
    let mut writer = DigestWriter::new(domain);
    for part in parts {
        match part {
            Part::Bytes(tag, bytes) => writer.bytes(*tag, bytes),
            Part::Text(text) => writer.text(text),
            Part::U64(number) => writer.u64(*number),
            Part::I64(number) => writer.i64(*number),
            Part::Bool(yes) => writer.bool(*yes),
            Part::Digest(digest) => writer.digest(digest),
            Part::Optional(text) => writer.optional_text(text.as_deref()),
            Part::List(len) => writer.list(*len),
        };
    }
    writer.finish()
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (0..3_u8, prop::collection::vec(0..4_u8, 0..4)).prop_map(|(tag, bytes)| Part::Bytes(tag, bytes)),
        "[\\x00-\\x09a]{0,3}".prop_map(Part::Text),
        (0..4_u64).prop_map(Part::U64),
        (-2..4_i64).prop_map(Part::I64),
        any::<bool>().prop_map(Part::Bool),
        (0..3_u8).prop_map(|byte| Part::Digest(Digest([byte; 32]))),
        prop::option::of("[\\x00-\\x09a]{0,3}").prop_map(Part::Optional),
        (0..3_usize).prop_map(Part::List),
    ]
}

proptest! {
    /// Small alphabets make near-collisions likely: two sequences agree exactly when they are the same.
    #[test]
    fn no_two_sequences_collide(all in prop::collection::vec(prop::collection::vec(part(), 0..4), 2..40)) {
        let mut seen: BTreeMap<Digest, Vec<Part>> = BTreeMap::new();
        for parts in all {
            let digest = write("d", &parts);
            prop_assert_ne!(digest, write("e", &parts));
            let first = seen.entry(digest).or_insert_with(|| parts.clone());
            prop_assert_eq!(&*first, &parts);
        }
    }
}

#[test]
fn near_misses_differ() {
    let pairs = [
        (vec![Part::Optional(None)], vec![Part::Optional(Some(String::new()))]),
        (vec![Part::Text("ab".into())], vec![Part::Text("a".into()), Part::Text("b".into())]),
        (vec![Part::Text("a".into())], vec![Part::Optional(Some("a".into()))]),
        (vec![Part::U64(1)], vec![Part::I64(1)]),
        (vec![Part::List(0)], vec![]),
        (vec![Part::Bytes(1, vec![])], vec![Part::Bytes(2, vec![])]),
    ];
    for (one, other) in pairs {
        assert_ne!(write("d", &one), write("d", &other), "{one:?} {other:?}");
    }
}
