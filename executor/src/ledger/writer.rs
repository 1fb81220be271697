//! Who may write, and when: the pen, the queue, and the thread that empties it.
//!
//! Only who holds the pen stages and commits. A caller takes it when nobody has it and nothing is queued, and then commits
//! on its own thread, without a hop; otherwise it queues. The writer's thread takes the pen to commit everything that has
//! queued as one transaction, to lend it to a caller whose turn has come, and to settle the store after a quiet moment.

use super::{
    CommitBatch, LedgerError, Store,
    append::Prepared,
    desk::{Desk, Staged, Target},
    job::{Done, Job, Queued, group},
};
use hermes_core::ids::{RunNo, Seq};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How long nothing is committed before the store is settled.
const QUIET: Duration = Duration::from_millis(50);

struct Queue {
    jobs: VecDeque<Job>,
    pen_taken: bool,
    closing: bool,
    /// When the last commit was, while the store is not settled.
    unsettled: Option<Instant>,
    /// Why nothing is written any more.
    dead: Option<LedgerError>,
}

enum Work {
    Group(Vec<Queued>),
    Lend(SyncSender<()>),
    Settle,
    Finish,
}

/// What all handles of a ledger, and its thread, share.
pub(super) struct Writer {
    pub(super) store: Arc<dyn Store>,
    queue: Mutex<Queue>,
    /// Only the writer's thread waits on it.
    changed: Condvar,
    desk: Mutex<Desk>,
    pub(super) commits: AtomicU64,
    pub(super) rows: AtomicU64,
    pub(super) settles: AtomicU64,
}

/// The right to write. Handed back when dropped.
pub(super) struct Pen<'a> {
    writer: &'a Writer,
    /// Whether something was committed.
    wrote: bool,
    /// Whether the store is at work: a panic then leaves nobody knowing what it has done.
    inside: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Writer {
    /// Starts the thread. Without one nothing is written, and the first write says so.
    pub(super) fn start(store: Arc<dyn Store>) -> (Arc<Self>, Option<thread::JoinHandle<()>>) {
        let writer = Arc::new(Self {
            store,
            queue: Mutex::new(Queue {
                jobs: VecDeque::new(),
                pen_taken: false,
                closing: false,
                unsettled: None,
                dead: None,
            }),
            changed: Condvar::new(),
            desk: Mutex::new(Desk::default()),
            commits: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            settles: AtomicU64::new(0),
        });
        let shared = Arc::clone(&writer);
        match thread::Builder::new().name("hermes ledger".to_owned()).spawn(move || shared.serve()) {
            Ok(thread) => (writer, Some(thread)),
            Err(error) => {
                writer.die(format!("its thread could not be started: {error}"));
                (writer, None)
            }
        }
    }

    /// Asks the thread to finish what is queued, settle, and end.
    pub(super) fn close(&self) {
        lock(&self.queue).closing = true;
        self.changed.notify_one();
    }

    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        lock(&self.desk)
    }

    /// The desk, if nobody is at it: readers never wait for a writer.
    pub(super) fn free_desk(&self) -> Option<MutexGuard<'_, Desk>> {
        self.desk.try_lock().ok()
    }

    /// Commits an append: on this thread if nobody else writes, otherwise through the queue.
    pub(super) fn commit(&self, target: Target, append: Prepared) -> Result<(RunNo, Seq), LedgerError> {
        if let Some(mut pen) = self.free_pen()? {
            return pen.commit(target, append);
        }
        let (sender, receiver) = sync_channel(1);
        let done = Done::new(move |outcome| {
            let _ = sender.send(outcome);
        });
        self.push(Job::Append(Queued { target, append: Ok(append), done }));
        match receiver.recv() {
            Ok(outcome) => outcome.map_err(|error| LedgerError::clone(&error)),
            Err(_) => Err(self.ended()),
        }
    }

    /// Queues an append.
    pub(super) fn submit(&self, entry: Queued) {
        self.push(Job::Append(entry));
    }

    /// Waits for the pen: behind everything that is queued now.
    pub(super) fn turn(&self) -> Result<Pen<'_>, LedgerError> {
        if let Some(pen) = self.free_pen()? {
            return Ok(pen);
        }
        let (sender, receiver) = sync_channel(1);
        self.push(Job::Turn(sender));
        match receiver.recv() {
            Ok(()) => Ok(Pen::new(self)),
            Err(_) => Err(self.ended()),
        }
    }

    /// The pen, if nobody has it and nothing is queued.
    fn free_pen(&self) -> Result<Option<Pen<'_>>, LedgerError> {
        let mut queue = lock(&self.queue);
        if let Some(why) = &queue.dead {
            return Err(why.clone());
        }
        if queue.pen_taken || !queue.jobs.is_empty() {
            return Ok(None);
        }
        queue.pen_taken = true;
        Ok(Some(Pen::new(self)))
    }

    fn push(&self, job: Job) {
        let mut queue = lock(&self.queue);
        if let Some(why) = queue.dead.clone() {
            drop(queue);
            return job.refuse(&Arc::new(why));
        }
        queue.jobs.push_back(job);
        // While the pen is out, whoever hands it back says so.
        if !queue.pen_taken {
            self.changed.notify_one();
        }
    }

    fn ended(&self) -> LedgerError {
        let failed =
            || LedgerError::Failed { ledger: self.store.name(), why: "its thread has ended".to_owned() };
        lock(&self.queue).dead.clone().unwrap_or_else(failed)
    }

    /// From now on nothing is written; everybody who waits is told.
    fn die(&self, why: String) {
        self.condemn(why);
        self.refuse_all();
    }

    /// From now on nothing is written.
    ///
    /// After any failed commit: what was submitted before the failure was known may build on what was lost, and could be
    /// written in its place. Only opening the ledger anew, and reading what is there, makes that impossible.
    fn condemn(&self, why: String) {
        let mut queue = lock(&self.queue);
        queue.dead.get_or_insert_with(|| LedgerError::Failed { ledger: self.store.name(), why });
        queue.unsettled = None;
    }

    fn refuse_all(&self) {
        let dead = Arc::new(self.ended());
        let jobs = std::mem::take(&mut lock(&self.queue).jobs);
        for job in jobs {
            job.refuse(&dead);
        }
    }

    /// The thread's life.
    fn serve(&self) {
        struct Last<'a>(&'a Writer);
        impl Drop for Last<'_> {
            fn drop(&mut self) {
                if thread::panicking() {
                    self.0.die("its thread panicked".to_owned());
                }
            }
        }
        let last = Last(self);
        loop {
            match self.next_work() {
                Work::Group(jobs) => self.commit_group(jobs),
                Work::Lend(turn) => {
                    if turn.send(()).is_err() {
                        drop(Pen::new(self));
                    }
                }
                Work::Settle => Pen::new(self).settle(),
                Work::Finish => break,
            }
        }
        drop(last);
    }

    /// Waits for something to do, and takes the pen for it.
    fn next_work(&self) -> Work {
        let mut queue = lock(&self.queue);
        loop {
            let mut wait = None;
            if queue.pen_taken {
                // Who has it may be the first to commit after a long time, and need not wake us for that.
                wait = Some(QUIET);
            } else if let Some(job) = queue.jobs.pop_front() {
                queue.pen_taken = true;
                return match job {
                    Job::Turn(turn) => Work::Lend(turn),
                    Job::Append(first) => Work::Group(group(first, &mut queue.jobs)),
                };
            } else if let Some(last) = queue.unsettled {
                let left = QUIET.saturating_sub(last.elapsed());
                if queue.closing || left.is_zero() {
                    queue.unsettled = None;
                    queue.pen_taken = true;
                    return Work::Settle;
                }
                wait = Some(left);
            } else if queue.closing {
                return Work::Finish;
            }
            queue = match wait {
                Some(time) => {
                    self.changed.wait_timeout(queue, time).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn commit_group(&self, jobs: Vec<Queued>) {
        let mut pen = Pen::new(self);
        let mut staged = Staged::default();
        let mut outcomes = Vec::with_capacity(jobs.len());
        let batch = {
            let mut desk = self.desk();
            for Queued { target, append, done } in jobs {
                let outcome = append.and_then(|append| desk.stage(&*self.store, &mut staged, target, append));
                outcomes.push((outcome.map_err(Arc::new), done));
            }
            desk.seal(staged)
        };
        let written = batch.and_then(|batch| pen.write(&batch)).map_err(|error| {
            self.desk().forget();
            self.condemn(reason(&error));
            Arc::new(error)
        });
        // Whoever waits to write need not wait for what is called now.
        drop(pen);
        for (outcome, done) in outcomes {
            done.call(outcome.and_then(|place| written.clone().map(|()| place)));
        }
        if written.is_err() {
            // After those, so that outcomes come in order.
            self.refuse_all();
        }
    }
}

/// What failed, without the advice that the error for later writes gives itself.
fn reason(error: &LedgerError) -> String {
    match error {
        LedgerError::Io { why, .. } | LedgerError::Failed { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

impl<'a> Pen<'a> {
    /// For who has marked it as taken.
    fn new(writer: &'a Writer) -> Self {
        Self { writer, wrote: false, inside: false }
    }

    /// Stages and commits one append.
    pub(super) fn commit(&mut self, target: Target, append: Prepared) -> Result<(RunNo, Seq), LedgerError> {
        let mut staged = Staged::default();
        let (place, batch) = {
            let mut desk = self.writer.desk();
            let place = desk.stage(&*self.writer.store, &mut staged, target, append);
            (place, desk.seal(staged))
        };
        let result = batch.and_then(|batch| self.write(&batch));
        if let Err(error) = &result {
            self.writer.desk().forget();
            self.writer.die(reason(error));
        }
        let place = place?;
        result.map(|()| place)
    }

    fn write(&mut self, batch: &CommitBatch) -> Result<(), LedgerError> {
        if batch.is_empty() {
            return Ok(());
        }
        self.inside = true;
        let result = self.writer.store.commit(batch);
        self.inside = false;
        if result.is_ok() {
            self.wrote = true;
            self.writer.commits.fetch_add(1, Ordering::Relaxed);
            self.writer.rows.fetch_add(batch.rows.len() as u64, Ordering::Relaxed);
        }
        result
    }

    fn settle(mut self) {
        self.inside = true;
        match self.writer.store.settle() {
            Ok(()) => {
                self.writer.settles.fetch_add(1, Ordering::Relaxed);
            }
            // Everything is durable; only the next opening may be slow. If writing is over, the next commit says so.
            Err(error) => tracing::warn!("{error}"),
        }
        self.inside = false;
    }
}

impl Drop for Pen<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            // What was staged is not written. If the store panicked, nobody knows what it did, and nobody may go on.
            self.writer.desk().forget();
            if self.inside {
                self.writer.die("the store panicked in a write".to_owned());
            }
        }
        let mut queue = lock(&self.writer.queue);
        queue.pen_taken = false;
        let fresh = self.wrote && queue.unsettled.is_none();
        if self.wrote {
            queue.unsettled = Some(Instant::now());
        }
        // Waking the thread costs a committing caller more than the rest of this: only where it has something to do.
        if fresh || queue.closing || !queue.jobs.is_empty() {
            self.writer.changed.notify_one();
        }
    }
}
