//! The journal's wire form: what a record is, byte by byte. Types of their own, apart from what the program works with.

mod event;
mod header;
mod record;
mod structure;

pub use event::{
    Accepted, Adopted, Answered, Asked, CauseKind, Caused, CausesClosed, Decided, DecisionMade, Directed,
    Dropped, EndKind, Ended, Event, Expired, Expiry, Failed, Forked, Frozen, FrozenKeys, Given, Group,
    InputAccepted, Interrupted, KeptSchema, Memoised, Named, Opened, Parked, Reassigned, Refused, Renamed,
    RunStarted, Started, Succeeded, Superseded, Timed,
};
pub use header::{CODEC, HEADER_LEN, Header, Kind, WRITER};
pub use record::{Record, WireError};
pub use structure::{PlannedStep, Structure};
