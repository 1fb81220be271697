//! The run that nothing disturbed: what it left at each sync, and what it told whom.

use crate::{
    account::journal,
    observed::Observed,
    support::{
        diary::{Diary, Entry},
        every_primitive::{runner, to_the_end},
        run_id,
    },
};
use hermes_workflows::{
    core::{ids::Seq, journal::Record},
    executor::ledger::{Append, CrashBackend, Loss, RedbStore, Store},
    prelude::*,
};
use std::sync::Arc;

/// A run that nothing disturbed, on a store that can be had as it was at each of its syncs.
pub(crate) struct Reference {
    pub(crate) backend: CrashBackend,
    /// How often the file had been synced when the ledger in it was there.
    pub(crate) laid_out: usize,
    pub(crate) output: Vec<String>,
    pub(crate) journal: Vec<Record>,
    /// The last record of each commit, and how many syncs there had been when it was acknowledged.
    pub(crate) acknowledged: Vec<(usize, Seq)>,
    /// What was done, and how many syncs there had been by then.
    pub(crate) diary: Vec<(usize, Entry)>,
    /// The questions, and where the answers are recorded.
    pub(crate) answers: Vec<(Need, Seq)>,
}

impl Reference {
    /// Runs the plan once, through `writer` around the store.
    pub(crate) async fn through<S: Store + 'static>(writer: impl FnOnce(RedbStore) -> S) -> Self {
        let backend = CrashBackend::new();
        let store = RedbStore::on_backend(backend.clone()).unwrap();
        let laid_out = backend.syncs();
        let observed = Arc::new(Observed::new(writer(store), backend.clone()));
        let ledger = Ledger::on(Arc::clone(&observed) as Arc<dyn Store>);
        let diary = Diary::beside(backend.clone());
        let executor =
            Executor::builder().ledger(ledger).runner(runner(&diary)).base_dir(diary.directory()).build();
        let output = to_the_end(&executor, &diary).await.unwrap();
        let journal = journal(executor.ledger());
        drop(executor);
        let (acknowledged, answers, diary) = (observed.acknowledged(), diary.answers(), diary.entries());
        Self { backend, laid_out, output, journal, acknowledged, diary, answers }
    }

    /// Run as it is meant to be.
    pub(crate) async fn undisturbed() -> Self {
        Self::through(|store| store).await
    }

    /// The ledger as a crash after `sync` leaves it, if that is a ledger.
    pub(crate) fn after(&self, sync: usize, loss: Loss) -> Result<Ledger, String> {
        open(self.backend.image_at(sync, loss))
    }

    /// For each record of the run, a ledger with those up to it.
    pub(crate) fn by_event(&self) -> impl Iterator<Item = Ledger> {
        let whole = CrashBackend::from_image(self.backend.image_at(self.backend.syncs(), Loss::All));
        let mut blobs = Vec::new();
        RedbStore::on_backend(whole).unwrap().blobs(&mut |_, blob| blobs.push(blob.to_vec())).unwrap();
        let growing = CrashBackend::new();
        let ledger = Ledger::on(Arc::new(RedbStore::on_backend(growing.clone()).unwrap()));
        self.journal.iter().map(move |record| {
            let append = Append {
                records: vec![record.clone()],
                blobs: std::mem::take(&mut blobs),
                now: record.header.time,
            };
            match ledger.find(&run_id()).unwrap() {
                None => drop(ledger.create(&run_id(), append).unwrap()),
                Some(run) => drop(ledger.commit(run, append).unwrap()),
            }
            open(growing.image_at(growing.syncs(), Loss::All)).unwrap()
        })
    }
}

fn open(image: Vec<u8>) -> Result<Ledger, String> {
    let store = RedbStore::on_backend(CrashBackend::from_image(image)).map_err(|error| error.to_string())?;
    Ok(Ledger::on(Arc::new(store)))
}
