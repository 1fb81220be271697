//! The walk's reads, answered by the ledger.

use crate::{ledger::Ledger, walk::Lookup};
use hermes_core::{
    ids::{RunNo, Seq},
    journal::Record,
    value::Fetch,
};
use std::sync::Arc;

pub(crate) struct JournalLookup {
    pub(crate) ledger: Ledger,
    pub(crate) run: RunNo,
}

impl Lookup for JournalLookup {
    fn record(&self, seq: Seq) -> Result<Record, String> {
        self.ledger.record(self.run, seq).map_err(|error| error.to_string())
    }

    fn fetch(&self) -> Arc<dyn Fetch> {
        self.ledger.fetcher(self.run)
    }
}
