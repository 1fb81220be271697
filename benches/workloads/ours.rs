//! The same work through plans, executor and ledger.

use crate::{
    Measured,
    raw::{self, Row},
};
use hermes_workflows::{
    core::{ids::Seq, journal::HEADER_LEN},
    prelude::*,
};
use std::{path::Path, time::Instant};
use tokio::runtime::Runtime;

/// Bodies over this many bytes stand in a table of their own.
const INLINE: usize = 512;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime")
}

fn instant() -> FnRunner {
    FnRunner::sync(|_| Ok(AgentReply::text("done")))
}

fn executor(path: &Path, concurrency: usize) -> Executor {
    let ledger = Ledger::open(path).expect("a ledger");
    Executor::builder().ledger(ledger).runner(instant()).concurrency(concurrency).build()
}

/// The sizes of the rows that a run has, and of its head.
fn rows(executor: &Executor) -> (Vec<Row>, usize) {
    let id = RunId::new("w").expect("an id");
    let ledger = executor.ledger();
    let run = ledger.find(&id).expect("the ledger").expect("the run");
    let count = ledger.records(run).expect("the ledger");
    let rows = (1..=count).map(|seq| {
        let body = ledger.record(run, Seq(seq)).expect("a record").body.len();
        if body > INLINE {
            Row { inline: HEADER_LEN, spilled: body }
        } else {
            Row { inline: HEADER_LEN + body, spilled: 0 }
        }
    });
    let rows = rows.collect();
    let head = serde_json::to_vec(&ledger.head(&id).expect("the ledger")).expect("a head").len();
    (rows, head)
}

fn completed<O: Data + std::fmt::Debug>(
    executor: &Executor,
    plan: &Plan<u32, O>,
    input: u32,
) -> (O, Counts, f64) {
    runtime().block_on(async {
        let began = Instant::now();
        let run = executor.start(plan, input).id("w").await.expect("a run");
        match run.outcome().await.expect("an outcome") {
            Outcome::Completed(done) => (done.value, done.counts, began.elapsed().as_secs_f64()),
            other => panic!("{other:?}"),
        }
    })
}

/// W1: 1,000 dependent steps, each durable before the next. W1b: the same through an instant in-process agent.
pub(crate) fn chain(agents: bool) -> Measured {
    const STEPS: u32 = 1000;
    let plan = Plan::new("chain", move |start: Step<u32>| {
        let mut last = start.map(u32::to_string);
        for i in 0..STEPS {
            last = if agents {
                agent("a").key(i.to_string()).input("last", last).prompt("Go.").text()
            } else {
                step("s").key(i.to_string()).input("last", last).run(|last: &String| last.clone())
            };
        }
        last
    })
    .expect("a plan");
    let directory = tempfile::tempdir().expect("a directory");
    let executor = executor(&directory.path().join("ours.redb"), 16);
    let before = executor.ledger().stats().commits;
    let (_, _, seconds) = completed(&executor, &plan, 7);
    let commits = executor.ledger().stats().commits - before;
    let (rows, head) = rows(&executor);
    let raw = raw::commit(&directory.path().join("raw.redb"), &rows, 1, head);
    let per_step = rows.len() as f64 / f64::from(STEPS);
    Measured {
        ours: f64::from(STEPS) / seconds,
        raw: Some(rows.len() as f64 / raw / per_step),
        time: false,
        note: format!("commits={commits}"),
    }
}

/// W2: 10,000 items, 64 at once, joined in order; local steps (a) or agent calls (b).
pub(crate) fn fan_out(agents: bool) -> Measured {
    const ITEMS: u32 = 10_000;
    let plan = Plan::new("fan", move |count: Step<u32>| {
        let items = count.map(|count| (0..*count).collect::<Vec<u32>>());
        let all = parallel_each("each", items, |item| {
            if agents {
                agent("a").input("item", item).prompt("Go.").text()
            } else {
                step("s").input("item", item).run(|item: &u32| item.to_string())
            }
        })
        .limit(64)
        .all();
        all.map(|all: &Vec<String>| u32::try_from(all.len()).unwrap_or_default())
    })
    .expect("a plan");
    let directory = tempfile::tempdir().expect("a directory");
    let executor = executor(&directory.path().join("ours.redb"), 64);
    let before = executor.ledger().stats().commits;
    let (count, _, seconds) = completed(&executor, &plan, ITEMS);
    assert_eq!(count, ITEMS);
    let commits = executor.ledger().stats().commits - before;
    let rss = crate::disk::peak_rss_mib();
    let (rows, head) = rows(&executor);
    let raw64 = raw::commit(&directory.path().join("raw64.redb"), &rows, 64, head);
    let raw1024 = raw::commit(&directory.path().join("raw1024.redb"), &rows, 1024, head);
    let rate = f64::from(ITEMS) / seconds;
    Measured {
        ours: rate,
        raw: Some(f64::from(ITEMS) / raw64),
        time: false,
        note: format!(
            "raw1024={:.1} ratio1024={:.2} commits={commits} ours_rss={rss:.0}",
            f64::from(ITEMS) / raw1024,
            rate * raw1024 / f64::from(ITEMS),
        ),
    }
}

/// A finished run of `steps` agents and one at its end, opened and resumed.
struct Resumed {
    seconds: f64,
    /// How long the opening took of that.
    opened: f64,
    fingerprints: u64,
}

fn resumed<O: Data>(runtime: &Runtime, path: &Path, plan: &Plan<u32, O>, steps: u32) -> Resumed {
    let began = Instant::now();
    let executor = executor(path, 64);
    let opened = began.elapsed().as_secs_f64();
    let counts = runtime.block_on(async {
        let run = executor.resume(plan, "w").await.expect("a run");
        match run.outcome().await.expect("an outcome") {
            Outcome::Completed(done) => done.counts,
            _ => panic!("it has not completed"),
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!((counts.calls, counts.compared), (0, u64::from(steps) + 1));
    Resumed { seconds, opened, fingerprints: executor.fingerprints_compared() }
}

/// W3: a run of 10,000 finished agent steps with prompts of 1 KB, opened and resumed; every fingerprint is checked.
pub(crate) fn resume() -> Measured {
    const STEPS: u32 = 10_000;
    const PROMPT: usize = 1024;
    let fill = "x".repeat(PROMPT - 8);
    let plan = Plan::new("fan", move |count: Step<u32>| {
        let items = count.map(|count| (0..*count).collect::<Vec<u32>>());
        let all = parallel_each("each", items, move |item| {
            agent("a").input("item", item).prompt_with(move |item: &u32| format!("{fill}{item:>8}")).text()
        })
        .limit(64)
        .all();
        agent("end").input("all", all).prompt("End.").text()
    })
    .expect("a plan");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ours.redb");
    let first = executor(&path, 64);
    completed(&first, &plan, STEPS);
    let (rows, _) = rows(&first);
    drop(first);
    let runtime = runtime();
    // Each time anew, from opening the file on; the one in the middle counts.
    let mut resumes: Vec<_> = (0..5).map(|_| resumed(&runtime, &path, &plan, STEPS)).collect();
    resumes.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let Resumed { seconds, opened, fingerprints } = resumes.swap_remove(resumes.len() / 2);
    let raw = raw::scan(&directory.path().join("raw.redb"), &rows, PROMPT, STEPS as usize);
    Measured {
        ours: seconds * 1000.0,
        raw: Some(raw * 1000.0),
        time: true,
        note: format!("open={:.1} fingerprints={fingerprints}", opened * 1000.0),
    }
}

/// W6: building, checking and laying out a plan of 5,000 steps.
pub(crate) fn plan() -> Measured {
    const STEPS: u32 = 5000;
    let began = Instant::now();
    let plan = Plan::new("wide", |start: Step<u32>| {
        let steps: Vec<_> = (0..STEPS)
            .map(|i| agent("a").key(i.to_string()).input("start", start).prompt("Go.").text())
            .collect();
        join(steps)
    })
    .expect("a plan");
    let text = plan.layout().to_string();
    let seconds = began.elapsed().as_secs_f64();
    Measured {
        ours: seconds * 1000.0,
        raw: None,
        time: true,
        note: format!("nodes={} lines={}", plan.graph().len(), text.lines().count()),
    }
}
