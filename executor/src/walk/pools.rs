//! Pools of places: one for each limited fan-out, or for all that share a limit.

use super::frame::{FrameId, PoolId};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Places, and who wants one.
#[derive(Debug, Default)]
pub(super) struct Pool {
    limit: u32,
    used: u32,
    /// Items that want a place: those that had one before come first, then fan-outs in the order in which they began, then
    /// input order.
    queue: BTreeSet<Wish>,
}

/// An item that wants a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wish {
    pub(super) fresh: bool,
    pub(super) rank: u32,
    pub(super) index: u32,
    pub(super) frame: FrameId,
}

impl Pool {
    /// Takes a place, if one is free and nobody waits for it.
    pub(super) fn take(&mut self) -> bool {
        let free = self.used < self.limit && self.queue.is_empty();
        self.used += u32::from(free);
        free
    }

    pub(super) fn give_back(&mut self) {
        self.used = self.used.saturating_sub(1);
    }

    pub(super) fn want(&mut self, wish: Wish) {
        self.queue.insert(wish);
    }

    pub(super) fn forget(&mut self, wish: Wish) {
        self.queue.remove(&wish);
    }

    /// Gives a free place to whoever is next.
    pub(super) fn next(&mut self) -> Option<FrameId> {
        if self.used >= self.limit {
            return None;
        }
        let wish = self.queue.pop_first()?;
        self.used += 1;
        Some(wish.frame)
    }
}

/// All pools of a run.
#[derive(Debug, Default)]
pub(super) struct Pools {
    open: BTreeMap<PoolId, Pool>,
    shared: BTreeMap<Arc<str>, PoolId>,
    next: u32,
}

impl Pools {
    /// The pool of a fan-out with this limit: its own, or the one it shares.
    pub(super) fn open(&mut self, limit: u32, shared: Option<&Arc<str>>) -> PoolId {
        if let Some(id) = shared.and_then(|name| self.shared.get(name)) {
            return *id;
        }
        let id = PoolId(self.next);
        self.next += 1;
        self.open.insert(id, Pool { limit, ..Pool::default() });
        if let Some(name) = shared {
            self.shared.insert(Arc::clone(name), id);
        }
        id
    }

    /// Forgets the pool of a fan-out that has ended, unless others share it.
    pub(super) fn close(&mut self, id: PoolId) {
        if !self.shared.values().any(|shared| *shared == id) {
            self.open.remove(&id);
        }
    }

    pub(super) fn get(&mut self, id: PoolId) -> Option<&mut Pool> {
        self.open.get_mut(&id)
    }
}
