//! A record: a header and the JSON body of its kind, to and from bytes.

use super::{Event, HEADER_LEN, Header, Kind, WRITER};
use crate::{digest::Digest, ids::Address};
use serde::{Serialize, de::DeserializeOwned};

#[cfg(test)]
mod tests;

/// Bytes that are not a record this version can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Written by a newer version: nothing of it is interpreted.
    #[error(
        "{what} {found} is of a newer format than this version reads; open the ledger with a newer version"
    )]
    Newer {
        /// What is newer.
        what: &'static str,
        /// Its number.
        found: u64,
    },
    /// Too short to be a record.
    #[error("a record of {length} bytes is shorter than a header ({least}); the ledger is damaged")]
    Short {
        /// Its length.
        length: usize,
        /// The least length.
        least: usize,
    },
    /// The body does not read.
    #[error("the body of a {kind:?} record does not read: {why}; the ledger is damaged")]
    Body {
        /// The record's kind.
        kind: Kind,
        /// Why.
        why: String,
    },
}

/// One record of a journal, not yet numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The header.
    pub header: Header,
    /// The JSON body.
    pub body: Vec<u8>,
}

impl Event {
    /// The event's kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::RunStarted(_) => Kind::RunStarted,
            Self::Named(_) => Kind::Named,
            Self::Opened(_) => Kind::Opened,
            Self::Frozen(_) => Kind::Frozen,
            Self::Decided(_) => Kind::Decided,
            Self::Started(_) => Kind::Started,
            Self::Succeeded(_) => Kind::Succeeded,
            Self::Failed(_) => Kind::Failed,
            Self::Interrupted(_) => Kind::Interrupted,
            Self::Asked(_) => Kind::Asked,
            Self::Answered(_) => Kind::Answered,
            Self::Superseded(_) => Kind::Superseded,
            Self::Caused(_) => Kind::Caused,
            Self::CausesClosed(_) => Kind::CausesClosed,
            Self::Parked(_) => Kind::Parked,
            Self::DecisionMade(_) => Kind::DecisionMade,
            Self::Accepted(_) => Kind::Accepted,
            Self::Dropped(_) => Kind::Dropped,
            Self::Ended(_) => Kind::Ended,
            Self::Timed(_) => Kind::Timed,
            Self::Expired(_) => Kind::Expired,
            Self::Reassigned(_) => Kind::Reassigned,
            Self::Refused(_) => Kind::Refused,
            Self::Directed(_) => Kind::Directed,
            Self::Given(_) => Kind::Given,
            Self::Renamed(_) => Kind::Renamed,
            Self::Memoised(_) => Kind::Memoised,
            Self::InputAccepted(_) => Kind::InputAccepted,
            Self::Adopted(_) => Kind::Adopted,
            Self::Delayed(_) => Kind::Delayed,
            Self::Late(_) => Kind::Late,
            Self::CancelAsked(_) => Kind::CancelAsked,
            Self::Budgeted(_) => Kind::Budgeted,
            Self::Raised(_) => Kind::Raised,
            Self::Driven(_) => Kind::Driven,
        }
    }

    fn body(&self) -> Vec<u8> {
        match self {
            Self::RunStarted(body) => json(body),
            Self::Named(body) => json(body),
            Self::Opened(body) => json(body),
            Self::Frozen(body) => json(body),
            Self::Decided(body) => json(body),
            Self::Started(body) => json(body),
            Self::Succeeded(body) => json(body),
            Self::Failed(body) => json(body),
            Self::Interrupted(body) => json(body),
            Self::Asked(body) => json(body),
            Self::Answered(body) => json(body),
            Self::Superseded(body) => json(body),
            Self::Caused(body) => json(body),
            Self::CausesClosed(body) => json(body),
            Self::Parked(body) => json(body),
            Self::DecisionMade(body) => json(body),
            Self::Accepted(body) => json(body),
            Self::Dropped(body) => json(body),
            Self::Ended(body) => json(body),
            Self::Timed(body) => json(body),
            Self::Expired(body) => json(body),
            Self::Reassigned(body) => json(body),
            Self::Refused(body) => json(body),
            Self::Directed(body) => json(body),
            Self::Given(body) => json(body),
            Self::Renamed(body) => json(body),
            Self::Memoised(body) => json(body),
            Self::InputAccepted(body) => json(body),
            Self::Adopted(body) => json(body),
            Self::Delayed(body) => json(body),
            Self::Late(body) => json(body),
            Self::CancelAsked(body) => json(body),
            Self::Budgeted(body) => json(body),
            Self::Raised(body) => json(body),
            Self::Driven(body) => json(body),
        }
    }
}

#[expect(
    clippy::expect_used,
    reason = "bodies have text keys and finite numbers only: receipts are checked before"
)]
fn json<T: Serialize>(body: &T) -> Vec<u8> {
    serde_json::to_vec(body).expect("a body is always JSON")
}

impl Record {
    /// Encodes `event`, about the step at `at`. Time is stamped when it is committed.
    pub fn new(at: Address, generation: u32, fingerprint: Digest, output: Digest, event: &Event) -> Self {
        let header =
            Header { kind: event.kind(), writer: WRITER, time: 0, at, generation, fingerprint, output };
        Self { header, body: event.body() }
    }

    /// Splits stored bytes. The body is empty when it stands in the table of bodies.
    ///
    /// # Errors
    /// See [`Header::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let header = Header::from_bytes(bytes)?;
        Ok(Self { header, body: bytes[HEADER_LEN..].to_vec() })
    }

    /// Decodes the body.
    ///
    /// # Errors
    /// When it is not the JSON of its kind.
    pub fn event(&self) -> Result<Event, WireError> {
        Ok(match self.header.kind {
            Kind::RunStarted => Event::RunStarted(self.read()?),
            Kind::Named => Event::Named(self.read()?),
            Kind::Opened => Event::Opened(self.read()?),
            Kind::Frozen => Event::Frozen(self.read()?),
            Kind::Decided => Event::Decided(self.read()?),
            Kind::Started => Event::Started(self.read()?),
            Kind::Succeeded => Event::Succeeded(self.read()?),
            Kind::Failed => Event::Failed(self.read()?),
            Kind::Interrupted => Event::Interrupted(self.read()?),
            Kind::Asked => Event::Asked(self.read()?),
            Kind::Answered => Event::Answered(self.read()?),
            Kind::Superseded => Event::Superseded(self.read()?),
            Kind::Caused => Event::Caused(self.read()?),
            Kind::CausesClosed => Event::CausesClosed(self.read()?),
            Kind::Parked => Event::Parked(self.read()?),
            Kind::DecisionMade => Event::DecisionMade(self.read()?),
            Kind::Accepted => Event::Accepted(self.read()?),
            Kind::Dropped => Event::Dropped(self.read()?),
            Kind::Ended => Event::Ended(self.read()?),
            Kind::Timed => Event::Timed(self.read()?),
            Kind::Expired => Event::Expired(self.read()?),
            Kind::Reassigned => Event::Reassigned(self.read()?),
            Kind::Refused => Event::Refused(self.read()?),
            Kind::Directed => Event::Directed(self.read()?),
            Kind::Given => Event::Given(self.read()?),
            Kind::Renamed => Event::Renamed(self.read()?),
            Kind::Memoised => Event::Memoised(self.read()?),
            Kind::InputAccepted => Event::InputAccepted(self.read()?),
            Kind::Adopted => Event::Adopted(self.read()?),
            Kind::Delayed => Event::Delayed(self.read()?),
            Kind::Late => Event::Late(self.read()?),
            Kind::CancelAsked => Event::CancelAsked(self.read()?),
            Kind::Budgeted => Event::Budgeted(self.read()?),
            Kind::Raised => Event::Raised(self.read()?),
            Kind::Driven => Event::Driven(self.read()?),
        })
    }

    /// Decodes a part of the body: fields that `T` lacks are skipped.
    pub(crate) fn part<T: DeserializeOwned>(&self) -> Result<T, WireError> {
        self.read()
    }

    fn read<T: DeserializeOwned>(&self) -> Result<T, WireError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| WireError::Body { kind: self.header.kind, why: error.to_string() })
    }
}
