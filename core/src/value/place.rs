//! Places inside a value, written as paths such as `.sections[3].score`; `.` is the value itself.

use std::fmt::{self, Write as _};

#[cfg(test)]
mod tests;

/// The deepest value that can be stored: this many levels, counting the innermost leaf.
///
/// `serde_json` reads no deeper, so anything deeper could be written but never read back.
pub const MAX_DEPTH: usize = 128;

/// A place as a chain from the inside out: it lives on the stack, so knowing where we are costs nothing until it is shown.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => f.write_str("."),
            place => place.steps(f),
        }
    }
}

impl Place<'_> {
    fn steps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => Ok(()),
            Place::Field(outer, name) => {
                outer.steps(f)?;
                write_field(f, name)
            }
            Place::Index(outer, index) => {
                outer.steps(f)?;
                if matches!(outer, Place::Root) {
                    f.write_str(".")?;
                }
                write!(f, "[{index}]")
            }
        }
    }
}

/// Names that are not plain words are quoted, so that a dot in a key cannot be taken for a step.
pub(crate) fn write_field(f: &mut impl fmt::Write, name: &str) -> fmt::Result {
    if !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') {
        write!(f, ".{name}")
    } else {
        write!(f, ".{name:?}")
    }
}

enum Level {
    List(usize),
    Object { key: Option<String>, in_value: bool },
}

/// The place in a compact, valid JSON text up to which `upto` bytes were read.
///
/// `serde_json` says only line and column; for a stored value, which is one line, the path is what helps.
pub(super) fn place_at(text: &str, upto: usize) -> String {
    let bytes = text.as_bytes();
    let end = upto.min(bytes.len());
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    while at < end {
        match bytes[at] {
            b'[' => levels.push(Level::List(0)),
            b'{' => levels.push(Level::Object { key: None, in_value: false }),
            b']' | b'}' => {
                levels.pop();
            }
            b',' if at + 1 < end => match levels.last_mut() {
                Some(Level::List(index)) => *index += 1,
                Some(Level::Object { key, in_value }) => (*key, *in_value) = (None, false),
                None => {}
            },
            b':' => {
                if let Some(Level::Object { in_value, .. }) = levels.last_mut() {
                    *in_value = true;
                }
            }
            b'"' => {
                let close = string_end(bytes, at);
                if let Some(Level::Object { key, in_value: false }) = levels.last_mut() {
                    *key = text.get(at..close).and_then(|quoted| serde_json::from_str(quoted).ok());
                }
                at = close;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    written(&levels)
}

/// The index just after the string that opens at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut next = at + 1;
    while let Some(byte) = bytes.get(next) {
        match byte {
            b'\\' => next += 2,
            b'"' => return next + 1,
            _ => next += 1,
        }
    }
    bytes.len()
}

fn written(levels: &[Level]) -> String {
    let mut place = String::new();
    for level in levels {
        match level {
            Level::List(index) => {
                if place.is_empty() {
                    place.push('.');
                }
                // Writing into a String cannot fail.
                let _ = write!(place, "[{index}]");
            }
            Level::Object { key: Some(key), .. } => {
                let _ = write_field(&mut place, key);
            }
            Level::Object { key: None, .. } => {}
        }
    }
    if place.is_empty() { ".".to_owned() } else { place }
}
