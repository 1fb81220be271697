//! The words of Hermes Workflows: ids, paths, values, schemas, fingerprints, requests, receipts, events and their fold.
//!
//! Nothing here runs, reads a clock or a file, or draws a random number: everything is a function of its arguments.

pub mod budget;
pub mod command;
pub mod compare;
pub mod data;
pub mod digest;
pub mod effect;
pub mod failure;
pub mod files;
pub mod fingerprint;
pub mod fold;
pub mod ids;
pub mod journal;
pub mod path;
pub mod people;
pub mod receipt;
pub mod request;
pub mod retry;
pub mod schema;
pub mod timestamp;
pub mod usd;
pub mod value;

pub use {schemars, serde, serde_json};
