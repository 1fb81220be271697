//! `Scripted`: a table of answers by path, with failures, gates and counts. For tests.

mod answer;
mod gate;
mod log;
mod runner;
mod script;

pub use answer::IntoAnswer;
pub use gate::Gate;
pub use runner::Scripted;
