//! A store that notes what it has acknowledged, and how often the file had been synced by then.

use hermes_workflows::{
    core::{
        digest::Digest,
        fold::Head,
        ids::{RunId, RunNo, Seq},
        journal::Record,
        people::Need,
    },
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

/// All of a store but `commit`, handed on.
macro_rules! reads_from {
    ($field:ident) => {
        fn name(&self) -> String {
            self.$field.name()
        }
        fn open_run(&self, id: &RunId) -> Result<Option<RunNo>, LedgerError> {
            self.$field.open_run(id)
        }
        fn next_run(&self) -> Result<RunNo, LedgerError> {
            self.$field.next_run()
        }
        fn runs(&self) -> Result<Vec<(RunId, RunNo)>, LedgerError> {
            self.$field.runs()
        }
        fn heads(&self) -> Result<Vec<(RunNo, Head)>, LedgerError> {
            self.$field.heads()
        }
        fn head(&self, run: RunNo) -> Result<Option<Head>, LedgerError> {
            self.$field.head(run)
        }
        fn needs(&self, run: Option<RunNo>) -> Result<Vec<(RunNo, Need)>, LedgerError> {
            self.$field.needs(run)
        }
        fn records(
            &self,
            run: RunNo,
            visit: &mut dyn FnMut(Seq, Record) -> Result<(), LedgerError>,
        ) -> Result<(), LedgerError> {
            self.$field.records(run, visit)
        }
        fn body(&self, run: RunNo, seq: Seq) -> Result<Record, LedgerError> {
            self.$field.body(run, seq)
        }
        fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError> {
            self.$field.blob(digest)
        }
        fn blobs(&self, visit: &mut dyn FnMut(Digest, &[u8])) -> Result<(), LedgerError> {
            self.$field.blobs(visit)
        }
    };
}
pub(crate) use reads_from;

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
