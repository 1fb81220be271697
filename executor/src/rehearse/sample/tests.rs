//! Tests of sampling.

use super::{Dice, sample};
use hermes_core::schema::Schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Tree {
    Leaf { text: String, count: Option<u8> },
    Fork { parts: Vec<Tree>, weights: BTreeMap<String, f64> },
    Link(Link),
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Link {
    #[schemars(length(min = 3, max = 9))]
    to: String,
    #[schemars(range(min = -3, max = 3))]
    weight: i8,
    pair: (bool, u16),
}

#[test]
fn samples_of_a_recursive_type_are_valid_and_have_all_its_forms() {
    let schema = Schema::of::<Tree>();
    let mut kinds = BTreeMap::new();
    for seed in 0..500 {
        let value = sample(schema.json(), &mut Dice::new(seed, "tree", 0));
        schema.validate(&value).unwrap_or_else(|why| panic!("{value}: {why:?}"));
        let tree: Tree = serde_json::from_value(value).unwrap();
        let kind = match tree {
            Tree::Leaf { count, .. } => format!("leaf {}", count.is_some()),
            Tree::Fork { parts, .. } => format!("fork of {}", parts.len()),
            Tree::Link(link) => format!("link {}", link.pair.0),
        };
        *kinds.entry(kind).or_insert(0) += 1;
    }
    assert!(kinds.len() >= 6 && kinds.values().all(|count| *count > 10), "{kinds:?}");
}

#[test]
fn the_same_choices_make_the_same_value_and_others_another() {
    let schema = Schema::of::<Tree>();
    let made = |seed, path, again| sample(schema.json(), &mut Dice::new(seed, path, again));
    assert_eq!(made(1, "a[x]/b", 0), made(1, "a[x]/b", 0));
    let all: Vec<Value> = (0..20).map(|seed| made(seed, "a[x]/b", 0)).collect();
    assert!(all.iter().any(|value| *value != all[0]));
    assert!((0..20).any(|seed| made(seed, "a[x]/b", 0) != made(seed, "a[y]/b", 0)));
    assert!((0..20).any(|seed| made(seed, "a[x]/b", 0) != made(seed, "a[x]/b", 1)));
}

#[test]
fn an_authors_example_is_taken_now_and_then() {
    let schema = json!({"type": "string", "examples": ["v1.2.3"]});
    let made = (0..100).map(|seed| sample(&schema, &mut Dice::new(seed, "", 0)));
    let examples = made.filter(|value| value == "v1.2.3").count();
    assert!((20..80).contains(&examples), "{examples}");
}

#[test]
fn bounds_of_numbers_and_lists_are_kept() {
    let schema = Schema::from_json(json!({
        "type": "object", "required": ["n", "x", "list"], "properties": {
            "n": {"type": "integer", "minimum": 10, "maximum": 40, "multipleOf": 5},
            "x": {"type": "number", "exclusiveMinimum": -1.0, "maximum": 1.0},
            "list": {"type": "array", "minItems": 2, "maxItems": 3, "items": {"enum": ["a", "b"]}},
        }
    }))
    .unwrap();
    let valid = |seed| {
        let value = sample(schema.json(), &mut Dice::new(seed, "", 0));
        schema.validate(&value).is_ok()
    };
    // What is at the bound of an exclusive range is not valid: such a sample is thrown away and made anew.
    assert!((0..200).filter(|seed| valid(*seed)).count() > 150);
}

/// A type whose smallest form by text is the one that goes on for ever.
#[derive(Serialize, Deserialize, JsonSchema)]
enum Term {
    Not(Box<Term>),
    Both(Box<Term>, Box<Term>),
    Literal(Literal),
}

/// A word, with more said of it than of what goes on.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Literal {
    /// What it says, in as many words as it takes to make its form the longer one.
    text: String,
    position: u32,
    flag: bool,
}

#[test]
fn a_type_made_of_itself_comes_to_an_end() {
    let schema = Schema::of::<Term>();
    for seed in 0..500 {
        let value = sample(schema.json(), &mut Dice::new(seed, "", 0));
        assert!(schema.validate(&value).is_ok(), "{value}");
    }
    // And one that has no end is not a value, but no overflow either.
    let endless = json!({"$ref": "#/$defs/E", "$defs": {"E": {"type": "object", "required": ["e"],
        "properties": {"e": {"$ref": "#/$defs/E"}}}}});
    sample(&endless, &mut Dice::new(1, "", 0));
}
