//! What was done in a run, in order, and what it shows about the ledger: whoever was called, thanked or told has a right to
//! find it there after any crash.

use super::every_primitive::{NOTES, furnish};
use hermes_workflows::{
    core::ids::Seq,
    executor::{Seen, Watch, ledger::CrashBackend},
    prelude::*,
};
use std::{
    collections::BTreeMap,
    fs,
    future::Future,
    path::Path,
    pin::pin,
    sync::{Arc, Mutex},
};
use tempfile::TempDir;

/// Something that was done.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// The agent at this path was called.
    Called(String),
    /// The closure of a step with this name was called, which needs the outcome of the step at the path `on`.
    Ran { step: &'static str, on: &'static str },
    /// A person was thanked for the answer to this question, and told the position of its record.
    Thanked(Box<Need>, Seq),
    /// Whoever watches was told of this record.
    Told(Seq),
    /// The run was reported as completed.
    Completed,
}

/// The entries, with how often the file had been synced by then. Clones are the same diary.
#[derive(Clone, Debug)]
pub(crate) struct Diary {
    entries: Arc<Mutex<Vec<(usize, Entry)>>>,
    disk: Option<CrashBackend>,
    /// Where commands work, and note that they begin.
    directory: Arc<TempDir>,
}

impl Default for Diary {
    fn default() -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        furnish(directory.path());
        Self { entries: Arc::default(), disk: None, directory }
    }
}

impl Diary {
    /// One that looks at this file for each entry.
    pub(crate) fn beside(disk: CrashBackend) -> Self {
        Self { disk: Some(disk), ..Self::default() }
    }

    pub(crate) fn note(&self, entry: Entry) {
        let syncs = self.disk.as_ref().map_or(0, CrashBackend::syncs);
        self.entries.lock().unwrap().push((syncs, entry));
    }

    pub(crate) fn entries(&self) -> Vec<(usize, Entry)> {
        self.entries.lock().unwrap().clone()
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// How often each agent was called and each command started, by path, and each step's closure, by name.
    pub(crate) fn calls(&self) -> BTreeMap<String, u32> {
        let mut calls = BTreeMap::new();
        for (_, entry) in self.entries() {
            let callee = match entry {
                Entry::Called(path) => path,
                Entry::Ran { step, .. } => step.to_owned(),
                _ => continue,
            };
            *calls.entry(callee).or_insert(0) += 1;
        }
        let begun = fs::read_to_string(self.directory().join(NOTES)).unwrap_or_default();
        for path in begun.lines().filter_map(|line| line.strip_prefix("begin ")) {
            *calls.entry(path.to_owned()).or_insert(0) += 1;
        }
        calls
    }

    /// The questions that were answered, and where the answers are recorded.
    pub(crate) fn answers(&self) -> Vec<(Need, Seq)> {
        let answer = |(_, entry)| match entry {
            Entry::Thanked(need, seq) => Some((*need, seq)),
            _ => None,
        };
        self.entries().into_iter().filter_map(answer).collect()
    }

    /// Waits for `future`, and notes meanwhile what `watch` is told.
    pub(crate) async fn watching<T>(&self, watch: &mut Watch, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            tokio::select! {
                biased;
                Some(seen) = watch.next() => match seen {
                    Seen::Event(event) => self.note(Entry::Told(event.seq)),
                    Seen::Lagged(missed) => panic!("{missed} events were missed"),
                },
                done = &mut future => return done,
            }
        }
    }
}
