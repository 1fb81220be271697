//! Writers with the faults that the crash test is there to find: they acknowledge an outcome, or anything, before it is
//! durable.

use crate::store::reads_from;
use hermes_workflows::{
    core::{
        ids::{RunNo, Seq},
        journal::{Kind, Record},
    },
    executor::{
        LedgerError,
        ledger::{CommitBatch, CrashBackend, RedbStore, Store},
    },
};
use std::sync::Mutex;

/// Writes each outcome to the disk only after the commit that follows it. Reads see it at once.
pub(crate) struct OutcomesLate {
    /// Has everything at once, in memory: reads go there.
    seen: RedbStore,
    disk: RedbStore,
    late: Mutex<Vec<(RunNo, Seq, Record)>>,
}

impl OutcomesLate {
    pub(crate) fn around(disk: RedbStore) -> Self {
        let seen = RedbStore::on_backend(CrashBackend::new()).unwrap();
        Self { seen, disk, late: Mutex::default() }
    }
}

impl Store for OutcomesLate {
    reads_from!(seen);

    fn commit(&self, batch: &CommitBatch) -> Result<(), LedgerError> {
        self.seen.commit(batch)?;
        let is_outcome = |record: &Record| matches!(record.header.kind, Kind::Succeeded | Kind::Failed);
        let mut now = batch.clone();
        let mut late = self.late.lock().unwrap();
        let before = std::mem::take(&mut *late);
        *late = now.rows.extract_if(.., |(_, _, record)| is_outcome(record)).collect();
        self.disk.commit(&now)?;
        if before.is_empty() {
            Ok(())
        } else {
            self.disk.commit(&CommitBatch { rows: before, ..CommitBatch::default() })
        }
    }

    fn settle(&self) -> Result<(), LedgerError> {
        let rows = std::mem::take(&mut *self.late.lock().unwrap());
        self.disk.commit(&CommitBatch { rows, ..CommitBatch::default() })
    }
}

/// Writes everything to the disk only before the commit that follows it: in order, and late.
pub(crate) struct Hasty {
    /// Has everything at once, in memory: reads go there.
    seen: RedbStore,
    disk: RedbStore,
    late: Mutex<CommitBatch>,
}

impl Hasty {
    pub(crate) fn around(disk: RedbStore) -> Self {
        Self { seen: RedbStore::on_backend(CrashBackend::new()).unwrap(), disk, late: Mutex::default() }
    }

    fn write(&self, next: CommitBatch) -> Result<(), LedgerError> {
        let before = std::mem::replace(&mut *self.late.lock().unwrap(), next);
        if before.is_empty() { Ok(()) } else { self.disk.commit(&before) }
    }
}

impl Store for Hasty {
    reads_from!(seen);

    fn commit(&self, batch: &CommitBatch) -> Result<(), LedgerError> {
        self.seen.commit(batch)?;
        self.write(batch.clone())
    }

    fn settle(&self) -> Result<(), LedgerError> {
        self.write(CommitBatch::default())
    }
}
