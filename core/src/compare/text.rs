//! How one text differs from another, line by line.

use serde::Serialize;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write as _;

/// Lines shown around what differs.
const AROUND: usize = 3;
/// With more lines than this in both texts together, they are not aligned: that could take very long.
const ALIGNED: usize = 20_000;
/// Lines shown of each of two texts that are not aligned.
const SHOWN: usize = 20;

/// How a text changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextChange {
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
    /// The unified diff, without file names: hunks that begin with `@@ -old,count +new,count @@`, and in them lines that
    /// begin with a blank, `-` or `+`. Of texts with more than 20,000 lines only their first lines.
    pub unified: String,
}

/// Compares two texts line by line.
///
/// ```
/// use hermes_core::compare::text_change;
///
/// let change = text_change("Write a draft.\nBe brief.", "Write a draft.\nBe very brief.");
/// assert_eq!((change.added, change.removed), (1, 1));
/// assert_eq!(change.unified, "@@ -1,2 +1,2 @@\n Write a draft.\n-Be brief.\n+Be very brief.\n");
/// ```
pub fn text_change(old: &str, new: &str) -> TextChange {
    let (before, after) = (old.lines().count(), new.lines().count());
    if before + after > ALIGNED {
        return unaligned(old, new, before, after);
    }
    let diff = TextDiff::from_lines(old, new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    // Whether the last line ends in a line break is told only where the texts differ in that.
    let hint = old.ends_with('\n') != new.ends_with('\n') && !old.is_empty() && !new.is_empty();
    let unified = diff.unified_diff().context_radius(AROUND).missing_newline_hint(hint).to_string();
    TextChange { added, removed, unified }
}

fn unaligned(old: &str, new: &str, before: usize, after: usize) -> TextChange {
    let mut unified = format!("@@ -1,{before} +1,{after} @@\n");
    for (mark, text, count) in [('-', old, before), ('+', new, after)] {
        for line in text.lines().take(SHOWN) {
            // Writing to a String cannot fail.
            let _ = writeln!(unified, "{mark}{line}");
        }
        if count > SHOWN {
            let _ = writeln!(unified, "{mark}… and {} more lines", count - SHOWN);
        }
    }
    TextChange { added: after, removed: before, unified }
}

/// A text as it can be shown in a terminal: control characters other than line breaks and tabs are written as escapes.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' && c != '\t' {
            shown.extend(c.escape_debug());
        } else {
            shown.push(c);
        }
    }
    shown
}
