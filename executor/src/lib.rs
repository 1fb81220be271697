//! Runs plans: the walk, replay, the ledger, the review queue and the `Runner` trait.
//!
//! What decides is pure (`walk`), what acts is thin (`drive`). Nothing above `ledger` knows redb.

pub mod ledger;
