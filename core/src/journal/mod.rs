//! The journal's wire form: what a record is, byte by byte. Types of their own, apart from what the program works with.

mod budgeted;
mod event;
mod failing;
mod header;
mod record;
mod structure;

pub use budgeted::{Budgeted, Driven, Raised};
pub use event::{
    Accepted, Adopted, Answered, Asked, CauseKind, Caused, CausesClosed, Decided, DecisionMade, Directed,
    Dropped, EndKind, Ended, Event, Expired, Expiry, Failed, Forked, Frozen, FrozenKeys, Given, Group,
    InputAccepted, Interrupted, Memoised, Named, Opened, Parked, Reassigned, Refused, Renamed, RunStarted,
    Started, Succeeded, Superseded, Timed,
};
pub use failing::{CancelAsked, Delayed, Late};
pub use header::{CODEC, HEADER_LEN, Header, Kind, WRITER};
pub use record::{Record, WireError};
pub use structure::{PlannedStep, Structure};
