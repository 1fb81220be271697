//! The fold: a run's state as a pure function of its journal. Nothing here reads a clock, a file or a plan.

mod apply;
mod cells;
mod failing;
mod people;
mod spending;
mod state;
mod summary;

#[cfg(test)]
mod tests;

pub use cells::{Cell, CellStatus};
pub use spending::{Spending, begun};
pub use state::{IllegalEvent, Keys, RunState, Scope};
pub use summary::{Head, RunStatus, Summary};

use crate::{ids::Seq, journal::Record};

/// The state after `records`, which are the journal of one run from its beginning.
///
/// # Errors
/// At the first record that cannot follow what stands before it.
pub fn fold<'a>(records: impl IntoIterator<Item = (Seq, &'a Record)>) -> Result<RunState, IllegalEvent> {
    let mut state = RunState::default();
    for (seq, record) in records {
        state.apply(seq, record)?;
    }
    Ok(state)
}
