//! How one list of texts differs from another.

use super::text::printable;
use serde::Serialize;
use std::fmt;

/// How a list of texts changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListChange {
    /// The list as it was.
    pub old: Vec<String>,
    /// The list as it is.
    pub new: Vec<String>,
    /// What is new, in the order of the new list.
    pub added: Vec<String>,
    /// What is gone, in the order of the old list.
    pub removed: Vec<String>,
    /// Whether what is in both stands in another order.
    pub moved: bool,
}

/// Compares two lists. What stands in a list several times counts several times.
pub fn list_change(old: &[String], new: &[String]) -> ListChange {
    let without = |from: &[String], these: &[String]| {
        let mut left: Vec<&String> = these.iter().collect();
        from.iter()
            .filter(|text| match left.iter().position(|other| other == text) {
                Some(at) => {
                    left.swap_remove(at);
                    false
                }
                None => true,
            })
            .cloned()
            .collect::<Vec<_>>()
    };
    let (added, removed) = (without(new, old), without(old, new));
    let moved = without(old, &removed) != without(new, &added);
    ListChange { old: old.to_vec(), new: new.to_vec(), added, removed, moved }
}

impl fmt::Display for ListChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |texts: &[String]| {
            let quoted: Vec<_> = texts.iter().map(|text| format!("`{}`", printable(text))).collect();
            quoted.join(", ")
        };
        let mut words = Vec::new();
        if !self.added.is_empty() {
            words.push(format!("added {}", quoted(&self.added)));
        }
        if !self.removed.is_empty() {
            words.push(format!("removed {}", quoted(&self.removed)));
        }
        if self.moved {
            words.push(format!("in another order: {} → {}", quoted(&self.old), quoted(&self.new)));
        }
        f.write_str(&words.join("; "))
    }
}
