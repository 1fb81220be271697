//! Driving a run: what the walk asks for is written and started, and what comes of it is handed back.

mod blocking;
mod call;
mod cancel;
mod check;
mod command;
mod dispatch;
mod driver;
mod earlier;
mod load;
mod outcome;
mod pace;
mod pool;
mod preview;
mod turns;

pub(crate) use check::{bounded, same_plan};
pub(crate) use driver::{Control, Drive, drive};
use load::JournalLookup;
pub(crate) use outcome::{Ending, Published, RawOutcome};
pub(crate) use preview::{Foreseen, foresee};
