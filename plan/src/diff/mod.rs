//! How one plan differs from another, without running either: steps that came, went and got other names; and of those that
//! stayed, which of their fields differ and what that means for runs that were begun with the earlier plan.

mod fields;
mod text;

use crate::{
    authoring::{AnyPlan, Plan},
    graph::{Graph, Node, Rename},
    layout::Lines,
};
use fields::{Field, Said, fields};
use hermes_core::{
    compare::{ListChange, SchemaChange, TextChange, list_change, schema_changes, text_change},
    path::StepPath,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a difference means for a step that a run has finished with the earlier plan, when that run is resumed with the later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnResume {
    /// Nothing: it is reused.
    Reused,
    /// It is reused if the value that this makes is still the same, and is a conflict otherwise.
    IfValuesDiffer,
    /// It runs again: the author gave it another version.
    RunsAgain,
    /// It is a conflict: the run stops for a person.
    Conflict,
    /// The run is refused: it is one of another plan.
    Refused,
}

/// How a field differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "differs", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Difference {
    /// A text, line by line.
    Text(TextChange),
    /// A list of words.
    List(ListChange),
    /// A type, place by place.
    Schema {
        /// What differs.
        changes: Vec<SchemaChange>,
    },
    /// A setting, as it was and as it is; `None` where it is not set.
    Setting {
        /// As it was.
        old: Option<String>,
        /// As it is.
        new: Option<String>,
    },
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldDiff {
    /// The field, as its builder calls it: `prompt`, `schema`, `input topic`.
    pub field: String,
    /// How it differs.
    pub difference: Difference,
    /// What it means for a finished step.
    pub on_resume: OnResume,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Became {
    /// Only the later plan has it.
    Added,
    /// Only the earlier plan has it.
    Removed,
    /// Both have it, and it differs or has another name.
    Changed,
}

/// A step that is not the same in both plans.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepDiff {
    /// The pattern of its path: in the later plan, or in the earlier one where it was removed.
    pub path: String,
    /// What it is, e.g. `agent`.
    pub kind: String,
    /// What became of it.
    pub became: Became,
    /// Its path in the earlier plan, where the later one says that it was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// What differs of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldDiff>,
}

/// How one plan differs from an earlier one. Its `Display` is a text for people.
///
/// Closures cannot be compared: what they do, they do when they run, and a resume compares what they made. Their coming and going
/// is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanDiff {
    /// The form of its JSON: 1. Fields may be added.
    pub format: u32,
    /// What differs of the plan as a whole: its name, its input, its output.
    pub plan: Vec<FieldDiff>,
    /// The steps that are not the same in both, in the order of the later plan; those that were removed come last.
    pub steps: Vec<StepDiff>,
}

impl PlanDiff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty() && self.steps.is_empty()
    }

    /// As JSON, format 1: the fields of this type.
    ///
    /// # Errors
    /// None that is known: all of it is text and numbers.
    pub fn to_json(&self) -> Result<serde_json::Value, serde_json::Error> {
        serde_json::to_value(self)
    }

    fn between(earlier: &Graph, later: &Graph) -> Self {
        let renamed = renamed(earlier, later);
        let before: BTreeMap<&StepPath, &Node> = steps(earlier).map(|node| (&node.pattern, node)).collect();
        let (lines_before, lines) = (Lines::new(earlier), Lines::new(later));
        let names = renamed.iter().filter_map(|(new, old)| {
            let last = |path: &StepPath| path.segments().last().map(|last| last.name.clone());
            Some((last(old)?, last(new)?))
        });
        let names: BTreeMap<String, String> = names.filter(|(old, new)| old != new).collect();
        let mut diffs = Vec::new();
        let mut met: BTreeSet<&StepPath> = BTreeSet::new();
        for node in steps(later) {
            let was = renamed.get(&node.pattern).unwrap_or(&node.pattern);
            let mut diff = StepDiff {
                path: node.pattern.to_string(),
                kind: node.kind.word().to_owned(),
                became: Became::Changed,
                renamed_from: (*was != node.pattern).then(|| was.to_string()),
                fields: Vec::new(),
            };
            match before.get(was) {
                Some(old) => {
                    met.insert(&old.pattern);
                    let mut old = fields(&lines_before, earlier, old);
                    for field in &mut old {
                        field.follow(&names);
                    }
                    diff.fields = differences(&old, &fields(&lines, later, node));
                    if !diff.fields.is_empty() || diff.renamed_from.is_some() {
                        diffs.push(diff);
                    }
                }
                None => diffs.push(StepDiff { became: Became::Added, renamed_from: None, ..diff }),
            }
        }
        diffs.extend(steps(earlier).filter(|node| !met.contains(&node.pattern)).map(|node| StepDiff {
            path: node.pattern.to_string(),
            kind: node.kind.word().to_owned(),
            became: Became::Removed,
            renamed_from: None,
            fields: Vec::new(),
        }));
        let plan = differences(&fields::of_plan(earlier, later), &fields::of_plan(later, later));
        Self { format: 1, plan, steps: diffs }
    }
}

fn steps(graph: &Graph) -> impl Iterator<Item = &Node> {
    graph.nodes().filter(|node| !node.pattern.is_empty())
}

/// By path in the later plan, the path in the earlier one of what was renamed.
fn renamed(earlier: &Graph, later: &Graph) -> BTreeMap<StepPath, StepPath> {
    let renames = later.renames();
    let today: BTreeMap<&StepPath, &str> =
        steps(later).map(|node| (&node.pattern, node.kind.word())).collect();
    let kept = |node: &Node| {
        let claimed = renames.iter().any(|rename| rename.new == node.pattern);
        !claimed && today.get(&node.pattern) == Some(&node.kind.word())
    };
    let mut found = BTreeMap::new();
    for node in steps(earlier).filter(|node| !kept(node)) {
        let fits = |path: &StepPath| today.get(path) == Some(&node.kind.word());
        if let Some(path) = Rename::reachable(&node.pattern, &renames).into_iter().find(fits) {
            found.entry(path).or_insert_with(|| node.pattern.clone());
        }
    }
    found
}

fn differences(old: &[Field], new: &[Field]) -> Vec<FieldDiff> {
    let of = |fields: &[Field], name: &str| fields.iter().position(|field| field.name == name);
    let pairs = new.iter().map(|field| (of(old, &field.name).map(|at| &old[at]), Some(field)));
    let gone = old.iter().filter(|field| of(new, &field.name).is_none()).map(|field| (Some(field), None));
    let mut diffs = Vec::new();
    for (old, new) in pairs.chain(gone) {
        let Some(field) = new.or(old) else { continue };
        let difference = match (old.map(|field| &field.said), new.map(|field| &field.said)) {
            (Some(Said::Text(old)), Some(Said::Text(new))) if old != new => {
                Difference::Text(text_change(old, new))
            }
            (Some(Said::List(old)), Some(Said::List(new))) if old != new => {
                Difference::List(list_change(old, new))
            }
            (Some(Said::Schema(old, words)), Some(Said::Schema(new, also))) => {
                let changes = schema_changes(old, new, *words && *also);
                if changes.is_empty() {
                    continue;
                }
                Difference::Schema { changes }
            }
            (old, new) if old != new => {
                let words = |said: Option<&Said>| said.map(ToString::to_string);
                Difference::Setting { old: words(old), new: words(new) }
            }
            _ => continue,
        };
        // An input more or less is another request, whatever its value.
        let one_sided = matches!(
            difference,
            Difference::Setting { old: None, .. } | Difference::Setting { new: None, .. }
        );
        let on_resume = match field.on_resume {
            OnResume::IfValuesDiffer if one_sided => OnResume::Conflict,
            on_resume => on_resume,
        };
        diffs.push(FieldDiff { field: field.name.clone(), difference, on_resume });
    }
    diffs
}

impl<I, O> Plan<I, O> {
    /// How this plan differs from an earlier one, without running either.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = |prompt: &'static str| {
    ///     Plan::new("greet", move |who: Step<String>| agent("greet").input("who", who).prompt(prompt).text())
    /// };
    /// let diff = plan("Greet them warmly.")?.diff(&plan("Greet them.")?);
    /// assert_eq!(diff.steps[0].fields[0].field, "prompt");
    /// println!("{diff}");
    /// # Ok::<(), PlanErrors>(())
    /// ```
    pub fn diff<I2, O2>(&self, earlier: &Plan<I2, O2>) -> PlanDiff {
        PlanDiff::between(earlier.graph(), self.graph())
    }
}

impl AnyPlan {
    /// How this plan differs from an earlier one, without running either.
    pub fn diff(&self, earlier: &AnyPlan) -> PlanDiff {
        PlanDiff::between(earlier.graph(), self.graph())
    }
}
