//! Driven time: only while something is called, and durable.

use super::*;
use hermes_workflows::executor::Clock;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Three agents after each other, in a budget of time.
fn plan(limit: Duration) -> Plan<(), String> {
    Plan::new("timed", move |_: Step<()>| {
        Budget::time(limit).scope("work", || {
            let first = agent("first").prompt("Go.").text();
            let second = agent("second").input("first", first).prompt("Go.").text();
            let go = ask("go").input("second", second).returns::<bool>();
            agent("third").input("go", go).prompt("Go.").text()
        })
    })
    .unwrap()
}

/// A runner that takes so long, by hand.
fn taking(hand: hermes_workflows::executor::ClockHand, seconds: u64) -> FnRunner {
    FnRunner::sync(move |call| {
        hand.advance(secs(seconds));
        Ok(AgentReply::text(call.path.as_str()))
    })
}

#[tokio::test]
async fn only_driven_time_counts_and_it_survives_the_process() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, taking(hand.clone(), 20));
    start(&executor, &plan(secs(60)), ()).await.waiting();
    assert_eq!(executor.spent_in(&run_id(), "work").unwrap().millis, 40_000);
    drop(executor);
    // A night passes.
    hand.advance(secs(40_000));
    let executor = store.executor_by(&clock, taking(hand.clone(), 30));
    answer(&executor, "work/go", &serde_json::json!(true)).await;
    // The last call was let finish: that it took longer than was left is recorded, and parks.
    let needs = resume(&executor, &plan(secs(60))).await.parked();
    assert_eq!(said(&needs[0]), ("work".to_owned(), Unit::Time, 60_000, 70_000, None));
    assert_eq!(needs[0].title, "its budget was 60s, and 70s were spent");
    drop(executor);
    let executor = store.executor_by(&clock, refuses());
    executor.raise(&run_id(), "work", Budget::time(secs(70))).await.unwrap();
    assert_eq!(resume(&executor, &plan(secs(60))).await.completed().0, "work/third");
}

#[tokio::test]
async fn once_it_is_over_no_other_call_begins_and_what_runs_is_let_finish() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, taking(hand.clone(), 20));
    let needs = start(&executor, &plan(secs(20)), ()).await.parked();
    let asks = ("work".to_owned(), Unit::Time, 20_000, 20_000, Some("work/second".to_owned()));
    assert_eq!(said(&needs[0]), asks);
    assert_eq!(needs[0].title, "its budget is 20s, 20s are spent, and `work/second` is to be called");
    hand.advance(secs(9999));
    drop(executor);
    let executor = store.executor_by(&clock, taking(hand.clone(), 20));
    assert_eq!(said(&resume(&executor, &plan(secs(20))).await.parked()[0]), asks);
    decide_all(&executor, raise(Budget::time(secs(100)))).await;
    resume(&executor, &plan(secs(20))).await.waiting();
    assert!(executor.ledger().verify().unwrap().is_empty());
}

#[tokio::test]
async fn calls_at_the_same_time_share_it_and_local_steps_take_it_too() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let plan = || {
        let plan = Plan::new("both", |_: Step<()>| {
            let both = parallel("both", ["a", "b"], |_| agent("wait").prompt("Go.").text()).all();
            step("local").input("both", both).run(|both| both.len())
        });
        plan.unwrap()
    };
    let together = Arc::new(tokio::sync::Barrier::new(2));
    let moved = hand.clone();
    let runner = FnRunner::new(move |call: AgentCall| {
        let (together, hand) = (Arc::clone(&together), moved.clone());
        async move {
            if together.wait().await.is_leader() {
                hand.advance(secs(10));
            }
            together.wait().await;
            Ok(AgentReply::text(call.path))
        }
    });
    let executor = store.executor_by(&clock, runner);
    start_with(&executor, &plan(), Budget::time(secs(60))).await.completed();
    assert_eq!(executor.spent(&run_id()).unwrap().millis, 10_000);

    // A local step is held like any call.
    let store = Store::new();
    let executor = store.executor_by(&clock, taking(hand, 60));
    let needs = start_with(&executor, &plan(), Budget::time(secs(60))).await.parked();
    assert_eq!((said(&needs[0]).1, needs.len()), (Unit::Time, 1));
    decide_all(&executor, raise(Budget::time(secs(600)))).await;
    assert_eq!(resume(&executor, &plan()).await.completed().0, 2);
}
