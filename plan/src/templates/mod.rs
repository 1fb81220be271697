//! Prompt templates: what an author names, a source made ready for rendering, and what its variables must find in a step's
//! inputs.
//!
//! Nothing here reads files: who runs a plan hands the sources in.

mod engine;
mod line;
mod template;
mod variables;

#[cfg(test)]
mod tests;

pub use engine::{Flaw, ReadyTemplate};
pub(crate) use template::Source;
pub use template::Template;
pub(crate) use variables::Missing;
