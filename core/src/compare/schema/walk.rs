//! Two schemas side by side, place by place.

use super::{
    change::SchemaChange,
    view::{TYPES, View},
};
use crate::{compare::json_changes, schema::Schema, value::write_field};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
};

/// Compares two schemas place by place, references followed. A definition that changed is told of once, at the first
/// place that uses it. With `words`, descriptions and examples count, as they do for agents. Nothing where the two have
/// one structure; where they have not, something is always told.
///
/// ```
/// use hermes_core::{compare::schema_changes, schema::Schema};
///
/// #[derive(schemars::JsonSchema)]
/// struct Before { title: String }
/// #[derive(schemars::JsonSchema)]
/// struct After { title: String, tags: Option<Vec<String>> }
///
/// let changes = schema_changes(&Schema::of::<Before>(), &Schema::of::<After>(), true);
/// assert_eq!(changes[0].to_string(), ".tags: optional field added (list of string or null)");
/// ```
pub fn schema_changes(old: &Schema, new: &Schema, words: bool) -> Vec<SchemaChange> {
    let same = if words { old.id() == new.id() } else { old.bare_id() == new.bare_id() };
    if same {
        return Vec::new();
    }
    let mut walk = Walk { old: old.json(), new: new.json(), words, met: BTreeSet::new(), found: Vec::new() };
    walk.node(old.json(), new.json(), "");
    if walk.found.is_empty() {
        walk.found = json_changes(old.json(), new.json())
            .into_iter()
            .map(|change| {
                let place = change.path().to_owned();
                let (old, new) = match change {
                    crate::compare::JsonChange::Added { new, .. } => (None, Some(new)),
                    crate::compare::JsonChange::Removed { old, .. } => (Some(old), None),
                    crate::compare::JsonChange::Changed { old, new, .. } => (Some(old), Some(new)),
                };
                SchemaChange::Other { place, old, new }
            })
            .collect();
    }
    walk.found
}

struct Walk<'s> {
    old: &'s Value,
    new: &'s Value,
    words: bool,
    /// Pairs of nodes that were compared: schemas may be recursive.
    met: BTreeSet<(usize, usize)>,
    found: Vec<SchemaChange>,
}

impl<'s> Walk<'s> {
    fn node(&mut self, old: &'s Value, new: &'s Value, path: &str) {
        if !self.met.insert((ptr::from_ref(old).addr(), ptr::from_ref(new).addr())) {
            return;
        }
        let (old, new) = (View::of(self.old, old), View::of(self.new, new));
        if self.words {
            self.said(&old, &new, path);
        }
        if !self.types(&old, &new, path) {
            return;
        }
        self.cases(&old, &new, path);
        self.fields(&old, &new, path);
        self.elements(&old, &new, path);
        self.rules(&old, &new, path);
    }

    /// Compares the types and the values listed. False where nothing below can be compared.
    fn types(&mut self, old: &View<'s>, new: &View<'s>, path: &str) -> bool {
        let (before, after) = (old.types(), new.types());
        let (path_, was, is) = (shown(path), old.words(), new.words());
        match (old.values(), new.values()) {
            (Some(old), Some(new)) => {
                for case in old.difference(&new) {
                    self.found.push(SchemaChange::CaseRemoved { path: path_.clone(), case: case.clone() });
                }
                for case in new.difference(&old) {
                    self.found.push(SchemaChange::CaseAdded { path: path_.clone(), case: case.clone() });
                }
                return false;
            }
            (None, Some(_)) if after.is_subset(&before) => {
                self.found.push(SchemaChange::Narrowed { path: path_, old: was, new: is });
                return false;
            }
            (Some(_), None) if before.is_subset(&after) => {
                self.found.push(SchemaChange::Widened { path: path_, old: was, new: is });
                return false;
            }
            _ => {}
        }
        if before == after {
            return true;
        }
        let (narrower, wider) = (after.is_subset(&before), before.is_subset(&after));
        self.found.push(if narrower {
            SchemaChange::Narrowed { path: path_, old: was, new: is }
        } else if wider {
            SchemaChange::Widened { path: path_, old: was, new: is }
        } else {
            SchemaChange::Changed { path: path_, old: was, new: is }
        });
        let all = before.len() == TYPES.len() || after.len() == TYPES.len();
        !all && before.intersection(&after).any(|kind| *kind != "null")
    }

    fn cases(&mut self, old: &View<'s>, new: &View<'s>, path: &str) {
        if old.cases.is_empty() && new.cases.is_empty() {
            return;
        }
        let (before, after) = (cases(old), cases(new));
        for (name, case) in &before {
            match (case, after.get(name)) {
                (Some(old), Some(Some(new))) => self.node(old, new, &format!("{path}({name})")),
                (_, Some(_)) => {}
                (_, None) => {
                    self.found.push(SchemaChange::CaseRemoved { path: shown(path), case: name.clone() });
                }
            }
        }
        for name in after.keys().filter(|name| !before.contains_key(*name)) {
            self.found.push(SchemaChange::CaseAdded { path: shown(path), case: name.clone() });
        }
    }

    fn fields(&mut self, old: &View<'s>, new: &View<'s>, path: &str) {
        let (before, after) = (old.fields(), new.fields());
        let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        for name in names {
            let mut path = path.to_owned();
            // Writing to a String cannot fail.
            let _ = write_field(&mut path, name);
            match (before.get(name), after.get(name)) {
                (Some((old, was)), Some((new, is))) => {
                    match (was, is) {
                        (false, true) => self.found.push(SchemaChange::Required { path: path.clone() }),
                        (true, false) => self.found.push(SchemaChange::Optional { path: path.clone() }),
                        _ => {}
                    }
                    self.node(old, new, &path);
                }
                (Some((field, required)), None) => {
                    let old = View::of(self.old, field).words();
                    self.found.push(SchemaChange::FieldRemoved { path, required: *required, old });
                }
                (None, Some((field, required))) => {
                    let new = View::of(self.new, field).words();
                    self.found.push(SchemaChange::FieldAdded { path, required: *required, new });
                }
                (None, None) => {}
            }
        }
    }

    /// What stands in lists and maps.
    fn elements(&mut self, old: &View<'s>, new: &View<'s>, path: &str) {
        let dot = if path.is_empty() { "." } else { "" };
        for (keyword, place) in
            [("items", format!("{path}{dot}[]")), ("additionalProperties", format!("{path}.*"))]
        {
            match (old.get(keyword), new.get(keyword)) {
                (Some(old), Some(new)) => self.node(old, new, &place),
                (old, new) => self.rule(keyword, old, new, path),
            }
        }
        let list = |view: &View<'s>| view.get("prefixItems").and_then(Value::as_array);
        match (list(old), list(new)) {
            (Some(before), Some(after)) if before.len() == after.len() => {
                for (index, (old, new)) in before.iter().zip(after).enumerate() {
                    self.node(old, new, &format!("{path}{dot}[{index}]"));
                }
            }
            _ => self.rule("prefixItems", old.get("prefixItems"), new.get("prefixItems"), path),
        }
    }

    fn rules(&mut self, old: &View<'s>, new: &View<'s>, path: &str) {
        let (before, after) = (old.rules(), new.rules());
        let keywords: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        for keyword in keywords {
            self.rule(keyword, before.get(keyword).copied(), after.get(keyword).copied(), path);
        }
    }

    fn rule(&mut self, rule: &str, old: Option<&Value>, new: Option<&Value>, path: &str) {
        if old != new {
            let narrower = narrower(rule, old, new);
            let (path, rule) = (shown(path), rule.to_owned());
            self.found.push(SchemaChange::Rule {
                path,
                rule,
                old: old.cloned(),
                new: new.cloned(),
                narrower,
            });
        }
    }

    fn said(&mut self, old: &View<'s>, new: &View<'s>, path: &str) {
        for word in ["description", "example", "examples"] {
            let (before, after) = (old.get(word), new.get(word));
            if before != after {
                self.found.push(SchemaChange::Words {
                    path: shown(path),
                    word: word.to_owned(),
                    old: before.cloned(),
                    new: after.cloned(),
                });
            }
        }
    }
}

/// The cases of a node by what they are called. A case that only lists values is one case for each.
fn cases<'s>(view: &View<'s>) -> BTreeMap<String, Option<&'s Value>> {
    let mut cases = BTreeMap::new();
    if view.cases.is_empty() {
        // It is the only case.
        return BTreeMap::from([(view.called().unwrap_or_else(|| view.words()), None)]);
    }
    for case in &view.cases {
        let inner = View::of(view.root, case);
        if let Some(values) = inner.values() {
            cases.extend(values.into_iter().map(|value| (value, None)));
        } else {
            let name = inner.called().unwrap_or_else(|| inner.words());
            cases.insert(name, Some(*case));
        }
    }
    cases
}

/// Whether a rule allows less than before, where its keyword tells.
fn narrower(rule: &str, old: Option<&Value>, new: Option<&Value>) -> Option<bool> {
    let lower = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"];
    let upper = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"];
    let only = ["pattern", "format", "multipleOf"];
    let known = lower.contains(&rule) || upper.contains(&rule) || only.contains(&rule);
    match (old, new) {
        (None, Some(Value::Bool(new))) if rule == "uniqueItems" => Some(*new),
        (Some(Value::Bool(old)), None) if rule == "uniqueItems" => Some(!*old),
        (None, Some(Value::Bool(false))) if rule == "additionalProperties" => Some(true),
        (Some(Value::Bool(false)), None) if rule == "additionalProperties" => Some(false),
        (None, Some(_)) if known => Some(true),
        (Some(_), None) if known => Some(false),
        (Some(old), Some(new)) => {
            let (old, new) = (old.as_f64()?, new.as_f64()?);
            if lower.contains(&rule) {
                Some(new > old)
            } else if upper.contains(&rule) {
                Some(new < old)
            } else {
                None
            }
        }
        _ => None,
    }
}

fn shown(path: &str) -> String {
    if path.is_empty() { ".".to_owned() } else { path.to_owned() }
}
