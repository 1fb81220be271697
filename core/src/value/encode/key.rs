//! Map keys of the checking serializer: what JSON can write as the text of a key.

use super::super::place::Place;
use super::{EncodeError, refuse};
use serde::ser::{Impossible, Serialize, Serializer};

/// The text of a map's key.
pub(super) fn text_of<T: Serialize + ?Sized>(key: &T, place: &Place<'_>) -> Result<String, EncodeError> {
    key.serialize(Key { place }).map_err(|mut error| {
        if error.place.is_empty() {
            error.place = place.to_string();
        }
        error
    })
}

#[derive(Clone, Copy)]
struct Key<'p> {
    place: &'p Place<'p>,
}

impl Key<'_> {
    fn refuse<T>(self, what: &str) -> Result<T, EncodeError> {
        refuse(
            self.place,
            format!(
                "a map's key here is {what}, which JSON cannot write as text; use a text, a number, or a list of pairs"
            ),
        )
    }
}

macro_rules! as_text {
    ($($method:ident: $kind:ty),* $(,)?) => {$(
        fn $method(self, key: $kind) -> Result<String, EncodeError> {
            Ok(key.to_string())
        }
    )*};
}

type No = Impossible<String, EncodeError>;

impl Serializer for Key<'_> {
    type Ok = String;
    type Error = EncodeError;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = No;
    type SerializeStructVariant = No;

    as_text! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
        serialize_char: char,
        serialize_str: &str,
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<String, EncodeError> {
        Ok(variant.to_owned())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        key: &T,
    ) -> Result<String, EncodeError> {
        key.serialize(self)
    }

    fn serialize_f32(self, _: f32) -> Result<String, EncodeError> {
        self.refuse("a float")
    }

    fn serialize_f64(self, _: f64) -> Result<String, EncodeError> {
        self.refuse("a float")
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<String, EncodeError> {
        self.refuse("bytes")
    }

    fn serialize_none(self) -> Result<String, EncodeError> {
        self.refuse("an Option")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<String, EncodeError> {
        self.refuse("an Option")
    }

    fn serialize_unit(self) -> Result<String, EncodeError> {
        self.refuse("a unit")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<String, EncodeError> {
        self.refuse("a unit")
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, EncodeError> {
        self.refuse("an enum variant with content")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<No, EncodeError> {
        self.refuse("a list")
    }

    fn serialize_tuple(self, _: usize) -> Result<No, EncodeError> {
        self.refuse("a tuple")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<No, EncodeError> {
        self.refuse("a tuple")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<No, EncodeError> {
        self.refuse("an enum variant with content")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<No, EncodeError> {
        self.refuse("a map")
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<No, EncodeError> {
        self.refuse("a struct")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<No, EncodeError> {
        self.refuse("an enum variant with content")
    }
}
