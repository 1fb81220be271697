//! Lists and objects of the checking serializer, while their parts come in.

use super::super::place::Place;
use super::{EncodeError, key, refuse, single, write};
use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde_json::{Map, Value};

/// Calls `$body` with the place of what is written: inside the variant where there is one.
fn within<R>(outer: &Place<'_>, variant: Option<&str>, body: impl FnOnce(&Place<'_>) -> R) -> R {
    match variant {
        None => body(outer),
        Some(name) => body(&Place::Field(outer, name)),
    }
}

fn close(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        None => value,
        Some(name) => single(name, value),
    }
}

/// A list that is being written, bare or as the payload of a variant.
pub(super) struct Items<'p> {
    pub(super) place: &'p Place<'p>,
    pub(super) level: usize,
    pub(super) variant: Option<&'static str>,
    pub(super) list: Vec<Value>,
}

impl Items<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        let (index, level) = (self.list.len(), self.level);
        let item =
            within(self.place, self.variant, |place| write(value, &Place::Index(place, index), level))?;
        self.list.push(item);
        Ok(())
    }

    fn close(self) -> Value {
        close(self.variant, Value::Array(self.list))
    }
}

/// An object that is being written, bare or as the payload of a variant.
pub(super) struct Fields<'p> {
    pub(super) place: &'p Place<'p>,
    pub(super) level: usize,
    pub(super) variant: Option<&'static str>,
    /// A map's key that waits for its value.
    pub(super) key: Option<String>,
    pub(super) map: Map<String, Value>,
}

impl Fields<'_> {
    fn put<T: Serialize + ?Sized>(&mut self, name: String, value: &T) -> Result<(), EncodeError> {
        let level = self.level;
        let (taken, map) = (self.map.contains_key(&name), &mut self.map);
        within(self.place, self.variant, |place| {
            let place = Place::Field(place, &name);
            if taken {
                return refuse(
                    &place,
                    "two keys are written as this same text, and one of the two values would be lost; give them \
                     different names",
                );
            }
            write(value, &place, level)
        })
        .map(|value| {
            map.insert(name, value);
        })
    }

    fn close(self) -> Value {
        close(self.variant, Value::Object(self.map))
    }
}

macro_rules! list {
    ($($part:ident . $method:ident),*) => {$(
        impl $part for Items<'_> {
            type Ok = Value;
            type Error = EncodeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
                self.push(value)
            }

            fn end(self) -> Result<Value, EncodeError> {
                Ok(self.close())
            }
        }
    )*};
}

list!(
    SerializeSeq.serialize_element,
    SerializeTuple.serialize_element,
    SerializeTupleStruct.serialize_field,
    SerializeTupleVariant.serialize_field
);

macro_rules! object {
    ($($part:ident),*) => {$(
        impl $part for Fields<'_> {
            type Ok = Value;
            type Error = EncodeError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), EncodeError> {
                self.put(name.to_owned(), value)
            }

            fn end(self) -> Result<Value, EncodeError> {
                Ok(self.close())
            }
        }
    )*};
}

object!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Fields<'_> {
    type Ok = Value;
    type Error = EncodeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), EncodeError> {
        let name = within(self.place, self.variant, |place| key::text_of(name, place))?;
        self.key = Some(name);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        match self.key.take() {
            Some(name) => self.put(name, value),
            None => refuse(self.place, "its Serialize gave a map's value before the key"),
        }
    }

    fn end(self) -> Result<Value, EncodeError> {
        if self.key.is_some() {
            return refuse(self.place, "its Serialize gave a map's key without a value");
        }
        Ok(self.close())
    }
}
