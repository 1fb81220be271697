//! Identity of a schema by structure: neither field order nor names of `$defs` and Rust types matter, only what the
//! schema asks of values (and, where wanted, the words a model reads).
//!
//! A schema is read as a graph: a node is a sub-schema, a `$ref` is just an edge, so recursion is a cycle and names vanish.
//! Nodes that reach no cycle are digested from the leaves up. The others are told apart round by round: each round digests
//! a node from what its children were called the round before, until no more nodes come apart. Equal identities then mean
//! equal schemas unfolded for ever, and the work stays polynomial where writing out every expansion would not.

use super::{
    keywords::{Content, compared_as, content},
    refs::resolve,
};
use crate::digest::{Digest, DigestWriter};
use graph::{Graph, Held, Node};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

mod graph;
#[cfg(test)]
mod tests;

/// Whether titles, descriptions and examples count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// They reach the reader, so a change of them is a change.
    Count,
    /// Only what is asked of values counts.
    Ignored,
}

/// The identity of a schema.
pub(super) fn identity(root: &Value, words: Words) -> Digest {
    let mut reader =
        Reader { root, words, known: BTreeMap::new(), graph: Graph::default(), open: vec![], opaque: false };
    let top = reader.node(root, true);
    while let Some((index, map, named)) = reader.open.pop() {
        reader.graph.nodes[index] = reader.read(map, named);
    }
    let shape = reader.graph.digest(top);
    let mut writer = DigestWriter::new("hermes schema v1");
    writer.bool(words == Words::Count).digest(&shape);
    // With references that are not followed here, names do carry meaning: the whole text counts rather than too little.
    writer.optional_text(reader.opaque.then(|| root.to_string()).as_deref());
    writer.finish()
}

/// Turns a schema into a graph.
struct Reader<'s> {
    root: &'s Value,
    words: Words,
    /// The node of each sub-schema by address, and whether it stands under a name that must not count.
    known: BTreeMap<(usize, bool), usize>,
    graph: Graph<'s>,
    /// Nodes that are numbered but not read yet.
    open: Vec<(usize, &'s Map<String, Value>, bool)>,
    /// Something was met that is not followed here.
    opaque: bool,
}

impl<'s> Reader<'s> {
    /// The node of a sub-schema. `named`: it is the root or a definition, whose title is a Rust type's name.
    fn node(&mut self, schema: &'s Value, named: bool) -> usize {
        let (mut schema, mut named) = (schema, named);
        // A schema that only points elsewhere is what it points to. The bound ends circles of such pointers.
        for _ in 0..1000 {
            let Value::Object(map) = schema else { break };
            match self.pointed(map, named) {
                Some((target, target_named)) => (schema, named) = (target, target_named),
                None => break,
            }
        }
        let key = (std::ptr::from_ref(schema).addr(), named);
        if let Some(index) = self.known.get(&key) {
            return *index;
        }
        let index = match schema {
            Value::Object(map) => {
                let index = self.graph.add(Node::default());
                self.open.push((index, map, named));
                index
            }
            Value::Bool(false) => self.graph.add(Node { parts: vec![("false", Held::Value(text("false")))] }),
            // `true` and `{}` ask for nothing.
            _ => self.graph.add(Node::default()),
        };
        self.known.insert(key, index);
        index
    }

    /// Where a schema points that says nothing else: `{"$ref": ..}`, or a choice of one.
    fn pointed(&self, map: &'s Map<String, Value>, named: bool) -> Option<(&'s Value, bool)> {
        let mut counting = map.iter().filter(|(keyword, value)| self.counts(map, named, keyword, value));
        let (keyword, value) = counting.next()?;
        if counting.next().is_some() {
            return None;
        }
        match content(keyword, value) {
            Content::Reference(reference) => Some((resolve(self.root, reference)?, is_named(reference))),
            Content::Unordered([one]) => Some((one, false)),
            _ => None,
        }
    }

    fn counts(&self, map: &Map<String, Value>, named: bool, keyword: &str, value: &Value) -> bool {
        match content(keyword, value) {
            Content::Nothing | Content::Definitions(_) => false,
            Content::Words(_) => self.words == Words::Count,
            Content::Title(_) => self.words == Words::Count && !named,
            Content::Rebasing => !(keyword == "$id" && self.is_root(map)),
            _ => true,
        }
    }

    fn is_root(&self, map: &Map<String, Value>) -> bool {
        self.root.as_object().is_some_and(|root| std::ptr::eq(root, map))
    }

    /// Reads the keywords of one sub-schema.
    fn read(&mut self, map: &'s Map<String, Value>, named: bool) -> Node<'s> {
        let mut node = Node::default();
        for (keyword, value) in map {
            if !self.counts(map, named, keyword, value) {
                continue;
            }
            let held = match content(keyword, value) {
                Content::Schema(inner) => Held::One(self.node(inner, false)),
                Content::Ordered(list) => {
                    Held::Ordered(list.iter().map(|inner| self.node(inner, false)).collect())
                }
                Content::Unordered(list) => self.choice(keyword, list),
                Content::Named(map) => Held::Named(
                    map.iter().map(|(name, inner)| (name.as_str(), self.node(inner, false))).collect(),
                ),
                Content::Reference(reference) => match resolve(self.root, reference) {
                    Some(target) => Held::One(self.node(target, is_named(reference))),
                    None => self.give_up(value),
                },
                Content::Dynamic(_) | Content::Rebasing => self.give_up(value),
                Content::Set(list) => set(list.iter()),
                Content::Single(value) => set(std::iter::once(value)),
                Content::Title(value) | Content::Words(value) | Content::Plain(value) => {
                    Held::Value(text_of(value))
                }
                Content::Nothing | Content::Definitions(_) => continue,
            };
            node.parts.push((compared_as(keyword), held));
        }
        node
    }

    fn give_up(&mut self, value: &Value) -> Held<'s> {
        self.opaque = true;
        Held::Value(text_of(value))
    }

    /// The variants of `anyOf` and the like. schemars lists an enum's plain variants together, but a documented one apart:
    /// where words do not count, neither must that, so the plain ones are put together again.
    fn choice(&mut self, keyword: &str, list: &'s [Value]) -> Held<'s> {
        let mut constants: Vec<&Value> = Vec::new();
        let mut variants = Vec::new();
        for variant in list {
            match text_constants(variant) {
                Some(more) if self.words == Words::Ignored && keyword != "allOf" => constants.extend(more),
                _ => variants.push(self.node(variant, false)),
            }
        }
        if !constants.is_empty() {
            let kind = Value::from("string");
            let parts = vec![("enum", set(constants.into_iter())), ("type", set(std::iter::once(&kind)))];
            if variants.is_empty() {
                return Held::Merged(self.graph.add(Node { parts }));
            }
            variants.push(self.graph.add(Node { parts }));
        }
        Held::Unordered(variants)
    }
}

/// The values of a variant that is nothing but texts, apart from words about it.
fn text_constants(variant: &Value) -> Option<Vec<&Value>> {
    let map = variant.as_object()?;
    let mut values = Vec::new();
    for (keyword, value) in map {
        match (keyword.as_str(), content(keyword, value)) {
            (_, Content::Title(_) | Content::Words(_)) => {}
            ("type", Content::Single(kind)) if kind == "string" => {}
            ("const", Content::Single(value)) => values.push(value),
            ("enum", Content::Set(list)) => values.extend(list),
            _ => return None,
        }
    }
    (!values.is_empty() && values.iter().all(|value| value.is_string())).then_some(values)
}

/// Whether a reference leads to something whose title is a Rust type's name.
fn is_named(reference: &str) -> bool {
    reference == "#" || super::refs::defined_name(reference).is_some()
}

fn text(text: &str) -> Digest {
    DigestWriter::new("hermes schema part v1").text(text).finish()
}

/// Keys are sorted when a schema is made, so equal values have equal texts; `1` and `1.0` differ.
fn text_of(value: &Value) -> Digest {
    text(&value.to_string())
}

fn set<'v>(values: impl Iterator<Item = &'v Value>) -> Held<'static> {
    let mut members: Vec<Digest> = values.map(text_of).collect();
    members.sort_unstable();
    members.dedup();
    let mut writer = DigestWriter::new("hermes schema set v1");
    writer.list(members.len());
    for member in &members {
        writer.digest(member);
    }
    Held::Value(writer.finish())
}
