//! How a drive ended, untyped.

use crate::{error::DriveError, walk::Counts};
use hermes_core::{failure::Failure, people::Actor, timestamp::Timestamp, value::Val};

/// How a drive ended, untyped.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    Completed(Val),
    /// For people, and for time.
    Waiting,
    Parked,
    Failed(Failure),
    Cancelled(Actor),
}

/// The same with what else is known.
#[derive(Clone, Debug)]
pub(crate) struct RawOutcome {
    pub(crate) ending: Ending,
    pub(crate) counts: Counts,
    /// The next moment at which something is over: a wait, or the time of a question.
    pub(crate) until: Option<Timestamp>,
    /// The number of the run's records when it ended: if there are more, something has happened since.
    pub(crate) records: u64,
}

pub(crate) type Published = Option<Result<RawOutcome, DriveError>>;
