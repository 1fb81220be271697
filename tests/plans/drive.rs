//! What becomes of a plan in a run: to its end undisturbed, and to the same end from what a crash leaves anywhere.

use crate::left::Left;
use fastrand::Rng;
use hermes_workflows::{
    executor::{
        Rehearsing,
        ledger::{CrashBackend, Loss, RedbStore},
        run_layout,
    },
    prelude::*,
};
use serde_json::Value;
use std::{collections::BTreeSet, fmt::Debug, ops::RangeInclusive, sync::Arc};

const RUN: &str = "r";

pub(crate) fn id() -> RunId {
    RunId::new(RUN).unwrap()
}

/// A plan, its input, who answers its agents, and what its people say to the question at a path.
pub(crate) struct Drive<I, O> {
    plan: Plan<I, O>,
    input: I,
    script: fn() -> Scripted,
    person: fn(&str) -> Value,
}

/// A run that has ended.
pub(crate) struct Ended<O> {
    pub(crate) value: O,
    pub(crate) counts: Counts,
    /// Whom it called, and with what.
    pub(crate) script: Scripted,
    /// The questions it asked, in the order of the answers.
    pub(crate) asked: Vec<String>,
    /// Its drawing.
    pub(crate) layout: String,
    disk: CrashBackend,
    /// From which sync on the file is a ledger, and how many there were.
    syncs: RangeInclusive<usize>,
}

/// One process: an executor over what it found, and what it did.
struct Process<'a, I, O> {
    drive: &'a Drive<I, O>,
    executor: Executor,
    asked: Vec<String>,
    /// What was in doubt.
    doubts: Vec<String>,
}

impl<I: Data, O: Data + Debug> Drive<I, O> {
    /// A run without questions; see [`Drive::person`].
    pub(crate) fn new(plan: Plan<I, O>, input: I, script: fn() -> Scripted) -> Self {
        Self { plan, input, script, person: |path| panic!("nobody expected to be asked {path}") }
    }

    /// Who answers the questions.
    pub(crate) fn person(mut self, person: fn(&str) -> Value) -> Self {
        self.person = person;
        self
    }

    /// The endings that a rehearsal of the plan does not come to, whatever its input, with some values given.
    pub(crate) async fn never_rehearsed(&self, given: impl FnOnce(Rehearsing) -> Rehearsing) -> Vec<String> {
        let rehearsing = AnyPlan::from(&self.plan).rehearse(Sampled).input(&self.input);
        let rehearsal = given(rehearsing).await.unwrap();
        println!("{rehearsal}");
        rehearsal.uncovered.iter().map(|uncovered| uncovered.ending.to_string()).collect()
    }

    /// The run, undisturbed.
    pub(crate) async fn runs(&self) -> Ended<O> {
        let disk = CrashBackend::new();
        let ledger = on(&disk);
        let laid_out = disk.syncs();
        let script = (self.script)();
        let mut process = self.process(ledger, script.clone());
        let (value, counts) = match process.drive_on(process.start().await).await {
            Ok(done) => done,
            Err(failure) => panic!("{failure}"),
        };
        assert!(process.executor.ledger().verify().unwrap().is_empty());
        assert_eq!(process.doubts, [""; 0]);
        let layout = run_layout(&process.executor, &self.plan, &id()).unwrap();
        let asked = process.asked;
        let syncs = laid_out..=disk.syncs();
        Ended { value, counts, script, asked, layout, disk, syncs }
    }

    /// The run, undisturbed; killed at so many random moments and resumed, each time to the same end; and resumed when it
    /// has ended.
    pub(crate) async fn survives(&self, kills: usize) -> Ended<O> {
        let whole = self.runs().await;
        for (sync, loss) in moments(kills, &whole.syncs) {
            self.goes_on(&whole.disk, sync, loss, (self.script)(), &whole.value).await;
        }
        self.replays(&on(&whole.disk), &whole.value).await;
        whole
    }

    /// The calls that a kill at some sync leaves in doubt; in each case the run comes to the same end.
    pub(crate) async fn doubts(&self) -> BTreeSet<String> {
        let whole = self.runs().await;
        let mut doubts = BTreeSet::new();
        for sync in whole.syncs.clone() {
            let process = self.goes_on(&whole.disk, sync, Loss::All, (self.script)(), &whole.value).await;
            doubts.extend(process.doubts);
        }
        doubts
    }

    /// The call at `path` fails once. The run fails there, and a retry comes to the end that it would have come to, without
    /// doing anything again that is done; also when it is killed at so many random moments.
    pub(crate) async fn recovers(&self, path: &str, kills: usize) {
        let expected = self.runs().await.value;
        let disk = CrashBackend::new();
        let ledger = on(&disk);
        let laid_out = disk.syncs();
        let script = failing(&(self.script)(), path);
        let mut process = self.process(ledger.clone(), script.clone());
        let failure = process.drive_on(process.start().await).await.expect_err("the call fails");
        assert_eq!((failure.path.as_str(), failure.class), (path, FailureClass::RunnerError), "{failure}");
        // Resumed, the failure stands and costs nothing.
        let called = script.calls().len();
        let run = process.executor.resume(&self.plan, RUN).await.unwrap();
        assert_eq!(process.drive_on(run).await.expect_err("the failure is reused"), failure);
        assert_eq!(script.calls().len(), called);

        let before = Left::of(&ledger);
        let run = process.executor.retry(&self.plan, RUN).await.unwrap();
        let (value, _) = process.drive_on(run).await.unwrap();
        assert_same(&value, &expected, "retried");
        before.stands(&script.calls()[called..], &[], &ledger);
        drop((process, ledger));
        for (sync, loss) in moments(kills, &(laid_out..=disk.syncs())) {
            self.goes_on(&disk, sync, loss, failing(&(self.script)(), path), &expected).await;
        }
        self.replays(&on(&disk), &expected).await;
    }

    /// Goes on from what a crash after `sync` left, to the same end; a failure is retried.
    async fn goes_on(
        &self,
        disk: &CrashBackend,
        sync: usize,
        loss: Loss,
        script: Scripted,
        expected: &O,
    ) -> Process<'_, I, O> {
        let when = format!("after sync {sync} of {}, {loss:?}", disk.syncs());
        let ledger = on(&CrashBackend::from_image(disk.image_at(sync, loss)));
        assert!(ledger.verify().unwrap().is_empty(), "{when}");
        let before = Left::of(&ledger);
        let mut process = self.process(ledger.clone(), script.clone());
        let mut run = process.start().await;
        let value = loop {
            match process.drive_on(run).await {
                Ok((value, _)) => break value,
                Err(failure) if failure.class == FailureClass::RunnerError => {
                    run = process.executor.retry(&self.plan, RUN).await.unwrap();
                }
                Err(failure) => panic!("{when}: {failure}"),
            }
        };
        assert_same(&value, expected, &when);
        before.stands(&script.calls(), &process.asked, &ledger);
        assert!(ledger.verify().unwrap().is_empty(), "{when}");
        let doubted: BTreeSet<_> = process.doubts.iter().cloned().collect();
        assert!(doubted.is_subset(&before.in_doubt), "{when}: {doubted:?} {:?}", before.in_doubt);
        process
    }

    /// Resumed with a runner that may not be called and a person who may not be asked, the run has the same end.
    async fn replays(&self, ledger: &Ledger, expected: &O) {
        let records = Left::of(ledger).records;
        let refuses = FnRunner::sync(|call| panic!("nothing may be called, and {} was", call.path));
        let executor = Executor::builder().ledger(ledger.clone()).runner(refuses).build();
        match executor.resume(&self.plan, RUN).await.unwrap().outcome().await.unwrap() {
            Outcome::Completed(done) => {
                assert_same(&done.value, expected, "replayed");
                assert_eq!(done.counts.calls, 0);
            }
            other => panic!("replayed, it ends in {other:?}"),
        }
        assert_eq!(Left::of(ledger).records, records, "a replay records nothing");
    }

    fn process(&self, ledger: Ledger, script: Scripted) -> Process<'_, I, O> {
        let executor =
            Executor::builder().ledger(ledger).runner(script).concurrency(8).crash_limit(None).build();
        Process { drive: self, executor, asked: Vec::new(), doubts: Vec::new() }
    }
}

impl<I: Data, O: Data + Debug> Process<'_, I, O> {
    async fn start(&self) -> Run<O> {
        self.executor.start(&self.drive.plan, self.drive.input.clone()).id(RUN).await.unwrap()
    }

    /// Answers what is asked, and lets calls in doubt be made again, until the run has ended.
    async fn drive_on(&mut self, mut run: Run<O>) -> Result<(O, Counts), Failure> {
        loop {
            let needs = match run.outcome().await.unwrap() {
                Outcome::Completed(done) => return Ok((done.value, done.counts)),
                Outcome::Failed(failure) => return Err(failure),
                Outcome::Waiting(needs) | Outcome::Parked(needs) => needs.list,
                Outcome::Cancelled(by) => panic!("cancelled by {by:?}"),
            };
            assert!(!needs.is_empty(), "it waits for nothing");
            for need in needs {
                match need.kind {
                    NeedKind::Review { .. } => {
                        let answer = (self.drive.person)(&need.path);
                        self.executor.answer(&id(), &need, &answer).await.unwrap();
                        self.asked.push(need.path);
                    }
                    NeedKind::InDoubt { .. } => {
                        self.executor.decide(&id(), &need, Decision::Retry).await.unwrap();
                        self.doubts.push(need.path);
                    }
                    other => panic!("nobody expected {}: {other:?}", need.path),
                }
            }
            run = self.executor.resume(&self.drive.plan, RUN).await.unwrap();
        }
    }
}

fn on(disk: &CrashBackend) -> Ledger {
    Ledger::on(Arc::new(RedbStore::on_backend(disk.clone()).unwrap()))
}

fn failing(script: &Scripted, path: &str) -> Scripted {
    script.clone().fail_once(path, RunnerError::new(RunnerErrorKind::Failed, "on order"))
}

/// The same stored value: what a user's types derive is theirs.
fn assert_same<O: Data>(value: &O, expected: &O, when: &str) {
    let json = |value: &O| serde_json::to_value(value).unwrap();
    assert_eq!(json(value), json(expected), "{when}");
}

/// Random moments to be killed at. The seed is printed, and `PLANS_SEED` repeats it.
fn moments(kills: usize, syncs: &RangeInclusive<usize>) -> Vec<(usize, Loss)> {
    let given = std::env::var("PLANS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("PLANS_SEED={seed}");
    let mut random = Rng::with_seed(seed);
    let moments = (0..kills).map(|_| {
        let loss = if random.bool() { Loss::All } else { Loss::Half(random.u64(..)) };
        (random.usize(syncs.clone()), loss)
    });
    moments.collect()
}

/// What a call was given under a name.
pub(crate) fn input<T: Data>(call: &AgentCall, name: &str) -> T {
    let (_, text) = call.inputs.iter().find(|(input, _)| input == name).unwrap();
    serde_json::from_str(text).unwrap()
}
