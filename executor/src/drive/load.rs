//! The walk's reads: of the ledger, of template files, of the files that commands declare, of the environment.

use super::earlier::{self, Parent};
use crate::{
    services::Services,
    walk::{Earlier, Lookup, Noted},
};
use hermes_core::{
    digest::Digest,
    fold::Spending,
    ids::{RunId, RunNo, Seq},
    journal::Record,
    path::StepPath,
    schema::Schema,
    value::Fetch,
};
use hermes_plan::{
    PlanErrors, ReadyTemplates,
    graph::{Graph, Node, NodeId},
};
use std::{io::ErrorKind, sync::Arc};

pub(crate) struct JournalLookup {
    pub(crate) services: Arc<Services>,
    pub(crate) run: RunNo,
    parent: Parent,
}

impl JournalLookup {
    pub(super) fn new(services: Arc<Services>, run: RunNo) -> Self {
        Self { services, run, parent: Parent::default() }
    }
}

impl Lookup for JournalLookup {
    fn record(&self, seq: Seq) -> Result<Record, String> {
        self.services.ledger.record(self.run, seq).map_err(|error| error.to_string())
    }

    fn parent(&self, parent: &RunId, path: &StepPath, print: &Digest) -> Result<Option<Earlier>, String> {
        self.parent.outcome(&self.services.ledger, parent, path, print)
    }

    fn memo(&self, print: &Digest) -> Result<Option<Earlier>, String> {
        earlier::memo(&self.services.ledger, print)
    }

    fn spending(&self) -> Result<Spending, String> {
        self.services.ledger.spending(self.run).map_err(|error| error.to_string())
    }

    fn fetch(&self) -> Arc<dyn Fetch> {
        self.services.ledger.fetcher(self.run)
    }

    fn templates(
        &self,
        graph: &Graph,
        outer: &dyn Fn(NodeId) -> Option<Schema>,
    ) -> Result<ReadyTemplates, PlanErrors> {
        self.services.templates.of(graph, outer)
    }

    fn file(&self, directory: &str, path: &str) -> Result<Digest, String> {
        if self.services.stand_in.is_some() {
            return Ok(Digest::ZERO);
        }
        match std::fs::read(self.services.base_dir.join(directory).join(path)) {
            Ok(content) => Ok(Digest::of_bytes(&content)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Digest::ZERO),
            Err(error) => Err(error.to_string()),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        if self.services.stand_in.is_some() {
            return None;
        }
        std::env::var(name).ok()
    }

    fn note(&self, node: &Node, noted: Noted) {
        if let Some(stand_in) = &self.services.stand_in {
            stand_in.note(node, noted);
        }
    }
}
