//! The redb engine: tables, keys and transactions. How its file is found, made and refused is in `open`.
//!
//! ```text
//! meta     text                  -> u64      the format
//! runs     run id                -> u64      the run's number
//! rows     (run, seq)            -> header and short body; a longer body stands in `bodies`, and here is nothing of it
//! bodies   (run, seq)            -> codec byte, body
//! blobs    digest                -> codec byte, bytes
//! heads    run                   -> JSON
//! needs    (run, seq, position)  -> JSON
//! memos    fingerprint           -> (run, seq)
//! ```

use super::{CommitBatch, LedgerError, Store, holder::Note, store::INLINE_BODY};
use hermes_core::{
    digest::Digest,
    fold::Head,
    ids::{RunId, RunNo, Seq},
    journal::{HEADER_LEN, Header, Kind, Record, WireError},
    people::Need,
};
use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};
use serde::de::DeserializeOwned;
use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

type Key = (u64, u64);

/// The format of the file.
pub(super) const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
const RUNS: TableDefinition<&str, u64> = TableDefinition::new("runs");
const ROWS: TableDefinition<Key, &[u8]> = TableDefinition::new("rows");
const BODIES: TableDefinition<Key, &[u8]> = TableDefinition::new("bodies");
const BLOBS: TableDefinition<&[u8; 32], &[u8]> = TableDefinition::new("blobs");
const HEADS: TableDefinition<u64, &[u8]> = TableDefinition::new("heads");
const MEMOS: TableDefinition<&[u8; 32], Key> = TableDefinition::new("memos");
const NEEDS: TableDefinition<(u64, u64, u32), &[u8]> = TableDefinition::new("needs");

/// The codec of bytes that are stored as they are. Other codecs may come; older ones are read for ever.
const PLAIN: u8 = 0;

/// A ledger in a redb file, or in memory through the same code.
pub struct RedbStore {
    pub(super) db: Database,
    pub(super) path: Option<PathBuf>,
    /// The first failed write: redb itself only says later that there was one.
    pub(super) failed: OnceLock<String>,
    /// Declared after the database, and yet dropped before it: see [`Drop`].
    pub(super) note: Option<Note>,
    /// Whether it was opened for reading only.
    pub(super) read_only: bool,
}

impl Drop for RedbStore {
    fn drop(&mut self) {
        // While the lock is still held: later the note could be another process's.
        self.note = None;
    }
}

impl std::fmt::Debug for RedbStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedbStore").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Makes every table, so that no reader meets a missing one, and writes the format.
pub(super) fn lay_out(db: &Database, key: &str, format: u64) -> Result<(), redb::Error> {
    let transaction = db.begin_write()?;
    transaction.open_table(META)?.insert(key, format)?;
    transaction.open_table(RUNS)?;
    transaction.open_table(ROWS)?;
    transaction.open_table(BODIES)?;
    transaction.open_table(BLOBS)?;
    transaction.open_table(HEADS)?;
    transaction.open_table(NEEDS)?;
    transaction.open_table(MEMOS)?;
    Ok(transaction.commit()?)
}

impl RedbStore {
    /// What redb said, as an error of this ledger.
    fn fault(&self, doing: &str, error: impl Into<redb::Error>) -> LedgerError {
        let error = error.into();
        let (ledger, why) = (self.name(), error.to_string());
        match error {
            redb::Error::PreviousIo => {
                LedgerError::Failed { ledger, why: self.failed.get().cloned().unwrap_or(why) }
            }
            redb::Error::Corrupted(why) => LedgerError::Damaged { ledger, why },
            _ => LedgerError::Io { ledger, doing: doing.to_owned(), why },
        }
    }

    fn reading<E: Into<redb::Error>>(&self) -> impl Fn(E) -> LedgerError {
        |error| self.fault("reading", error)
    }

    fn damaged(&self, why: String) -> LedgerError {
        LedgerError::Damaged { ledger: self.name(), why }
    }

    fn wire(&self, run: RunNo, seq: Seq, error: &WireError) -> LedgerError {
        let newer = matches!(error, WireError::Newer { .. });
        LedgerError::stored(self.name(), newer, format!("record {seq} of run number {run}: {error}"))
    }

    fn read(&self) -> Result<ReadTransaction, LedgerError> {
        self.db.begin_read().map_err(self.reading())
    }

    fn table<K: redb::Key, V: redb::Value>(
        &self,
        transaction: &ReadTransaction,
        definition: TableDefinition<K, V>,
    ) -> Result<ReadOnlyTable<K, V>, LedgerError> {
        transaction.open_table(definition).map_err(self.reading())
    }

    fn json<T: DeserializeOwned>(
        &self,
        bytes: &[u8],
        what: impl FnOnce() -> String,
    ) -> Result<T, LedgerError> {
        serde_json::from_slice(bytes)
            .map_err(|error| self.damaged(format!("{} does not read: {error}", what())))
    }

    /// Bytes without their codec byte.
    fn plain<'a>(&self, stored: &'a [u8], what: impl FnOnce() -> String) -> Result<&'a [u8], LedgerError> {
        match stored.split_first() {
            Some((&PLAIN, bytes)) => Ok(bytes),
            Some((codec, _)) => Err(LedgerError::NewerRecord {
                ledger: self.name(),
                why: format!("{} is stored with codec {codec}", what()),
            }),
            None => Err(self.damaged(format!("{} is empty", what()))),
        }
    }

    /// The record of a row, its body from the table of bodies where it stands there and is wanted.
    fn record(
        &self,
        bodies: &ReadOnlyTable<Key, &'static [u8]>,
        (run, seq): (RunNo, Seq),
        row: &[u8],
        wanted: impl FnOnce(Kind) -> bool,
    ) -> Result<Record, LedgerError> {
        if row.len() == HEADER_LEN {
            let header = Header::from_bytes(row).map_err(|error| self.wire(run, seq, &error))?;
            if !wanted(header.kind) {
                return Ok(Record { header, body: Vec::new() });
            }
            let what = || format!("the body of record {seq} of run number {run}");
            let body = bodies.get((run.0, seq.0)).map_err(self.reading())?;
            let body = body.ok_or_else(|| self.damaged(format!("{} is missing", what())))?;
            return Ok(Record { header, body: self.plain(body.value(), what)?.to_vec() });
        }
        Record::from_bytes(row).map_err(|error| self.wire(run, seq, &error))
    }

    /// Runs one durable transaction.
    fn transact(
        &self,
        doing: &str,
        quick_repair: bool,
        fill: impl FnOnce(&WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), LedgerError> {
        if self.read_only {
            return Err(LedgerError::ReadOnly { ledger: self.name() });
        }
        let run = || -> Result<(), redb::Error> {
            let mut transaction = self.db.begin_write()?;
            transaction.set_quick_repair(quick_repair);
            fill(&transaction)?;
            Ok(transaction.commit()?)
        };
        run().map_err(|error| {
            // Before it is turned: redb's later answers only point back to this one.
            if !matches!(error, redb::Error::PreviousIo) {
                let _ = self.failed.set(error.to_string());
            }
            self.fault(doing, error)
        })
    }
}

/// Everything of a batch, into a transaction.
fn fill(transaction: &WriteTransaction, batch: &CommitBatch) -> Result<(), redb::Error> {
    if !batch.runs.is_empty() {
        let mut runs = transaction.open_table(RUNS)?;
        for (id, run) in &batch.runs {
            runs.insert(id.as_str(), run.0)?;
        }
    }
    if !batch.rows.is_empty() {
        let mut rows = transaction.open_table(ROWS)?;
        let mut bodies = None;
        let mut bytes = Vec::with_capacity(HEADER_LEN + INLINE_BODY);
        for (run, seq, record) in &batch.rows {
            let key = (run.0, seq.0);
            bytes.clear();
            bytes.extend_from_slice(&record.header.to_bytes());
            if record.body.len() <= INLINE_BODY {
                bytes.extend_from_slice(&record.body);
            } else {
                let bodies = match &mut bodies {
                    Some(bodies) => bodies,
                    none => none.insert(transaction.open_table(BODIES)?),
                };
                bodies.insert(key, coded(&record.body).as_slice())?;
            }
            rows.insert(key, bytes.as_slice())?;
        }
    }
    if !batch.blobs.is_empty() {
        let mut blobs = transaction.open_table(BLOBS)?;
        for (digest, bytes) in &batch.blobs {
            if blobs.get(digest.as_bytes())?.is_none() {
                blobs.insert(digest.as_bytes(), coded(bytes).as_slice())?;
            }
        }
    }
    if !batch.heads.is_empty() {
        let mut heads = transaction.open_table(HEADS)?;
        for (run, head) in &batch.heads {
            heads.insert(run.0, to_json(head)?.as_slice())?;
        }
    }
    if !batch.memos.is_empty() {
        let mut memos = transaction.open_table(MEMOS)?;
        for (fingerprint, run, seq) in &batch.memos {
            memos.insert(fingerprint.as_bytes(), (run.0, seq.0))?;
        }
    }
    if !batch.needs.is_empty() {
        let mut needs = transaction.open_table(NEEDS)?;
        for (run, seq, position, need) in &batch.needs {
            let key = (run.0, seq.0, *position);
            match need {
                Some(need) => needs.insert(key, to_json(need)?.as_slice())?,
                None => needs.remove(key)?,
            };
        }
    }
    Ok(())
}

/// The bytes under the codec that keeps them as they are.
fn coded(bytes: &[u8]) -> Vec<u8> {
    let mut coded = Vec::with_capacity(bytes.len() + 1);
    coded.push(PLAIN);
    coded.extend_from_slice(bytes);
    coded
}

fn to_json(value: &impl serde::Serialize) -> Result<Vec<u8>, redb::Error> {
    // Heads and needs have text keys only, so this does not fail.
    serde_json::to_vec(value).map_err(|error| redb::Error::Io(std::io::Error::other(error)))
}

impl Store for RedbStore {
    fn name(&self) -> String {
        match &self.path {
            Some(path) => format!("the ledger {}", path.display()),
            None => "the ledger in memory".to_owned(),
        }
    }

    fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn open_run(&self, id: &RunId) -> Result<Option<RunNo>, LedgerError> {
        let transaction = self.read()?;
        let number = self.table(&transaction, RUNS)?.get(id.as_str()).map_err(self.reading())?;
        Ok(number.map(|number| RunNo(number.value())))
    }

    fn next_run(&self) -> Result<RunNo, LedgerError> {
        let transaction = self.read()?;
        let heads = self.table(&transaction, HEADS)?;
        let last = heads.last().map_err(self.reading())?;
        Ok(RunNo(last.map_or(1, |(run, _)| run.value() + 1)))
    }

    fn runs(&self) -> Result<Vec<(RunId, RunNo)>, LedgerError> {
        let transaction = self.read()?;
        let runs = self.table(&transaction, RUNS)?;
        let mut found = Vec::new();
        for entry in runs.iter().map_err(self.reading())? {
            let (id, run) = entry.map_err(self.reading())?;
            let id = RunId::new(id.value()).map_err(|error| self.damaged(error.to_string()))?;
            found.push((id, RunNo(run.value())));
        }
        Ok(found)
    }

    fn heads(&self) -> Result<Vec<(RunNo, Head)>, LedgerError> {
        let transaction = self.read()?;
        let heads = self.table(&transaction, HEADS)?;
        let mut found = Vec::new();
        for entry in heads.iter().map_err(self.reading())? {
            let (run, head) = entry.map_err(self.reading())?;
            let run = RunNo(run.value());
            found.push((run, self.json(head.value(), || format!("the head of run number {run}"))?));
        }
        Ok(found)
    }

    fn head(&self, run: RunNo) -> Result<Option<Head>, LedgerError> {
        let transaction = self.read()?;
        let head = self.table(&transaction, HEADS)?.get(run.0).map_err(self.reading())?;
        head.map(|head| self.json(head.value(), || format!("the head of run number {run}"))).transpose()
    }

    fn needs(&self, run: Option<RunNo>) -> Result<Vec<(RunNo, Need)>, LedgerError> {
        let transaction = self.read()?;
        let needs = self.table(&transaction, NEEDS)?;
        let (from, to) = run.map_or((0, u64::MAX), |run| (run.0, run.0));
        let range = needs.range((from, 0, 0)..=(to, u64::MAX, u32::MAX)).map_err(self.reading())?;
        let mut found = Vec::new();
        for entry in range {
            let (key, need) = entry.map_err(self.reading())?;
            let (run, seq, _) = key.value();
            let what = || format!("a need of record {seq} of run number {run}");
            found.push((RunNo(run), self.json(need.value(), what)?));
        }
        Ok(found)
    }

    fn records(
        &self,
        run: RunNo,
        visit: &mut dyn FnMut(Seq, Record) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let transaction = self.read()?;
        let rows = self.table(&transaction, ROWS)?;
        let bodies = self.table(&transaction, BODIES)?;
        for entry in rows.range((run.0, 0)..=(run.0, u64::MAX)).map_err(self.reading())? {
            let (key, row) = entry.map_err(self.reading())?;
            let seq = Seq(key.value().1);
            let wanted = |kind| !matches!(kind, Kind::Started | Kind::Succeeded | Kind::Refused);
            visit(seq, self.record(&bodies, (run, seq), row.value(), wanted)?)?;
        }
        Ok(())
    }

    fn body(&self, run: RunNo, seq: Seq) -> Result<Record, LedgerError> {
        let transaction = self.read()?;
        let row = self.table(&transaction, ROWS)?.get((run.0, seq.0)).map_err(self.reading())?;
        let Some(row) = row else {
            return Err(LedgerError::NoSuchRecord { ledger: self.name(), run: run.0, seq: seq.0 });
        };
        let bodies = self.table(&transaction, BODIES)?;
        self.record(&bodies, (run, seq), row.value(), |_| true)
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError> {
        let transaction = self.read()?;
        let blob = self.table(&transaction, BLOBS)?.get(digest.as_bytes()).map_err(self.reading())?;
        let what = || format!("blob {}", digest.short());
        blob.map(|blob| Ok(self.plain(blob.value(), what)?.to_vec())).transpose()
    }

    fn memo(&self, fingerprint: &Digest) -> Result<Option<(RunNo, Seq)>, LedgerError> {
        let transaction = self.read()?;
        let memo = self.table(&transaction, MEMOS)?.get(fingerprint.as_bytes()).map_err(self.reading())?;
        Ok(memo.map(|memo| memo.value()).map(|(run, seq)| (RunNo(run), Seq(seq))))
    }

    fn blobs(&self, visit: &mut dyn FnMut(Digest, &[u8])) -> Result<(), LedgerError> {
        let transaction = self.read()?;
        let blobs = self.table(&transaction, BLOBS)?;
        for entry in blobs.iter().map_err(self.reading())? {
            let (digest, blob) = entry.map_err(self.reading())?;
            let digest = Digest::from_bytes(*digest.value());
            visit(digest, self.plain(blob.value(), || format!("blob {}", digest.short()))?);
        }
        Ok(())
    }

    fn commit(&self, batch: &CommitBatch) -> Result<(), LedgerError> {
        self.transact("writing", false, |transaction| fill(transaction, batch))
    }

    fn settle(&self) -> Result<(), LedgerError> {
        if self.read_only {
            return Ok(());
        }
        self.transact("settling", true, |_| Ok(()))
    }
}
