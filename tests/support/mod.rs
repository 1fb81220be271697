//! What the behaviour tests share: a ledger file that is dropped and reopened, runners that count or refuse, and short
//! ways to drive a run to its outcome.
#![expect(dead_code, reason = "each test file uses its own part of this")]

pub(crate) mod diary;
pub(crate) mod drawing;
pub(crate) mod every_primitive;

use hermes_workflows::{
    core::{
        ids::Seq,
        journal::{Event, Record},
    },
    executor::{Clock, DriveError, ledger::Append},
    prelude::*,
    runners::{FnRunner, Scripted},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tempfile::TempDir;

/// A ledger file in a directory of its own.
pub(crate) struct Store {
    directory: TempDir,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("runs.redb")
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Opens the file, which nothing may hold.
    pub(crate) fn open(&self) -> Ledger {
        Ledger::open(self.path()).unwrap()
    }

    /// An executor over the file, with this runner.
    pub(crate) fn executor(&self, runner: impl Runner + 'static) -> Executor {
        Executor::builder().ledger(self.open()).runner(runner).build()
    }

    /// An executor over the file, with this runner, by this clock.
    pub(crate) fn executor_by(&self, clock: &Clock, runner: impl Runner + 'static) -> Executor {
        Executor::builder().ledger(self.open()).runner(runner).clock(clock.clone()).build()
    }

    /// An executor over the file that may call nobody.
    pub(crate) fn replayer(&self) -> Executor {
        self.executor(refuses())
    }
}

/// A runner that panics when it is called: for replays.
pub(crate) fn refuses() -> FnRunner {
    FnRunner::sync(|call| panic!("nothing may be called, and {} was", call.path))
}

/// A runner that answers every text call with `text(path)`, and counts.
pub(crate) fn echo() -> (FnRunner, Calls) {
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::sync(move |call| {
        counted.0.fetch_add(1, Ordering::SeqCst);
        Ok(AgentReply::text(format!("<{}>", call.path)))
    });
    (runner, calls)
}

/// How often something was called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls(Arc<AtomicU64>);

impl Calls {
    pub(crate) fn add(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Starts (or goes on with) the run `r`, and waits for its outcome.
pub(crate) async fn start<I: Data, O: Data>(
    executor: &Executor,
    plan: &Plan<I, O>,
    input: I,
) -> Result<Outcome<O>, DriveError> {
    executor.start(plan, input).id("r").await?.outcome().await
}

/// Goes on with the run `r`, and waits for its outcome.
pub(crate) async fn resume<I: Data, O: Data>(
    executor: &Executor,
    plan: &Plan<I, O>,
) -> Result<Outcome<O>, DriveError> {
    executor.resume(plan, "r").await?.outcome().await
}

/// Retries the run `r`, and waits for its outcome.
pub(crate) async fn retry<I: Data, O: Data>(
    executor: &Executor,
    plan: &Plan<I, O>,
) -> Result<Outcome<O>, DriveError> {
    executor.retry(plan, "r").await?.outcome().await
}

pub(crate) fn run_id() -> RunId {
    RunId::new("r").unwrap()
}

/// What the outcome must be.
pub(crate) trait Expect<O> {
    fn completed(self) -> (O, Counts);
    fn waiting(self) -> Vec<Need>;
    fn parked(self) -> Vec<Need>;
    fn failed(self) -> Failure;
}

impl<O: std::fmt::Debug> Expect<O> for Result<Outcome<O>, DriveError> {
    #[track_caller]
    fn completed(self) -> (O, Counts) {
        match self {
            Ok(Outcome::Completed(done)) => (done.value, done.counts),
            other => panic!("expected a completed run, got {other:?}"),
        }
    }

    #[track_caller]
    fn waiting(self) -> Vec<Need> {
        match self {
            Ok(Outcome::Waiting(needs)) => needs.list,
            other => panic!("expected a waiting run, got {other:?}"),
        }
    }

    #[track_caller]
    fn parked(self) -> Vec<Need> {
        match self {
            Ok(Outcome::Parked(needs)) => needs.list,
            other => panic!("expected a parked run, got {other:?}"),
        }
    }

    #[track_caller]
    fn failed(self) -> Failure {
        match self {
            Ok(Outcome::Failed(failure)) => failure,
            other => panic!("expected a failed run, got {other:?}"),
        }
    }
}

/// Leaves the run `r` with its first call begun and not finished: the process ends in the middle of it.
pub(crate) fn crash_in_call<O: Data>(store: &Store, plan: &Plan<String, O>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (begun, wait) = tokio::sync::oneshot::channel();
        let begun = Mutex::new(Some(begun));
        let executor = store.executor(FnRunner::new(move |_| {
            if let Some(begun) = begun.lock().unwrap().take() {
                begun.send(()).unwrap();
            }
            std::future::pending()
        }));
        let _run = executor.start(plan, "t".to_owned()).id("r").await.unwrap();
        wait.await.unwrap();
    });
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// The fields that a parked run names as changed, by need.
pub(crate) fn changed_fields(needs: &[Need]) -> Vec<String> {
    needs
        .iter()
        .flat_map(|need| match &need.kind {
            NeedKind::Conflict { fields, .. } => {
                fields.iter().map(|changed| format!("{}: {}", need.path, changed.field)).collect()
            }
            other => vec![format!("{}: {other:?}", need.path)],
        })
        .collect()
}

/// Approves the open review at `path`.
pub(crate) async fn approve(executor: &Executor, path: &str) {
    answer(executor, path, &serde_json::json!({"decision": "approve"})).await;
}

/// Asks for changes at the open review at `path`.
pub(crate) async fn request_changes(executor: &Executor, path: &str, feedback: &str) {
    answer(executor, path, &serde_json::json!({"decision": "request_changes", "feedback": feedback})).await;
}

pub(crate) async fn answer(executor: &Executor, path: &str, answer: &serde_json::Value) {
    let need = executor.question(&run_id(), path).unwrap();
    executor.answer(&run_id(), &need, answer).await.unwrap();
}

/// The records of the run `r`, from its beginning.
pub(crate) fn records(ledger: &Ledger) -> Vec<Record> {
    let Some(run) = ledger.find(&run_id()).unwrap() else { return Vec::new() };
    (1..=ledger.records(run).unwrap()).map(|seq| ledger.record(run, Seq(seq)).unwrap()).collect()
}

/// What the records of the run `r` are, in a word each, from its beginning.
pub(crate) fn kinds(ledger: &Ledger) -> Vec<String> {
    records(ledger).iter().map(|record| format!("{:?}", record.header.kind)).collect()
}

/// For each record of the run `r`, a ledger with those up to it: what a crash right after it leaves.
pub(crate) fn after_each_record(ledger: &Ledger) -> impl Iterator<Item = Ledger> {
    let (records, from) = (records(ledger), ledger.clone());
    (1..=records.len()).map(move |count| {
        let mut blobs = Vec::new();
        for record in &records {
            if let Ok(Event::Asked(asked)) = record.event() {
                let shown = asked.shown.iter().map(|(_, blob)| blob).chain(&asked.choices);
                let all = shown.chain([&asked.schema]);
                blobs.extend(all.map(|blob| from.blob(blob).unwrap().unwrap()));
            }
        }
        let left = Ledger::in_memory().unwrap();
        for (index, record) in records[..count].iter().enumerate() {
            let append = Append {
                records: vec![record.clone()],
                blobs: std::mem::take(&mut blobs),
                now: record.header.time,
            };
            if index == 0 {
                left.create(&run_id(), append).unwrap();
            } else {
                let run = left.find(&run_id()).unwrap().unwrap();
                left.commit(run, append).unwrap();
            }
        }
        left
    })
}

/// The moment so many seconds after a beginning of time.
pub(crate) fn second(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000).after(Duration::from_secs(seconds))
}

/// A clock that goes with the runtime's, from [`second`] 0 on: for tests in which that is paused.
pub(crate) fn paused_clock() -> Clock {
    let start = tokio::time::Instant::now();
    Clock::from_fn(move || second(0).after(start.elapsed()).millis())
}

/// Makes the same decision about every need of the run that is not a question.
pub(crate) async fn decide_all(executor: &Executor, decision: Decision) {
    for need in executor.needs(&run_id()).unwrap() {
        if !matches!(need.kind, NeedKind::Review { .. }) {
            executor.decide(&run_id(), &need, decision.clone()).await.unwrap();
        }
    }
}

/// A scripted runner is used by most tests through this name.
pub(crate) fn scripted() -> Scripted {
    Scripted::new()
}

/// The program of a built example, in the folder beside the tests'. It is built with them, unless only one test is asked
/// for.
pub(crate) fn example(name: &str) -> PathBuf {
    static BUILDING: Mutex<()> = Mutex::new(());
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    let program = path.join("examples").join(name);
    let _one_at_a_time = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if !program.exists() {
        let status = Command::new(env!("CARGO")).args(["build", "--example", name]).status().unwrap();
        assert!(status.success() && program.exists(), "{} cannot be built", program.display());
    }
    program
}
