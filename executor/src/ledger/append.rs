//! What is appended to a run, and the door it passes.

use super::LedgerError;
use hermes_core::{digest::Digest, journal::Record};

/// The most bytes that the body of a record, or a blob, may have.
pub(crate) const LIMIT: usize = 64 << 20;

/// Records to append to one run, and the blobs they name.
#[derive(Clone, Debug, Default)]
pub struct Append {
    /// The records, in order. They are numbered and stamped when they are committed.
    pub records: Vec<Record>,
    /// Blobs to store with them, each under [`Digest::of_bytes`] of its bytes.
    pub blobs: Vec<Vec<u8>>,
    /// Milliseconds since 1970, UTC. The records are stamped with this, or with the time of the run's last record where
    /// that is later.
    pub now: i64,
}

/// An append that has passed the door: nothing in it is too large, and its blobs have their digests.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) records: Vec<Record>,
    pub(super) blobs: Vec<(Digest, Vec<u8>)>,
    pub(super) now: i64,
    /// About how many bytes it will write.
    pub(super) bytes: usize,
}

impl Prepared {
    /// Refuses what is too large.
    pub(super) fn new(append: Append) -> Result<Self, LedgerError> {
        let Append { records, blobs, now } = append;
        let mut bytes = 0;
        let mut admit = |size: usize, what: &dyn Fn() -> String| {
            bytes += size;
            if size <= LIMIT {
                return Ok(());
            }
            Err(LedgerError::TooLarge { what: what(), size: size as u64, limit: LIMIT as u64 })
        };
        for Record { header, body } in &records {
            admit(body.len(), &|| {
                let (step, place) = (header.at.step, header.at.place);
                let (scope, ordinal) = (place.scope, place.ordinal);
                format!("the {:?} record of step number {step} (scope {scope}, item {ordinal})", header.kind)
            })?;
        }
        for blob in &blobs {
            admit(blob.len(), &|| "a blob".to_owned())?;
        }
        let blobs = blobs.into_iter().map(|blob| (Digest::of_bytes(&blob), blob)).collect();
        Ok(Self { records, blobs, now, bytes })
    }

    pub(super) fn rows(&self) -> usize {
        self.records.len()
    }
}
