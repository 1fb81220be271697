//! Paths: a step's identity inside a run, as people read and write it.
//!
//! Grammar: `a/b`; an item is `name[key]`, a round `name[n]` from 1, an arm `name:label`, the else of a loop `name:else`.
//! In keys and labels `/ [ ] : % # *` and control characters are written as `%XX` of their UTF-8 bytes, so that a path
//! can be read back and `name[*]` always means "any item".

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

#[cfg(test)]
mod tests;

/// The most bytes a step's name may have.
const NAME_LIMIT: usize = 200;

/// What a segment carries beside its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Nothing: a plain name.
    Plain,
    /// An item's key or a round's number: `name[key]`.
    Key(String),
    /// A branch arm, or the else of a loop: `name:label`.
    Label(String),
    /// Any item or round: `name[*]`. Only in patterns.
    Any,
}

/// One part of a path, between two slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Segment {
    /// The step's or group's name.
    pub name: String,
    /// Its item, round or arm.
    pub mark: Mark,
}

impl Segment {
    /// A plain segment.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { name: name.into(), mark: Mark::Plain }
    }
}

/// The identity of a step inside a run, or (with [`Mark::Any`] in it) the pattern of a plan step.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StepPath(Vec<Segment>);

/// A text that is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a step path: {why}; a path reads like `draft_sections[intro]/draft_section`")]
pub struct InvalidPath {
    text: String,
    why: &'static str,
}

/// A text that cannot name a step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct InvalidName {
    why: String,
}

/// Checks that `name` can name a step: not blank, at most 200 bytes, none of `/ [ ] : % # *`, no control characters.
///
/// # Errors
/// Says which of these does not hold.
pub fn check_name(name: &str) -> Result<(), InvalidName> {
    let why = if name.trim().is_empty() {
        "a name must not be blank".to_owned()
    } else if name.trim() != name {
        "a name must not begin or end with white space".to_owned()
    } else if name.len() > NAME_LIMIT {
        format!("a name has at most {NAME_LIMIT} bytes, this one has {}", name.len())
    } else if let Some(c) = name.chars().find(|&c| needs_escape(c)) {
        format!("a name must not hold {c:?}, which has a meaning in paths")
    } else {
        return Ok(());
    };
    Err(InvalidName { why })
}

fn needs_escape(c: char) -> bool {
    matches!(c, '/' | '[' | ']' | ':' | '%' | '#' | '*') || c.is_control()
}

/// Writes `text` with everything that has a meaning in paths as `%XX`.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if needs_escape(c) {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                out.push('%');
                out.push(hex(byte >> 4));
                out.push(hex(byte & 15));
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn hex(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).map_or('0', |c| c.to_ascii_uppercase())
}

fn unescape(text: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
            match (digit(rest.next()), digit(rest.next())) {
                (Some(high), Some(low)) => bytes.push(u8::try_from(high * 16 + low).unwrap_or_default()),
                _ => return Err("a % is not followed by two hexadecimal digits"),
            }
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).map_err(|_| "its %-escapes are not UTF-8")
}

impl StepPath {
    /// A path of these segments.
    pub fn new(segments: Vec<Segment>) -> Self {
        Self(segments)
    }

    /// Its segments, outermost first.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether it is the path of the plan itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it holds a [`Mark::Any`].
    pub fn is_pattern(&self) -> bool {
        self.0.iter().any(|segment| segment.mark == Mark::Any)
    }

    /// This path with one more segment.
    pub fn join(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    /// Fills the [`Mark::Any`]s, outermost first, with `keys`. A key left over marks the last segment: that is how the
    /// question of a review in round 2 becomes `review[2]`.
    pub fn fill(&self, keys: impl IntoIterator<Item = String>) -> Self {
        let mut keys = keys.into_iter();
        let mut segments = self.0.clone();
        for segment in &mut segments {
            if segment.mark == Mark::Any
                && let Some(key) = keys.next()
            {
                segment.mark = Mark::Key(key);
            }
        }
        if let (Some(last), Some(key)) = (segments.last_mut(), keys.next())
            && last.mark == Mark::Plain
        {
            last.mark = Mark::Key(key);
        }
        Self(segments)
    }

    /// Whether this pattern names a group that `path` lies in; a name without a mark also names its items and rounds.
    pub fn encloses(&self, path: &Self) -> bool {
        let Some((last, before)) = self.0.split_last() else { return false };
        let Some(around) = path.0.get(..self.0.len()).map(|part| Self(part.to_vec())) else { return false };
        let mut whole = before.to_vec();
        let any = Segment { name: last.name.clone(), mark: Mark::Any };
        let names_items = last.mark == Mark::Plain && {
            whole.push(any);
            Self(whole).matches(&around)
        };
        names_items || self.0.len() < path.0.len() && self.matches(&around)
    }

    /// Whether this pattern names `path`: the same but for what [`Mark::Any`] stands for.
    pub fn matches(&self, path: &Self) -> bool {
        self.0.len() == path.0.len()
            && self.0.iter().zip(&path.0).all(|(mine, theirs)| {
                mine.name == theirs.name
                    && (mine.mark == theirs.mark
                        || mine.mark == Mark::Any && matches!(theirs.mark, Mark::Key(_)))
            })
    }
}

impl fmt::Display for StepPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("/")?;
            }
            f.write_str(&segment.name)?;
            match &segment.mark {
                Mark::Plain => {}
                Mark::Key(key) => write!(f, "[{}]", escape(key))?,
                Mark::Label(label) => write!(f, ":{}", escape(label))?,
                Mark::Any => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

impl FromStr for StepPath {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        let refuse =
            |why| InvalidPath { text: text.chars().take(80).flat_map(char::escape_debug).collect(), why };
        if text.is_empty() {
            return Ok(Self::default());
        }
        let parse = |part: &str| -> Result<Segment, &'static str> {
            let (name, mark) = if let Some((name, rest)) = part.split_once('[') {
                let key = rest.strip_suffix(']').ok_or("a [ has no ] at the end of its part")?;
                match key {
                    "" => return Err("a key is empty"),
                    "*" => (name, Mark::Any),
                    key => (name, Mark::Key(unescape(key)?)),
                }
            } else if let Some((name, label)) = part.split_once(':') {
                if label.is_empty() {
                    return Err("a label is empty");
                }
                (name, Mark::Label(unescape(label)?))
            } else {
                (part, Mark::Plain)
            };
            check_name(name).map_err(|_| "a part of it is not a valid name")?;
            Ok(Segment { name: name.to_owned(), mark })
        };
        text.split('/').map(parse).collect::<Result<_, _>>().map(Self).map_err(refuse)
    }
}

impl TryFrom<String> for StepPath {
    type Error = InvalidPath;
    fn try_from(text: String) -> Result<Self, InvalidPath> {
        text.parse()
    }
}

impl From<StepPath> for String {
    fn from(path: StepPath) -> Self {
        path.to_string()
    }
}
