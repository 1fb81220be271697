//! The process that is killed: it drives the run to its end, and announces each commit before it makes it.

use crate::{
    agent, gate,
    store::reads_from,
    support::{Calls, every_primitive::to_the_end},
};
use hermes_workflows::{
    executor::{
        LedgerError,
        ledger::{CommitBatch, RedbStore, Store},
    },
    prelude::*,
};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

pub(crate) const ROLE: &str = "child";

/// The ledger's file in the desk.
pub(crate) const LEDGER: &str = "runs.redb";

/// What it announces before a commit, and at its end.
pub(crate) const COMMIT: &str = "commit";
pub(crate) const END: &str = "end";

pub(crate) fn run(desk: &Path) -> ExitCode {
    let store = Announcing { inner: RedbStore::open(desk.join(LEDGER)).unwrap(), desk: desk.to_owned() };
    let runner =
        Subprocess::new(std::env::current_exe().unwrap()).args([agent::ROLE.as_ref(), desk.as_os_str()]);
    let executor =
        Executor::builder().ledger(Ledger::on(Arc::new(store))).runner(runner).crash_limit(None).build();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let output = runtime.block_on(to_the_end(&executor, &Calls::default()));
    drop(executor);
    gate::pass(desk, &format!("{END} {} {output:?}", std::process::id()));
    ExitCode::SUCCESS
}

/// A store that passes the gate before each commit: whoever waits there stands between two commits.
struct Announcing {
    inner: RedbStore,
    desk: PathBuf,
}

impl Store for Announcing {
    reads_from!(inner);

    fn commit(&self, batch: &CommitBatch) -> Result<(), LedgerError> {
        gate::pass(&self.desk, &format!("{COMMIT} {}", std::process::id()));
        self.inner.commit(batch)
    }

    fn settle(&self) -> Result<(), LedgerError> {
        self.inner.settle()
    }
}
