//! What a durable engine must provide to hold a ledger. Nothing here numbers, stamps or folds records: that is done above,
//! once, for every engine.

use super::LedgerError;
use hermes_core::{
    digest::Digest,
    fold::Head,
    ids::{RunId, RunNo, Seq},
    journal::Record,
    people::Need,
};
use std::path::Path;

/// Everything that one transaction writes. An engine writes all of it or nothing.
#[derive(Clone, Debug, Default)]
pub struct CommitBatch {
    /// New runs: their ids, and the numbers they were given.
    pub runs: Vec<(RunId, RunNo)>,
    /// New records, stamped and numbered; those of one run follow each other and what is stored.
    pub rows: Vec<(RunNo, Seq, Record)>,
    /// Blobs under their digests. One that is stored already stays as it is.
    pub blobs: Vec<(Digest, Vec<u8>)>,
    /// The heads of all runs written to, to replace what is stored.
    pub heads: Vec<(RunNo, Head)>,
    /// Needs to store, or with `None` to take away, by run, record and position in the record.
    pub needs: Vec<(RunNo, Seq, u32, Option<Need>)>,
    /// Outcomes that other runs may take over: fingerprint, run, and the record that has the outcome. The last one counts.
    pub memos: Vec<(Digest, RunNo, Seq)>,
}

impl CommitBatch {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.rows.is_empty() && self.blobs.is_empty()
    }
}

/// A durable engine. All methods block, may be called from any thread, and see a consistent state.
///
/// [`Store::commit`] and [`Store::settle`] are called by one thread at a time; reads come from any thread at any time,
/// must not wait for a commit under way, and see everything committed before they began.
pub trait Store: Send + Sync {
    /// The ledger's name in messages, e.g. its path in backquotes with what it is.
    fn name(&self) -> String;

    /// The file it is in, where it is one.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// The number of the run with this id.
    fn open_run(&self, id: &RunId) -> Result<Option<RunNo>, LedgerError>;

    /// A number above that of every stored run.
    fn next_run(&self) -> Result<RunNo, LedgerError>;

    /// All runs, by id.
    fn runs(&self) -> Result<Vec<(RunId, RunNo)>, LedgerError>;

    /// The heads of all runs, by number.
    fn heads(&self) -> Result<Vec<(RunNo, Head)>, LedgerError>;

    /// The head of a run.
    fn head(&self, run: RunNo) -> Result<Option<Head>, LedgerError>;

    /// The open needs of one run or of all, by run, record and position in the record.
    fn needs(&self, run: Option<RunNo>) -> Result<Vec<(RunNo, Need)>, LedgerError>;

    /// Visits the records of a run in order, as of the moment of the call.
    ///
    /// A long body (over [`INLINE_BODY`] bytes) of a `Started`, `Succeeded` or `Refused` record is not loaded: it is handed out
    /// with an empty body, because the fold reads only their headers. All other bodies are loaded. An error of `visit`
    /// ends the visit and is returned.
    fn records(
        &self,
        run: RunNo,
        visit: &mut dyn FnMut(Seq, Record) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// One record, with its body; [`LedgerError::NoSuchRecord`] where there is none.
    fn body(&self, run: RunNo, seq: Seq) -> Result<Record, LedgerError>;

    /// The blob with this digest.
    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError>;

    /// The outcome that may be taken over under this fingerprint.
    fn memo(&self, fingerprint: &Digest) -> Result<Option<(RunNo, Seq)>, LedgerError>;

    /// Visits all blobs and the digests they are stored under.
    fn blobs(&self, visit: &mut dyn FnMut(Digest, &[u8])) -> Result<(), LedgerError>;

    /// Writes `batch`: durable, as a whole, before this returns. After an error it may be durable or not, as a whole; nothing
    /// more is then written through this handle.
    fn commit(&self, batch: &CommitBatch) -> Result<(), LedgerError>;

    /// Called when the ledger has been quiet for a while, and at the end: the moment for work that makes the next
    /// opening fast, and that would slow down single commits.
    fn settle(&self) -> Result<(), LedgerError>;
}

/// The most bytes of a body that stands in one row with its header.
pub const INLINE_BODY: usize = 512;
