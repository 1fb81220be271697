//! What the journal says about one concrete step.

use crate::{digest::Digest, ids::Seq, timestamp::Timestamp};

/// Where a concrete step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellStatus {
    /// A call began; no outcome is recorded.
    Started,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// Its last attempt was closed without an outcome.
    Interrupted,
    /// Its question is open.
    Asked,
    /// Its question was answered.
    Answered,
    /// Its question expired, and has no value.
    Expired,
    /// Its question was closed: it changed, or its time was over when it could be answered again.
    Superseded,
    /// It waits for its instant.
    Timed,
    /// Its last attempt failed, and the next is due at its instant.
    Delayed,
    /// A decision was made: an arm, or a loop's flow.
    Decided,
}

/// One concrete step, as recorded.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Where it stands.
    pub status: CellStatus,
    /// The fingerprint of the last request, or the digest the last decision was made from.
    pub fingerprint: Digest,
    /// The digest of the output, answer or decision.
    pub output: Digest,
    /// The generation of the last dispatch: how many causes had asked this step to run again.
    pub generation: u32,
    /// Attempts of that generation.
    pub attempts: u32,
    /// How many attempts in a row began and were never finished.
    pub lost: u32,
    /// The record that has the request.
    pub request: Seq,
    /// The record that has the outcome; equal to `request` while there is none.
    pub outcome: Seq,
    /// The records of refused answers, of all its attempts, oldest first.
    pub refused: Vec<Seq>,
    /// Other fingerprints that count as answered by the stored outcome.
    pub accepted: Vec<Digest>,
    /// The last cause opened at this step.
    pub cause: Option<Seq>,
    /// Whether that cause still asks it to run again.
    pub rerun: bool,
    /// Whether a failure may have acted before it failed.
    pub may_have_acted: bool,
    /// Whether its open question rests because its frame failed.
    pub suspended: bool,
    /// When its wait is over, its question expires, or its next attempt is due.
    pub instant: Option<Timestamp>,
    /// How many attempts at this request have failed and were followed by another, but for rate limits.
    pub tries: u32,
    /// How many of them a rate limit turned away.
    pub limits: u32,
    /// The record in which somebody cancelled what was under way here, while that has no end.
    pub cancelled: Option<Seq>,
}

impl Cell {
    pub(super) fn new(status: CellStatus, fingerprint: Digest, seq: Seq) -> Self {
        Self {
            status,
            fingerprint,
            output: Digest::ZERO,
            generation: 0,
            attempts: 0,
            lost: 0,
            request: seq,
            outcome: seq,
            refused: Vec::new(),
            accepted: Vec::new(),
            cause: None,
            rerun: false,
            may_have_acted: false,
            suspended: false,
            instant: None,
            tries: 0,
            limits: 0,
            cancelled: None,
        }
    }

    /// Whether an outcome is recorded that stands until a journaled decision changes it.
    pub fn finished(&self) -> bool {
        matches!(
            self.status,
            CellStatus::Succeeded | CellStatus::Failed | CellStatus::Answered | CellStatus::Expired
        )
    }

    /// Whether `fingerprint` counts as the request this cell answers.
    pub fn answers(&self, fingerprint: &Digest) -> bool {
        self.fingerprint == *fingerprint || self.accepted.contains(fingerprint)
    }

    /// The generation of the next dispatch.
    pub fn next_generation(&self) -> u32 {
        self.generation + u32::from(self.rerun)
    }
}
