//! The runs that are driven in this process, and the way to them.

use crate::{
    drive::{Control, Drive, Published, drive},
    error::DriveError,
    ledger::Driven,
    services::Services,
};
use hermes_core::{
    digest::Digest,
    ids::{RunId, RunNo, Seq},
};
use hermes_plan::{graph::Graph, layout::Layout};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{mpsc, watch};

/// The services of an executor and its live runs.
pub(super) struct Shared {
    pub(super) services: Arc<Services>,
    live: Mutex<BTreeMap<RunId, Live>>,
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
    pub(super) fn new(services: Services) -> Self {
        Self { services: Arc::new(services), live: Mutex::default() }
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<RunId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the run is being driven here.
    pub(super) fn is_live(&self, id: &RunId) -> bool {
        self.live().contains_key(id)
    }

    /// Drives a run in a task of its own, or joins the drive that is on already.
    pub(super) fn drive(
        shared: &Arc<Self>,
        id: &RunId,
        run: RunNo,
        graph: &Arc<Graph>,
        input: Option<Digest>,
    ) -> Result<watch::Receiver<Published>, DriveError> {
        shared.services.can_run(graph)?;
        let mut live = shared.live();
        let same_name = |other: &Live| other.graph.name() == graph.name() && !same_plan(&other.graph, graph);
        if live.values().any(same_name) {
            return Err(DriveError::SamePlanName { name: graph.name().to_owned() });
        }
        if let Some(other) = live.get(id) {
            return Ok(other.published.clone());
        }
        let Some(driven) = shared.services.ledger.take(run) else {
            return Err(DriveError::Elsewhere(id.clone()));
        };
        let (control, inbox) = mpsc::unbounded_channel();
        let (publish, published) = watch::channel(None);
        let number = shared.services.next_number();
        let entry = Live { graph: Arc::clone(graph), control, published: published.clone(), number };
        live.insert(id.clone(), entry);
        drop(live);
        let job = Drive {
            services: Arc::clone(&shared.services),
            id: id.clone(),
            run,
            graph: Arc::clone(graph),
            input,
            control: inbox,
        };
        // Leaving the list is a drop, so that it also happens when the task is cut off with its runtime, even before it has
        // begun.
        let guard = Leave { shared: Arc::clone(shared), id: id.clone(), number, driven: Some(driven) };
        tokio::spawn(async move {
            let result = drive(job).await;
            drop(guard);
            publish.send_replace(Some(result));
        });
        Ok(published)
    }

    /// Tells a live run of an answer.
    pub(super) fn tell_answer(&self, id: &RunId, question: Seq, seq: Seq, answer: Digest) {
        if let Some(live) = self.live().get(id) {
            let _ = live.control.send(Control::Answered { question, seq, answer });
        }
    }

    /// Tells a live run of a decision.
    pub(super) fn tell_decision(&self, id: &RunId) {
        if let Some(live) = self.live().get(id) {
            let _ = live.control.send(Control::Decided);
        }
    }

    /// The way to a live run's driver.
    pub(super) fn control(&self, id: &RunId) -> Option<mpsc::UnboundedSender<Control>> {
        self.live().get(id).map(|live| live.control.clone())
    }
}

/// Whether two graphs are one plan, as far as can be seen: a program may build it anew for each run.
fn same_plan(one: &Arc<Graph>, other: &Arc<Graph>) -> bool {
    Arc::ptr_eq(one, other) || Layout::new(one).text() == Layout::new(other).text()
}

struct Leave {
    shared: Arc<Shared>,
    id: RunId,
    number: u64,
    driven: Option<Driven>,
}

impl Drop for Leave {
    fn drop(&mut self) {
        // Both under one lock: whoever finds the run in neither place may drive it.
        let mut live = self.shared.live();
        drop(self.driven.take());
        if live.get(&self.id).is_some_and(|live| live.number == self.number) {
            live.remove(&self.id);
        }
    }
}
