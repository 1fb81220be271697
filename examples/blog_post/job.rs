//! The job: starts the run or goes on with it, sees to its questions, and writes the post.

use crate::{
    answers::Answers,
    notes_file,
    options::{HOUSE_WRITER, Options},
    plan::blog_post,
    post_file::{self, absolute},
    progress::watched,
    report,
    screen::line,
};
use hermes_workflows::{
    executor::{DecideError, DriveError, LedgerError, Watch, run_layout},
    prelude::*,
};
use std::{cell::RefCell, collections::BTreeSet, path::Path};

/// It failed; `--retry` goes on.
pub(crate) const FAILED: u8 = 1;
/// What was asked for cannot be.
pub(crate) const USAGE: u8 = 2;
const WRITTEN: u8 = 0;
const WAITING: u8 = 3;
const PARKED: u8 = 4;

/// Why the job ends early: the exit code, and what to say.
pub(crate) struct Trouble {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl Trouble {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

macro_rules! failing {
    ($($error:ty),*) => {
        $(impl From<$error> for Trouble {
            fn from(error: $error) -> Self {
                Self::new(FAILED, error.to_string())
            }
        })*
    };
}
failing!(DriveError, LedgerError, DecideError, PlanErrors);

/// Does the job, and gives the exit code.
pub(crate) async fn run(options: Options) -> Result<u8, Trouble> {
    let usage = |message: String| Trouble::new(USAGE, message);
    let id = RunId::new(options.run_id()).map_err(|error| usage(error.to_string()))?;
    let notes = notes_file::read(&options.notes).map_err(usage)?;
    let out = options.out();
    post_file::check(&out, &options.notes, &options.ledger).map_err(usage)?;
    let plan = Plan::new("blog-post", blog_post)?;
    let executor = executor(&options.ledger)?;
    let job = Job {
        options: &options,
        executor: &executor,
        plan: &plan,
        id: &id,
        notes,
        decided: RefCell::default(),
    };
    job.finish(&out).await
}

fn executor(ledger: &Path) -> Result<Executor, Trouble> {
    let own = std::env::current_exe().map_err(|error| {
        Trouble::new(FAILED, format!("this program cannot find itself to start the house writer: {error}"))
    })?;
    Ok(Executor::builder()
        .ledger(Ledger::open(ledger)?)
        .runner(Subprocess::new(own).arg(HOUSE_WRITER).name("house-writer"))
        .crash_limit(None)
        .build())
}

struct Job<'a> {
    options: &'a Options,
    executor: &'a Executor,
    plan: &'a Plan<String, String>,
    id: &'a RunId,
    notes: String,
    /// The paths whose `--decide` was used.
    decided: RefCell<BTreeSet<String>>,
}

impl Job<'_> {
    async fn finish(&self, out: &Path) -> Result<u8, Trouble> {
        let mut watch = self.executor.watch();
        let calls_before = self.calls()?;
        line(&format!("run: {}", self.id));
        let used = RefCell::default();
        let answers = Answers { executor: self.executor, id: self.id, options: self.options, used };
        let mut reused = None;
        let mut may_retry = self.options.retry;
        let mut run = self.start().await?;
        let code = loop {
            match self.outcome(run, &mut watch).await? {
                Outcome::Completed(done) => {
                    post_file::write(out, &done.value).map_err(|message| Trouble::new(FAILED, message))?;
                    let calls = self.calls()? - calls_before;
                    self.report(out, reused.unwrap_or(done.counts.reused), calls)?;
                    break WRITTEN;
                }
                Outcome::Waiting(needs) => {
                    reused.get_or_insert(needs.counts.reused);
                    if answers.give(&needs.list).await? == 0 {
                        report::waiting(self.executor, self.id, &needs.list)?;
                        break WAITING;
                    }
                    run = self.executor.resume(self.plan, self.id.as_str()).await?;
                }
                Outcome::Parked(needs) => {
                    reused.get_or_insert(needs.counts.reused);
                    if self.decide(&needs.list).await? == 0 {
                        report::parked(self.id, &needs.list);
                        break PARKED;
                    }
                    run = self.start().await?;
                }
                Outcome::Failed(_) | Outcome::Cancelled(_) if may_retry => {
                    may_retry = false;
                    run = self.executor.retry(self.plan, self.id.as_str()).await?;
                }
                Outcome::Failed(failure) => {
                    line(&format!("failed: {failure}"));
                    line("the same command with --retry goes on from here");
                    break FAILED;
                }
                Outcome::Cancelled(_) => {
                    line(
                        "cancelled: somebody cancelled this run; the same command with --retry goes on from here",
                    );
                    break FAILED;
                }
            }
        };
        answers.warn_of_unused();
        for (path, _) in &self.options.decisions {
            if !self.decided.borrow().contains(path) {
                eprintln!("warning: nothing is to be decided at `{path}`; its --decide was not used");
            }
        }
        Ok(code)
    }

    async fn start(&self) -> Result<Run<String>, Trouble> {
        Ok(self.executor.start(self.plan, self.notes.clone()).id(self.id.as_str()).await?)
    }

    async fn outcome(&self, run: Run<String>, watch: &mut Watch) -> Result<Outcome<String>, Trouble> {
        Ok(watched(run, watch).await?)
    }

    /// How many calls of agents have begun in this run, ever.
    fn calls(&self) -> Result<u64, Trouble> {
        Ok(self.executor.ledger().head(self.id)?.map_or(0, |head| head.calls))
    }

    /// Makes the decisions of the command line; says how many.
    async fn decide(&self, needs: &[Need]) -> Result<usize, Trouble> {
        let mut made = 0;
        for need in needs.iter().filter(|need| !matches!(need.kind, NeedKind::Review { .. })) {
            if let Some((_, decision)) = self.options.decisions.iter().find(|(path, _)| *path == need.path) {
                self.executor
                    .decide(self.id, need, decision.clone())
                    .by(Actor::default().through("command line"))
                    .await?;
                line(&format!("decided: {}: {decision:?}", need.path));
                self.decided.borrow_mut().insert(need.path.clone());
                made += 1;
            }
        }
        Ok(made)
    }

    fn report(&self, out: &Path, reused: u64, calls: u64) -> Result<(), Trouble> {
        line(&run_layout(self.executor, self.plan, self.id)?);
        line(&format!("post: {}", absolute(out).display()));
        line(&format!("ledger: {}", absolute(&self.options.ledger).display()));
        line(&format!("reused {reused} steps, {calls} agent calls"));
        Ok(())
    }
}
