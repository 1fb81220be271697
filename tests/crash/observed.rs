//! A store that notes what it has acknowledged, and how often the file had been synced by then.

use crate::store::reads_from;
use hermes_workflows::{
    core::ids::Seq,
    executor::{
        LedgerError,
        ledger::{CommitBatch, CrashBackend, Store},
    },
};
use std::sync::Mutex;

/// Hands everything on, and takes notes.
pub(crate) struct Observed<S> {
    inner: S,
    backend: CrashBackend,
    acknowledged: Mutex<Vec<(usize, Seq)>>,
}

impl<S: Store> Observed<S> {
    pub(crate) fn new(inner: S, backend: CrashBackend) -> Self {
        Self { inner, backend, acknowledged: Mutex::default() }
    }

    /// The last record of each commit, and how many syncs there had been when it was acknowledged.
    pub(crate) fn acknowledged(&self) -> Vec<(usize, Seq)> {
        self.acknowledged.lock().unwrap().clone()
    }
}

impl<S: Store> Store for Observed<S> {
    reads_from!(inner);

    fn commit(&self, batch: &CommitBatch) -> Result<(), LedgerError> {
        self.inner.commit(batch)?;
        let last = batch.rows.iter().map(|(_, seq, _)| *seq).max();
        self.acknowledged.lock().unwrap().extend(last.map(|last| (self.backend.syncs(), last)));
        Ok(())
    }

    fn settle(&self) -> Result<(), LedgerError> {
        self.inner.settle()
    }
}
