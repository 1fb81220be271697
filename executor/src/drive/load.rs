//! The walk's reads, answered by the ledger, the files that commands declare, and the environment.

use crate::{ledger::Ledger, walk::Lookup};
use hermes_core::{
    digest::Digest,
    ids::{RunNo, Seq},
    journal::Record,
    value::Fetch,
};
use std::{io::ErrorKind, path::Path, sync::Arc};

pub(crate) struct JournalLookup {
    pub(crate) ledger: Ledger,
    pub(crate) run: RunNo,
    /// Where commands work.
    pub(crate) directory: Arc<Path>,
}

impl Lookup for JournalLookup {
    fn record(&self, seq: Seq) -> Result<Record, String> {
        self.ledger.record(self.run, seq).map_err(|error| error.to_string())
    }

    fn fetch(&self) -> Arc<dyn Fetch> {
        self.ledger.fetcher(self.run)
    }

    fn file(&self, directory: &str, path: &str) -> Result<Digest, String> {
        match std::fs::read(self.directory.join(directory).join(path)) {
            Ok(content) => Ok(Digest::of_bytes(&content)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Digest::ZERO),
            Err(error) => Err(error.to_string()),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
