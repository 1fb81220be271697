//! Stalls: a call of which nothing is heard for too long is ended; what shows that it lives keeps it.

mod support;

use hermes_workflows::prelude::*;
use support::*;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn plan(stall: Duration, retry: Retry) -> Plan<(), String> {
    Plan::new("slow", move |_: Step<()>| {
        agent("slow").stall(stall).retry(retry).effect(Idempotent).prompt("Think.").text()
    })
    .unwrap()
}

/// Lives for ten seconds, and shows it in each of the first `signs`.
fn lives(signs: u64) -> FnRunner {
    FnRunner::watching(move |call, watch| async move {
        for second in 0..10 {
            tokio::select! {
                () = watch.cancelled() => return Err(RunnerError::new(RunnerErrorKind::Cancelled, "told to")),
                () = tokio::time::sleep(secs(1)) => {}
            }
            if second < signs {
                if second % 2 == 0 { watch.heartbeat() } else { watch.log("thinking") }
            }
        }
        Ok(AgentReply::text(format!("<{}>", call.path)))
    })
}

#[tokio::test(start_paused = true)]
async fn what_is_silent_for_too_long_is_ended_and_a_heartbeat_or_a_line_keeps_it() {
    for (signs, stalls) in [(10, false), (3, true), (0, true)] {
        let (store, clock) = (Store::new(), paused_clock());
        let plan = || plan(secs(5), Retry::never());
        let executor = store.executor_by(&clock, lives(signs));
        let outcome = start(&executor, &plan(), ()).await.unwrap();
        match outcome {
            Outcome::Completed(_) if !stalls => {}
            Outcome::Failed(failure) if stalls => {
                assert_eq!(
                    (failure.class, failure.message.as_str()),
                    (FailureClass::Stalled, "nothing was heard for 5s")
                );
            }
            other => panic!("{other:?}"),
        }
        drop(executor);
        // How long it may be silent is no part of what is compared.
        resume(&store.replayer(), &self::plan(secs(7), Retry::never())).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_stalled_call_is_tried_again_where_its_policy_says_so() {
    let (store, clock) = (Store::new(), paused_clock());
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::new(move |_| {
        let call = counted.add();
        async move {
            if call == 1 {
                std::future::pending::<()>().await;
            }
            Ok(AgentReply::text("done"))
        }
    });
    let plan = || plan(secs(5), Retry::attempts(2));
    let executor = store.executor_by(&clock, runner);
    assert_eq!(start(&executor, &plan(), ()).await.completed().0, "done");
    assert_eq!(calls.count(), 2);
    assert_eq!(kinds(executor.ledger())[2..], ["Started", "Delayed", "Started", "Succeeded", "Ended"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_silent_command_is_ended_with_all_below_it() {
    use hermes_workflows::{core::journal::Event, executor::carriers};
    let store = Store::new();
    let plan = Plan::new("silent", |_: Step<()>| {
        let script = "echo begun; setsid sh -c 'trap \"\" INT TERM; sleep 1000' & sleep 1000";
        command("c").shell(script).stall(Duration::from_millis(200)).stdout()
    })
    .unwrap();
    let executor = Executor::builder().ledger(store.open()).base_dir(store.directory()).build();
    let failure = start(&executor, &plan, ()).await.failed();
    assert_eq!(failure.class, FailureClass::Stalled);
    for record in records(executor.ledger()) {
        if let Ok(Event::Started(started)) = record.event() {
            assert!(carriers(&started.cookie).is_empty());
        }
    }
}

#[test]
fn a_silence_of_no_time_is_a_mistake_of_the_plan() {
    let errors =
        Plan::new("p", |_: Step<()>| agent("a").stall(Duration::ZERO).prompt("Go.").text()).unwrap_err();
    assert!(errors.to_string().contains("the silence that `a` is allowed is zero"), "{errors}");
}
