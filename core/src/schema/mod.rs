//! Schemas: the JSON Schema of a type, its identity by structure, its label in drawings, and validation against it.
//!
//! Must not hold: knowledge of values that travel (`value` builds on this, not the other way round), or any network.

mod error;
mod fields;
mod keywords;
mod label;
mod refs;
#[expect(clippy::module_inception, reason = "the file holds `Schema`, the folder what it is made of")]
mod schema;
mod structural;
mod validate;

pub use error::SchemaError;
pub use fields::NoField;
pub(crate) use refs::resolve;
pub use schema::Schema;
pub use validate::Violation;
