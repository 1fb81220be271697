//! What waits in the writer's queue, and how much of it goes into one transaction.

use super::{LedgerError, append::Prepared, desk::Target};
use hermes_core::ids::{RunNo, Seq};
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc::SyncSender},
};

/// The most rows of one transaction.
const ROWS: usize = 1024;
/// About the most bytes of one transaction. A larger append goes alone.
const BYTES: usize = 4 << 20;
/// The run, and the position of the first record; or why nothing was written.
pub(super) type Outcome = Result<(RunNo, Seq), Arc<LedgerError>>;

/// What to call with an append's outcome. Called exactly once, also when the writer ends early.
pub(super) struct Done(Option<Box<dyn FnOnce(Outcome) + Send>>);

impl Done {
    pub(super) fn new(done: impl FnOnce(Outcome) + Send + 'static) -> Self {
        Self(Some(Box::new(done)))
    }

    /// Calls it.
    pub(super) fn call(mut self, outcome: Outcome) {
        self.take(outcome);
    }

    fn take(&mut self, outcome: Outcome) {
        if let Some(done) = self.0.take() {
            // A panic in there must not end the writer: others wait for it.
            if catch_unwind(AssertUnwindSafe(|| done(outcome))).is_err() {
                tracing::error!("what was to be called with a commit's outcome panicked");
            }
        }
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        let why = "the writer's thread ended".to_owned();
        self.take(Err(Arc::new(LedgerError::Failed { ledger: "the ledger".to_owned(), why })));
    }
}

/// What waits for the pen.
pub(super) enum Job {
    /// Records.
    Append(Queued),
    /// Somebody who wants the pen.
    Turn(SyncSender<()>),
}

/// An append in the queue. One that was refused at the door waits like the others, so that outcomes come in order.
pub(super) struct Queued {
    pub(super) target: Target,
    pub(super) append: Result<Prepared, LedgerError>,
    pub(super) done: Done,
}

impl Queued {
    /// How many rows and about how many bytes it writes.
    fn size(&self) -> (usize, usize) {
        self.append.as_ref().map_or((0, 0), |append| (append.rows(), append.bytes))
    }
}

/// `first`, and what follows it at the front of `jobs` and fits into one transaction with it.
pub(super) fn group(first: Queued, jobs: &mut VecDeque<Job>) -> Vec<Queued> {
    let (mut rows, mut bytes) = first.size();
    let mut group = vec![first];
    while let Some(Job::Append(next)) = jobs.front() {
        let more = next.size();
        (rows, bytes) = (rows + more.0, bytes + more.1);
        if rows > ROWS || bytes > BYTES {
            break;
        }
        if let Some(Job::Append(next)) = jobs.pop_front() {
            group.push(next);
        }
    }
    group
}

impl Job {
    /// Tells whoever waits that nothing comes of it.
    pub(super) fn refuse(self, why: &Arc<LedgerError>) {
        // Who waits for a turn learns it from the channel's end.
        if let Self::Append(entry) = self {
            entry.done.call(Err(Arc::clone(why)));
        }
    }
}
