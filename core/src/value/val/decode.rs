//! Decoding a stored text, once for each type, and saying where it failed.

use super::ValueError;
use crate::{digest::Digest, value::place::place_at};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use std::{
    any::{Any, TypeId},
    sync::{Arc, Mutex, PoisonError},
};

type Shared = Arc<dyn Any + Send + Sync>;

/// The decoded copies of one value. Few types ever look at one value, so a list does.
#[derive(Default)]
pub(super) struct Decoded(Mutex<Vec<(TypeId, Shared)>>);

impl Decoded {
    /// The copy of this type; decodes it if there is none yet. Others wait meanwhile: decoding twice costs more.
    pub(super) fn get_or_decode<T: Send + Sync + 'static>(
        &self,
        decode: impl FnOnce() -> Result<T, ValueError>,
    ) -> Result<Arc<T>, ValueError> {
        // A panic in an author's Deserialize leaves the list as it was: nothing in it is half done.
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = TypeId::of::<T>();
        let found = copies.iter().find(|(of, _)| *of == wanted).map(|(_, copy)| copy.clone());
        if let Some(copy) = found.and_then(|copy| copy.downcast::<T>().ok()) {
            return Ok(copy);
        }
        let copy = Arc::new(decode()?);
        copies.push((wanted, copy.clone()));
        Ok(copy)
    }
}

/// Decodes a text as a type.
pub(super) fn from_text<T: DeserializeOwned>(digest: Digest, text: &str) -> Result<T, ValueError> {
    serde_json::from_str(text).map_err(|error| {
        let place = match error.classify() {
            Category::Data if error.line() == 1 => place_at(text, error.column()),
            // Without a position the reason is about the whole; with a syntax error paths mean nothing.
            _ => ".".to_owned(),
        };
        ValueError::Decode {
            digest: digest.short(),
            type_name: std::any::type_name::<T>(),
            place,
            why: error.to_string(),
        }
    })
}
