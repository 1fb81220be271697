//! Values: how a Rust value becomes stored JSON, how JSON is digested, and `Val`, the handle that travels between steps.
//!
//! Must not hold: schemas, or anything that reads a ledger (a `Fetch` is handed in).

mod digest;
mod encode;
mod place;
mod unique;
mod val;

pub use digest::{digest_json, digest_list, digest_object};
pub use encode::{EncodeError, encode};
pub use place::MAX_DEPTH;
pub(crate) use place::write_field;
pub use unique::sort_unique_lists;
pub use val::{Fetch, Unreadable, Val, ValueError};
