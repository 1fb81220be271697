//! How a drive ended, untyped.

use crate::{error::DriveError, walk::Counts};
use hermes_core::{failure::Failure, people::Actor, value::Val};

/// How a drive ended, untyped.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    Completed(Val),
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
    /// The number of the run's records when it ended: if there are more, something has happened since.
    pub(crate) records: u64,
}

pub(crate) type Published = Option<Result<RawOutcome, DriveError>>;
