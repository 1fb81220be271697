//! The process that is killed: it drives the run to its end, and announces each commit before it makes it and before
//! anybody hears of it.

use crate::{
    agent, gate,
    store::reads_from,
    support::{diary::Diary, every_primitive::to_the_end},
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

/// What it announces before and after a commit, and at its end.
pub(crate) const COMMIT: &str = "commit";
pub(crate) const END: &str = "end";

pub(crate) fn run(desk: &Path) -> ExitCode {
    let store = Announcing { inner: RedbStore::open(desk.join(LEDGER)).unwrap(), desk: desk.to_owned() };
    let runner =
        Subprocess::new(std::env::current_exe().unwrap()).args([agent::ROLE.as_ref(), desk.as_os_str()]);
    let executor = Executor::builder()
        .ledger(Ledger::on(Arc::new(store)))
        .runner(runner)
        .base_dir(desk)
        .crash_limit(None)
        .build();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let output = runtime.block_on(to_the_end(&executor, &Diary::default()));
    drop(executor);
    match output {
        Ok(output) => gate::pass(desk, &format!("{END} {} {output:?}", std::process::id())),
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// A store that passes the gate around each commit: whoever waits there stands between two commits.
struct Announcing {
    inner: RedbStore,
    desk: PathBuf,
}

impl Store for Announcing {
    reads_from!(inner);

    fn commit(&self, batch: &CommitBatch) -> Result<(), LedgerError> {
        let announced = format!("{COMMIT} {}", std::process::id());
        gate::pass(&self.desk, &announced);
        self.inner.commit(batch)?;
        gate::pass(&self.desk, &announced);
        Ok(())
    }

    fn settle(&self) -> Result<(), LedgerError> {
        self.inner.settle()
    }
}
