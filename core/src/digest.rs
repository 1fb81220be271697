//! Digests: 32 bytes of blake3, written as hex, and the tagged builder that makes them from parts.
//!
//! No rule about *what* goes into a digest lives here: values have theirs in `value`, schemas in `schema`, requests in
//! `fingerprint`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr};

#[cfg(test)]
mod tests;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// 32 bytes that stand for some content: equal content has equal digests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: a digest is 64 hex digits")]
pub struct NotADigest(pub String);

impl Digest {
    /// All zero bytes: stands for "none yet", never for content.
    pub const ZERO: Digest = Digest([0; 32]);

    /// The digest with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Digest(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest of raw bytes, as they are: for blobs and files.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// Its first 12 hex digits, for people.
    pub fn short(&self) -> String {
        self.with_hex(|hex| hex[..12].to_owned())
    }

    /// Whether this is [`Digest::ZERO`].
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// Hands out the 64 hex digits without allocating.
    fn with_hex<R>(&self, take: impl FnOnce(&str) -> R) -> R {
        let mut hex = [0_u8; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        // Only ASCII was written, so the fallback is never taken.
        take(std::str::from_utf8(&hex).unwrap_or_default())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_hex(|hex| f.pad(hex))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_hex(|hex| f.write_str(hex))
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let refuse = || NotADigest(text.chars().take(80).collect());
        let hex = text.as_bytes();
        if hex.len() != 64 {
            return Err(refuse());
        }
        let mut bytes = [0_u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = digit(pair[0]).ok_or_else(refuse)? << 4 | digit(pair[1]).ok_or_else(refuse)?;
        }
        Ok(Digest(bytes))
    }
}

fn digit(hex: u8) -> Option<u8> {
    match hex {
        b'0'..=b'9' => Some(hex - b'0'),
        b'a'..=b'f' => Some(hex - b'a' + 10),
        b'A'..=b'F' => Some(hex - b'A' + 10),
        _ => None,
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_hex(|hex| serializer.serialize_str(hex))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Hex;
        impl de::Visitor<'_> for Hex {
            type Value = Digest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a digest of 64 hex digits")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Digest, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Hex)
    }
}

impl schemars::JsonSchema for Digest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
    }
}

/// The kinds of part. A kind is written before each part, so a text never reads as bytes, nor an unset as an empty.
mod kind {
    pub(super) const BYTES: u8 = 1;
    pub(super) const TEXT: u8 = 2;
    pub(super) const U64: u8 = 3;
    pub(super) const I64: u8 = 4;
    pub(super) const BOOL: u8 = 5;
    pub(super) const DIGEST: u8 = 6;
    pub(super) const UNSET: u8 = 7;
    pub(super) const SET: u8 = 8;
    pub(super) const LIST: u8 = 9;
}

/// First byte of everything a writer hashes. JSON values start with another one, so the two never meet.
const WRITER: u8 = 0xD1;

/// Builds a digest from parts, so that no two different sequences of parts give the same one.
///
/// Each part is its kind and then fixed or length-prefixed bytes. The domain says what the digest is *of*: the same parts
/// in two domains give two digests.
#[derive(Clone)]
pub struct DigestWriter {
    /// Parts that are not hashed yet: most sequences fit, and are hashed in one go.
    buffer: [u8; BUFFER],
    filled: usize,
    /// Everything before the buffer, once it has overflowed.
    hasher: Option<Box<blake3::Hasher>>,
}

/// The bytes that a writer holds back.
const BUFFER: usize = 2048;

impl DigestWriter {
    /// An empty sequence of parts in this domain, e.g. `"hermes fingerprint v1"`.
    pub fn new(domain: &'static str) -> Self {
        let mut writer = DigestWriter { buffer: [0; BUFFER], filled: 0, hasher: None };
        writer.put(&[WRITER]);
        writer.put(&(domain.len() as u64).to_le_bytes());
        writer.put(domain.as_bytes());
        writer
    }

    fn put(&mut self, bytes: &[u8]) {
        if self.filled + bytes.len() > BUFFER {
            let hasher = self.hasher.get_or_insert_default();
            hasher.update(&self.buffer[..self.filled]);
            self.filled = 0;
            if bytes.len() > BUFFER {
                hasher.update(bytes);
                return;
            }
        }
        self.buffer[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
    }

    fn fixed<const N: usize>(&mut self, kind: u8, bytes: [u8; N]) -> &mut Self {
        self.put(&[kind]);
        self.put(&bytes);
        self
    }

    fn sized(&mut self, kind: u8, bytes: &[u8]) -> &mut Self {
        self.fixed(kind, (bytes.len() as u64).to_le_bytes());
        self.put(bytes);
        self
    }

    /// Raw bytes under a tag of the caller's choice.
    pub fn bytes(&mut self, tag: u8, bytes: &[u8]) -> &mut Self {
        self.fixed(kind::BYTES, [tag]);
        self.sized(kind::BYTES, bytes)
    }

    /// A text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.sized(kind::TEXT, text.as_bytes())
    }

    /// An unsigned number.
    pub fn u64(&mut self, number: u64) -> &mut Self {
        self.fixed(kind::U64, number.to_le_bytes())
    }

    /// A signed number. It differs from the same number written with [`DigestWriter::u64`].
    pub fn i64(&mut self, number: i64) -> &mut Self {
        self.fixed(kind::I64, number.to_le_bytes())
    }

    /// A yes or no.
    pub fn bool(&mut self, yes: bool) -> &mut Self {
        self.fixed(kind::BOOL, [u8::from(yes)])
    }

    /// A digest.
    pub fn digest(&mut self, digest: &Digest) -> &mut Self {
        self.fixed(kind::DIGEST, digest.0)
    }

    /// A text that may be unset; unset differs from empty.
    pub fn optional_text(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            None => self.fixed(kind::UNSET, []),
            Some(text) => self.sized(kind::SET, text.as_bytes()),
        }
    }

    /// The length of a list; its elements are to follow.
    pub fn list(&mut self, len: usize) -> &mut Self {
        self.fixed(kind::LIST, (len as u64).to_le_bytes())
    }

    /// The digest of all parts so far.
    pub fn finish(&self) -> Digest {
        let rest = &self.buffer[..self.filled];
        Digest(match &self.hasher {
            None => *blake3::hash(rest).as_bytes(),
            Some(hasher) => *blake3::Hasher::clone(hasher).update(rest).finalize().as_bytes(),
        })
    }
}

impl fmt::Debug for DigestWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DigestWriter").field(&self.finish()).finish()
    }
}
