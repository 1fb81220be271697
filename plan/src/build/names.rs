//! The names of a plan: which are taken where. A namespace is a body or a `scope(..)`; the stages of a pipeline share one,
//! because they add no segment to a path.

use super::errors::{PlanError, PlanErrorKind};
use crate::graph::Location;
use hermes_core::path::check_name;
use std::collections::BTreeMap;

/// The most bytes a key or label may have.
const KEY_LIMIT: usize = 1024;
/// The word that paths have for `.otherwise(..)` and `.or_else(..)`.
pub(crate) const ELSE: &str = "else";

/// A namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Space(u32);

/// What a name is claimed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim<'a> {
    /// A step.
    Step,
    /// A step with a static key.
    Keyed(&'a str),
    /// A group or a scope: what is inside it has paths that begin with its name.
    Group,
}

/// Who has a name.
#[derive(Default)]
struct Holders {
    plain: Option<(Location, bool)>,
    keyed: BTreeMap<String, Location>,
}

/// All names of one plan.
#[derive(Default)]
pub(crate) struct Names {
    spaces: u32,
    taken: BTreeMap<(Space, String), Holders>,
}

impl Names {
    /// A fresh namespace.
    pub(crate) fn space(&mut self) -> Space {
        self.spaces += 1;
        Space(self.spaces)
    }

    /// Takes a name; says what is wrong with that.
    pub(crate) fn claim(
        &mut self,
        space: Space,
        name: &str,
        claim: Claim<'_>,
        at: Location,
    ) -> Vec<PlanError> {
        let mut errors = Vec::new();
        if let Err(why) = check_name(name) {
            let message = format!("`{}` cannot be a name: {why}", name.escape_debug());
            errors.push(PlanError::new(PlanErrorKind::InvalidName, at, message, "give it another name"));
            return errors;
        }
        let holders = self.taken.entry((space, name.to_owned())).or_default();
        let duplicate = |first: Location| {
            let message = format!("two things are named `{name}` in one scope");
            let mend =
                "rename one of them, put one into a `scope(..)`, or give steps made in a loop a `.key(..)`";
            PlanError::new(PlanErrorKind::DuplicateName, at, message, mend).also(first)
        };
        match claim {
            Claim::Step | Claim::Group => {
                let group = claim == Claim::Group;
                // The items of a group are `name[key]`, which a keyed step of this name would be too.
                let keyed = holders.keyed.values().next().filter(|_| group);
                match (holders.plain, keyed) {
                    (Some((first, _)), _) | (None, Some(&first)) => errors.push(duplicate(first)),
                    (None, None) => holders.plain = Some((at, group)),
                }
            }
            Claim::Keyed(key) => {
                if let Some(&first) = holders.keyed.get(key) {
                    let message = format!("two steps named `{name}` have the key `{}`", key.escape_debug());
                    let error = PlanError::new(
                        PlanErrorKind::DuplicateKey,
                        at,
                        message,
                        "give each its own `.key(..)`",
                    );
                    errors.push(error.also(first));
                } else {
                    if let Some((first, true)) = holders.plain {
                        errors.push(duplicate(first));
                    }
                    holders.keyed.insert(key.to_owned(), at);
                }
            }
        }
        errors
    }
}

/// Checks that `key` can be a key.
pub(crate) fn check_key(key: &str, at: Location) -> Result<(), PlanError> {
    let why = if key.trim().is_empty() {
        "it is blank".to_owned()
    } else if key.len() > KEY_LIMIT {
        format!("it has {} bytes", key.len())
    } else {
        return Ok(());
    };
    let shown: String = key.chars().take(80).flat_map(char::escape_debug).collect();
    let message = format!("`{shown}` cannot be a key: {why}");
    let mend = format!("give a text of 1 to {KEY_LIMIT} bytes that says which one it is");
    Err(PlanError::new(PlanErrorKind::InvalidKey, at, message, mend))
}

/// Checks that `label` can label an arm.
pub(crate) fn check_label(label: &str, at: Location) -> Result<(), PlanError> {
    let why = if label.trim().is_empty() {
        "it is blank".to_owned()
    } else if label == ELSE {
        "it is what paths call `.otherwise(..)`".to_owned()
    } else if label.len() > KEY_LIMIT {
        format!("it has {} bytes", label.len())
    } else {
        return Ok(());
    };
    let shown: String = label.chars().take(80).flat_map(char::escape_debug).collect();
    let message = format!("`{shown}` cannot label an arm: {why}");
    Err(PlanError::new(
        PlanErrorKind::InvalidLabel,
        at,
        message,
        "give the arm a word that says when it is taken",
    ))
}
