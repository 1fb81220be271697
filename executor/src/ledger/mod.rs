//! The ledger: an append-only journal per run, and what lists are made of, in one durable store.
//!
//! [`Ledger`] is the handle that everything above uses. [`Store`] is what a durable engine provides; redb is the one in
//! use, and only `redb_store`, `open`, `gate` and `crash_backend` name it. Nothing of a plan, a runner or an author is here.

mod append;
#[cfg(any(test, feature = "test-util"))]
mod crash_backend;
mod desk;
mod error;
mod fetch;
mod gate;
mod handle;
mod holder;
mod job;
mod lapse;
mod open;
mod redb_store;
mod store;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub use append::Append;
pub(crate) use append::LIMIT;
#[cfg(any(test, feature = "test-util"))]
pub use crash_backend::{CrashBackend, Loss};
pub use error::LedgerError;
pub(crate) use fetch::value as stored_value;
pub(crate) use handle::Driven;
pub use handle::{Decided, Ledger, LedgerStats};
pub use holder::Holder;
pub use lapse::Lapsed;
pub use redb_store::RedbStore;
pub use store::{CommitBatch, INLINE_BODY, Store};
