//! What one node of a schema says, with references followed, `allOf` merged, and the null of an optional value told
//! apart from its cases.

use crate::schema::resolve;
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
};

/// References and combinations nested deeper than this are left unfollowed.
const DEEPEST: usize = 64;
/// The types of JSON values.
pub(super) const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// Keywords whose content is told otherwise, or which say nothing of values.
const TOLD: [&str; 23] = [
    "$comment",
    "$defs",
    "$id",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "definitions",
    "description",
    "enum",
    "example",
    "examples",
    "items",
    "oneOf",
    "prefixItems",
    "properties",
    "required",
    "title",
    "type",
    "$anchor",
    "$vocabulary",
];

/// One node of a schema.
pub(super) struct View<'s> {
    pub(super) root: &'s Value,
    /// The objects that all apply to it.
    maps: Vec<&'s Map<String, Value>>,
    /// What it is one of, without null.
    pub(super) cases: Vec<&'s Value>,
    nullable: bool,
    /// Whether nothing is valid for it.
    never: bool,
}

impl<'s> View<'s> {
    pub(super) fn of(root: &'s Value, node: &'s Value) -> Self {
        let mut view = Self {
            root,
            maps: Vec::new(),
            cases: Vec::new(),
            nullable: false,
            never: node == &Value::Bool(false),
        };
        view.take(node, 0, &mut BTreeSet::new());
        view
    }

    fn take(&mut self, node: &'s Value, depth: usize, met: &mut BTreeSet<usize>) {
        let Value::Object(map) = node else { return };
        if depth > DEEPEST || !met.insert(ptr::from_ref(map).addr()) {
            return;
        }
        self.maps.push(map);
        if let Some(target) =
            map.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(self.root, reference))
        {
            self.take(target, depth + 1, met);
        }
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.take(part, depth + 1, met);
        }
        for keyword in ["anyOf", "oneOf"] {
            let Some(list) = map.get(keyword).and_then(Value::as_array) else { continue };
            let is_null = |case: &&Value| case.get("type").is_some_and(|kind| kind == "null");
            let (null, rest): (Vec<&Value>, Vec<&Value>) = list.iter().partition(is_null);
            self.nullable |= !null.is_empty();
            match rest.as_slice() {
                // An optional value is that value, or null.
                [one] if !null.is_empty() => self.take(one, depth + 1, met),
                cases => self.cases.extend(cases),
            }
        }
    }

    /// The content of a keyword: the first that has it.
    pub(super) fn get(&self, keyword: &str) -> Option<&'s Value> {
        self.maps.iter().find_map(|map| map.get(keyword))
    }

    /// Its fields, and whether each has to be there.
    pub(super) fn fields(&self) -> BTreeMap<&'s str, (&'s Value, bool)> {
        let required: BTreeSet<&str> = self
            .maps
            .iter()
            .filter_map(|map| map.get("required")?.as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut fields = BTreeMap::new();
        for map in &self.maps {
            for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
                fields.entry(name.as_str()).or_insert_with(|| (schema, required.contains(name.as_str())));
            }
        }
        fields
    }

    /// The values it has to be one of, as JSON texts, where it says so.
    pub(super) fn values(&self) -> Option<BTreeSet<String>> {
        let listed = self.get("enum").and_then(Value::as_array).map(|list| list.iter().collect::<Vec<_>>());
        let values = listed.or_else(|| self.get("const").map(|value| vec![value]))?;
        Some(values.into_iter().map(Value::to_string).collect())
    }

    /// The types that it allows; all where it says nothing.
    pub(super) fn types(&self) -> BTreeSet<&'s str> {
        self.types_at(0)
    }

    fn types_at(&self, depth: usize) -> BTreeSet<&'s str> {
        let mut types: BTreeSet<&str> = BTreeSet::new();
        if self.never {
            return types;
        }
        match self.get("type") {
            Some(Value::String(kind)) => {
                types.insert(kind);
            }
            Some(Value::Array(kinds)) => types.extend(kinds.iter().filter_map(Value::as_str)),
            // A case may be the whole again.
            _ if !self.cases.is_empty() && depth < 8 => {
                let case = |case: &&'s Value| View::of(self.root, case).types_at(depth + 1);
                types.extend(self.cases.iter().flat_map(case));
            }
            _ => match self.values() {
                Some(values) => types.extend(values.iter().filter_map(|text| {
                    let value: Value = serde_json::from_str(text).ok()?;
                    Some(type_of(&value))
                })),
                None if self.get("properties").is_some() => {
                    types.insert("object");
                }
                None => types.extend(TYPES),
            },
        }
        if types.contains("number") {
            types.insert("integer");
        }
        if self.nullable {
            types.insert("null");
        }
        types
    }

    /// Its type, for people.
    pub(super) fn words(&self) -> String {
        let types = self.types();
        if types.is_empty() {
            return "nothing".to_owned();
        }
        if types.len() == TYPES.len() {
            return "anything".to_owned();
        }
        let words: Vec<String> = types
            .iter()
            .filter(|kind| **kind != "null" && !(**kind == "integer" && types.contains("number")))
            .map(|kind| match (*kind, self.get("items")) {
                ("array", Some(items)) if !self.is_in(items) => {
                    format!("list of {}", View::of(self.root, items).kinds())
                }
                ("array", _) => "list".to_owned(),
                (other, _) => other.to_owned(),
            })
            .collect();
        let mut words = words.join(" or ");
        if let Some(values) = self.values() {
            words = values.into_iter().collect::<Vec<_>>().join(" or ");
        }
        if types.contains("null") {
            words = if words.is_empty() { "null".to_owned() } else { format!("{words} or null") };
        }
        words
    }

    /// The bare names of its types, for what stands inside another's words.
    fn kinds(&self) -> String {
        let types = self.types();
        if types.len() == TYPES.len() {
            return "anything".to_owned();
        }
        let shown = types.iter().filter(|kind| !(**kind == "integer" && types.contains("number")));
        shown.map(|kind| if *kind == "array" { "list" } else { kind }).collect::<Vec<_>>().join(" or ")
    }

    fn is_in(&self, node: &Value) -> bool {
        node.as_object().is_some_and(|node| self.maps.iter().any(|map| ptr::eq(*map, node)))
    }

    /// The rules beside types, by keyword.
    pub(super) fn rules(&self) -> BTreeMap<&'s str, &'s Value> {
        let mut rules = BTreeMap::new();
        for (keyword, value) in self.maps.iter().copied().flatten() {
            if !TOLD.contains(&keyword.as_str()) {
                rules.entry(keyword.as_str()).or_insert(value);
            }
        }
        rules
    }

    /// What a case is called: its value, the value of its tag, or its one field.
    pub(super) fn called(&self) -> Option<String> {
        if let Some(values) = self.values() {
            return Some(values.into_iter().collect::<Vec<_>>().join(" or "));
        }
        let fields = self.fields();
        let tag = fields.iter().find_map(|(name, (schema, _))| {
            let values = View::of(self.root, schema).values().filter(|values| values.len() == 1)?;
            Some(format!("{name} {}", values.into_iter().next()?))
        });
        tag.or_else(|| match fields.iter().collect::<Vec<_>>().as_slice() {
            [(name, (_, true))] => Some(format!("{name:?}")),
            _ => None,
        })
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
