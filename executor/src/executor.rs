//! The executor: one ledger, its runners, and the runs that are driven in this process.

use crate::{
    clock::Clock,
    options::ExecutorOptions,
    drive::{Control, Drive, drive},
    error::DriveError,
    ledger::{Ledger, LedgerError},
    run::Published,
    runner::Runner,
    watch::{RunEvent, Watch},
};
use hermes_core::{
    digest::Digest,
    ids::{RunId, RunNo, Seq},
};
use hermes_plan::graph::{Graph, Kind};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::{Semaphore, broadcast, mpsc, watch};

/// Events kept for a slow watcher.
const WATCH_BUFFER: usize = 4096;

/// Runs plans from one ledger. Cheap to clone.
///
/// Start, resume and retry drive a run and need its plan; needs, answers, decisions and cancellations need none.
#[derive(Clone)]
pub struct Executor {
    pub(crate) shared: Arc<Shared>,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").field("ledger", &self.shared.ledger.path()).finish_non_exhaustive()
    }
}

impl Executor {
    /// The ledger its runs are recorded in.
    pub fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }

    /// A stream of everything that becomes durable from now on, of all runs driven here.
    pub fn watch(&self) -> Watch {
        Watch(self.shared.events.subscribe())
    }

    /// How many fingerprints were compared with the journal, in all checks so far.
    pub fn fingerprints_compared(&self) -> u64 {
        self.shared.compared.load(Ordering::Relaxed)
    }
}

/// What all runs of an executor share.
pub(crate) struct Shared {
    pub(crate) ledger: Ledger,
    default_runner: Option<Arc<dyn Runner>>,
    runners: BTreeMap<String, Arc<dyn Runner>>,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) clock: Clock,
    pub(crate) crash_limit: Option<u32>,
    live: Mutex<BTreeMap<RunId, Live>>,
    events: broadcast::Sender<RunEvent>,
    compared: AtomicU64,
    made: AtomicU64,
    /// Workspaces of a ledger that is no file.
    temporary: OnceLock<Option<tempfile::TempDir>>,
}

/// A run that is being driven in this process.
struct Live {
    graph: Arc<Graph>,
    control: mpsc::UnboundedSender<Control>,
    published: watch::Receiver<Published>,
    /// Tells this drive from a later one of the same run.
    number: u64,
}

impl Shared {
    pub(crate) fn new(options: ExecutorOptions) -> Self {
        Self {
            ledger: options.ledger,
            default_runner: options.runner,
            runners: options.runners,
            permits: Arc::new(Semaphore::new(options.concurrency.clamp(1, Semaphore::MAX_PERMITS))),
            clock: options.clock,
            crash_limit: options.crash_limit,
            live: Mutex::default(),
            events: broadcast::channel(WATCH_BUFFER).0,
            compared: AtomicU64::new(0),
            made: AtomicU64::new(0),
            temporary: OnceLock::new(),
        }
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<RunId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
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
            let made = self.made.fetch_add(1, Ordering::Relaxed);
            let mut writer = hermes_core::digest::DigestWriter::new("hermes run id");
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

    /// Every agent of the plan must have its runner, before anything is spent.
    pub(crate) fn has_runners(&self, graph: &Graph) -> Result<(), DriveError> {
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
                    wanted: agent.runner.as_ref().map_or("a default runner".to_owned(), |name| format!("the runner `{name}`")),
                    known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
                });
            }
        }
        Ok(())
    }

    /// Whether the run is being driven here.
    pub(crate) fn is_live(&self, id: &RunId) -> bool {
        self.live().contains_key(id)
    }

    /// Drives a run in a task of its own, or joins the drive that is on already.
    pub(crate) fn drive(
        shared: &Arc<Self>,
        id: &RunId,
        run: RunNo,
        graph: &Arc<Graph>,
        input: Option<Digest>,
    ) -> Result<watch::Receiver<Published>, DriveError> {
        shared.has_runners(graph)?;
        let mut live = shared.live();
        let same_name = |other: &Live| other.graph.name() == graph.name() && !Arc::ptr_eq(&other.graph, graph);
        if live.values().any(same_name) {
            return Err(DriveError::SamePlanName { name: graph.name().to_owned() });
        }
        if let Some(other) = live.get(id) {
            return Ok(other.published.clone());
        }
        let (control, inbox) = mpsc::unbounded_channel();
        let (publish, published) = watch::channel(None);
        let number = shared.made.fetch_add(1, Ordering::Relaxed);
        let entry = Live { graph: Arc::clone(graph), control, published: published.clone(), number };
        live.insert(id.clone(), entry);
        drop(live);
        let job = Drive {
            shared: Arc::clone(shared),
            id: id.clone(),
            run,
            graph: Arc::clone(graph),
            input,
            control: inbox,
        };
        let shared = Arc::clone(shared);
        let id = id.clone();
        tokio::spawn(async move {
            // Leaving the list is a drop, so that it also happens when the task is cut off with its runtime.
            let guard = Leave { shared, id, number };
            let result = drive(job).await;
            drop(guard);
            publish.send_replace(Some(result));
        });
        Ok(published)
    }

    /// Tells a live run of an answer.
    pub(crate) fn tell_answer(&self, id: &RunId, question: Seq, seq: Seq, answer: Digest) {
        if let Some(live) = self.live().get(id) {
            let _ = live.control.send(Control::Answered { question, seq, answer });
        }
    }

    /// Tells a live run of a decision.
    pub(crate) fn tell_decision(&self, id: &RunId) {
        if let Some(live) = self.live().get(id) {
            let _ = live.control.send(Control::Decided);
        }
    }

    /// The way to a live run's driver.
    pub(crate) fn control(&self, id: &RunId) -> Option<mpsc::UnboundedSender<Control>> {
        self.live().get(id).map(|live| live.control.clone())
    }
}

struct Leave {
    shared: Arc<Shared>,
    id: RunId,
    number: u64,
}

impl Drop for Leave {
    fn drop(&mut self) {
        let mut live = self.shared.live();
        if live.get(&self.id).is_some_and(|live| live.number == self.number) {
            live.remove(&self.id);
        }
    }
}
