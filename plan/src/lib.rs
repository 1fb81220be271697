//! The typed plan graph: builders that make it, checks that refuse mistakes, layouts that draw it.
//!
//! Nothing here runs a plan: no clock, no I/O, no async runtime.

pub mod graph;
pub mod layout;
