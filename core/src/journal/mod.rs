//! The journal's wire form: what a record is, byte by byte. Types of their own, apart from what the program works with.

mod budgeted;
mod event;
mod failing;
mod header;
mod record;
mod replay;
mod structure;

pub use budgeted::{Budgeted, Driven, Raised};
pub use event::{
    Accepted, Answered, Asked, CauseKind, Caused, CausesClosed, Decided, DecisionMade, Dropped, EndKind,
    Ended, Event, Expired, Expiry, Failed, Forked, Frozen, FrozenKeys, Group, Interrupted, KeptSchema,
    KeptValue, Named, Opened, Parked, Reassigned, Refused, RunStarted, Started, Succeeded, Superseded, Timed,
};
pub use failing::{CancelAsked, Delayed, Late};
pub use header::{CODEC, HEADER_LEN, Header, Kind, WRITER};
pub use record::{Record, WireError};
pub use replay::{Adopted, Directed, Given, InputAccepted, Memoised, Renamed};
pub use structure::{PlannedStep, Structure};
