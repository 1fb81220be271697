//! The causes that explain why a step runs again, read from the journal.

use super::Because;
use crate::{
    drive::Foreseen,
    error::DriveError,
    walk::{At, Reason},
};
use hermes_core::{
    ids::Seq,
    journal::{CauseKind, Event},
    people::Actor,
};
use std::fmt;

pub(super) struct Causes<'a> {
    foreseen: &'a Foreseen,
}

impl<'a> Causes<'a> {
    pub(super) fn new(foreseen: &'a Foreseen) -> Self {
        Self { foreseen }
    }

    /// Why the step at `at` runs again.
    pub(super) fn of(&self, at: At) -> Result<Vec<Because>, DriveError> {
        let walk = &self.foreseen.walk;
        let reasons = walk.reasons(at).into_iter().map(|reason| match reason {
            Reason::Journaled(seq) => self.journaled(seq),
            Reason::Planned(at, kind) => {
                let path = walk.state().path(at).to_string();
                Ok(Because { kind, path, by: Actor::default(), why: None })
            }
        });
        reasons.collect()
    }

    fn journaled(&self, seq: Seq) -> Result<Because, DriveError> {
        let record = self.foreseen.journal.record(seq).map_err(DriveError::Broken)?;
        let path = self.foreseen.walk.state().path(record.header.at).to_string();
        match record.event().map_err(|error| DriveError::Broken(error.to_string()))? {
            Event::Caused(caused) => Ok(Because { kind: caused.kind, path, by: caused.by, why: caused.why }),
            Event::InputAccepted(accepted) => {
                Ok(Because { kind: CauseKind::Input, path, by: accepted.by, why: accepted.why })
            }
            _ => Err(DriveError::Broken(format!("record {seq} is no cause"))),
        }
    }
}

impl Because {
    /// The same in words, at the step with this path.
    pub(super) fn seen_from(&self, path: &str) -> String {
        let mut seen = self.clone();
        if seen.path == path {
            seen.path.clear();
        }
        // What the plan gave, it gives as the reason too.
        if matches!(seen.kind, CauseKind::Version | CauseKind::OnChange) {
            seen.why = None;
        }
        seen.to_string()
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            CauseKind::Rerun => "run again on request",
            CauseKind::Retry => "a retry of what failed",
            CauseKind::Version => "the plan gives it another version",
            CauseKind::InDoubt => "released from doubt",
            CauseKind::AskAgain => "asked again on request",
            CauseKind::Set => "an output was given by hand",
            CauseKind::Input => "another input was accepted",
            CauseKind::Extend => "the plan has grown",
            CauseKind::OnChange => "the plan says that it runs again when it changes",
        })?;
        if !self.path.is_empty() {
            write!(f, " at {}", self.path)?;
        }
        if let Some(name) = &self.by.name {
            write!(f, ", by {name}")?;
        }
        match &self.why {
            Some(why) => write!(f, ": {why}"),
            None => Ok(()),
        }
    }
}
