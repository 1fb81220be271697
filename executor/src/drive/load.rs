//! The walk's reads, answered by the ledger and the executor's template files.

use crate::{services::Services, walk::Lookup};
use hermes_core::{
    ids::{RunNo, Seq},
    journal::Record,
    schema::Schema,
    value::Fetch,
};
use hermes_plan::{
    PlanErrors, ReadyTemplates,
    graph::{Graph, NodeId},
};
use std::sync::Arc;

pub(crate) struct JournalLookup {
    pub(crate) services: Arc<Services>,
    pub(crate) run: RunNo,
}

impl Lookup for JournalLookup {
    fn record(&self, seq: Seq) -> Result<Record, String> {
        self.services.ledger.record(self.run, seq).map_err(|error| error.to_string())
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
}
