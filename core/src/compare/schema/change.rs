//! One difference of two schemas.

use crate::compare::printable;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// One difference of two schemas. A place is that in a value: `.sections[].title`, with `[]` for any element, `.*` for
/// any key of a map, `(case)` for a case of an enum; `.` is the value itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SchemaChange {
    /// A field is new.
    FieldAdded {
        /// Where.
        path: String,
        /// Whether it has to be there.
        required: bool,
        /// Its type.
        new: String,
    },
    /// A field is gone.
    FieldRemoved {
        /// Where it was.
        path: String,
        /// Whether it had to be there.
        required: bool,
        /// Its type.
        old: String,
    },
    /// An optional field has to be there now.
    Required {
        /// Where.
        path: String,
    },
    /// A field need not be there any more.
    Optional {
        /// Where.
        path: String,
    },
    /// A type allows less than before.
    Narrowed {
        /// Where.
        path: String,
        /// The type as it was.
        old: String,
        /// The type as it is.
        new: String,
    },
    /// A type allows more than before.
    Widened {
        /// Where.
        path: String,
        /// The type as it was.
        old: String,
        /// The type as it is.
        new: String,
    },
    /// A type is another one.
    Changed {
        /// Where.
        path: String,
        /// The type as it was.
        old: String,
        /// The type as it is.
        new: String,
    },
    /// An enum has one more case.
    CaseAdded {
        /// Where.
        path: String,
        /// The case.
        case: String,
    },
    /// An enum has lost a case.
    CaseRemoved {
        /// Where.
        path: String,
        /// The case.
        case: String,
    },
    /// A rule beside the type differs: a bound, a pattern, a default.
    Rule {
        /// Where.
        path: String,
        /// The keyword.
        rule: String,
        /// What it was; `None` where there was none.
        old: Option<Value>,
        /// What it is; `None` where there is none.
        new: Option<Value>,
        /// Whether it allows less (`true`) or more (`false`) than before, where that can be said.
        narrower: Option<bool>,
    },
    /// What is said of a place differs: its description, title or examples.
    Words {
        /// Where.
        path: String,
        /// The keyword.
        word: String,
        /// What was said.
        old: Option<Value>,
        /// What is said.
        new: Option<Value>,
    },
    /// A difference that the other kinds do not tell.
    Other {
        /// Where in the schema document.
        place: String,
        /// What was there.
        old: Option<Value>,
        /// What is there.
        new: Option<Value>,
    },
}

impl SchemaChange {
    /// Where it is.
    pub fn path(&self) -> &str {
        match self {
            Self::FieldAdded { path, .. }
            | Self::FieldRemoved { path, .. }
            | Self::Required { path }
            | Self::Optional { path }
            | Self::Narrowed { path, .. }
            | Self::Widened { path, .. }
            | Self::Changed { path, .. }
            | Self::CaseAdded { path, .. }
            | Self::CaseRemoved { path, .. }
            | Self::Rule { path, .. }
            | Self::Words { path, .. } => path,
            Self::Other { place, .. } => place,
        }
    }
}

impl fmt::Display for SchemaChange {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |required: &bool| if *required { "required" } else { "optional" };
        match self {
            Self::FieldAdded { path, required, new } => {
                write!(f, "{path}: {} field added ({new})", kind(required))
            }
            Self::FieldRemoved { path, required, old } => {
                write!(f, "{path}: {} field removed ({old})", kind(required))
            }
            Self::Required { path } => write!(f, "{path}: was optional, is required"),
            Self::Optional { path } => write!(f, "{path}: was required, is optional"),
            Self::Narrowed { path, old, new } => write!(f, "{path}: type narrowed: {old} → {new}"),
            Self::Widened { path, old, new } => write!(f, "{path}: type widened: {old} → {new}"),
            Self::Changed { path, old, new } => write!(f, "{path}: type changed: {old} → {new}"),
            Self::CaseAdded { path, case } => write!(f, "{path}: case added: {}", printable(case)),
            Self::CaseRemoved { path, case } => write!(f, "{path}: case removed: {}", printable(case)),
            Self::Rule { path, rule, old, new, narrower } => {
                let word = match narrower {
                    Some(true) => "narrowed",
                    Some(false) => "widened",
                    None => "changed",
                };
                write!(f, "{path}: {rule} {word}: {} → {}", said(old.as_ref()), said(new.as_ref()))
            }
            Self::Words { path, word, old, new } => {
                write!(f, "{path}: {word} changed: {} → {}", said(old.as_ref()), said(new.as_ref()))
            }
            Self::Other { place, old, new } => {
                write!(f, "at {place} of the schema: {} → {}", said(old.as_ref()), said(new.as_ref()))
            }
        }
    }
}

fn said(value: Option<&Value>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| printable(&value.to_string()))
}
