//! What can go wrong with a ledger, said so that a person knows what to do next.

use super::holder::Holder;
use hermes_core::{fold::IllegalEvent, ids::RunId};
use std::path::PathBuf;

/// Why a ledger could not be opened, read or written.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Another process, or another handle of this one, has the file.
    #[error(
        "the ledger {} is held by {}; only one process writes a ledger: reach it through that process, or end it first",
        path.display(),
        holder.as_ref().map_or_else(|| "another process that left no note of itself".to_owned(), Holder::to_string)
    )]
    Held {
        /// The ledger.
        path: PathBuf,
        /// Who has it, as far as its note says.
        holder: Option<Holder>,
    },
    /// The file is of a newer format. Nothing of it was read or changed.
    #[error(
        "the ledger {} is of format {found}, and this version reads formats up to {known}; nothing was changed: open it \
         with a newer version",
        path.display()
    )]
    Newer {
        /// The ledger.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest format this version reads.
        known: u64,
    },
    /// A record is of a newer form than this version reads.
    #[error("{ledger} holds a record of a newer form: {why}; open it with a newer version")]
    NewerRecord {
        /// The ledger.
        ledger: String,
        /// What is newer.
        why: String,
    },
    /// The file is something else, or no longer whole. It was not changed.
    #[error(
        "{} cannot be opened as a ledger: {why}; the file was not changed: name another file, or restore it from a copy",
        path.display()
    )]
    NotALedger {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// What is stored contradicts itself.
    #[error("{ledger} is damaged: {why}; restore it from a copy, and please report this")]
    Damaged {
        /// The ledger.
        ledger: String,
        /// What is wrong, and where.
        why: String,
    },
    /// Reading or writing failed.
    #[error(
        "{doing} failed for {ledger}: {why}; check the disk and the file's permissions, then open it again"
    )]
    Io {
        /// The ledger.
        ledger: String,
        /// What was being done.
        doing: String,
        /// What the system said.
        why: String,
    },
    /// An earlier write failed. What was durable before it still is.
    #[error("{ledger} takes no more writes, because one failed: {why}; open it again to go on")]
    Failed {
        /// The ledger.
        ledger: String,
        /// How the first one failed.
        why: String,
    },
    /// The ledger was opened for reading only.
    #[error("{ledger} is open for reading only; open it with `Ledger::open` to write")]
    ReadOnly {
        /// The ledger.
        ledger: String,
    },
    /// There is no such run.
    #[error("{ledger} has no run `{run}`; list its runs to see the ids it has")]
    NoSuchRun {
        /// The ledger.
        ledger: String,
        /// The run's id, or its number.
        run: String,
    },
    /// There is no such record.
    #[error(
        "{ledger} has no record {seq} in run number {run}; positions count from 1 to the run's last record"
    )]
    NoSuchRecord {
        /// The ledger.
        ledger: String,
        /// The run's number.
        run: u64,
        /// The position asked for.
        seq: u64,
    },
    /// There is a run of this id already.
    #[error("{ledger} has a run `{run}` already; resume that one, or choose another id")]
    RunExists {
        /// The ledger.
        ledger: String,
        /// The id.
        run: RunId,
    },
    /// Records that cannot follow what the run's journal holds. None of them was written.
    #[error("{ledger} refused records for run number {run}: {why}; nothing was written")]
    Illegal {
        /// The ledger.
        ledger: String,
        /// The run's number.
        run: u64,
        /// Which, and why.
        why: IllegalEvent,
    },
    /// A record or blob is over the limit. Nothing was written.
    #[error(
        "{what} has {size} bytes, and {limit} is the most the ledger takes; nothing was written: keep large data in files \
         and record where they are"
    )]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

impl LedgerError {
    /// Stored bytes that do not mean what they should, where the reader does not know which ledger they are from.
    pub(crate) fn damaged(why: impl Into<String>) -> Self {
        Self::Damaged { ledger: "the ledger".to_owned(), why: why.into() }
    }

    /// A stored record that does not read, or cannot stand where it does.
    pub(super) fn stored(ledger: String, newer: bool, why: String) -> Self {
        if newer { Self::NewerRecord { ledger, why } } else { Self::Damaged { ledger, why } }
    }

    /// A failure of the file system.
    pub(super) fn io(ledger: String, doing: &str, error: &std::io::Error) -> Self {
        Self::Io { ledger, doing: doing.to_owned(), why: error.to_string() }
    }
}
