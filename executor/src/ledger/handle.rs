//! The handle of a ledger: what everything above reads and writes through.

use super::{
    Append, LedgerError, RedbStore, Store,
    append::Prepared,
    desk::{Target, no_run, stored},
    fetch::Fetcher,
    job::{Done, Queued},
    lapse::{Lapsed, expiries, lapse},
    open::work_directory,
    verify,
    writer::{Pen, Writer},
};
use hermes_core::{
    digest::Digest,
    fold::{Head, RunState, Spending, Summary},
    ids::{RunId, RunNo, Seq},
    journal::{Kind, Record},
    people::Need,
    value::Fetch,
};
use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    thread::{self, JoinHandle},
};

/// What a ledger has written since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerStats {
    /// Durable commits.
    pub commits: u64,
    /// Records written by them.
    pub rows: u64,
    /// Commits beside those: made in quiet moments, so that the next opening is fast.
    pub settles: u64,
}

/// What became of a decision on a run's head and needs: the position of its first record and what it gave, or why it was
/// refused.
pub type Decided<T, E> = Result<(Seq, T), E>;

/// A ledger. Cheap to clone; all clones are one ledger.
///
/// When the last clone is dropped, what is queued is written, and the file is let go.
#[derive(Clone)]
pub struct Ledger(Arc<Handle>);

struct Handle {
    writer: Arc<Writer>,
    thread: Option<JoinHandle<()>>,
    path: Option<PathBuf>,
    work: Option<PathBuf>,
    /// The runs that are being driven: each by one executor.
    driven: Mutex<BTreeSet<RunNo>>,
}

/// A run that is being driven, till this is dropped.
pub(crate) struct Driven {
    ledger: Ledger,
    run: RunNo,
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.ledger.driven().remove(&self.run);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.writer.close();
        if let Some(thread) = self.thread.take()
            // The last clone may have been in something that the writer's thread has just called: it ends by itself.
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ledger").field(&self.0.writer.store.name()).finish()
    }
}

impl Ledger {
    /// Opens the ledger at `path`, and makes it where there is no file.
    ///
    /// # Errors
    /// When another process has it, or the file is not a ledger that this version reads: it is then not changed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        Ok(Self::on(Arc::new(RedbStore::open(path)?)))
    }

    /// Opens the ledger at `path` for reading: to list runs, to draw them, to [preview](crate::Executor::preview) them. The file
    /// stays as it is to the byte, also after a crash: what has to be repaired is repaired in memory. Writing is refused.
    /// Meanwhile nobody else can open it.
    ///
    /// # Errors
    /// When there is no such file, another process has it, or it is not a ledger that this version reads.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        Ok(Self::on(Arc::new(RedbStore::open_read_only(path)?)))
    }

    /// A ledger in memory, gone with its last clone.
    ///
    /// # Errors
    /// When it cannot be laid out.
    pub fn in_memory() -> Result<Self, LedgerError> {
        Ok(Self::on(Arc::new(RedbStore::in_memory()?)))
    }

    /// A ledger on any engine. Nobody else may write to it.
    pub fn on(store: Arc<dyn Store>) -> Self {
        let path = store.path().map(Path::to_owned);
        let work = path.as_deref().map(work_directory);
        let (writer, thread) = Writer::start(store);
        Self(Arc::new(Handle { writer, thread, path, work, driven: Mutex::default() }))
    }

    /// The file it is in, absolute; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The directory beside the file for the workspaces of its runs: `<ledger>.work`. `None` in memory.
    pub fn work_directory(&self) -> Option<&Path> {
        self.0.work.as_deref()
    }

    fn driven(&self) -> MutexGuard<'_, BTreeSet<RunNo>> {
        self.0.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a run, to drive it; `None` while another executor on this ledger drives it.
    pub(crate) fn take(&self, run: RunNo) -> Option<Driven> {
        self.driven().insert(run).then(|| Driven { ledger: self.clone(), run })
    }

    fn store(&self) -> &dyn Store {
        &*self.0.writer.store
    }

    /// The heads of all runs, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self) -> Result<Vec<Head>, LedgerError> {
        Ok(self.store().heads()?.into_iter().map(|(_, head)| head).collect())
    }

    /// The head of a run.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn head(&self, id: &RunId) -> Result<Option<Head>, LedgerError> {
        match self.find(id)? {
            Some(run) => self.store().head(run),
            None => Ok(None),
        }
    }

    /// What waits for people, in one run or in all: by run, oldest first. None for a run there is not.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn needs(&self, id: Option<&RunId>) -> Result<Vec<(RunId, Need)>, LedgerError> {
        let store = self.store();
        if let Some(id) = id {
            let Some(run) = self.find(id)? else { return Ok(Vec::new()) };
            return Ok(store.needs(Some(run))?.into_iter().map(|(_, need)| (id.clone(), need)).collect());
        }
        let mut ids = BTreeMap::new();
        let mut needs = Vec::new();
        for (run, need) in store.needs(None)? {
            let id = match ids.entry(run) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    unknown.insert(store.head(run)?.ok_or_else(|| no_run(store, run))?.id)
                }
            };
            needs.push((id.clone(), need));
        }
        Ok(needs)
    }

    /// The number of the run with this id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find(&self, id: &RunId) -> Result<Option<RunNo>, LedgerError> {
        self.store().open_run(id)
    }

    /// How many records of a run are durable.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn records(&self, run: RunNo) -> Result<u64, LedgerError> {
        Ok(self.store().head(run)?.ok_or_else(|| no_run(self.store(), run))?.records)
    }

    /// The state of a run: the fold of its journal.
    ///
    /// # Errors
    /// When there is no such run, or its journal is damaged.
    pub fn state(&self, run: RunNo) -> Result<RunState, LedgerError> {
        let epoch = self.0.writer.free_desk().map(|desk| desk.epoch());
        let store = self.store();
        let mut state = RunState::default();
        store.records(run, &mut |seq, record| {
            state.apply(seq, &record).map_err(|error| stored(store, run, &error))
        })?;
        if state.start.is_none() {
            return Err(no_run(store, run));
        }
        // Who reads a run's state is likely to write to it: it need not be folded again for that.
        if let (Some(epoch), Some(mut desk)) = (epoch, self.0.writer.free_desk()) {
            desk.offer(epoch, run, &state.summary);
        }
        Ok(state)
    }

    /// What a run has spent: the fold of its journal, with the bodies of what calls cost.
    ///
    /// # Errors
    /// When there is no such run, or its journal is damaged.
    pub fn spending(&self, run: RunNo) -> Result<Spending, LedgerError> {
        let store = self.store();
        let mut spending = Spending::default();
        let long = |kind| matches!(kind, Kind::Started | Kind::Succeeded | Kind::Refused);
        store.records(run, &mut |seq, record| {
            let record = match record.header.kind {
                kind if long(kind) && record.body.is_empty() => store.body(run, seq)?,
                _ => record,
            };
            spending.apply(&record).map_err(|error| stored(store, run, &error.into()))
        })?;
        Ok(spending)
    }

    /// One record, with its body.
    ///
    /// # Errors
    /// When there is no such record.
    pub fn record(&self, run: RunNo, seq: Seq) -> Result<Record, LedgerError> {
        self.store().body(run, seq)
    }

    /// The outcome of a run that a step with this fingerprint may take over: see `.memo()` of a plan's steps.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn memo(&self, fingerprint: &Digest) -> Result<Option<(RunNo, Seq)>, LedgerError> {
        self.store().memo(fingerprint)
    }

    /// The blob with this digest.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError> {
        self.store().blob(digest)
    }

    /// Reads values of a run when they are needed: the output of a `Succeeded` record, the answer of an `Answered` one,
    /// the input of the run's first. While one is kept, the file is not let go.
    pub fn fetcher(&self, run: RunNo) -> Arc<dyn Fetch> {
        Arc::new(Fetcher::new(Arc::clone(&self.0.writer.store), run))
    }

    /// What was written since it was opened.
    pub fn stats(&self) -> LedgerStats {
        let writer = &self.0.writer;
        LedgerStats {
            commits: writer.commits.load(Ordering::Relaxed),
            rows: writer.rows.load(Ordering::Relaxed),
            settles: writer.settles.load(Ordering::Relaxed),
        }
    }

    /// Begins a run: its number and its first records in one commit, durable on return. Blocks.
    ///
    /// # Errors
    /// When there is a run of this id, or the records are refused.
    pub fn create(&self, id: &RunId, append: Append) -> Result<RunNo, LedgerError> {
        let append = Prepared::new(append)?;
        Ok(self.0.writer.commit(Target::New(id.clone()), append)?.0)
    }

    /// Appends to a run, behind everything submitted before: the position of the first record. Durable on return; blocks,
    /// and commits on the calling thread where nothing else is written.
    ///
    /// Not to be called from what [`Ledger::submit`] calls: that runs on the thread this may wait for.
    ///
    /// # Errors
    /// When the records are refused, or cannot be written.
    pub fn commit(&self, run: RunNo, append: Append) -> Result<Seq, LedgerError> {
        let append = Prepared::new(append)?;
        Ok(self.0.writer.commit(Target::Run(run), append)?.1)
    }

    /// Hands an append to the writer's thread, which calls `done` when it is durable, or refused. Outcomes come in the
    /// order of submission. `done` runs on that thread and holds up all other writers: it only passes the word on.
    pub fn submit(
        &self,
        run: RunNo,
        append: Append,
        done: impl FnOnce(Result<Seq, Arc<LedgerError>>) + Send + 'static,
    ) {
        let done = Done::new(move |outcome| done(outcome.map(|(_, seq)| seq)));
        self.0.writer.submit(Queued { target: Target::Run(run), append: Prepared::new(append), done });
    }

    /// Decides on a run's head and needs as they are once everything queued is written, and commits what `decide` gives
    /// before anybody else can write: what it saw still holds. Blocks. `decide` runs on the calling thread and must not
    /// use this ledger.
    ///
    /// # Errors
    /// When the run cannot be read, or the records are refused. What `decide` refuses is the inner error.
    pub fn transact<T, E>(
        &self,
        run: RunNo,
        decide: impl FnOnce(&Summary) -> Result<(Append, T), E>,
    ) -> Result<Decided<T, E>, LedgerError> {
        let pen = self.0.writer.turn()?;
        self.decided(pen, run, decide)
    }

    /// The same at `now`: the questions whose time is over are closed first, and handed out. `decide` sees them closed.
    ///
    /// # Errors
    /// See [`Ledger::transact`].
    pub fn transact_at<T, E>(
        &self,
        run: RunNo,
        now: i64,
        decide: impl FnOnce(&Summary) -> Result<(Append, T), E>,
    ) -> Result<(Vec<Lapsed>, Decided<T, E>), LedgerError> {
        let writer = &self.0.writer;
        let mut pen = writer.turn()?;
        let lapsed = lapse(&mut pen, writer, run, now)?;
        Ok((lapsed, self.decided(pen, run, decide)?))
    }

    fn decided<T, E>(
        &self,
        mut pen: Pen<'_>,
        run: RunNo,
        decide: impl FnOnce(&Summary) -> Result<(Append, T), E>,
    ) -> Result<Decided<T, E>, LedgerError> {
        let decided = decide(self.0.writer.desk().summary(self.store(), run)?);
        let (append, given) = match decided {
            Ok(decided) => decided,
            Err(refused) => return Ok(Err(refused)),
        };
        let (_, seq) = pen.commit(Target::Run(run), Prepared::new(append)?)?;
        Ok(Ok((seq, given)))
    }

    /// Closes the questions whose time is over at `now`, and hands them out. Blocks.
    ///
    /// # Errors
    /// When the run cannot be read, or nothing can be written.
    pub fn lapse(&self, run: RunNo, now: i64) -> Result<Vec<Lapsed>, LedgerError> {
        let writer = &self.0.writer;
        let mut pen = writer.turn()?;
        lapse(&mut pen, writer, run, now)
    }

    /// The records with which [`Ledger::lapse`] would close questions.
    pub(crate) fn would_lapse(
        &self,
        run: RunNo,
        summary: &Summary,
        now: i64,
    ) -> Result<Vec<Record>, LedgerError> {
        Ok(expiries(self.store(), run, summary, now)?.into_iter().map(|(record, _)| record).collect())
    }

    /// Checks everything against everything: every journal folds, heads and needs are what their journals say, every body
    /// and blob reads and has its digest. What is not so, in words; nothing if all is well. Writers wait meanwhile.
    ///
    /// # Errors
    /// When the store cannot be read at all.
    pub fn verify(&self) -> Result<Vec<String>, LedgerError> {
        let _pen = self.0.writer.turn()?;
        verify::verify(self.store())
    }
}
