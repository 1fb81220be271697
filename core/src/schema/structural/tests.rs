//! Tests of identity by structure, on real derived types where schemars is the one to blame.
#![expect(dead_code, reason = "the types are used for their schemas only")]

use crate::schema::Schema;
use proptest::prelude::*;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

fn schema(json: Value) -> Schema {
    Schema::from_json(json).unwrap()
}

#[track_caller]
fn same<A: JsonSchema, B: JsonSchema>() {
    let (one, other) = (Schema::of::<A>(), Schema::of::<B>());
    assert_eq!(one.id(), other.id(), "\n{}\n{}", one.text(), other.text());
    assert_eq!(one.bare_id(), other.bare_id(), "\n{}\n{}", one.text(), other.text());
}

#[track_caller]
fn differ<A: JsonSchema, B: JsonSchema>() {
    let (one, other) = (Schema::of::<A>(), Schema::of::<B>());
    assert_ne!(one.id(), other.id(), "\n{}\n{}", one.text(), other.text());
    assert_ne!(one.bare_id(), other.bare_id(), "\n{}\n{}", one.text(), other.text());
}

#[track_caller]
fn differ_in_words_only<A: JsonSchema, B: JsonSchema>() {
    let (one, other) = (Schema::of::<A>(), Schema::of::<B>());
    assert_ne!(one.id(), other.id(), "\n{}\n{}", one.text(), other.text());
    assert_eq!(one.bare_id(), other.bare_id(), "\n{}\n{}", one.text(), other.text());
}

mod plain {
    use super::*;
    #[derive(JsonSchema)]
    pub(super) struct Report {
        pub title: String,
        pub score: u32,
        pub note: Option<String>,
    }
    pub(super) mod renamed {
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Outcome {
            pub note: Option<String>,
            pub score: u32,
            pub title: String,
        }
    }
    pub(super) mod grown {
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Report {
            pub title: String,
            pub score: u32,
            pub note: Option<String>,
            pub more: Option<bool>,
        }
    }
    pub(super) mod narrowed {
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Report {
            pub title: String,
            pub score: u8,
            pub note: Option<String>,
        }
    }
    pub(super) mod required {
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Report {
            pub title: String,
            pub score: u32,
            pub note: String,
        }
    }
    pub(super) mod described {
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Report {
            /// The headline.
            pub title: String,
            #[schemars(example = 3)]
            pub score: u32,
            pub note: Option<String>,
        }
    }
    pub(super) mod described_as_a_whole {
        /// What came out.
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Report {
            pub title: String,
            pub score: u32,
            pub note: Option<String>,
        }
    }
    pub(super) mod titled {
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Report {
            #[schemars(title = "Headline")]
            pub title: String,
            pub score: u32,
            pub note: Option<String>,
        }
    }
    pub(super) mod defaulted {
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Report {
            #[serde(default)]
            pub title: String,
            pub score: u32,
            pub note: Option<String>,
        }
    }
}

#[test]
fn structure_counts_and_names_do_not() {
    same::<plain::Report, plain::renamed::Outcome>();
    differ::<plain::Report, plain::grown::Report>();
    differ::<plain::Report, plain::narrowed::Report>();
    differ::<plain::Report, plain::required::Report>();
    differ::<plain::Report, plain::defaulted::Report>();
    differ_in_words_only::<plain::Report, plain::described::Report>();
    differ_in_words_only::<plain::Report, plain::described_as_a_whole::Report>();
    differ_in_words_only::<plain::Report, plain::titled::Report>();
    assert_ne!(Schema::of::<plain::Report>().id(), Schema::of::<plain::Report>().bare_id());
    // The same below a name.
    same::<Vec<plain::Report>, Vec<plain::renamed::Outcome>>();
    differ::<Vec<plain::Report>, Vec<plain::grown::Report>>();
    differ_in_words_only::<Option<plain::Report>, Option<plain::described::Report>>();
    differ::<plain::Report, Vec<plain::Report>>();
    differ::<Vec<plain::Report>, Option<plain::Report>>();
}

#[test]
fn simple_kinds_all_differ() {
    let ids = [
        Schema::of::<String>(),
        Schema::of::<i32>(),
        Schema::of::<i64>(),
        Schema::of::<u64>(),
        Schema::of::<f64>(),
        Schema::of::<bool>(),
        Schema::of::<()>(),
        Schema::of::<Value>(),
        Schema::of::<Option<String>>(),
        Schema::of::<Vec<String>>(),
        Schema::of::<std::collections::BTreeSet<String>>(),
        Schema::of::<(String, i32)>(),
        Schema::of::<(i32, String)>(),
        Schema::of::<BTreeMap<String, i32>>(),
        Schema::of::<Result<String, i32>>(),
        Schema::of::<Result<i32, String>>(),
        schema(json!(false)),
    ];
    for (index, one) in ids.iter().enumerate() {
        for other in &ids[index + 1..] {
            assert_ne!(one.bare_id(), other.bare_id(), "{one:?} {other:?}");
        }
    }
    assert_eq!(schema(json!(true)).id(), Schema::of::<Value>().id());
    assert_eq!(schema(json!({})).id(), Schema::of::<Value>().id());
}

/// Two types of one name: schemars calls them `Item` and `Item2`, by the order in which the fields come.
mod two_items {
    use schemars::JsonSchema;
    pub(super) mod a {
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Item {
            pub text: String,
        }
    }
    pub(super) mod b {
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Item {
            pub number: i32,
        }
    }
    #[derive(JsonSchema)]
    pub(super) struct Both {
        pub first: a::Item,
        pub second: b::Item,
    }
    pub(super) mod swapped {
        use super::{a, b};
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Both {
            pub second: b::Item,
            pub first: a::Item,
        }
        #[derive(schemars::JsonSchema)]
        pub(in super::super) struct Other {
            pub first: b::Item,
            pub second: a::Item,
        }
    }
}

#[test]
fn two_types_of_one_name_may_swap_their_fields() {
    let (one, other) = (Schema::of::<two_items::Both>(), Schema::of::<two_items::swapped::Both>());
    let first = |schema: &Schema| schema.json().pointer("/properties/first/$ref").cloned();
    assert_ne!(first(&one), first(&other), "schemars no longer names by order: {}", one.text());
    same::<two_items::Both, two_items::swapped::Both>();
    differ::<two_items::Both, two_items::swapped::Other>();
}

mod recursive {
    use schemars::JsonSchema;
    #[derive(JsonSchema)]
    pub(super) enum Tree {
        Leaf(String),
        Node(Vec<Tree>),
    }
    #[derive(JsonSchema)]
    pub(super) enum Baum {
        Node(Vec<Baum>),
        Leaf(String),
    }
    #[derive(JsonSchema)]
    pub(super) enum Numbers {
        Leaf(i32),
        Node(Vec<Numbers>),
    }
    #[derive(JsonSchema)]
    pub(super) struct Holds<T> {
        pub tree: T,
        pub trees: Vec<T>,
    }
    #[derive(JsonSchema)]
    pub(super) struct A {
        pub name: String,
        pub b: Option<Box<B>>,
    }
    #[derive(JsonSchema)]
    pub(super) struct B {
        pub a: Vec<A>,
        pub c: Option<Box<A>>,
    }
    #[derive(JsonSchema)]
    pub(super) struct Left {
        pub b: Option<Box<Right>>,
        pub name: String,
    }
    #[derive(JsonSchema)]
    pub(super) struct Right {
        pub c: Option<Box<Left>>,
        pub a: Vec<Left>,
    }
    /// Two mutually recursive types that look alike for one level.
    #[derive(JsonSchema)]
    pub(super) struct X {
        pub next: Option<Box<Y>>,
    }
    #[derive(JsonSchema)]
    pub(super) struct Y {
        pub next: Option<Box<Z>>,
    }
    #[derive(JsonSchema)]
    pub(super) struct Z {
        pub next: Option<Box<X>>,
        pub end: bool,
    }
    #[derive(JsonSchema)]
    pub(super) struct Chain {
        pub next: Option<Box<Chain>>,
    }
}

#[test]
fn recursion_is_compared_without_names() {
    use recursive::{A, B, Baum, Chain, Holds, Left, Numbers, Right, Tree, X, Y, Z};
    let root = Schema::of::<Tree>();
    assert!(root.json().get("oneOf").is_some() && root.text().contains("\"$ref\":\"#\""), "{}", root.text());
    same::<Tree, Baum>();
    differ::<Tree, Numbers>();
    same::<Holds<Tree>, Holds<Baum>>();
    differ::<Holds<Tree>, Holds<Numbers>>();
    same::<A, Left>();
    same::<B, Right>();
    differ::<A, B>();
    differ::<X, Y>();
    differ::<X, Z>();
    differ::<X, Chain>();
    differ::<Tree, Vec<Tree>>();
}

#[test]
fn a_recursive_type_is_the_same_at_the_root_and_under_a_name() {
    // As the root a type refers to itself as `#`, elsewhere by name.
    let root = json!({"type": "object", "title": "Tree", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}});
    let named = json!({"$ref": "#/$defs/T", "title": "Holder", "$defs": {"T":
        {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}}}}});
    assert_eq!(schema(root.clone()).id(), schema(named).id());
    // Two names for one thing.
    let doubled = json!({"$ref": "#/$defs/T", "$defs": {
        "T": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/U"}}}},
        "U": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}}}}});
    assert_eq!(schema(root.clone()).id(), schema(doubled).id());
    // Partly written out.
    let unrolled = json!({"type": "object", "properties": {"kids": {"type": "array", "items":
        {"$ref": "#/$defs/T"}}}, "$defs": {"T":
        {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}}}}});
    assert_eq!(schema(root).id(), schema(unrolled).id());
}

mod worded {
    use schemars::JsonSchema;
    #[derive(JsonSchema)]
    pub(super) enum Mood {
        Good,
        Bad,
        Odd,
    }
    #[derive(JsonSchema)]
    pub(super) enum Said {
        Bad,
        /// All is well.
        Good,
        Odd,
    }
    #[derive(JsonSchema)]
    pub(super) enum AllSaid {
        /// Odd.
        Odd,
        /// Bad.
        Bad,
        /// Good.
        Good,
    }
    #[derive(JsonSchema)]
    pub(super) enum Fewer {
        Good,
        Bad,
    }
    #[derive(JsonSchema)]
    pub(super) enum Mixed {
        Good,
        Bad,
        Other(String),
    }
    #[derive(JsonSchema)]
    pub(super) enum MixedSaid {
        /// Well.
        Good,
        Bad,
        /// Whatever.
        Other(String),
    }
    #[derive(JsonSchema)]
    #[serde(tag = "decision", rename_all = "snake_case")]
    pub(super) enum Decision {
        Approve,
        Change { reason: String },
    }
    #[derive(JsonSchema)]
    #[serde(tag = "decision", rename_all = "snake_case")]
    pub(super) enum DecisionSaid {
        /// Go on.
        Change {
            /// Why.
            reason: String,
        },
        /// Fine.
        Approve,
    }
    #[derive(JsonSchema)]
    pub(super) struct Of<T> {
        pub it: T,
        pub maybe: Option<T>,
    }
    #[derive(JsonSchema)]
    pub(super) struct OfSaid<T> {
        /// It.
        pub it: T,
        /// Or not.
        pub maybe: Option<T>,
    }
}

#[test]
fn words_about_variants_change_only_what_reads_words() {
    use worded::{AllSaid, Decision, DecisionSaid, Fewer, Mixed, MixedSaid, Mood, Of, OfSaid, Said};
    differ_in_words_only::<Mood, Said>();
    differ_in_words_only::<Mood, AllSaid>();
    differ_in_words_only::<Said, AllSaid>();
    differ::<Mood, Fewer>();
    differ::<Mood, Mixed>();
    differ_in_words_only::<Mixed, MixedSaid>();
    differ_in_words_only::<Decision, DecisionSaid>();
    differ_in_words_only::<Of<Mood>, Of<AllSaid>>();
    differ_in_words_only::<Of<Mood>, OfSaid<Mood>>();
    differ_in_words_only::<Of<Decision>, OfSaid<DecisionSaid>>();
    differ_in_words_only::<Of<String>, OfSaid<String>>();
    differ::<Of<Mood>, Of<Fewer>>();
}

#[test]
fn order_counts_only_where_it_means_something() {
    let base = json!({"type": ["object", "null"], "required": ["a", "b"], "properties": {"a": {"enum": [1, 2]},
        "b": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}});
    let moved = json!({"required": ["b", "a"], "type": ["null", "object"], "properties":
        {"b": {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "a": {"enum": [2, 1]}}});
    assert_eq!(schema(base).id(), schema(moved).id());
    let pair = json!({"prefixItems": [{"type": "string"}, {"type": "integer"}]});
    let swapped = json!({"prefixItems": [{"type": "integer"}, {"type": "string"}]});
    assert_ne!(schema(pair).bare_id(), schema(swapped).bare_id());
    let one = json!({"const": [1, 2]});
    let other = json!({"const": [2, 1]});
    assert_ne!(schema(one).bare_id(), schema(other).bare_id());
    let any = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
    let exactly = json!({"oneOf": [{"type": "string"}, {"type": "null"}]});
    assert_ne!(schema(any).bare_id(), schema(exactly).bare_id());
}

#[test]
fn a_property_may_have_the_name_of_a_keyword() {
    let with = |name: &str| {
        let mut properties = Map::new();
        properties.insert(name.to_owned(), json!({"type": "string"}));
        schema(json!({"properties": properties, "required": [name]}))
    };
    let names = ["title", "description", "examples", "$ref", "$defs", "enum", "x"];
    for (index, one) in names.iter().enumerate() {
        for other in &names[index + 1..] {
            assert_ne!(with(one).bare_id(), with(other).bare_id(), "{one} {other}");
        }
    }
    // A constant that looks like a schema is still a constant.
    let constant = |text: &str| schema(json!({"const": {"description": text}}));
    assert_ne!(constant("a").bare_id(), constant("b").bare_id());
    let default = |text: &str| schema(json!({"default": {"title": text}}));
    assert_ne!(default("a").bare_id(), default("b").bare_id());
}

#[test]
fn what_is_not_used_does_not_count() {
    let lean = schema(json!({"type": "string"}));
    let fat = schema(
        json!({"type": "string", "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "x",
        "title": "Name", "$comment": "c", "$defs": {"Unused": {"type": "integer"}}}),
    );
    assert_eq!(lean.id(), fat.id());
    assert_eq!(schema(json!({"enum": ["a"]})).id(), schema(json!({"const": "a"})).id());
    assert_eq!(schema(json!({"type": ["string"]})).id(), lean.id());
}

#[test]
fn references_not_followed_count_with_all_they_might_mean() {
    let anchored =
        |kind: &str| schema(json!({"$ref": "#item", "$defs": {"Item": {"$anchor": "item", "type": kind}}}));
    assert_ne!(anchored("string").bare_id(), anchored("integer").bare_id());
    assert_eq!(anchored("string").bare_id(), anchored("string").bare_id());
    let remote = schema(json!({"$ref": "https://example.com/a"}));
    assert_ne!(remote.bare_id(), schema(json!({"$ref": "https://example.com/b"})).bare_id());
    // Circles of nothing but references end.
    schema(json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}))
        .id();
    schema(json!({"$ref": "#"})).id();
}

#[test]
fn many_shared_and_many_entangled_definitions_take_no_time() {
    // Each refers twice to the next: 2^60 paths if written out.
    let layered = |width: usize| {
        let mut defs = Map::new();
        for level in 0..60 {
            let next = json!({"$ref": format!("#/$defs/L{}", level + 1)});
            let properties: Map<String, Value> =
                (0..width).map(|index| (format!("p{index}"), next.clone())).collect();
            defs.insert(format!("L{level}"), json!({"type": "object", "properties": properties}));
        }
        defs.insert("L60".into(), json!({"type": "string"}));
        schema(json!({"$ref": "#/$defs/L0", "$defs": defs}))
    };
    assert_ne!(layered(2).id(), layered(3).id());
    // Each refers to every other: 40! paths without a repeat.
    let entangled = |special: usize| {
        let mut defs = Map::new();
        for from in 0..40 {
            let properties: Map<String, Value> =
                (0..40).map(|to| (format!("p{to}"), json!({"$ref": format!("#/$defs/D{to}")}))).collect();
            let kind = if from == special { "array" } else { "object" };
            defs.insert(format!("D{from}"), json!({"type": kind, "properties": properties}));
        }
        schema(json!({"$ref": "#/$defs/D0", "$defs": defs}))
    };
    assert_ne!(entangled(3).id(), entangled(4).id());
    assert_ne!(entangled(0).id(), entangled(99).id());
}

/// A small language of schemas over four definitions, to rename and shuffle.
#[derive(Clone, Debug)]
enum Shape {
    Text,
    Number,
    Ref(usize),
    List(Box<Shape>),
    Object(BTreeMap<String, Shape>),
    Any(Vec<Shape>),
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![Just(Shape::Text), Just(Shape::Number), (0..4_usize).prop_map(Shape::Ref)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|item| Shape::List(Box::new(item))),
            prop::collection::btree_map("[a-c]", inner.clone(), 0..3).prop_map(Shape::Object),
            prop::collection::vec(inner, 2..4).prop_map(Shape::Any),
        ]
    })
}

fn written(shape: &Shape, names: &[&str], backwards: bool) -> Value {
    let write = |shape: &Shape| written(shape, names, backwards);
    match shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Number => json!({"type": "integer"}),
        Shape::Ref(to) => json!({"$ref": format!("#/$defs/{}", names[*to])}),
        Shape::List(item) => json!({"type": "array", "items": write(item)}),
        Shape::Object(fields) => {
            let mut required: Vec<&String> = fields.keys().collect();
            if backwards {
                required.reverse();
            }
            let properties: Map<String, Value> =
                fields.iter().map(|(name, field)| (name.clone(), write(field))).collect();
            json!({"type": "object", "properties": properties, "required": required})
        }
        Shape::Any(variants) => {
            let mut variants: Vec<Value> = variants.iter().map(write).collect();
            if backwards {
                variants.reverse();
            }
            json!({ "anyOf": variants })
        }
    }
}

fn document(defs: &[Shape], top: &Shape, names: &[&str], backwards: bool) -> Schema {
    let definitions: Map<String, Value> = defs
        .iter()
        .zip(names)
        .map(|(shape, name)| {
            let mut definition = written(shape, names, backwards);
            definition["title"] = json!(name);
            ((*name).to_owned(), definition)
        })
        .collect();
    schema(
        json!({"type": "object", "properties": {"top": written(top, names, backwards)}, "$defs": definitions}),
    )
}

/// The schema written out to a depth of lists, objects and choices, names gone: what two equal schemas must agree on at
/// every depth. References cost no depth: a list of lists of itself is the same as a list of itself.
fn unfolded(defs: &[Shape], shape: &Shape, depth: usize) -> Value {
    match shape {
        Shape::Ref(to) => return unfolded(defs, &defs[*to], depth),
        Shape::Text => return json!("text"),
        Shape::Number => return json!("number"),
        _ if depth == 0 => return json!("…"),
        _ => {}
    }
    let write = |shape: &Shape| unfolded(defs, shape, depth - 1);
    match shape {
        Shape::List(item) => json!([write(item)]),
        Shape::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), write(field))).collect(),
        Shape::Any(variants) => {
            let mut variants: Vec<String> =
                variants.iter().map(|variant| write(variant).to_string()).collect();
            variants.sort();
            json!({ "any of": variants })
        }
        Shape::Ref(_) | Shape::Text | Shape::Number => json!(null),
    }
}

/// Deep enough to tell most schemas of this size apart, and small enough to write out.
const DEPTH: usize = 6;

#[test]
fn a_list_of_lists_of_itself_is_a_list_of_itself() {
    let nested =
        |item: Value| schema(json!({"$ref": "#/$defs/B", "$defs": {"B": {"type": "array", "items": item}}}));
    let once = nested(json!({"$ref": "#/$defs/B"}));
    let twice = nested(json!({"type": "array", "items": {"$ref": "#/$defs/B"}}));
    assert_eq!(once.bare_id(), twice.bare_id(), "the same values are valid");
}

proptest! {
    #[test]
    fn names_and_order_never_matter(defs in prop::collection::vec(shape(), 4), top in shape()) {
        let one = document(&defs, &top, &["A", "B", "C", "D"], false);
        let other = document(&defs, &top, &["Z", "Y/~x", "M", "B"], true);
        // `/` and `~` in a name are escaped in the pointer, so this one is written by hand.
        let other = schema(serde_json::from_str(&other.text().replace("#/$defs/Y/~x", "#/$defs/Y~1~0x")).unwrap());
        prop_assert_eq!(one.id(), other.id());
        prop_assert_eq!(one.bare_id(), other.bare_id());
    }

    #[test]
    fn equal_identities_mean_equal_when_unfolded(
        defs in prop::collection::vec(shape(), 4), one in shape(), other in shape(),
    ) {
        let names = ["A", "B", "C", "D"];
        // Neither a circle of bare references, nor a name for a bare reference, says anything: left out here.
        prop_assume!(!defs.iter().any(|shape| matches!(shape, Shape::Ref(_))));
        let (first, second) = (document(&defs, &one, &names, false), document(&defs, &other, &names, false));
        let alike = unfolded(&defs, &one, DEPTH) == unfolded(&defs, &other, DEPTH);
        let same = first.bare_id() == second.bare_id();
        prop_assert!(!same || alike, "{} {}", first.text(), second.text());
    }

    #[test]
    fn every_change_of_a_definition_that_is_used_counts(defs in prop::collection::vec(shape(), 4), new in shape()) {
        let names = ["A", "B", "C", "D"];
        prop_assume!(!defs.iter().chain([&new]).any(|shape| matches!(shape, Shape::Ref(_))));
        let top = Shape::Any(vec![Shape::Ref(0), Shape::Ref(1)]);
        let mut changed = defs.clone();
        changed[1] = new;
        let (one, other) = (document(&defs, &top, &names, false), document(&changed, &top, &names, false));
        let alike = unfolded(&defs, &top, DEPTH) == unfolded(&changed, &top, DEPTH);
        let same = one.bare_id() == other.bare_id();
        prop_assert!(!same || alike, "{} {}", one.text(), other.text());
    }
}
