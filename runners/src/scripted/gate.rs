//! `Gate`: holds calls until a test lets them through. No clock, no sleep.

use std::{fmt, sync::Arc};
use tokio::sync::{Semaphore, watch};

/// Holds the calls of a path. Made with [`Scripted::gate`](super::Scripted::gate); clones are the same gate.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    passes: Semaphore,
    arrived: watch::Sender<usize>,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner { passes: Semaphore::new(0), arrived: watch::channel(0).0 }))
    }

    /// Lets everything through, from now on.
    pub fn open(&self) {
        self.0.passes.close();
    }

    /// Lets `count` more calls through.
    pub fn let_through(&self, count: usize) {
        if !self.0.passes.is_closed() {
            self.0.passes.add_permits(count);
        }
    }

    /// How many calls have come to it so far, whether they passed or not.
    pub fn arrived(&self) -> usize {
        *self.0.arrived.borrow()
    }

    /// Waits until `count` calls have come to it.
    pub async fn reached(&self, count: usize) {
        let mut arrived = self.0.arrived.subscribe();
        // The sender lives as long as `self`, so the wait cannot be cut off.
        let _ = arrived.wait_for(|arrived| *arrived >= count).await;
    }

    pub(super) async fn pass(&self) {
        self.0.arrived.send_modify(|arrived| *arrived += 1);
        // An error says that the gate is open.
        if let Ok(pass) = self.0.passes.acquire().await {
            pass.forget();
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = self.0.passes.is_closed();
        f.debug_struct("Gate").field("open", &open).field("arrived", &self.arrived()).finish()
    }
}
