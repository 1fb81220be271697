//! The recursive digest of JSON: a list's is made from its elements' digests, an object's from its fields'. So a value
//! joined from children has a digest before anybody builds it.
//!
//! No canonical JSON text is hashed: RFC 8785 turns integers into doubles, and ..992 and ..993 would become one.

use crate::digest::Digest;
use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// First byte of everything hashed here: version 1 of the digest of JSON. `DigestWriter` starts with another one.
const JSON: u8 = 0xA1;

mod kind {
    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const UNSIGNED: u8 = 3;
    pub(super) const SIGNED: u8 = 4;
    pub(super) const FLOAT: u8 = 5;
    pub(super) const TEXT: u8 = 6;
    pub(super) const LIST: u8 = 7;
    pub(super) const OBJECT: u8 = 8;
}

/// What fits here is hashed in one call from the stack; only longer parts pay for a hasher.
const SMALL: usize = 512;

struct Part {
    small: [u8; SMALL],
    used: usize,
    large: Option<blake3::Hasher>,
}

impl Part {
    fn new(kind: u8) -> Self {
        let mut part = Part { small: [0; SMALL], used: 2, large: None };
        part.small[0] = JSON;
        part.small[1] = kind;
        part
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(hasher) = &mut self.large {
            hasher.update(bytes);
        } else if let Some(room) = self.small.get_mut(self.used..self.used + bytes.len()) {
            room.copy_from_slice(bytes);
            self.used += bytes.len();
        } else {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&self.small[..self.used]);
            hasher.update(bytes);
            self.large = Some(hasher);
        }
    }

    fn add_len(&mut self, len: usize) {
        self.add(&(len as u64).to_le_bytes());
    }

    fn add_text(&mut self, text: &str) {
        self.add_len(text.len());
        self.add(text.as_bytes());
    }

    fn finish(self) -> Digest {
        let hash = match &self.large {
            Some(hasher) => hasher.finalize(),
            None => blake3::hash(&self.small[..self.used]),
        };
        Digest::from_bytes(*hash.as_bytes())
    }
}

/// The digest of a JSON value. The order of an object's keys does not matter; `1`, `1.0` and `"1"` all differ.
pub fn digest_json(value: &Value) -> Digest {
    match value {
        Value::Array(list) if list.is_empty() => digest_list(std::iter::empty()),
        Value::Object(map) if map.is_empty() => digest_object(&[]),
        Value::Array(_) | Value::Object(_) => nested(value),
        leaf => digest_leaf(leaf),
    }
}

/// The digest of a list, from its elements' digests.
pub fn digest_list(elements: impl ExactSizeIterator<Item = Digest>) -> Digest {
    let mut part = Part::new(kind::LIST);
    part.add_len(elements.len());
    for element in elements {
        part.add(element.as_bytes());
    }
    part.finish()
}

/// The digest of an object, from its fields' digests, given in any order. Of two fields with one key the last counts, as
/// in JSON text.
pub fn digest_object(fields: &[(&str, Digest)]) -> Digest {
    // Sorted always: whether a map came sorted depends on what some dependency switched on in serde_json.
    if fields.is_sorted_by(|one, next| one.0 < next.0) {
        return digest_sorted(fields.len(), fields.iter().copied());
    }
    let sorted: std::collections::BTreeMap<&str, Digest> = fields.iter().copied().collect();
    digest_sorted(sorted.len(), sorted.into_iter())
}

fn digest_sorted<'a>(len: usize, fields: impl Iterator<Item = (&'a str, Digest)>) -> Digest {
    let mut part = Part::new(kind::OBJECT);
    part.add_len(len);
    for (key, digest) in fields {
        part.add_text(key);
        part.add(digest.as_bytes());
    }
    part.finish()
}

fn digest_leaf(value: &Value) -> Digest {
    match value {
        Value::Bool(yes) => Part::new(if *yes { kind::TRUE } else { kind::FALSE }).finish(),
        Value::String(text) => {
            let mut part = Part::new(kind::TEXT);
            part.add_text(text);
            part.finish()
        }
        Value::Number(number) => {
            let (kind, bytes) = if let Some(unsigned) = number.as_u64() {
                (kind::UNSIGNED, unsigned.to_le_bytes())
            } else if let Some(signed) = number.as_i64() {
                (kind::SIGNED, signed.to_le_bytes())
            } else {
                // Not an integer of 64 bits, so it is a double: serde_json holds nothing else.
                (kind::FLOAT, number.as_f64().unwrap_or(f64::NAN).to_bits().to_le_bytes())
            };
            let mut part = Part::new(kind);
            part.add(&bytes);
            part.finish()
        }
        Value::Null | Value::Array(_) | Value::Object(_) => Part::new(kind::NULL).finish(),
    }
}

/// A container whose children are being digested.
enum Open<'a> {
    List { rest: std::slice::Iter<'a, Value>, done: Vec<Digest> },
    Object { keys: Vec<&'a str>, rest: std::vec::IntoIter<&'a Value>, done: Vec<Digest> },
}

impl<'a> Open<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::Array(list) => Some(Open::list(list)),
            Value::Object(map) => Some(Open::object(map)),
            _ => None,
        }
    }

    fn list(list: &'a [Value]) -> Self {
        Open::List { rest: list.iter(), done: Vec::with_capacity(list.len()) }
    }

    fn object(map: &'a Map<String, Value>) -> Self {
        let mut fields: Vec<(&str, &Value)> = map.iter().map(|(key, value)| (key.as_str(), value)).collect();
        if !fields.is_sorted_by_key(|field| field.0) {
            fields.sort_unstable_by_key(|field| field.0);
        }
        let (keys, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
        let done = Vec::with_capacity(keys.len());
        Open::Object { keys, rest: values.into_iter(), done }
    }

    /// Digests leaves until a nested container comes up.
    fn run(&mut self) -> Option<&'a Value> {
        let (rest, done): (&mut dyn Iterator<Item = &'a Value>, &mut Vec<Digest>) = match self {
            Open::List { rest, done } => (rest, done),
            Open::Object { rest, done, .. } => (rest, done),
        };
        for value in rest {
            if matches!(value, Value::Array(_) | Value::Object(_)) {
                return Some(value);
            }
            done.push(digest_leaf(value));
        }
        None
    }

    fn push(&mut self, child: Digest) {
        match self {
            Open::List { done, .. } | Open::Object { done, .. } => done.push(child),
        }
    }

    fn close(self) -> Digest {
        match self {
            Open::List { done, .. } => digest_list(done.into_iter()),
            Open::Object { keys, done, .. } => digest_sorted(keys.len(), keys.into_iter().zip(done)),
        }
    }
}

/// Keeps its own stack: a value nested thousands deep must not overflow the thread's.
fn nested(value: &Value) -> Digest {
    let Some(mut current) = Open::of(value) else { return digest_leaf(value) };
    let mut outer: Vec<Open<'_>> = Vec::new();
    loop {
        if let Some(inner) = current.run().and_then(Open::of) {
            outer.push(std::mem::replace(&mut current, inner));
            continue;
        }
        let digest = current.close();
        match outer.pop() {
            None => return digest,
            Some(parent) => {
                current = parent;
                current.push(digest);
            }
        }
    }
}
