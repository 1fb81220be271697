//! `Val`: a cheap handle on one stored JSON value, the only form in which values travel between steps.
//!
//! Its digest is always known; its text may still lie in a ledger or in its children. Must not hold: I/O of its own.

use super::{
    digest::{digest_json, digest_list, digest_object},
    encode::{EncodeError, encode},
    place::MAX_DEPTH,
    unique::sort_unique_lists,
};
use crate::{digest::Digest, schema::Schema};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

mod decode;
#[cfg(test)]
mod tests;

use decode::Decoded;

/// Where stored texts are read from: a ledger.
pub trait Fetch: Send + Sync {
    /// The JSON text that was stored at this place.
    fn fetch(&self, at: u64) -> Result<Arc<str>, Unreadable>;
}

/// A stored value that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored value could not be read: {0}")]
pub struct Unreadable(pub String);

/// What can go wrong when a value is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Its text could not be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Its elements were asked for, and it is not a list.
    #[error("a list was expected, but the value {digest} is {found}")]
    NotAList {
        /// The value, shortened.
        digest: String,
        /// What it is instead.
        found: String,
    },
    /// It does not decode as the type asked for.
    #[error("the value {digest} is not a `{type_name}`: at `{place}`: {why}")]
    Decode {
        /// The value, shortened.
        digest: String,
        /// The Rust type asked for.
        type_name: &'static str,
        /// Where in the value, e.g. `.sections[3].score`; `.` is the value itself.
        place: String,
        /// What serde said.
        why: String,
    },
}

/// One stored JSON value. Clones share everything: the text once read, and each decoded copy.
#[derive(Clone)]
pub struct Val(Arc<Node>);

struct Node {
    digest: Digest,
    body: Body,
    decoded: Decoded,
}

/// A text that is known later, and then for good.
type Later = OnceLock<Arc<str>>;

enum Body {
    Leaf {
        text: Arc<str>,
    },
    Stored {
        fetch: Arc<dyn Fetch>,
        at: u64,
        text: Later,
    },
    List {
        children: Box<[Val]>,
        depth: usize,
        text: Later,
    },
    /// Fields sorted by key, each key once.
    Object {
        fields: Box<[(Arc<str>, Val)]>,
        depth: usize,
        text: Later,
    },
}

impl Val {
    fn new(digest: Digest, body: Body) -> Self {
        Val(Arc::new(Node { digest, body, decoded: Decoded::default() }))
    }

    /// The value with this JSON.
    ///
    /// A list keeps its elements as values of their own, so that a fan-out over it need not read it again.
    pub fn from_json(value: Value) -> Self {
        match value {
            Value::Array(list) => Val::list(list.into_iter().map(Val::leaf).collect()),
            value => Val::leaf(value),
        }
    }

    fn leaf(mut value: Value) -> Self {
        value.sort_all_objects();
        Val::new(digest_json(&value), Body::Leaf { text: value.to_string().into() })
    }

    /// The value written in this JSON text. An integer beyond 64 bits is read as a float, and of two equal keys the last
    /// counts, as everywhere in `serde_json`.
    pub fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Val::from_json)
    }

    /// Encodes a Rust value, refusing what could not be read back.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, EncodeError> {
        encode(value).map(Val::from_json)
    }

    /// The same, with lists that the schema calls sets put in one order.
    pub fn encode_as<T: Serialize + ?Sized>(value: &T, schema: &Schema) -> Result<Self, EncodeError> {
        let mut json = encode(value)?;
        sort_unique_lists(&mut json, schema.json());
        Ok(Val::from_json(json))
    }

    /// A value that lies in a ledger; its text is read when first needed.
    pub fn stored(digest: Digest, fetch: Arc<dyn Fetch>, at: u64) -> Self {
        Val::new(digest, Body::Stored { fetch, at, text: Later::new() })
    }

    /// A list of values, not built until somebody needs its text.
    pub fn list(children: Vec<Val>) -> Self {
        let digest = digest_list(children.iter().map(Val::digest));
        let depth = 1 + children.iter().map(Val::depth).max().unwrap_or(0);
        Val::new(digest, Body::List { children: children.into(), depth, text: Later::new() })
    }

    /// An object of values, not built until somebody needs its text. Of two fields with one key the last counts.
    pub fn object(fields: Vec<(Arc<str>, Val)>) -> Self {
        let mut fields = fields;
        // Stable, so that equal keys stay in order: reversed first, the last one given comes first and is the one kept.
        fields.reverse();
        fields.sort_by(|one, other| one.0.cmp(&other.0));
        fields.dedup_by(|later, kept| later.0 == kept.0);
        let parts: Vec<(&str, Digest)> = fields.iter().map(|(key, value)| (&**key, value.digest())).collect();
        let digest = digest_object(&parts);
        let depth = 1 + fields.iter().map(|(_, value)| value.depth()).max().unwrap_or(0);
        Val::new(digest, Body::Object { fields: fields.into(), depth, text: Later::new() })
    }

    /// An object with one field: how an enum's variant looks in JSON.
    pub fn variant(name: &str, inner: Val) -> Self {
        Val::object(vec![(name.into(), inner)])
    }

    /// `null`: what `()` is stored as.
    pub fn null() -> Self {
        Val::from_json(Value::Null)
    }

    /// Its digest, known without reading anything.
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// Composed levels, not counting what is inside texts.
    fn depth(&self) -> usize {
        match &self.0.body {
            Body::List { depth, .. } | Body::Object { depth, .. } => *depth,
            Body::Leaf { .. } | Body::Stored { .. } => 0,
        }
    }

    /// Its JSON text: compact, keys sorted. Read or composed once.
    pub fn text(&self) -> Result<Arc<str>, Unreadable> {
        let (text, make): (&Later, &dyn Fn() -> Result<Arc<str>, Unreadable>) = match &self.0.body {
            Body::Leaf { text } => return Ok(text.clone()),
            Body::Stored { fetch, at, text } => (text, &|| fetch.fetch(*at)),
            Body::List { text, .. } | Body::Object { text, .. } => (text, &|| {
                if self.depth() >= MAX_DEPTH {
                    return Err(Unreadable(format!(
                        "the value {} is composed more than {MAX_DEPTH} levels deep",
                        self.digest().short()
                    )));
                }
                let mut whole = String::new();
                self.compose(&mut whole)?;
                Ok(whole.into())
            }),
        };
        if let Some(text) = text.get() {
            return Ok(text.clone());
        }
        // Two threads may both make it; the first to finish is kept, and both texts are the same.
        let fresh = make()?;
        Ok(text.get_or_init(|| fresh).clone())
    }

    /// Appends the text. Children of children are not cached on the way: one copy of a big join is enough.
    fn compose(&self, whole: &mut String) -> Result<(), Unreadable> {
        match &self.0.body {
            Body::Leaf { text } => whole.push_str(text),
            Body::Stored { .. } => whole.push_str(&self.text()?),
            Body::List { text, .. } | Body::Object { text, .. } if text.get().is_some() => {
                whole.push_str(text.get().map_or("", |text| text));
            }
            Body::List { children, .. } => {
                whole.push('[');
                for (index, child) in children.iter().enumerate() {
                    if index > 0 {
                        whole.push(',');
                    }
                    child.compose(whole)?;
                }
                whole.push(']');
            }
            Body::Object { fields, .. } => {
                whole.push('{');
                for (index, (key, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        whole.push(',');
                    }
                    whole.push_str(&Value::from(&**key).to_string());
                    whole.push(':');
                    value.compose(whole)?;
                }
                whole.push('}');
            }
        }
        Ok(())
    }

    /// Its JSON, built anew.
    pub fn json(&self) -> Result<Value, Unreadable> {
        let text = self.text()?;
        serde_json::from_str(&text).map_err(|error| {
            Unreadable(format!("the text of value {} is not valid JSON: {error}", self.digest().short()))
        })
    }

    /// The elements of a list.
    pub fn elements(&self) -> Result<Vec<Val>, ValueError> {
        if let Body::List { children, .. } = &self.0.body {
            return Ok(children.to_vec());
        }
        let found = if let Body::Object { .. } = &self.0.body {
            "an object"
        } else {
            match self.json()? {
                Value::Array(list) => return Ok(list.into_iter().map(Val::from_json).collect()),
                other => kind_of(&other),
            }
        };
        Err(ValueError::NotAList { digest: self.digest().short(), found: found.to_owned() })
    }

    /// A field of an object. A value that is not an object has no fields.
    pub fn field(&self, name: &str) -> Result<Option<Val>, ValueError> {
        match &self.0.body {
            Body::List { .. } => Ok(None),
            Body::Object { fields, .. } => {
                let found = fields.binary_search_by(|(key, _)| (**key).cmp(name));
                Ok(found.ok().map(|index| fields[index].1.clone()))
            }
            Body::Leaf { .. } | Body::Stored { .. } => match self.json()? {
                Value::Object(mut map) => Ok(map.remove(name).map(Val::from_json)),
                _ => Ok(None),
            },
        }
    }

    /// Decodes the stored JSON. All clones of this value share one decoded copy for each type.
    pub fn decode<T: DeserializeOwned + Send + Sync + 'static>(&self) -> Result<Arc<T>, ValueError> {
        self.0.decoded.get_or_decode(|| decode::from_text(self.digest(), &self.text()?))
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

impl PartialEq for Val {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

impl Eq for Val {}

impl fmt::Debug for Val {
    /// Never the content: values may be large, or secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0.body {
            Body::Leaf { .. } => "leaf",
            Body::Stored { .. } => "stored",
            Body::List { .. } => "list",
            Body::Object { .. } => "object",
        };
        write!(f, "Val({kind} {})", self.digest().short())
    }
}
