//! The fixed binary header of a record. Run and sequence are not in it: they are the key, so that a record can be
//! encoded before it is numbered.
//!
//! ```text
//! byte 0       codec (1)
//! byte 1       kind
//! bytes 2-3    writer version, little endian (as all numbers here)
//! bytes 4-11   time: milliseconds since 1970, UTC, signed
//! bytes 12-15  scope
//! bytes 16-19  ordinal
//! bytes 20-23  step
//! bytes 24-27  generation
//! bytes 28-59  fingerprint, or the digest that a decision was made from
//! bytes 60-91  output digest, or the digest of a decision
//! bytes 92-    JSON of the kind's own body; empty when it stands in the table of bodies
//! ```

use super::WireError;
use crate::{
    digest::Digest,
    ids::{Address, Place, ScopeNo, StepNo},
};

/// The codec of this form.
pub const CODEC: u8 = 1;
/// The version of what writes: raised when a body gains a meaning that an older reader must not miss.
pub const WRITER: u16 = 1;
/// The length of the header in bytes.
pub const HEADER_LEN: usize = 92;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What a record says.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $name = $number,)*
        }

        impl Kind {
            fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// A run began.
    RunStarted = 1,
    /// Plan steps were given numbers.
    Named = 2,
    /// A loop or review was given a scope number.
    Opened = 3,
    /// A fan-out's keys were frozen.
    Frozen = 4,
    /// A branch's arm or a loop's flow was decided.
    Decided = 5,
    /// A call is about to begin.
    Started = 6,
    /// A step succeeded.
    Succeeded = 7,
    /// A step failed.
    Failed = 8,
    /// An attempt that nobody will finish was closed.
    Interrupted = 9,
    /// A question was opened.
    Asked = 10,
    /// A question was answered.
    Answered = 11,
    /// An open question was closed because it changed.
    Superseded = 12,
    /// A cause was opened.
    Caused = 13,
    /// Causes were closed: everything below them is recorded.
    CausesClosed = 14,
    /// The run stopped for a person to decide.
    Parked = 15,
    /// A person decided.
    DecisionMade = 16,
    /// A differing request was accepted as answered by what is stored.
    Accepted = 17,
    /// A finished plan step was forgotten.
    Dropped = 18,
    /// The run ended.
    Ended = 19,
    /// A wait began: its instant is fixed.
    Timed = 20,
    /// A question expired.
    Expired = 21,
    /// An open question was given to somebody else.
    Reassigned = 22,
    /// An agent's answer was refused, and another turn follows.
    Refused = 23,
    /// A person asked for something to be done to recorded steps.
    Directed = 30,
    /// An outcome was given by a person: by hand, or from an earlier attempt.
    Given = 31,
    /// A recorded plan step goes by another path in today's plan.
    Renamed = 32,
    /// The run goes on with another input.
    InputAccepted = 33,
    /// An outcome was taken over from another run.
    Adopted = 34,
    /// The outcome that was just recorded may be taken over by other runs.
    Memoised = 35,
    /// An attempt failed, and another is due.
    Delayed = 40,
    /// A call that had been given up ended after all.
    Late = 41,
    /// Somebody cancelled steps, or the run: it takes effect from here on.
    CancelAsked = 42,
    /// The run was given a budget.
    Budgeted = 50,
    /// A person raised a budget.
    Raised = 51,
    /// So much time passed while something was being called.
    Driven = 52,
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the record says.
    pub kind: Kind,
    /// The version of what wrote it.
    pub writer: u16,
    /// Milliseconds since 1970, UTC; never less than the record before.
    pub time: i64,
    /// The step it is about.
    pub at: Address,
    /// How many causes had asked this step to run again.
    pub generation: u32,
    /// The fingerprint of the request, or the digest a decision was made from; zero where neither applies.
    pub fingerprint: Digest,
    /// The digest of the output or decision; zero where there is none.
    pub output: Digest,
}

impl Header {
    /// The header's bytes.
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = CODEC;
        bytes[1] = self.kind as u8;
        bytes[2..4].copy_from_slice(&self.writer.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.time.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.at.place.scope.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.at.place.ordinal.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.at.step.0.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.generation.to_le_bytes());
        bytes[28..60].copy_from_slice(self.fingerprint.as_bytes());
        bytes[60..92].copy_from_slice(self.output.as_bytes());
        bytes
    }

    /// Reads a header from the start of a record.
    ///
    /// # Errors
    /// When the record is too short, or of a codec or kind that this version does not know.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let header: &[u8; HEADER_LEN] =
            bytes.first_chunk().ok_or(WireError::Short { length: bytes.len(), least: HEADER_LEN })?;
        if header[0] != CODEC {
            return Err(WireError::Newer { what: "codec", found: header[0].into() });
        }
        let kind =
            Kind::from_byte(header[1]).ok_or(WireError::Newer { what: "event", found: header[1].into() })?;
        let writer = u16::from_le_bytes(part(header, 2));
        if writer > WRITER {
            return Err(WireError::Newer { what: "writer version", found: writer.into() });
        }
        let number = |at| u32::from_le_bytes(part(header, at));
        Ok(Self {
            kind,
            writer,
            time: i64::from_le_bytes(part(header, 4)),
            at: Address {
                place: Place { scope: ScopeNo(number(12)), ordinal: number(16) },
                step: StepNo(number(20)),
            },
            generation: number(24),
            fingerprint: Digest::from_bytes(part(header, 28)),
            output: Digest::from_bytes(part(header, 60)),
        })
    }
}

/// `N` bytes of the header from `at`.
fn part<const N: usize>(header: &[u8; HEADER_LEN], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&header[at..at + N]);
    bytes
}
