//! Waits: a moment that is fixed once, at no cost; over when it has come, and then for good. The clock moves by hand.

mod support;

use hermes_workflows::{
    core::journal::Event,
    executor::{Clock, run_layout},
    prelude::*,
};
use support::*;
use tokio::sync::{mpsc, oneshot};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Waits between two calls; yields the moment that it waited for.
fn plan(seconds: u64) -> Plan<String, (Timestamp, String)> {
    Plan::new("reminder", move |who: Step<String>| {
        let told = agent("tell").input("who", who).prompt("Tell them.").text();
        let later = wait("later").after(told).for_(secs(seconds));
        let reminded = agent("remind").input("told", told).prompt("Remind them.").after(later).text();
        join((later, reminded))
    })
    .unwrap()
}

/// What a run that only waits for time waits for.
#[track_caller]
fn until<O: std::fmt::Debug>(outcome: Outcome<O>) -> Timestamp {
    match outcome {
        Outcome::Waiting(needs) => {
            assert!(needs.list.is_empty(), "{needs:?}");
            needs.until.expect("a moment")
        }
        other => panic!("expected a run that waits for its time, got {other:?}"),
    }
}

#[tokio::test]
async fn a_wait_costs_nothing_till_its_moment_and_a_resume_goes_on_after_it() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let (runner, calls) = echo();
    let executor = store.executor_by(&clock, runner);
    assert_eq!(until(start(&executor, &plan(60), "ada".to_owned()).await.unwrap()), second(60));
    assert_eq!(kinds(executor.ledger())[2..], ["Started", "Succeeded", "Timed"]);
    drop(executor);

    // The process may end; another one looks too early, and writes nothing.
    let executor = store.executor_by(&clock, refuses());
    hand.set(second(59));
    assert_eq!(until(resume(&executor, &plan(60)).await.unwrap()), second(60));
    assert_eq!(kinds(executor.ledger()).len(), 5);
    drop(executor);

    hand.set(second(60));
    let (runner, later) = echo();
    let executor = store.executor_by(&clock, runner);
    let ((at, text), counts) = resume(&executor, &plan(60)).await.completed();
    assert_eq!((at, text.as_str()), (second(60), "<remind>"));
    assert_eq!((calls.count(), later.count(), counts.ok), (1, 1, 3));
    assert_eq!(kinds(executor.ledger())[5..], ["Succeeded", "Started", "Succeeded", "Ended"]);
    drop(executor);
    let (_, counts) = resume(&store.replayer(), &plan(60)).await.completed();
    assert_eq!(counts.reused, 3);
}

#[tokio::test]
async fn a_plan_that_would_choose_another_moment_changes_nothing() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, echo().0);
    until(start(&executor, &plan(60), "ada".to_owned()).await.unwrap());
    assert_eq!(until(resume(&executor, &plan(7)).await.unwrap()), second(60));
    hand.set(second(60));
    assert_eq!(resume(&executor, &plan(7)).await.completed().0.0, second(60));
    // Nor once it is over.
    assert_eq!(resume(&executor, &plan(3600)).await.completed().0.0, second(60));
}

#[tokio::test]
async fn a_clock_that_is_set_back_takes_nothing_back() {
    // An ask holds the run open after the wait is over.
    let plan = Plan::new("back", |_: Step<()>| {
        let waited = wait("waited").for_(secs(60));
        let go = ask("go").after(waited).returns::<bool>();
        let again = wait("again").after(go).for_(secs(10));
        join((waited, again))
    })
    .unwrap();
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    until(start(&executor, &plan, ()).await.unwrap());
    hand.set(second(60));
    assert_eq!(resume(&executor, &plan).await.waiting()[0].path, "go");
    drop(executor);

    hand.set(second(1));
    let executor = store.executor_by(&clock, refuses());
    assert_eq!(resume(&executor, &plan).await.waiting()[0].path, "go");
    answer(&executor, "go", &true.into()).await;
    // The run's time is that of its last record, whatever the clock says.
    assert_eq!(until(resume(&executor, &plan).await.unwrap()), second(70));
    hand.set(second(70));
    assert_eq!(resume(&executor, &plan).await.completed().0, (second(60), second(70)));
}

#[tokio::test]
async fn a_moment_that_a_step_yields_is_waited_for_and_one_that_has_passed_is_over_at_once() {
    let plan = Plan::new("embargo", |lifted: Step<Timestamp>| {
        let lifted = wait("lifted").until(lifted);
        agent("publish").input("at", lifted).prompt_with(|at| format!("Publish at {at}.")).text()
    })
    .unwrap();
    let (clock, hand) = Clock::by_hand(second(100));
    let runner = || FnRunner::sync(|call| Ok(AgentReply::text(call.text.clone())));
    let store = Store::new();
    let executor = store.executor_by(&clock, runner());
    assert_eq!(
        start(&executor, &plan, second(99)).await.completed().0,
        "Publish at 1970-01-01T00:18:19.000Z."
    );

    let store = Store::new();
    let executor = store.executor_by(&clock, runner());
    assert_eq!(until(start(&executor, &plan, second(101)).await.unwrap()), second(101));
    hand.set(second(102));
    assert!(resume(&executor, &plan).await.completed().0.contains("18:21"));
}

#[tokio::test]
async fn an_agent_that_names_no_moment_fails_and_one_that_does_is_understood() {
    let plan = Plan::new("when", |_: Step<()>| {
        wait("then").until(agent("when").prompt("When?").returns::<Timestamp>())
    })
    .unwrap();
    let (clock, _hand) = Clock::by_hand(second(0));
    let says = |when: &'static str| FnRunner::sync(move |_| Ok(AgentReply::json(when.into())));
    let executor = Store::new().executor_by(&clock, says("tomorrow"));
    let failure = start(&executor, &plan, ()).await.failed();
    assert_eq!(failure.class, FailureClass::InvalidOutput);
    assert!(failure.message.contains("`tomorrow` is no moment"), "{failure}");
    let executor = Store::new().executor_by(&clock, says("1970-01-01T02:00:00+01:00"));
    assert_eq!(until(start(&executor, &plan, ()).await.unwrap()).to_string(), "1970-01-01T01:00:00.000Z");
}

#[tokio::test]
async fn waits_hold_no_place_in_a_limit() {
    let plan = Plan::new("polite", |names: Step<Vec<String>>| {
        parallel_each("each", names, |name| {
            let first = agent("first").input("name", name).prompt("Ask.").text();
            let pause = wait("pause").after(first).for_(secs(60));
            agent("second").input("first", first).prompt("Ask again.").after(pause).text()
        })
        .limit(1)
        .all()
    })
    .unwrap();
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let (runner, calls) = echo();
    let executor = store.executor_by(&clock, runner);
    let names = ["x", "y", "z"].map(str::to_owned).to_vec();
    until(start(&executor, &plan, names).await.unwrap());
    assert_eq!(calls.count(), 3, "all three wait at once, one place or not");
    hand.advance(secs(60));
    resume(&executor, &plan).await.completed();
    assert_eq!(calls.count(), 6);
}

/// Waits until a record of this kind was seen.
async fn seen(watch: &mut hermes_workflows::executor::Watch, kind: hermes_workflows::core::journal::Kind) {
    while let Some(seen) = watch.next().await {
        if matches!(seen, Seen::Event(event) if event.kind == kind) {
            return;
        }
    }
}

#[tokio::test]
async fn settled_stays_till_the_moment_and_goes_on() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, echo().0);
    let mut watch = executor.watch();
    let run = executor.start(&plan(60), "ada".to_owned()).id("r").await.unwrap();
    let clock_moves = async {
        seen(&mut watch, hermes_workflows::core::journal::Kind::Timed).await;
        hand.advance(secs(59));
        hand.advance(secs(1));
    };
    let (outcome, ()) = tokio::join!(run.settled(), clock_moves);
    assert_eq!(outcome.completed().0.0, second(60));
    // A run that waits already is taken up too.
    let store = Store::new();
    let executor = store.executor_by(&clock, echo().0);
    until(start(&executor, &plan(60), "ada".to_owned()).await.unwrap());
    let run = executor.resume(&plan(60), "r").await.unwrap();
    let (outcome, ()) = tokio::join!(run.settled(), async { hand.advance(secs(60)) });
    outcome.completed();
}

#[tokio::test]
async fn settled_is_moved_on_by_an_answer_and_ends_when_only_people_are_left() {
    let plan = Plan::new("both", |_: Step<()>| {
        let waited = wait("waited").for_(secs(60));
        let (one, two) = (ask("one").returns::<bool>(), ask("two").returns::<bool>());
        let after_one = step("after_one").input("one", one).run(|one| *one);
        join((waited, after_one, two))
    })
    .unwrap();
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    let mut watch = executor.watch();
    let run = executor.start(&plan, ()).id("r").await.unwrap();
    let happens = async {
        seen(&mut watch, hermes_workflows::core::journal::Kind::Timed).await;
        while executor.question(&run_id(), "one").is_err() {
            watch.next().await;
        }
        answer(&executor, "one", &true.into()).await;
        seen(&mut watch, hermes_workflows::core::journal::Kind::Succeeded).await;
        hand.advance(secs(60));
    };
    let (outcome, ()) = tokio::join!(run.settled(), happens);
    let Ok(Outcome::Waiting(needs)) = outcome else { panic!("{outcome:?}") };
    assert_eq!((needs.list.len(), needs.list[0].path.as_str(), needs.until), (1, "two", None));
    let paths = |record: &hermes_workflows::core::journal::Record| match record.event().unwrap() {
        Event::Succeeded(_) => Some(record.header.time),
        _ => None,
    };
    let times: Vec<_> = records(executor.ledger()).iter().filter_map(paths).collect();
    assert_eq!(times, [second(0).millis(), second(60).millis()], "the answer moved it on before the moment");
}

#[tokio::test]
async fn whoever_gives_up_on_settled_lets_the_drive_end() {
    let store = Store::new();
    let (clock, _hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, echo().0);
    let mut watch = executor.watch();
    let run = executor.start(&plan(60), "ada".to_owned()).id("r").await.unwrap();
    tokio::select! {
        outcome = run.settled() => panic!("{outcome:?}"),
        () = seen(&mut watch, hermes_workflows::core::journal::Kind::Timed) => {}
    }
    assert_eq!(until(resume(&executor, &plan(60)).await.unwrap()), second(60));
}

/// A day passes at once on a clock that goes with the runtime's.
#[tokio::test(start_paused = true)]
async fn settled_sleeps_on_any_clock() {
    let began = tokio::time::Instant::now();
    let clock = Clock::from_fn(move || i64::try_from(began.elapsed().as_millis()).unwrap());
    let store = Store::new();
    let executor = store.executor_by(&clock, echo().0);
    let day = 24 * 60 * 60;
    let run = executor.start(&plan(day), "ada".to_owned()).id("r").await.unwrap();
    let at = run.settled().await.completed().0.0;
    assert_eq!(at, Timestamp::from_millis(0).after(secs(day)));
}

#[tokio::test]
async fn a_wait_is_over_in_time_while_a_call_goes_on() {
    let plan = Plan::new("beside", |_: Step<()>| {
        let slow = agent("slow").prompt("Take your time.").text();
        let waited = wait("waited").for_(secs(60));
        let quick = agent("quick").prompt("Be quick.").after(waited).text();
        join((slow, quick))
    })
    .unwrap();
    let (release, released) = oneshot::channel::<()>();
    let released = std::sync::Mutex::new(Some(released));
    let (called, mut calls) = mpsc::unbounded_channel();
    let runner = FnRunner::new(move |call| {
        called.send(call.path.clone()).unwrap();
        let hold = (call.path == "slow").then(|| released.lock().unwrap().take().unwrap());
        async move {
            if let Some(hold) = hold {
                hold.await.unwrap();
            }
            Ok(AgentReply::text("done"))
        }
    });
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, runner);
    let mut watch = executor.watch();
    let run = executor.start(&plan, ()).id("r").await.unwrap();
    let happens = async {
        seen(&mut watch, hermes_workflows::core::journal::Kind::Timed).await;
        assert_eq!(calls.recv().await.unwrap(), "slow");
        hand.advance(secs(60));
        assert_eq!(calls.recv().await.unwrap(), "quick");
        release.send(()).unwrap();
    };
    let (outcome, ()) = tokio::join!(run.outcome(), happens);
    outcome.completed();
}

#[tokio::test]
async fn waits_of_what_has_failed_rest_and_keep_their_moment() {
    let plan = Plan::new("rests", |_: Step<()>| {
        let pause = wait("pause").for_(secs(60));
        let fails = agent("fails").prompt("Fail.").text();
        join((pause, fails))
    })
    .unwrap();
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let failing = FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no luck")));
    let executor = store.executor_by(&clock, failing);
    start(&executor, &plan, ()).await.failed();
    assert!(
        run_layout(&executor, &plan, &run_id())
            .unwrap()
            .contains("pause: wait for 1 min -> Timestamp · suspended")
    );
    drop(executor);
    hand.set(second(30));
    let executor = store.executor_by(&clock, echo().0);
    assert_eq!(until(retry(&executor, &plan).await.unwrap()), second(60));
    hand.set(second(60));
    assert_eq!(resume(&executor, &plan).await.completed().0, (second(60), "<fails>".to_owned()));
}

#[tokio::test]
async fn a_cancelled_wait_goes_on_after_retry() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, echo().0);
    until(start(&executor, &plan(60), "ada".to_owned()).await.unwrap());
    executor.cancel(&run_id(), Actor::claimed("ada")).await.unwrap();
    hand.set(second(61));
    assert!(matches!(resume(&executor, &plan(60)).await, Ok(Outcome::Cancelled(_))));
    assert_eq!(retry(&executor, &plan(60)).await.completed().0.0, second(60));
}

#[tokio::test]
async fn a_run_that_waits_is_drawn_waiting() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, echo().0);
    until(start(&executor, &plan(60), "ada".to_owned()).await.unwrap());
    let drawn = run_layout(&executor, &plan(60), &run_id()).unwrap();
    assert_eq!(
        drawn,
        "run of plan reminder(input: string) -> (Timestamp, string) · waiting for its time\n\
         ├─ tell: agent(input) -> string · done\n\
         ├─ later: wait for 1 min after tell -> Timestamp · waiting for its time\n\
         ├─ remind: agent(tell) after later -> string · not started\n\
         └─ -> later, remind"
    );
    hand.advance(secs(60));
    resume(&executor, &plan(60)).await.completed();
    let drawn = run_layout(&executor, &plan(60), &run_id()).unwrap();
    assert!(drawn.contains("later: wait for 1 min after tell -> Timestamp · done"), "{drawn}");
}

#[tokio::test]
async fn after_a_crash_at_any_record_the_moment_is_the_one_recorded() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, echo().0);
    until(start(&executor, &plan(60), "ada".to_owned()).await.unwrap());
    hand.set(second(60));
    let whole = resume(&executor, &plan(60)).await.completed().0;
    let mut fixed = 0;
    for ledger in after_each_record(executor.ledger()) {
        let recorded = kinds(&ledger).contains(&"Timed".to_owned());
        fixed += u32::from(recorded);
        // The machine was off for an hour.
        let (clock, hand) = Clock::by_hand(second(3600));
        let executor = Executor::builder().ledger(ledger).runner(echo().0).clock(clock).build();
        let outcome = start(&executor, &plan(60), "ada".to_owned()).await;
        let output = if recorded {
            outcome.completed().0
        } else {
            assert_eq!(until(outcome.unwrap()), second(3660));
            hand.set(second(3660));
            resume(&executor, &plan(60)).await.completed().0
        };
        assert_eq!(output.1, whole.1);
        assert_eq!(output.0, second(if recorded { 60 } else { 3660 }));
        assert_eq!(kinds(executor.ledger()).iter().filter(|kind| *kind == "Timed").count(), 1);
        assert!(executor.ledger().verify().unwrap().is_empty());
    }
    assert_eq!(fixed, 5);
}

#[tokio::test]
async fn the_waits_of_those_that_a_quorum_does_not_need_rest() {
    let plan = Plan::new("race", |seconds: Step<Vec<u64>>| {
        parallel_each("race", seconds, |seconds| {
            let until = seconds.map(|seconds| second(*seconds));
            wait("pause").until(until)
        })
        .first()
    })
    .unwrap();
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    assert_eq!(until(start(&executor, &plan, vec![3600, 60]).await.unwrap()), second(60));
    hand.set(second(60));
    assert_eq!(resume(&executor, &plan).await.completed().0, second(60));
    hand.set(second(7200));
    assert_eq!(resume(&executor, &plan).await.completed().0, second(60));
}
