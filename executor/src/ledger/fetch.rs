//! Values of a run, read from its journal when they are needed.

use super::Store;
use hermes_core::{
    ids::{RunNo, Seq},
    journal::Kind,
    value::{Fetch, Unreadable},
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
struct Input<'a> {
    #[serde(borrow)]
    input: &'a RawValue,
}

impl Fetch for Fetcher {
    fn fetch(&self, at: u64) -> Result<Arc<str>, Unreadable> {
        let record = self.store.body(self.run, Seq(at)).map_err(|error| Unreadable(error.to_string()))?;
        let body = record.body.as_slice();
        let text = match record.header.kind {
            Kind::Succeeded => serde_json::from_slice::<Output<'_>>(body).map(|body| body.output.get()),
            Kind::Answered => serde_json::from_slice::<Answer<'_>>(body).map(|body| body.answer.get()),
            Kind::RunStarted => serde_json::from_slice::<Input<'_>>(body).map(|body| body.input.get()),
            kind => return Err(self.unreadable(at, &format!("a {kind:?} record holds no value"))),
        };
        text.map(Arc::from).map_err(|error| self.unreadable(at, &error.to_string()))
    }
}

impl Fetcher {
    fn unreadable(&self, at: u64, why: &str) -> Unreadable {
        Unreadable(format!("{}: record {at} of run number {}: {why}", self.store.name(), self.run))
    }
}
