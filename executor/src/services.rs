//! What every driven run uses: the ledger, the runners, the permits, the clock, and the stream of events.

use crate::{
    clock::Clock,
    error::DriveError,
    ledger::{Append, Ledger, LedgerError},
    pacing::Pacing,
    runner::Runner,
    stand_in::StandIn,
    templates::TemplateFiles,
    watch::{RunEvent, Watch},
};
use hermes_core::{digest::DigestWriter, ids::RunId, journal::Record};
use hermes_plan::graph::{Graph, Kind};
use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::{Semaphore, broadcast};

/// Events kept for a slow watcher.
const WATCH_BUFFER: usize = 4096;

/// Shared by all runs of an executor.
pub(crate) struct Services {
    pub(crate) ledger: Ledger,
    default_runner: Option<Arc<dyn Runner>>,
    runners: BTreeMap<String, Arc<dyn Runner>>,
    pub(crate) permits: Arc<Semaphore>,
    /// How many calls the runners take at once.
    pub(crate) pacing: Pacing,
    pub(crate) clock: Clock,
    pub(crate) crash_limit: Option<u32>,
    pub(crate) templates: TemplateFiles,
    /// Where relative paths of plans begin.
    pub(crate) base_dir: Arc<Path>,
    /// Ends calls in the place of what they would start; only a rehearsal has it.
    pub(crate) stand_in: Option<Arc<dyn StandIn>>,
    /// Random, for the cookies of calls.
    pub(crate) nonce: u64,
    events: broadcast::Sender<RunEvent>,
    compared: AtomicU64,
    made: AtomicU64,
    /// Workspaces of a ledger that is no file.
    temporary: OnceLock<Option<tempfile::TempDir>>,
}

/// What an executor is set up with, beside its ledger and its runners.
pub(crate) struct Setup {
    pub(crate) concurrency: usize,
    pub(crate) clock: Clock,
    pub(crate) crash_limit: Option<u32>,
    pub(crate) templates: TemplateFiles,
    pub(crate) base_dir: Arc<Path>,
    pub(crate) stand_in: Option<Arc<dyn StandIn>>,
}

impl Services {
    pub(crate) fn new(
        ledger: Ledger,
        default_runner: Option<Arc<dyn Runner>>,
        runners: BTreeMap<String, Arc<dyn Runner>>,
        setup: Setup,
    ) -> Self {
        let Setup { concurrency, clock, crash_limit, templates, base_dir, stand_in } = setup;
        Self {
            ledger,
            default_runner,
            runners,
            permits: Arc::new(Semaphore::new(concurrency.clamp(1, Semaphore::MAX_PERMITS))),
            pacing: Pacing::default(),
            clock,
            crash_limit,
            templates,
            base_dir,
            stand_in,
            nonce: RandomState::new().hash_one(std::process::id()),
            events: broadcast::channel(WATCH_BUFFER).0,
            compared: AtomicU64::new(0),
            made: AtomicU64::new(0),
            temporary: OnceLock::new(),
        }
    }

    /// A number that nothing else of this executor got.
    pub(crate) fn next_number(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn watch(&self) -> Watch {
        Watch(self.events.subscribe())
    }

    pub(crate) fn compared(&self) -> u64 {
        self.compared.load(Ordering::Relaxed)
    }

    pub(crate) fn append(&self, records: Vec<Record>) -> Append {
        Append { records, blobs: Vec::new(), now: self.clock.now() }
    }

    pub(crate) fn runner(&self, name: Option<&str>) -> Option<Arc<dyn Runner>> {
        match name {
            None => self.default_runner.clone(),
            Some(name) => self.runners.get(name).cloned(),
        }
    }

    pub(crate) fn watched(&self) -> bool {
        self.events.receiver_count() > 0
    }

    pub(crate) fn tell(&self, event: RunEvent) {
        // Nobody watching is no fault.
        let _ = self.events.send(event);
    }

    pub(crate) fn count_compared(&self, count: u64) {
        self.compared.fetch_add(count, Ordering::Relaxed);
    }

    /// The directory under which attempts get their workspaces.
    pub(crate) fn workspaces(&self) -> &Path {
        static CURRENT: OnceLock<PathBuf> = OnceLock::new();
        let directory = self.temporary.get_or_init(|| match self.ledger.path() {
            Some(_) => None,
            None => tempfile::tempdir().ok(),
        });
        match (self.ledger.work_directory(), directory) {
            (Some(path), _) => path,
            (None, Some(directory)) => directory.path(),
            (None, None) => CURRENT.get_or_init(|| PathBuf::from("hermes.work")),
        }
    }

    /// A run id that this ledger does not have.
    pub(crate) fn new_id(&self, plan: &str) -> Result<RunId, LedgerError> {
        loop {
            let made = self.next_number();
            let mut writer = DigestWriter::new("hermes run id");
            writer.i64(self.clock.now()).u64(made).u64(std::process::id().into());
            let id = format!("{plan}-{}", writer.finish().short());
            let id = RunId::new(&id).or_else(|_| RunId::new(writer.finish().short()));
            if let Ok(id) = id
                && self.ledger.find(&id)?.is_none()
            {
                return Ok(id);
            }
        }
    }

    /// What a plan needs of the executor must be there, before anything is written or spent.
    pub(crate) fn can_run(&self, graph: &Graph) -> Result<(), DriveError> {
        if self.stand_in.is_none() {
            self.has_runners(graph)?;
        }
        self.templates.of(graph, &|_| None)?;
        Ok(())
    }

    /// Every agent of the plan must have its runner.
    fn has_runners(&self, graph: &Graph) -> Result<(), DriveError> {
        for node in graph.nodes() {
            let Kind::Agent(agent) = &node.kind else { continue };
            if self.runner(agent.runner.as_deref()).is_none() {
                let known: Vec<_> = self
                    .default_runner
                    .iter()
                    .map(|_| "a default runner".to_owned())
                    .chain(self.runners.keys().map(|name| format!("`{name}`")))
                    .collect();
                return Err(DriveError::NoRunner {
                    step: node.pattern.to_string(),
                    location: node.at.to_string(),
                    wanted: agent
                        .runner
                        .as_ref()
                        .map_or("a default runner".to_owned(), |name| format!("the runner `{name}`")),
                    known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
                });
            }
        }
        Ok(())
    }
}
