//! Runners: what performs the agent calls of a plan. One idea a file; everything durable is the executor's.
//!
//! - [`FnRunner`]: a Rust closure.
//! - [`Scripted`]: a table of answers by path, with failures, gates and counts, for tests.
//! - [`Subprocess`]: any program that reads one JSON request and writes one JSON reply; the protocol stands in
//!   [`subprocess`].
//!
//! Linux and macOS are supported; Windows is not.

mod fn_runner;
mod scripted;
pub mod subprocess;

pub use fn_runner::FnRunner;
pub use scripted::{Gate, IntoAnswer, Scripted};
pub use subprocess::Subprocess;
