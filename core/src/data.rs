//! `Data`: what a type must be able to do to travel between steps; and the one shape that the engine itself adds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A type whose values travel between steps: stored as JSON, described by a schema, decoded by every consumer.
///
/// Never implemented by hand: every type that derives `Clone`, `Serialize`, `Deserialize` and `JsonSchema` is `Data`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel between steps",
    label = "this type is not `Data`",
    note = "derive Clone, serde::Serialize, serde::Deserialize and schemars::JsonSchema for it"
)]
pub trait Data: Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static> Data for T {}

/// A value with the key of the item that it belongs to: an element of a fan-out that ended with `.keyed()`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Keyed<T> {
    /// The item's key: what `key_by` made, or its position in the list.
    pub key: String,
    /// The item's value.
    pub value: T,
}
