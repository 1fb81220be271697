//! The executor itself: a cheap handle.

use super::live::Shared;
use crate::{ledger::Ledger, watch::Watch};
use std::sync::Arc;

/// Runs plans from one ledger. Cheap to clone.
///
/// Start, resume and retry drive a run and need its plan; needs, answers, decisions and cancellations need none.
#[derive(Clone)]
pub struct Executor {
    pub(super) shared: Arc<Shared>,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor")
            .field("ledger", &self.shared.services.ledger.path())
            .finish_non_exhaustive()
    }
}

impl Executor {
    /// The ledger its runs are recorded in.
    pub fn ledger(&self) -> &Ledger {
        &self.shared.services.ledger
    }

    /// A stream of everything that becomes durable from now on, of all runs driven here.
    pub fn watch(&self) -> Watch {
        self.shared.services.watch()
    }

    /// How many fingerprints were compared with the journal, in all checks so far.
    pub fn fingerprints_compared(&self) -> u64 {
        self.shared.services.compared()
    }
}
