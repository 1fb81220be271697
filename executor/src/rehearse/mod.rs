//! Rehearsals: a plan is run as often as it takes to see each of its endings, with made-up values and nothing started.

mod endings;
mod part;
mod rehearsing;
mod report;
mod run;
mod sample;
mod search;

pub use endings::Ending;
pub use rehearsing::{Rehearse, Rehearsing, Sampled};
pub use report::{NotCovered, Rehearsal, RehearsedRun, Uncovered};
