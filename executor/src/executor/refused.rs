//! Reading the answers that were refused: paid for, and kept.

use super::handle::Executor;
use crate::error::DriveError;
use hermes_core::{
    ids::RunId,
    journal::{Event, Refused},
    path::StepPath,
};

impl Executor {
    /// The answers of the agent at `path` that were refused while turns were left to mend them, oldest first, over all its
    /// attempts: also those of an attempt that the process ended in. The last answer of an attempt that failed stands in its
    /// failure. None where nothing is recorded.
    ///
    /// # Errors
    /// When the ledger has no such run, or cannot be read.
    pub fn refused_answers(&self, run: &RunId, path: &str) -> Result<Vec<Refused>, DriveError> {
        let ledger = self.ledger();
        let Some(number) = ledger.find(run)? else { return Err(DriveError::NoSuchRun(run.to_string())) };
        let state = ledger.state(number)?;
        let cell = path.parse::<StepPath>().ok().and_then(|path| state.find(&path));
        let Some(cell) = cell.and_then(|at| state.cell(at)) else { return Ok(Vec::new()) };
        let mut refused = Vec::with_capacity(cell.refused.len());
        for seq in &cell.refused {
            match ledger.record(number, *seq)?.event() {
                Ok(Event::Refused(answer)) => refused.push(answer),
                Ok(_) => return Err(DriveError::Broken(format!("record {seq} is not a refused answer"))),
                Err(error) => return Err(DriveError::Broken(error.to_string())),
            }
        }
        Ok(refused)
    }
}
