//! Driving a run: what the walk asks for is written and started, and what comes of it is handed back.

mod call;
mod driver;
mod dispatch;
mod load;

pub(crate) use driver::{Control, Drive, drive};
pub(crate) use load::JournalLookup;
