//! From an author's types to stored values and back, with the failures that say where in the source it went wrong.

use crate::graph::{ComputeFn, Location};
use hermes_core::{
    data::Data,
    failure::{Failure, FailureClass},
    schema::Schema,
    value::Val,
};
use std::sync::Arc;

/// The value at `index` among the inputs, as the author's type.
pub(crate) fn decode<T: Data>(inputs: &[Val], index: usize, at: Location) -> Result<Arc<T>, Failure> {
    let input = inputs.get(index).ok_or_else(|| missing(index, at))?;
    input.decode().map_err(|why| Failure::new(FailureClass::Undecodable, why.to_string()).located(at))
}

/// An input that was not handed in.
pub(crate) fn missing(index: usize, at: Location) -> Failure {
    Failure::new(FailureClass::Undecodable, format!("input {index} is missing")).located(at)
}

/// An author's value as it will be stored.
pub(crate) fn encode<T: Data>(value: &T, schema: &Schema, at: Location) -> Result<Val, Failure> {
    Val::encode_as(value, schema)
        .map_err(|why| Failure::new(FailureClass::Unencodable, why.to_string()).located(at))
}

/// Gives its first input back if it decodes as `T`.
pub(crate) fn checker<T: Data>(at: Location) -> ComputeFn {
    Arc::new(move |inputs| {
        decode::<T>(inputs, 0, at)?;
        inputs.first().cloned().ok_or_else(|| missing(0, at))
    })
}
