//! Automatic retries: which failures are tried again, when, under which key, and what of it survives the process.

mod support;

use hermes_workflows::{
    core::journal::{Event, Kind, Record},
    executor::AttemptEnd,
    prelude::*,
};
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
use std::sync::{Arc, Mutex};
use support::*;

/// A runner whose first calls of each path fail like that; it notes path, key and attempt of each call.
fn failing(times: usize, kind: RunnerErrorKind) -> Scripted {
    Scripted::new().otherwise(|call: &AgentCall| Ok(AgentReply::text(format!("<{}>", call.path)))).fail(
        "fetch",
        times,
        RunnerError::new(kind, "try later"),
    )
}

fn steady() -> Retry {
    Retry::attempts(4).jitter(0.0)
}

fn fetch(retry: Option<Retry>, effect: Effect) -> Plan<(), String> {
    Plan::new("fetching", move |_: Step<()>| {
        let fetch = agent("fetch").effect(effect);
        let fetch = match retry {
            Some(retry) => fetch.retry(retry),
            None => fetch,
        };
        fetch.prompt("Fetch.").text()
    })
    .unwrap()
}

fn until(record: &Record) -> Timestamp {
    match record.event().unwrap() {
        Event::Delayed(delayed) => delayed.until,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_is_tried_again_under_one_key_after_waits_that_grow() {
    let (store, clock) = (Store::new(), paused_clock());
    let runner = failing(3, RunnerErrorKind::Failed);
    let plan = || fetch(Some(steady()), Effect::Idempotent);
    let executor = store.executor_by(&clock, runner.clone());
    assert_eq!(start(&executor, &plan(), ()).await.completed().0, "<fetch>");
    assert_eq!(
        kinds(executor.ledger())[2..],
        ["Started", "Delayed", "Started", "Delayed", "Started", "Delayed", "Started", "Succeeded", "Ended"]
    );
    let delays: Vec<Record> =
        records(executor.ledger()).into_iter().filter(|record| record.header.kind == Kind::Delayed).collect();
    let waits: Vec<_> = delays.iter().map(|record| until(record).millis() - record.header.time).collect();
    assert_eq!(waits, [1000, 2000, 4000]);
    let seen = runner.seen();
    assert_eq!(seen.iter().map(|call| call.attempt).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(seen.iter().all(|call| call.idempotency_key == seen[0].idempotency_key));
    let attempts = executor.attempts(&run_id(), "fetch").unwrap();
    let ends: Vec<_> = attempts.iter().map(|attempt| attempt.ended).collect();
    assert_eq!(ends, [AttemptEnd::Failed, AttemptEnd::Failed, AttemptEnd::Failed, AttemptEnd::Succeeded]);
    drop(executor);

    // Another policy changes nothing of what is recorded.
    let executor = store.replayer();
    let changed = fetch(Some(Retry::never()), Effect::Idempotent);
    assert_eq!(resume(&executor, &changed).await.completed().1.reused, 1);
    assert!(executor.ledger().verify().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_policy_can_be_shared_by_agents_and_the_later_word_counts() {
    for (own, calls) in [(None, 3), (Some(Retry::attempts(2)), 2)] {
        let options = AgentOptions::builder().retry(Retry::attempts(3)).stall(secs(60)).build();
        let plan = Plan::new("shared", move |_: Step<()>| {
            let fetch = agent("fetch").with(&options);
            let fetch = match own {
                Some(own) => fetch.retry(own),
                None => fetch,
            };
            fetch.prompt("Fetch.").text()
        });
        let runner = failing(9, RunnerErrorKind::Failed);
        start(&Store::new().executor_by(&paused_clock(), runner.clone()), &plan.unwrap(), ()).await.failed();
        assert_eq!(runner.count("fetch"), calls);
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_used_up_and_a_retry_by_hand_begins_anew() {
    let (store, clock) = (Store::new(), paused_clock());
    let plan = || fetch(Some(Retry::attempts(3)), Effect::Idempotent);
    let runner = failing(5, RunnerErrorKind::CutOff);
    let executor = store.executor_by(&clock, runner.clone());
    let failure = start(&executor, &plan(), ()).await.failed();
    assert_eq!((failure.class, failure.message.as_str()), (FailureClass::CutOff, "try later"));
    assert_eq!(runner.count("fetch"), 3);
    drop(executor);
    assert_eq!(resume(&store.replayer(), &plan()).await.failed(), failure);
    let executor = store.executor_by(&clock, runner.clone());
    retry(&executor, &plan()).await.completed();
    assert_eq!(runner.count("fetch"), 6);
    assert!(runner.seen()[3].idempotency_key != runner.seen()[2].idempotency_key, "by hand: another key");
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_at_any_record_the_attempts_made_count_and_the_wait_goes_on() {
    let clock = paused_clock();
    let plan = || fetch(Some(Retry::attempts(3)), Effect::Idempotent);
    let whole = Ledger::in_memory().unwrap();
    let executor = |ledger: Ledger, runner: Scripted| {
        Executor::builder().ledger(ledger).runner(runner).clock(clock.clone()).build()
    };
    let fails = || failing(99, RunnerErrorKind::Failed);
    start(&executor(whole.clone(), fails()), &plan(), ()).await.failed();
    for left in after_each_record(&whole) {
        let runner = fails();
        let before = records(&left);
        start(&executor(left.clone(), runner.clone()), &plan(), ()).await.failed();
        let all = records(&left);
        let count = |kind| all.iter().filter(|record| record.header.kind == kind).count();
        assert_eq!((count(Kind::Delayed), count(Kind::Failed)), (2, 1), "{before:?}");
        let lost = usize::from(before.last().is_some_and(|last| last.header.kind == Kind::Started));
        assert_eq!(count(Kind::Started), 3 + lost);
        // No attempt begins before the moment that the journal names.
        for pair in all.windows(2).filter(|pair| pair[0].header.kind == Kind::Delayed) {
            assert!(pair[1].header.time >= until(&pair[0]).millis(), "{pair:?}");
        }
    }
}

#[tokio::test]
async fn a_wait_goes_on_till_the_instant_that_was_written_however_long_nobody_was_there() {
    use hermes_workflows::executor::{Clock, Seen};
    let plan = || fetch(Some(Retry::attempts(2).jitter(0.0).first_delay(secs(60))), Effect::Idempotent);
    let (clock, hand) = Clock::by_hand(second(0));
    let whole = Ledger::in_memory().unwrap();
    let executor = |ledger: Ledger, runner: FnRunner| {
        Executor::builder().ledger(ledger).runner(runner).clock(clock.clone()).build()
    };
    let always = || FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no")));
    let first = executor(whole.clone(), always());
    let run = first.start(&plan(), ()).id("r").await.unwrap();
    let mut watch = first.watch();
    let moves = async {
        loop {
            let Some(Seen::Event(event)) = watch.next().await else { panic!("nothing was written") };
            if event.kind == Kind::Delayed {
                assert_eq!(event.path, "fetch");
                break hand.set(second(60));
            }
        }
    };
    let (outcome, ()) = tokio::join!(run.outcome(), moves);
    outcome.failed();
    // What a process left that ended while it waited.
    let left = after_each_record(&whole).find(|left| kinds(left).last().unwrap() == "Delayed").unwrap();
    assert_eq!(until(records(&left).last().unwrap()), second(60));
    hand.set(second(7000));
    let (runner, calls) = echo();
    resume(&executor(left, runner), &plan()).await.completed();
    assert_eq!(calls.count(), 1);
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn an_unsafe_call_is_tried_again_only_where_it_never_began() {
    for (kind, calls, ends) in [(RunnerErrorKind::NotBegun, 2, true), (RunnerErrorKind::Failed, 1, false)] {
        let (store, clock) = (Store::new(), paused_clock());
        let runner = failing(1, kind);
        let plan = || fetch(Some(steady()), Effect::Unsafe);
        let executor = store.executor_by(&clock, runner.clone());
        let outcome = start(&executor, &plan(), ()).await.unwrap();
        assert_eq!(matches!(outcome, Outcome::Completed(_)), ends, "{outcome:?}");
        assert_eq!(runner.count("fetch"), calls);
        drop(executor);
        resume(&store.replayer(), &plan()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_policy_only_a_rate_limit_is_waited_out_and_with_none_not_even_that() {
    for (kind, retry, calls, ends) in [
        (RunnerErrorKind::Failed, None, 1, false),
        (RunnerErrorKind::RateLimited, None, 2, true),
        (RunnerErrorKind::RateLimited, Some(Retry::never()), 1, false),
        // A limit says nothing about the call: its one attempt is still to come.
        (RunnerErrorKind::RateLimited, Some(Retry::attempts(1)), 2, true),
        (RunnerErrorKind::TooLarge, Some(steady()), 1, false),
        (RunnerErrorKind::Cancelled, Some(steady()), 1, false),
    ] {
        let (store, clock) = (Store::new(), paused_clock());
        let runner = failing(1, kind);
        let executor = store.executor_by(&clock, runner.clone());
        let outcome = start(&executor, &fetch(retry, Effect::Idempotent), ()).await.unwrap();
        assert_eq!(matches!(outcome, Outcome::Completed(_)), ends, "{kind:?} {outcome:?}");
        assert_eq!(runner.count("fetch"), calls, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_refused_is_asked_for_again_and_what_it_cost_is_kept() {
    let (store, clock) = (Store::new(), paused_clock());
    let plan = || {
        Plan::new("number", |_: Step<()>| {
            agent("number").retry(Retry::attempts(2)).prompt("A number.").returns::<u32>()
        })
        .unwrap()
    };
    let usage = hermes_workflows::core::receipt::Usage { input_tokens: 7, output_tokens: 1 };
    let runner = Scripted::new()
        .on("number", AgentReply { usage: Some(usage), ..AgentReply::text("many") })
        .then(serde_json::json!(7));
    let executor = store.executor_by(&clock, runner);
    assert_eq!(start(&executor, &plan(), ()).await.completed().0, 7);
    let attempts = executor.attempts(&run_id(), "number").unwrap();
    assert_eq!(attempts[0].receipt.as_ref().unwrap().usage, Some(usage));
    drop(executor);
    assert_eq!(resume(&store.replayer(), &plan()).await.completed().0, 7);
}

#[tokio::test(start_paused = true)]
async fn local_steps_are_tried_again_too_but_not_after_a_panic() {
    let (store, clock) = (Store::new(), paused_clock());
    let calls = Calls::default();
    let counted = calls.clone();
    let plan = move || {
        let (blocking, running) = (counted.clone(), counted.clone());
        Plan::new("local", move |_: Step<()>| {
            let (blocking, running) = (blocking.clone(), running.clone());
            let fails = move |calls: &Calls| match calls.add() {
                n if n % 3 == 0 => Ok(n),
                n => Err(format!("not yet: {n}")),
            };
            let first = step("first").retry(steady()).try_run(move || fails(&blocking));
            step("second").retry(steady()).input("first", first).try_run_async(move |_| {
                let result = fails(&running);
                async move { result }
            })
        })
        .unwrap()
    };
    let executor = store.executor_by(&clock, refuses());
    assert_eq!(start(&executor, &plan(), ()).await.completed().0, 6);
    assert_eq!(
        kinds(executor.ledger())[2..],
        ["Delayed", "Delayed", "Succeeded", "Delayed", "Delayed", "Succeeded", "Ended"]
    );
    let whole = executor.ledger().clone();
    for left in after_each_record(&whole) {
        // Wherever it crashed, no attempt that failed is made again: the count goes on from where it stands.
        let made = records(&left)
            .into_iter()
            .filter(|record| matches!(record.header.kind, Kind::Delayed | Kind::Succeeded));
        let more = Calls::default();
        for _ in made {
            more.add();
        }
        let counted = more.clone();
        let plan = Plan::new("local", move |_: Step<()>| {
            let (blocking, running) = (counted.clone(), counted.clone());
            let fails = move |calls: &Calls| match calls.add() {
                n if n % 3 == 0 => Ok(n),
                n => Err(format!("not yet: {n}")),
            };
            let first = step("first").retry(steady()).try_run(move || fails(&blocking));
            step("second").retry(steady()).input("first", first).try_run_async(move |_| {
                let result = fails(&running);
                async move { result }
            })
        })
        .unwrap();
        let executor = Executor::builder().ledger(left).clock(clock.clone()).build();
        assert_eq!(start(&executor, &plan, ()).await.completed().0, 6);
        assert_eq!(more.count(), 6);
    }

    let calls = Calls::default();
    let counted = calls.clone();
    let panics = Plan::new("panics", move |_: Step<()>| {
        let counted = counted.clone();
        step("panics").retry(steady()).run(move || -> u32 { panic!("call {}", counted.add()) })
    })
    .unwrap();
    let failure =
        start(&Executor::builder().ledger(Ledger::in_memory().unwrap()).build(), &panics, ()).await.failed();
    assert_eq!((failure.class, calls.count()), (FailureClass::Panicked, 1));
}

#[tokio::test(start_paused = true)]
async fn what_waits_holds_no_place_and_no_permit() {
    let (store, clock) = (Store::new(), paused_clock());
    let plan = || {
        Plan::new("each", |_: Step<()>| {
            let names = value(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]);
            parallel_each("each", names, |name| {
                agent("call").input("name", name).retry(steady()).prompt("Call.").text()
            })
            .limit(1)
            .all()
        })
        .unwrap()
    };
    let runner = Scripted::new()
        .otherwise(|call: &AgentCall| Ok(AgentReply::text(format!("<{}>", call.path))))
        .fail_once("each[0]/call", RunnerError::new(RunnerErrorKind::Failed, "later"));
    let executor =
        Executor::builder().ledger(store.open()).runner(runner.clone()).clock(clock).concurrency(1).build();
    start(&executor, &plan(), ()).await.completed();
    assert_eq!(runner.calls(), ["each[0]/call", "each[1]/call", "each[2]/call", "each[0]/call"]);
    assert_eq!(runner.most_at_once(), 1);
    drop(executor);
    assert_eq!(resume(&store.replayer(), &plan()).await.completed().1.reused, 3);
}

#[tokio::test(start_paused = true)]
async fn when_its_group_fails_no_other_attempt_is_made_and_a_retry_runs_both() {
    let (store, clock) = (Store::new(), paused_clock());
    let plan = || {
        Plan::new("both", |_: Step<()>| {
            let waits =
                agent("waits").retry(Retry::attempts(3).first_delay(secs(3600))).prompt("Wait.").text();
            let fails = agent("fails").prompt("Fail.").text();
            join((waits, fails))
        })
        .unwrap()
    };
    let error = || RunnerError::new(RunnerErrorKind::Failed, "no");
    let runner = Scripted::new()
        .otherwise(|call: &AgentCall| Ok(AgentReply::text(format!("<{}>", call.path))))
        .fail_once("waits", error())
        .fail_once("fails", error());
    let gate = runner.gate("fails");
    let executor = store.executor_by(&clock, runner.clone());
    let run = executor.start(&plan(), ()).id("r").await.unwrap();
    let mut watch = executor.watch();
    let opens = async {
        while !kinds(executor.ledger()).contains(&"Delayed".to_owned()) {
            watch.next().await;
        }
        gate.open();
    };
    let (outcome, ()) = tokio::join!(run.outcome(), opens);
    assert_eq!(outcome.failed().path, "fails");
    let written = kinds(executor.ledger());
    assert_eq!(written.iter().filter(|kind| *kind == "Failed").count(), 2, "{written:?}");
    let attempts = executor.attempts(&run_id(), "waits").unwrap();
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    let whole = executor.ledger().clone();
    drop(executor);
    for left in after_each_record(&whole).filter(|left| kinds(left).contains(&"Failed".to_owned())) {
        let executor = Executor::builder().ledger(left).runner(refuses()).clock(clock.clone()).build();
        assert_eq!(start(&executor, &plan(), ()).await.failed().path, "fails");
        let (runner, calls) = echo();
        let executor =
            Executor::builder().ledger(executor.ledger().clone()).runner(runner).clock(clock.clone()).build();
        retry(&executor, &plan()).await.completed();
        assert_eq!(calls.count(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_with_open_questions_is_driven_till_no_attempt_is_due() {
    let (store, clock) = (Store::new(), paused_clock());
    let plan = || {
        Plan::new("asks", |_: Step<()>| {
            let fetched = agent("fetch").retry(steady()).prompt("Fetch.").text();
            join((fetched, ask("go").returns::<bool>()))
        })
        .unwrap()
    };
    let runner = failing(2, RunnerErrorKind::Failed);
    let executor = store.executor_by(&clock, runner.clone());
    assert_eq!(start(&executor, &plan(), ()).await.waiting().len(), 1);
    assert_eq!(runner.count("fetch"), 3);
    drop(executor);
    let executor = store.replayer();
    answer(&executor, "go", &serde_json::json!(true)).await;
    assert!(resume(&executor, &plan()).await.completed().0.1);
}

#[tokio::test]
async fn a_command_that_failed_is_started_again_with_the_same_key() {
    let store = Store::new();
    let plan = || {
        Plan::new("command", |_: Step<()>| {
            command("count")
                .shell("echo $HERMES_IDEMPOTENCY_KEY >> keys; test $(wc -l < keys) -ge 3")
                .effect(Idempotent)
                .retry(Retry::attempts(3).first_delay(Duration::ZERO))
                .stdout()
        })
        .unwrap()
    };
    let build = || Executor::builder().ledger(store.open()).base_dir(store.directory()).build();
    start(&build(), &plan(), ()).await.completed();
    let keys = std::fs::read_to_string(store.directory().join("keys")).unwrap();
    let keys: Vec<_> = keys.lines().collect();
    assert!(keys.len() == 3 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    resume(&build(), &plan()).await.completed();
    assert_eq!(std::fs::read_to_string(store.directory().join("keys")).unwrap().lines().count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_changed_request_is_sent_at_once_and_a_drawing_says_what_it_waits_for() {
    let plan = |prompt: &'static str| {
        Plan::new("fetching", move |_: Step<()>| {
            agent("fetch")
                .retry(Retry::attempts(2).first_delay(secs(3600)).longest_delay(secs(3600)))
                .prompt(prompt)
                .text()
        })
        .unwrap()
    };
    let whole = Ledger::in_memory().unwrap();
    let over = |ledger: Ledger, runner: Scripted| {
        Executor::builder().ledger(ledger).runner(runner).clock(paused_clock()).build()
    };
    start(&over(whole.clone(), failing(1, RunnerErrorKind::Failed)), &plan("Fetch."), ()).await.completed();
    let left = after_each_record(&whole).find(|left| kinds(left).last().unwrap() == "Delayed").unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let runner = Scripted::new().otherwise(move |call: &AgentCall| {
        noted.lock().unwrap().push(call.text.clone());
        Ok(AgentReply::text("done"))
    });
    let executor = over(left, runner);
    let drawn = hermes_workflows::executor::run_layout(&executor, &plan("Fetch."), &run_id()).unwrap();
    assert!(
        drawn.contains("to be tried again at") && drawn.contains("the runner reported an error"),
        "{drawn}"
    );
    let before = records(executor.ledger()).last().unwrap().header.time;
    start(&executor, &plan("Fetch it."), ()).await.completed();
    assert_eq!(*seen.lock().unwrap(), ["Fetch it."]);
    let after = records(executor.ledger()).last().unwrap().header.time;
    assert!(after < until_of(&whole), "{before} {after}");
}

fn until_of(ledger: &Ledger) -> i64 {
    let delayed = records(ledger).into_iter().find(|record| record.header.kind == Kind::Delayed).unwrap();
    until(&delayed).millis()
}

/// What a policy makes of calls that end so, one after the other: how many were followed by another, and the last word.
fn by_the_rules(ends: &[u8], attempts: u32, limits: u32) -> (usize, Option<FailureClass>) {
    let (mut failed, mut limited) = (0, 0);
    for (delays, end) in ends.iter().enumerate() {
        let (class, again) = match end {
            0 => return (delays, None),
            1 => {
                limited += 1;
                (FailureClass::RateLimited, limited <= limits)
            }
            2 => {
                failed += 1;
                (FailureClass::CutOff, failed < attempts)
            }
            _ => (FailureClass::TooLarge, false),
        };
        if !again {
            return (delays, Some(class));
        }
    }
    (ends.len(), None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_happens_and_whenever_it_crashes_the_policy_is_kept(
        ends in proptest::collection::vec(0_u8..4, 1..8),
        attempts in 1_u32..4,
        limits in 0_u32..4,
        crash in 0_usize..24,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let (delays, class) = by_the_rules(&ends, attempts, limits);
        let (all, ended) = runtime.unwrap().block_on(async {
            let clock = paused_clock();
            let plan = || fetch(Some(Retry::attempts(attempts).rate_limits(limits)), Effect::Idempotent);
            let over = |ledger: &Ledger| {
                // How a call ends depends on how many have an end that is written down.
                let (ends, written) = (ends.clone(), ledger.clone());
                let runner = FnRunner::sync(move |_| {
                    let done = kinds(&written).iter().filter(|kind| *kind == "Delayed").count();
                    match ends.get(done).copied().unwrap_or(0) {
                        0 => Ok(AgentReply::text("done")),
                        1 => Err(RunnerError::rate_limited("429")),
                        2 => Err(RunnerError::new(RunnerErrorKind::CutOff, "half")),
                        _ => Err(RunnerError::new(RunnerErrorKind::TooLarge, "all")),
                    }
                });
                Executor::builder().ledger(ledger.clone()).runner(runner).clock(clock.clone()).build()
            };
            let whole = Ledger::in_memory().unwrap();
            start(&over(&whole), &plan(), ()).await.unwrap();
            let left: Vec<Ledger> = after_each_record(&whole).collect();
            let left = &left[crash % left.len()];
            let ended = match start(&over(left), &plan(), ()).await.unwrap() {
                Outcome::Completed(_) => None,
                Outcome::Failed(failure) => Some(failure.class),
                other => panic!("{other:?}"),
            };
            (kinds(left).iter().filter(|kind| *kind == "Delayed").count(), ended)
        });
        prop_assert_eq!((all, ended), (delays, class));
    }
}
