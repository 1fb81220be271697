//! Expiries: the questions whose time is over are closed before anything else is written. Needs no plan: what then holds
//! stands with the question.

use super::{
    Append, LedgerError, Store,
    append::Prepared,
    desk::{Target, stored},
    writer::{Pen, Writer},
};
use hermes_core::{
    digest::Digest,
    fold::{IllegalEvent, Summary},
    ids::{RunNo, Seq},
    journal::{Event, Expired, Record},
    timestamp::Timestamp,
    value::Val,
};

/// A question that has expired, durably.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lapsed {
    /// The record that opened it.
    pub question: Seq,
    /// The record that closed it.
    pub seq: Seq,
    /// The digest of the value it has now; `None` where it has failed.
    pub value: Option<Digest>,
}

/// Records what has expired in a run at `now`, or at the time of its last record where that is later.
pub(super) fn lapse(
    pen: &mut Pen<'_>,
    writer: &Writer,
    run: RunNo,
    now: i64,
) -> Result<Vec<Lapsed>, LedgerError> {
    let store = &*writer.store;
    let (expired, now) = {
        let mut desk = writer.desk();
        let summary = desk.summary(store, run)?;
        (expiries(store, run, summary, now)?, summary.head().map_or(now, |head| head.updated.max(now)))
    };
    if expired.is_empty() {
        return Ok(Vec::new());
    }
    let (records, values): (Vec<_>, Vec<_>) = expired.into_iter().unzip();
    let append = Prepared::new(Append { records, blobs: Vec::new(), now })?;
    let (_, first) = pen.commit(Target::Run(run), append)?;
    let lapsed = (first.0..).zip(values);
    Ok(lapsed.map(|(seq, (question, value))| Lapsed { question, seq: Seq(seq), value }).collect())
}

/// A question that has expired: the record, the question, and the digest of the value it then has.
type Expiry = (Record, (Seq, Option<Digest>));

/// The records of what has expired in a run at `now`, or at the time of its last record where that is later: each with its
/// question, and the digest of the value it then has.
pub(super) fn expiries(
    store: &dyn Store,
    run: RunNo,
    summary: &Summary,
    now: i64,
) -> Result<Vec<Expiry>, LedgerError> {
    let now = summary.head().map_or(now, |head| head.updated.max(now));
    let mut expired = Vec::new();
    for question in summary.lapsed(Timestamp::from_millis(now)) {
        let asked = store.body(run, question)?;
        let damaged = |why: &str| {
            let kind = asked.header.kind;
            stored(store, run, &IllegalEvent { seq: question, kind, why: why.to_owned(), newer: false })
        };
        let Ok(Event::Asked(body)) = asked.event() else { return Err(damaged("it is not a question")) };
        let value = body.expires.and_then(|expiry| expiry.value);
        let digest = match &value {
            Some(value) => match Val::from_text(value.get()) {
                Ok(value) => Some(value.digest()),
                Err(error) => return Err(damaged(&error.to_string())),
            },
            None => None,
        };
        let event = Event::Expired(Expired { question, value });
        let header = &asked.header;
        let output = digest.unwrap_or(Digest::ZERO);
        let record = Record::new(header.at, header.generation, header.fingerprint, output, &event);
        expired.push((record, (question, digest)));
    }
    Ok(expired)
}
