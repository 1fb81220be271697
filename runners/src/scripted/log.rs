//! What a scripted runner was asked: the calls in the order they began, and how many ran at once.

use hermes_core::path::StepPath;
use hermes_executor::AgentCall;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The shared log of all clones.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    calls: Vec<AgentCall>,
    by_path: BTreeMap<String, usize>,
    running: usize,
    most: usize,
}

/// A call under way; dropping it ends it.
pub(super) struct Running(Log);

impl Log {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a call that begins. The number says which call of its path it is, from 1.
    pub(super) fn begin(&self, call: &AgentCall) -> (usize, Running) {
        let mut entries = self.entries();
        entries.calls.push(call.clone());
        entries.running += 1;
        entries.most = entries.most.max(entries.running);
        let number = entries.by_path.entry(call.path.clone()).or_default();
        *number += 1;
        (*number, Running(self.clone()))
    }

    pub(super) fn calls(&self) -> Vec<AgentCall> {
        self.entries().calls.clone()
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.entries().calls.iter().map(|call| call.path.clone()).collect()
    }

    pub(super) fn count(&self, pattern: &StepPath) -> usize {
        let matches = |path: &str| path.parse().is_ok_and(|path| pattern.matches(&path));
        self.entries().by_path.iter().filter(|(path, _)| matches(path)).map(|(_, count)| count).sum()
    }

    pub(super) fn running(&self) -> usize {
        self.entries().running
    }

    pub(super) fn most(&self) -> usize {
        self.entries().most
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.entries().running -= 1;
    }
}
