//! Values of a run, read from its journal when they are needed.

use super::Store;
use hermes_core::{
    ids::{RunNo, Seq},
    journal::{Kind, Record},
    value::{Fetch, Unreadable, digest_json},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Reads from the journal of one run.
pub(super) struct Fetcher {
    store: Arc<dyn Store>,
    run: RunNo,
}

impl Fetcher {
    pub(super) fn new(store: Arc<dyn Store>, run: RunNo) -> Self {
        Self { store, run }
    }
}

/// The one field of each body that is a value: the rest is skipped, not decoded.
#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow)]
    output: &'a RawValue,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    answer: &'a RawValue,
}

#[derive(Deserialize)]
struct OnExpiry<'a> {
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Input<'a> {
    #[serde(borrow)]
    input: &'a RawValue,
}

/// The value in a record, as it is stored; `None` in a record of a kind that holds none. It must be the value that the header
/// names.
pub(crate) fn value(record: &Record) -> Result<Option<&str>, String> {
    let body = record.body.as_slice();
    let text = match record.header.kind {
        Kind::Succeeded | Kind::Given | Kind::Adopted | Kind::Late => {
            serde_json::from_slice::<Output<'_>>(body).map(|body| body.output.get())
        }
        Kind::Answered => serde_json::from_slice::<Answer<'_>>(body).map(|body| body.answer.get()),
        Kind::Expired => match serde_json::from_slice::<OnExpiry<'_>>(body).map(|body| body.value) {
            Ok(None) => return Ok(None),
            read => read.map(|value| value.map_or("", RawValue::get)),
        },
        Kind::RunStarted | Kind::InputAccepted => {
            serde_json::from_slice::<Input<'_>>(body).map(|body| body.input.get())
        }
        _ => return Ok(None),
    };
    let text = text.map_err(|error| error.to_string())?;
    let json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if digest_json(&json) == record.header.output {
        Ok(Some(text))
    } else {
        Err("its value is not the one it was written with; the ledger is damaged".to_owned())
    }
}

impl Fetch for Fetcher {
    fn fetch(&self, at: u64) -> Result<Arc<str>, Unreadable> {
        let record = self.store.body(self.run, Seq(at)).map_err(|error| Unreadable(error.to_string()))?;
        match value(&record) {
            Ok(Some(text)) => Ok(text.into()),
            Ok(None) => {
                Err(self.unreadable(at, &format!("a {:?} record holds no value", record.header.kind)))
            }
            Err(why) => Err(self.unreadable(at, &why)),
        }
    }
}

impl Fetcher {
    fn unreadable(&self, at: u64, why: &str) -> Unreadable {
        Unreadable(format!("{}: record {at} of run number {}: {why}", self.store.name(), self.run))
    }
}
