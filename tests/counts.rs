//! What a run costs, by count: commits per step, fingerprints per resume, decodes of a shared input.

mod support;

use hermes_workflows::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use support::*;

fn chain(steps: u32, agents: bool) -> Plan<u32, String> {
    Plan::new("chain", move |start: Step<u32>| {
        let mut last = start.map(u32::to_string);
        for i in 0..steps {
            last = if agents {
                agent("a").key(i.to_string()).input("last", last).prompt("Go.").text()
            } else {
                step("s").key(i.to_string()).input("last", last).run(|last: &String| last.clone())
            };
        }
        last
    })
    .unwrap()
}

#[tokio::test]
async fn a_chain_of_1000_local_steps_makes_one_commit_a_step() {
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).build();
    start(&executor, &chain(1000, false), 7).await.completed();
    let stats = executor.ledger().stats();
    assert!(stats.commits <= 1003, "{} commits", stats.commits);
    assert_eq!(stats.rows, 1003, "the start, its names, a row a step, and the end");
}

#[tokio::test]
async fn a_chain_of_agents_makes_two_commits_a_step_at_most() {
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(echo().0).build();
    start(&executor, &chain(200, true), 7).await.completed();
    let stats = executor.ledger().stats();
    assert!(stats.commits <= 403, "{} commits", stats.commits);
    assert_eq!(stats.rows, 403);
}

#[tokio::test]
async fn a_wide_fan_out_groups_its_commits() {
    let plan = Plan::new("wide", |count: Step<u32>| {
        let items = count.map(|count| (0..*count).collect::<Vec<u32>>());
        parallel_each("each", items, |item| step("s").input("item", item).run(|item: &u32| item + 1))
            .limit(64)
            .all()
    })
    .unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).concurrency(64).build();
    let (value, _) = start(&executor, &plan, 2000).await.completed();
    assert_eq!(value, (1..=2000).collect::<Vec<u32>>());
    let stats = executor.ledger().stats();
    assert_eq!(stats.rows, 2004);
    assert!(stats.commits < 2004, "{} commits for {} rows", stats.commits, stats.rows);
}

#[tokio::test]
async fn a_resume_of_10_000_finished_steps_computes_10_000_fingerprints_and_writes_nothing() {
    let plan = Plan::new("many", |count: Step<u32>| {
        let items = count.map(|count| (0..*count).collect::<Vec<u32>>());
        let all = parallel_each("each", items, |item| {
            agent("a").input("item", item).prompt_with(|item: &u32| format!("Look at {item}.")).text()
        })
        .limit(64)
        .all();
        all.map(|all: &Vec<String>| all.len() as u32)
    })
    .unwrap();
    let executor =
        Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(echo().0).concurrency(64).build();
    assert_eq!(start(&executor, &plan, 10_000).await.completed().0, 10_000);
    let (before, compared) = (executor.ledger().stats(), executor.fingerprints_compared());
    let (_, counts) = resume(&executor, &plan).await.completed();
    assert_eq!(executor.fingerprints_compared() - compared, 10_000);
    assert_eq!((counts.calls, counts.reused), (0, 10_000));
    let after = executor.ledger().stats();
    assert_eq!((after.commits, after.rows), (before.commits, before.rows));
}

static DECODED: AtomicU64 = AtomicU64::new(0);

/// Counts how often it is decoded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Packet {
    text: String,
}

impl<'de> Deserialize<'de> for Packet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Plain {
            text: String,
        }
        DECODED.fetch_add(1, Ordering::SeqCst);
        Plain::deserialize(deserializer).map(|plain| Self { text: plain.text })
    }
}

#[tokio::test]
async fn an_input_that_many_steps_share_is_decoded_once() {
    let plan = Plan::new("shared", |packet: Step<Packet>| {
        let items = value((0..100).collect::<Vec<u32>>());
        parallel_each("each", items, |item| {
            let agent = agent("a").input("packet", packet).input("item", item);
            agent.prompt_with(|packet, item| format!("{} {item}", packet.text.len())).text()
        })
        .all()
    })
    .unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(echo().0).build();
    start(&executor, &plan, Packet { text: "x".repeat(1000) }).await.completed();
    assert_eq!(DECODED.load(Ordering::SeqCst), 1);
}
