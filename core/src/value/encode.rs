//! The checking serializer: one pass from a Rust value to the JSON that will be stored, refusing what reading it back
//! could not restore. Must not hold: anything that needs a schema.

use super::place::{MAX_DEPTH, Place};
use serde::ser::{self, Serialize, Serializer};
use serde_json::{Map, Value};

mod compound;
mod key;
#[cfg(test)]
mod tests;

use compound::{Fields, Items};

/// A value that cannot be stored as JSON without losing something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value cannot be stored: at `{place}`: {why}")]
pub struct EncodeError {
    /// Where in the value, e.g. `.sections[3].score`; `.` is the value itself.
    pub place: String,
    /// What is wrong there, and what to do.
    pub why: String,
}

impl ser::Error for EncodeError {
    /// An author's own `Serialize` refused. Serde does not say where; the nearest enclosing place is filled in by `write`.
    fn custom<T: std::fmt::Display>(why: T) -> Self {
        EncodeError { place: String::new(), why: why.to_string() }
    }
}

/// The JSON that will be stored for this value.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Value, EncodeError> {
    write(value, &Place::Root, 1)
}

/// Writes one value; `level` is 1 for the outermost.
fn write<T: Serialize + ?Sized>(value: &T, place: &Place<'_>, level: usize) -> Result<Value, EncodeError> {
    value.serialize(Writer { place, level }).map_err(|mut error| {
        if error.place.is_empty() {
            error.place = place.to_string();
        }
        error
    })
}

fn refuse<T>(place: &Place<'_>, why: impl Into<String>) -> Result<T, EncodeError> {
    Err(EncodeError { place: place.to_string(), why: why.into() })
}

#[derive(Clone, Copy)]
struct Writer<'p> {
    place: &'p Place<'p>,
    level: usize,
}

impl<'p> Writer<'p> {
    /// The level of what is inside a container here.
    fn inside(self) -> Result<usize, EncodeError> {
        if self.level >= MAX_DEPTH {
            return refuse(
                self.place,
                format!(
                    "it is nested more than {MAX_DEPTH} levels deep and could not be read back; flatten it"
                ),
            );
        }
        Ok(self.level + 1)
    }

    fn items(self, len: Option<usize>) -> Result<Items<'p>, EncodeError> {
        let level = self.inside()?;
        // A length is only a promise of the author's Serialize: never allocate much on its word.
        let list = Vec::with_capacity(len.unwrap_or(0).min(1024));
        Ok(Items { place: self.place, level, variant: None, list })
    }

    fn fields(self) -> Result<Fields<'p>, EncodeError> {
        let level = self.inside()?;
        Ok(Fields { place: self.place, level, variant: None, key: None, map: Map::new() })
    }

    /// The level of what is inside a container that a variant holds.
    fn inside_payload(self, variant: &str) -> Result<usize, EncodeError> {
        let level = self.inside()?;
        Writer { place: &Place::Field(self.place, variant), level }.inside()
    }

    fn float(self, number: f64) -> Result<Value, EncodeError> {
        match serde_json::Number::from_f64(number) {
            Some(number) => Ok(Value::Number(number)),
            None => refuse(
                self.place,
                format!(
                    "{number} is not a number in JSON (it would be stored as null); use an Option or a finite number"
                ),
            ),
        }
    }
}

fn single(name: &str, value: Value) -> Value {
    let mut map = Map::new();
    map.insert(name.to_owned(), value);
    Value::Object(map)
}

/// What `serde_json` uses inside for raw text and big numbers. Storing its private form would change the value.
fn is_private(name: &str) -> bool {
    name.starts_with("$serde_json::private::")
}

impl<'p> Serializer for Writer<'p> {
    type Ok = Value;
    type Error = EncodeError;
    type SerializeSeq = Items<'p>;
    type SerializeTuple = Items<'p>;
    type SerializeTupleStruct = Items<'p>;
    type SerializeTupleVariant = Items<'p>;
    type SerializeMap = Fields<'p>;
    type SerializeStruct = Fields<'p>;
    type SerializeStructVariant = Fields<'p>;

    fn serialize_bool(self, yes: bool) -> Result<Value, EncodeError> {
        Ok(Value::Bool(yes))
    }

    fn serialize_i8(self, number: i8) -> Result<Value, EncodeError> {
        Ok(number.into())
    }

    fn serialize_i16(self, number: i16) -> Result<Value, EncodeError> {
        Ok(number.into())
    }

    fn serialize_i32(self, number: i32) -> Result<Value, EncodeError> {
        Ok(number.into())
    }

    fn serialize_i64(self, number: i64) -> Result<Value, EncodeError> {
        Ok(number.into())
    }

    fn serialize_i128(self, number: i128) -> Result<Value, EncodeError> {
        if let Ok(number) = i64::try_from(number) {
            return Ok(number.into());
        }
        match u64::try_from(number) {
            Ok(number) => Ok(number.into()),
            Err(_) => too_big(self.place, number),
        }
    }

    fn serialize_u8(self, number: u8) -> Result<Value, EncodeError> {
        Ok(number.into())
    }

    fn serialize_u16(self, number: u16) -> Result<Value, EncodeError> {
        Ok(number.into())
    }

    fn serialize_u32(self, number: u32) -> Result<Value, EncodeError> {
        Ok(number.into())
    }

    fn serialize_u64(self, number: u64) -> Result<Value, EncodeError> {
        Ok(number.into())
    }

    fn serialize_u128(self, number: u128) -> Result<Value, EncodeError> {
        match u64::try_from(number) {
            Ok(number) => Ok(number.into()),
            Err(_) => too_big(self.place, number),
        }
    }

    fn serialize_f32(self, number: f32) -> Result<Value, EncodeError> {
        self.float(f64::from(number))
    }

    fn serialize_f64(self, number: f64) -> Result<Value, EncodeError> {
        self.float(number)
    }

    fn serialize_char(self, letter: char) -> Result<Value, EncodeError> {
        Ok(letter.to_string().into())
    }

    fn serialize_str(self, text: &str) -> Result<Value, EncodeError> {
        Ok(text.into())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, EncodeError> {
        self.inside()?;
        Ok(bytes.iter().copied().map(Value::from).collect())
    }

    fn serialize_none(self) -> Result<Value, EncodeError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, EncodeError> {
        match write(value, self.place, self.level)? {
            Value::Null => refuse(
                self.place,
                "a `Some` that is written as null would be read back as `None`; use an enum of your own, or another \
                 inner type",
            ),
            value => Ok(value),
        }
    }

    fn serialize_unit(self) -> Result<Value, EncodeError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, EncodeError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, EncodeError> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Value, EncodeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, EncodeError> {
        let level = self.inside()?;
        write(value, &Place::Field(self.place, variant), level).map(|value| single(variant, value))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Items<'p>, EncodeError> {
        self.items(len)
    }

    fn serialize_tuple(self, len: usize) -> Result<Items<'p>, EncodeError> {
        self.items(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Items<'p>, EncodeError> {
        self.items(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Items<'p>, EncodeError> {
        let level = self.inside_payload(variant)?;
        Ok(Items {
            place: self.place,
            level,
            variant: Some(variant),
            list: Vec::with_capacity(len.min(1024)),
        })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields<'p>, EncodeError> {
        self.fields()
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'p>, EncodeError> {
        if is_private(name) {
            return refuse(self.place, "raw JSON text cannot be stored as it is; use `serde_json::Value`");
        }
        self.fields()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Fields<'p>, EncodeError> {
        let level = self.inside_payload(variant)?;
        Ok(Fields { place: self.place, level, variant: Some(variant), key: None, map: Map::new() })
    }
}

fn too_big<T>(place: &Place<'_>, number: impl std::fmt::Display) -> Result<T, EncodeError> {
    refuse(place, format!("{number} needs more than 64 bits, which JSON readers lose; store it as a text"))
}
