//! The runs that are driven in this process, and the way to them.

use crate::{
    drive::{Control, Drive, Published, drive},
    error::DriveError,
    ledger::{Driven, Lapsed},
    services::Services,
};
use hermes_core::{
    digest::Digest,
    ids::{RunId, RunNo, Seq},
    value::Val,
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

/// Whether a drive goes on while only time can move the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stays {
    No,
    Yes,
}

impl Stays {
    fn listen(self, stay: &watch::Sender<()>) -> Option<watch::Receiver<()>> {
        (self == Self::Yes).then(|| stay.subscribe())
    }
}

/// A drive that is on.
pub(super) struct Joined {
    pub(super) published: watch::Receiver<Published>,
    /// Keeps the drive going while only time can move the run.
    pub(super) stay: Option<watch::Receiver<()>>,
}

/// A run that is being driven in this process.
struct Live {
    graph: Arc<Graph>,
    control: mpsc::UnboundedSender<Control>,
    published: watch::Receiver<Published>,
    stay: Arc<watch::Sender<()>>,
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

    /// Drives a run in a task of its own, or joins the drive that is on already. While what `stays` gives is kept, the drive
    /// goes on also while only time can move the run.
    pub(super) fn drive(
        shared: &Arc<Self>,
        id: &RunId,
        run: RunNo,
        graph: &Arc<Graph>,
        input: Option<Val>,
        stays: Stays,
    ) -> Result<Joined, DriveError> {
        shared.services.can_run(graph)?;
        let mut live = shared.live();
        let same_name = |other: &Live| other.graph.name() == graph.name() && !same_plan(&other.graph, graph);
        if live.values().any(same_name) {
            return Err(DriveError::SamePlanName { name: graph.name().to_owned() });
        }
        if let Some(other) = live.get(id) {
            return Ok(Joined { published: other.published.clone(), stay: stays.listen(&other.stay) });
        }
        let Some(driven) = shared.services.ledger.take(run) else {
            return Err(DriveError::Elsewhere(id.clone()));
        };
        let (control, inbox) = mpsc::unbounded_channel();
        let (publish, published) = watch::channel(None);
        let number = shared.services.next_number();
        let stay = Arc::new(watch::channel(()).0);
        let joined = Joined { published: published.clone(), stay: stays.listen(&stay) };
        let entry = Live { graph: Arc::clone(graph), control, published, stay: Arc::clone(&stay), number };
        live.insert(id.clone(), entry);
        drop(live);
        let job = Drive {
            services: Arc::clone(&shared.services),
            id: id.clone(),
            run,
            graph: Arc::clone(graph),
            input,
            control: inbox,
            stay,
        };
        // Leaving the list is a drop, so that it also happens when the task is cut off with its runtime, even before it has
        // begun.
        let guard = Leave { shared: Arc::clone(shared), id: id.clone(), number, driven: Some(driven) };
        tokio::spawn(async move {
            let result = drive(job).await;
            drop(guard);
            publish.send_replace(Some(result));
        });
        Ok(joined)
    }

    /// Has the drive of a run that is on go on also while only time can move it, as long as this is kept.
    pub(super) fn stay(&self, id: &RunId) -> Option<watch::Receiver<()>> {
        self.live().get(id).map(|live| live.stay.subscribe())
    }

    /// Tells a live run of an answer.
    pub(super) fn tell_answer(&self, id: &RunId, question: Seq, seq: Seq, answer: Digest) {
        if let Some(live) = self.live().get(id) {
            let _ = live.control.send(Control::Answered { question, seq, answer });
        }
    }

    /// Tells a live run of what has expired.
    pub(super) fn tell_lapsed(&self, id: &RunId, lapsed: &[Lapsed]) {
        if let Some(live) = self.live().get(id) {
            for lapsed in lapsed {
                let _ = live.control.send(Control::Lapsed(*lapsed));
            }
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
