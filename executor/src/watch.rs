//! Watching runs: one stream of what has become durable. A slow watcher never slows a run; it is told how much it missed.

use crate::walk::{Then, Walk};
use hermes_core::{
    ids::{RunId, Seq},
    journal::{Kind, Record},
};
use tokio::sync::broadcast;

/// Something that became durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEvent {
    /// The run.
    pub run: RunId,
    /// The position of its record.
    pub seq: Seq,
    /// What the record says.
    pub kind: Kind,
    /// The path of the step it is about; empty for the run itself.
    pub path: String,
}

impl RunEvent {
    pub(crate) fn new(run: &RunId, walk: &Walk, record: &Record, then: &Then) -> Self {
        let path = match then {
            Then::Settle(at, _)
            | Then::Call(at)
            | Then::Decided(at)
            | Then::Refused(at)
            | Then::Timed(at, _)
            | Then::Over(at, ..)
            | Then::Delayed(at, _)
            | Then::GivenUp(at, _) => walk.path(*at).to_string(),
            Then::Asked(at, _) | Then::Answer(at, _) => match walk.asked_path(*at) {
                Some(path) => path.to_string(),
                None => walk.path(*at).to_string(),
            },
            Then::Nothing => String::new(),
        };
        Self { run: run.clone(), seq: Seq(0), kind: record.header.kind, path }
    }

    pub(crate) fn at(mut self, seq: Seq) -> Self {
        self.seq = seq;
        self
    }
}

/// A stream of [`RunEvent`]s.
#[derive(Debug)]
pub struct Watch(pub(crate) broadcast::Receiver<RunEvent>);

/// What a watcher gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Something became durable.
    Event(RunEvent),
    /// The watcher was too slow and missed this many events: the ledger has them.
    Lagged(u64),
}

impl Watch {
    /// The next event; `None` when the executor is gone.
    pub async fn next(&mut self) -> Option<Seen> {
        match self.0.recv().await {
            Ok(event) => Some(Seen::Event(event)),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Seen::Lagged(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The next event, if there is one already.
    pub fn try_next(&mut self) -> Option<Seen> {
        match self.0.try_recv() {
            Ok(event) => Some(Seen::Event(event)),
            Err(broadcast::error::TryRecvError::Lagged(missed)) => Some(Seen::Lagged(missed)),
            Err(_) => None,
        }
    }
}
