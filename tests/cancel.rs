//! Cancelling calls, and runs: down to the last process, at once where only time is waited for, and for good; what comes too
//! late is kept, and changes nothing.

#[cfg(target_os = "linux")]
#[path = "cancel/processes.rs"]
mod processes;
mod support;

use hermes_workflows::{
    core::{
        fold::RunStatus,
        ids::Seq,
        journal::{Event, Kind},
    },
    executor::{AttemptEnd, Clock, DecideError},
    prelude::*,
};
use std::sync::{Arc, Mutex, mpsc};
use support::*;

/// Two calls whose failures are values.
fn two() -> Plan<(), Vec<Option<String>>> {
    Plan::new("two", |_: Step<()>| {
        let names = value(vec!["a".to_owned(), "b".to_owned()]);
        parallel_each("each", names, |name| agent("call").input("name", name).prompt("Call.").text())
            .key_by(String::clone)
            .options()
    })
    .unwrap()
}

fn answers() -> Scripted {
    Scripted::new().otherwise(|call: &AgentCall| Ok(AgentReply::text(format!("<{}>", call.path))))
}

fn ada() -> Actor {
    Actor::claimed("ada")
}

/// Waits till a record of this kind, about this step, is durable.
async fn written(executor: &Executor, kind: Kind, path: &str) {
    let mut watch = executor.watch();
    let there = || {
        let ledger = executor.ledger();
        let state = ledger.find(&run_id()).unwrap().map(|run| ledger.state(run).unwrap());
        state.is_some_and(|state| {
            records(ledger)
                .iter()
                .any(|record| record.header.kind == kind && state.path(record.header.at).to_string() == path)
        })
    };
    while !there() {
        watch.next().await;
    }
}

#[tokio::test]
async fn one_call_is_cancelled_the_run_goes_on_and_a_retry_runs_it_again() {
    let store = Store::new();
    let runner = answers();
    let gate = runner.gate("each[*]/call");
    let executor = store.executor(runner.clone());
    let run = executor.start(&two(), ()).id("r").await.unwrap();
    gate.reached(2).await;
    let cancels = executor.cancel_step(&run_id(), "each[a]/call").by(ada()).why("too dear");
    assert_eq!(cancels.await.unwrap(), 1);
    gate.open();
    let (value, counts) = run.outcome().await.completed();
    assert_eq!((value, counts.failed), (vec![None, Some("<each[b]/call>".to_owned())], 1));
    let asked = records(executor.ledger()).into_iter().find_map(|record| match record.event().unwrap() {
        Event::CancelAsked(asked) => Some((asked.steps, asked.by, asked.why)),
        _ => None,
    });
    assert_eq!(asked, Some((Some("each[a]/call".to_owned()), ada(), Some("too dear".to_owned()))));
    let failure = records(executor.ledger()).into_iter().find_map(|record| match record.event().unwrap() {
        Event::Failed(failed) => Some(failed.failure),
        _ => None,
    });
    let failure = failure.unwrap();
    assert_eq!(
        (failure.class, failure.message.as_str()),
        (FailureClass::Cancelled, "cancelled by ada: too dear")
    );
    drop(executor);

    resume(&store.replayer(), &two()).await.completed();
    let (again, calls) = echo();
    let (value, _) = retry(&store.executor(again), &two()).await.completed();
    assert_eq!((value.iter().flatten().count(), calls.count()), (2, 1));
}

#[tokio::test]
async fn a_pattern_and_a_group_name_many_and_what_has_not_begun_is_among_them() {
    for (steps, count) in [("each[*]/call", 2), ("each", 2), ("each[b]", 1)] {
        let store = Store::new();
        let runner = answers();
        let gate = runner.gate("each[*]/call");
        // Only one begins: the other waits for its turn.
        let executor = Executor::builder().ledger(store.open()).runner(runner.clone()).concurrency(1).build();
        let run = executor.start(&two(), ()).id("r").await.unwrap();
        gate.reached(1).await;
        assert_eq!(executor.cancel_step(&run_id(), steps).await.unwrap(), count, "{steps}");
        gate.open();
        let (value, counts) = run.outcome().await.completed();
        assert_eq!((value.iter().flatten().count(), counts.failed), (2 - count, count as u64));
        assert_eq!(runner.calls().len(), 1, "what had not begun did not begin: {steps}");
        drop(executor);
        resume(&store.replayer(), &two()).await.completed();
        let (again, calls) = echo();
        retry(&store.executor(again), &two()).await.completed();
        assert_eq!(calls.count(), count as u64);
    }
}

#[tokio::test]
async fn what_is_not_under_way_cannot_be_cancelled() {
    let store = Store::new();
    let executor = store.executor(answers());
    let missing = executor.cancel_step(&run_id(), "each").await;
    assert!(matches!(missing, Err(DecideError::NoSuchRun(_))), "{missing:?}");
    start(&executor, &two(), ()).await.completed();
    let ended = executor.cancel_step(&run_id(), "each").await;
    assert!(matches!(ended, Err(DecideError::Ended(_))), "{ended:?}");
    let wrong = executor.cancel_step(&run_id(), "[").await;
    assert!(matches!(wrong, Err(DecideError::NotAPath { .. })), "{wrong:?}");

    let asks = Plan::new("asks", |_: Step<()>| ask("go").returns::<bool>()).unwrap();
    executor.start(&asks, ()).id("s").await.unwrap().outcome().await.waiting();
    let written = executor.ledger().runs().unwrap()[1].records;
    let none = executor.cancel_step(&RunId::new("s").unwrap(), "go").await.unwrap_err();
    assert!(none.to_string().contains("no call of run `s` named `go` is under way"), "{none}");
    assert_eq!(executor.ledger().runs().unwrap()[1].records, written);
}

#[tokio::test]
async fn of_a_hundred_and_two_calls_the_cancelled_one_is_made_again() {
    let store = Store::new();
    let plan = || {
        Plan::new("many", |_: Step<()>| {
            let all = value((0..102).collect::<Vec<u32>>());
            parallel_each("each", all, |n| agent("call").input("n", n).prompt("Call.").text()).options()
        })
        .unwrap()
    };
    let runner = answers();
    let gate = runner.gate("each[7]/call");
    let executor = store.executor(runner);
    let run = executor.start(&plan(), ()).id("r").await.unwrap();
    gate.reached(1).await;
    executor.cancel_step(&run_id(), "each[7]/call").await.unwrap();
    assert_eq!(run.outcome().await.completed().0.iter().flatten().count(), 101);
    drop(executor);
    let (again, calls) = echo();
    let (value, counts) = retry(&store.executor(again), &plan()).await.completed();
    assert_eq!((value.iter().flatten().count(), calls.count(), counts.reused), (102, 1, 101));
}

/// Fails once, then waits an hour for its next attempt.
fn waiting() -> Plan<(), Option<String>> {
    Plan::new("waits", |_: Step<()>| {
        let hour = Duration::from_secs(3600);
        let retry = Retry::attempts(2).first_delay(hour).longest_delay(hour);
        catch("calm", || agent("call").retry(retry).prompt("Call.").text().map(|text| Some(text.clone())))
            .or_else(|_| value(None))
    })
    .unwrap()
}

#[tokio::test]
async fn a_wait_for_the_next_attempt_is_cancelled_at_once() {
    let (clock, _hand) = Clock::by_hand(second(0));
    let fails = || FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no")));
    // The step, while the run is driven. The hand never moves.
    let store = Store::new();
    let executor = store.executor_by(&clock, fails());
    let run = executor.start(&waiting(), ()).id("r").await.unwrap();
    written(&executor, Kind::Delayed, "calm/call").await;
    let left: Vec<Ledger> = after_each_record(executor.ledger()).collect();
    assert_eq!(executor.cancel_step(&run_id(), "calm/call").by(ada()).await.unwrap(), 1);
    assert_eq!(run.outcome().await.completed().0, None);
    let attempts = executor.attempts(&run_id(), "calm/call").unwrap();
    assert_eq!(attempts.len(), 1, "that no other follows is no attempt: {attempts:?}");
    drop(executor);
    resume(&store.replayer(), &waiting()).await.completed();

    // The run.
    let store = Store::new();
    let executor = store.executor_by(&clock, fails());
    let run = executor.start(&waiting(), ()).id("r").await.unwrap();
    written(&executor, Kind::Delayed, "calm/call").await;
    executor.cancel(&run_id(), ada()).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled(by) if by == ada()));
    drop(executor);
    assert!(matches!(resume(&store.replayer(), &waiting()).await.unwrap(), Outcome::Cancelled(_)));
    let (again, calls) = echo();
    let (value, _) = retry(&store.executor_by(&clock, again), &waiting()).await.completed();
    assert_eq!((value.as_deref(), calls.count()), (Some("<calm/call>"), 1));

    // Nobody drives it, and nothing of the plan is here.
    for (ledger, steps) in left.into_iter().rev().zip([Some("calm/call"), Some("calm"), None]) {
        let over = |runner: FnRunner| {
            Executor::builder().ledger(ledger.clone()).runner(runner).clock(clock.clone()).build()
        };
        if let Some(steps) = steps {
            assert_eq!(over(refuses()).cancel_step(&run_id(), steps).by(ada()).await.unwrap(), 1);
            assert_eq!(resume(&over(refuses()), &waiting()).await.completed().0, None);
        } else {
            over(refuses()).cancel(&run_id(), ada()).await.unwrap();
            let outcome = resume(&over(refuses()), &waiting()).await.unwrap();
            assert!(matches!(outcome, Outcome::Cancelled(_)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_runner_is_cancelled_at_once_too() {
    let clock = paused_clock();
    let closed = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&closed);
    // The one that goes ahead when the window ends never comes back.
    let runner = FnRunner::new(move |call| {
        let seen = Arc::clone(&seen);
        async move {
            if call.attempt == 1 {
                return Err(RunnerError::rate_limited("429").retry_after(Duration::from_secs(1)));
            }
            seen.lock().unwrap().push(call.path.clone());
            std::future::pending::<Result<AgentReply, RunnerError>>().await
        }
    });
    let executor =
        Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).clock(clock).build();
    let run = executor.start(&two(), ()).id("r").await.unwrap();
    let mut watch = executor.watch();
    while kinds(executor.ledger()).iter().filter(|kind| *kind == "Started").count() < 3 {
        watch.next().await;
    }
    assert_eq!(executor.cancel_step(&run_id(), "each").await.unwrap(), 2);
    assert_eq!(run.outcome().await.completed().0, [None, None]);
}

/// A runner that answers when it is told to end, and not before.
fn too_late() -> FnRunner {
    FnRunner::watching(|call, watch| async move {
        watch.cancelled().await;
        Ok(AgentReply::text(format!("late <{}>", call.path)))
    })
}

fn late(executor: &Executor, path: &str) -> Option<Seq> {
    executor.attempts(&run_id(), path).unwrap().iter().find_map(|attempt| attempt.late)
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_kept_changes_nothing_and_can_be_taken() {
    let store = Store::new();
    let executor = store.executor(too_late());
    let run = executor.start(&two(), ()).id("r").await.unwrap();
    written(&executor, Kind::Started, "each[a]/call").await;
    written(&executor, Kind::Started, "each[b]/call").await;
    assert_eq!(executor.cancel_step(&run_id(), "each").by(ada()).await.unwrap(), 2);
    assert_eq!(run.outcome().await.completed().0, [None, None]);
    let attempts = executor.attempts(&run_id(), "each[a]/call").unwrap();
    assert_eq!((attempts.len(), attempts[0].ended), (1, AttemptEnd::Failed));
    let seq = late(&executor, "each[a]/call").unwrap();
    assert!(executor.ledger().verify().unwrap().is_empty());
    drop(executor);

    assert_eq!(resume(&store.replayer(), &two()).await.completed().0, [None, None]);
    let executor = store.replayer();
    let wrong = executor.restore(&run_id(), "each[b]/call", seq).await;
    assert!(matches!(wrong, Err(DecideError::NotItsOutcome { .. })), "{wrong:?}");
    executor.restore(&run_id(), "each[a]/call", seq).by(ada()).await.unwrap();
    let (value, _) = resume(&executor, &two()).await.completed();
    assert_eq!(value, [Some("late <each[a]/call>".to_owned()), None]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_timeout_is_late_too_also_where_another_attempt_follows() {
    let (store, clock) = (Store::new(), paused_clock());
    let plan = || {
        Plan::new("slow", |_: Step<()>| {
            let (limit, retry) = (Duration::from_secs(5), Retry::attempts(2));
            agent("slow").timeout(limit).retry(retry).prompt("Think.").text()
        })
        .unwrap()
    };
    let executor = store.executor_by(&clock, too_late());
    let failure = start(&executor, &plan(), ()).await.failed();
    assert_eq!(failure.class, FailureClass::TimedOut);
    let attempts = executor.attempts(&run_id(), "slow").unwrap();
    assert!(attempts.len() == 2 && attempts.iter().all(|attempt| attempt.late.is_some()), "{attempts:?}");
    let second = attempts[1].late.unwrap();
    assert!(attempts[0].late.unwrap() < second);
    drop(executor);
    let executor = store.executor_by(&clock, refuses());
    executor.restore(&run_id(), "slow", second).await.unwrap();
    assert_eq!(resume(&executor, &plan()).await.completed().0, "late <slow>");
}

/// A blocking step that waits to be let go, and one after it that is not.
struct Blocking {
    plan: Plan<(), (Option<u32>, u32)>,
    begun: tokio::sync::mpsc::UnboundedReceiver<()>,
    release: mpsc::Sender<()>,
}

fn blocking(timeout: Option<Duration>) -> Blocking {
    let (release, released) = mpsc::channel();
    let (begins, begun) = tokio::sync::mpsc::unbounded_channel();
    let released = Arc::new(Mutex::new(released));
    let plan = Plan::new("blocks", move |_: Step<()>| {
        let (released, begins) = (Arc::clone(&released), begins.clone());
        let calm = catch("calm", || {
            let slow = step("slow");
            let slow = match timeout {
                Some(timeout) => slow.timeout(timeout),
                None => slow,
            };
            slow.run(move || {
                begins.send(()).unwrap();
                released.lock().unwrap().recv().unwrap();
                7_u32
            })
            .map(|seven| Some(*seven))
        })
        .or_else(|_| value(None));
        let next = step("next").after(calm).run(|| 1_u32);
        join((calm, next))
    })
    .unwrap();
    Blocking { plan, begun, release }
}

#[tokio::test]
async fn a_thread_that_returns_too_late_leaves_its_value_and_has_kept_its_place() {
    for timeout in [Some(Duration::from_millis(20)), None] {
        let store = Store::new();
        let Blocking { plan, mut begun, release } = blocking(timeout);
        let executor = Executor::builder().ledger(store.open()).concurrency(1).build();
        let run = executor.start(&plan, ()).id("r").await.unwrap();
        begun.recv().await.unwrap();
        if timeout.is_none() {
            assert_eq!(executor.cancel_step(&run_id(), "calm/slow").await.unwrap(), 1);
        }
        written(&executor, Kind::Failed, "calm/slow").await;
        // The thread has the only place.
        assert!(!kinds(executor.ledger()).contains(&"Succeeded".to_owned()));
        release.send(()).unwrap();
        assert_eq!(run.outcome().await.completed().0, (None, 1));
        written(&executor, Kind::Late, "calm/slow").await;
        let seq = late(&executor, "calm/slow").unwrap();
        executor.restore(&run_id(), "calm/slow", seq).await.unwrap();
        assert_eq!(resume(&executor, &plan).await.completed().0, (Some(7), 1));
        drop(executor);
        let again = blocking(timeout).plan;
        assert_eq!(resume(&store.replayer(), &again).await.completed().0, (Some(7), 1));
    }
}

#[tokio::test]
async fn a_run_that_somebody_has_cancelled_never_ends_as_anything_else() {
    // The last call succeeds at the same moment, sooner or later.
    for yields in 0..24 {
        let store = Store::new();
        let runner = answers();
        let gate = runner.gate("call");
        let plan = Plan::new("one", |_: Step<()>| agent("call").prompt("Call.").text()).unwrap();
        let executor = store.executor(runner);
        let run = executor.start(&plan, ()).id("r").await.unwrap();
        gate.reached(1).await;
        let cancels = async {
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            executor.cancel(&run_id(), ada()).await
        };
        gate.open();
        let (outcome, cancelled) = tokio::join!(run.outcome(), cancels);
        let outcome = outcome.unwrap();
        match &cancelled {
            Ok(()) => assert!(matches!(outcome, Outcome::Cancelled(_)), "{yields}: {outcome:?}"),
            Err(DecideError::Ended(_)) => assert!(matches!(outcome, Outcome::Completed(_)), "{outcome:?}"),
            Err(error) => panic!("{error}"),
        }
        drop(executor);
        let again = resume(&store.replayer(), &plan).await.unwrap();
        assert_eq!(matches!(again, Outcome::Cancelled(_)), cancelled.is_ok());
    }
}

#[tokio::test]
async fn after_a_crash_in_between_it_is_cancelled_all_the_same() {
    let store = Store::new();
    let executor = store.executor(too_late());
    let run = executor.start(&two(), ()).id("r").await.unwrap();
    written(&executor, Kind::Started, "each[b]/call").await;
    executor.cancel(&run_id(), ada()).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled(_)));
    let whole = executor.ledger().clone();
    let asked = kinds(&whole).iter().position(|kind| kind == "CancelAsked").unwrap();
    for left in after_each_record(&whole).skip(asked) {
        assert_eq!(left.head(&run_id()).unwrap().unwrap().status, RunStatus::Cancelled);
        let executor = Executor::builder().ledger(left.clone()).runner(refuses()).build();
        assert!(matches!(executor.cancel_step(&run_id(), "each").await, Err(DecideError::Ended(_))));
        let outcome = start(&executor, &two(), ()).await.unwrap();
        assert!(matches!(outcome, Outcome::Cancelled(by) if by == ada()));
        assert!(left.verify().unwrap().is_empty());
        // A retry goes on as always.
        let (again, calls) = echo();
        let executor = Executor::builder().ledger(left).runner(again).build();
        retry(&executor, &two()).await.completed();
        assert_eq!(calls.count(), 2);
    }

    // The same for one step.
    let store = Store::new();
    let executor = store.executor(too_late());
    let run = executor.start(&two(), ()).id("r").await.unwrap();
    written(&executor, Kind::Started, "each[b]/call").await;
    executor.cancel_step(&run_id(), "each[*]/call").by(ada()).await.unwrap();
    run.outcome().await.completed();
    let whole = executor.ledger().clone();
    let asked = kinds(&whole).iter().position(|kind| kind == "CancelAsked").unwrap();
    for left in after_each_record(&whole).skip(asked) {
        let executor = Executor::builder().ledger(left).runner(refuses()).build();
        assert_eq!(start(&executor, &two(), ()).await.completed().0, [None, None]);
    }
}
