//! Failure: what the modes of a fan-out make of it, what a failed frame still does, and what a retry brings back.

mod support;

use hermes_workflows::{
    core::journal::Kind,
    executor::{BoxFuture, CallWatch, RunnerIdentity},
    prelude::*,
};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};
use support::*;
use tokio::sync::Barrier;

fn items(count: u32) -> Vec<u32> {
    (0..count).collect()
}

/// Fails at the items whose bit is set.
fn failing_at(mask: u32) -> FnRunner {
    FnRunner::sync(move |call| {
        let item: u32 = call.inputs[0].1.parse().unwrap();
        if mask & (1 << item) != 0 {
            return Err(RunnerError::new(RunnerErrorKind::Failed, format!("item {item}")));
        }
        Ok(AgentReply::text(format!("ok {item}")))
    })
}

#[tokio::test]
async fn each_mode_with_none_one_some_and_all_failing_resumed_after_each() {
    const COUNT: u32 = 4;
    let body = |item: Step<u32>| agent("a").input("item", item).prompt("Go.").text();
    let all = Plan::new("all", move |list: Step<Vec<u32>>| parallel_each("each", list, body).limit(1).all())
        .unwrap();
    let results = Plan::new("results", move |list: Step<Vec<u32>>| {
        parallel_each("each", list, body).results().map(|results: &Vec<Result<String, Failure>>| {
            results
                .iter()
                .map(|result| match result {
                    Ok(text) => text.clone(),
                    Err(failure) => format!("{} {}", failure.path, failure.message),
                })
                .collect::<Vec<String>>()
        })
    })
    .unwrap();
    let options =
        Plan::new("options", move |list: Step<Vec<u32>>| parallel_each("each", list, body).options())
            .unwrap();
    for mask in [0b0000_u32, 0b0100, 0b1010, 0b1111] {
        let failed = |item: u32| mask & (1 << item) != 0;

        let store = Store::new();
        let outcome = start(&store.executor(failing_at(mask)), &all, items(COUNT)).await;
        match (0..COUNT).find(|item| failed(*item)) {
            None => assert_eq!(outcome.completed().0.len(), COUNT as usize),
            Some(first) => {
                assert_eq!(outcome.failed().path, format!("each[{first}]/a"));
                assert_eq!(resume(&store.replayer(), &all).await.failed().path, format!("each[{first}]/a"));
            }
        }

        let store = Store::new();
        let expected: Vec<String> = (0..COUNT)
            .map(
                |item| {
                    if failed(item) { format!("each[{item}]/a item {item}") } else { format!("ok {item}") }
                },
            )
            .collect();
        let (value, counts) =
            start(&store.executor(failing_at(mask)), &results, items(COUNT)).await.completed();
        assert_eq!((value, counts.failed), (expected.clone(), u64::from(mask.count_ones())));
        let (value, counts) = resume(&store.replayer(), &results).await.completed();
        assert_eq!((value, counts.failed, counts.calls), (expected, u64::from(mask.count_ones()), 0));
        let (_, counts) = retry(&store.executor(failing_at(0)), &results).await.completed();
        assert_eq!((counts.failed, counts.calls), (0, u64::from(mask.count_ones())));

        let store = Store::new();
        let expected: Vec<Option<String>> =
            (0..COUNT).map(|item| (!failed(item)).then(|| format!("ok {item}"))).collect();
        let (value, _) = start(&store.executor(failing_at(mask)), &options, items(COUNT)).await.completed();
        assert_eq!(value, expected);
        assert_eq!(resume(&store.replayer(), &options).await.completed().0, expected);
    }
}

/// Holds every call until all have begun; then `one` fails, the others wait to be cancelled.
struct Siblings {
    begun: Barrier,
    ended: Arc<Mutex<Vec<String>>>,
}

impl Runner for Siblings {
    fn identity(&self) -> RunnerIdentity {
        RunnerIdentity { name: "siblings".to_owned(), version: None }
    }

    fn run(&self, call: AgentCall, watch: CallWatch) -> BoxFuture<'_, Result<AgentReply, RunnerError>> {
        Box::pin(async move {
            self.begun.wait().await;
            if call.path.contains("[one]") {
                return Err(RunnerError::new(RunnerErrorKind::Failed, "no luck"));
            }
            let how = if call.path.contains("[unsafe]") {
                // Long enough that a cancellation would have come.
                for _ in 0..1000 {
                    tokio::task::yield_now().await;
                }
                if watch.is_cancelled() { "cancelled" } else { "finished" }
            } else {
                watch.cancelled().await;
                "cancelled"
            };
            self.ended.lock().unwrap().push(format!("{} {how}", call.path));
            match how {
                "cancelled" => Err(RunnerError::new(RunnerErrorKind::Cancelled, "told to")),
                how => Ok(AgentReply::text(how)),
            }
        })
    }
}

#[tokio::test]
async fn failing_fast_cancels_running_siblings_but_never_an_unsafe_one() {
    let plan = Plan::new("p", |topic: Step<String>| {
        parallel("both", ["one", "two", "unsafe"], |key| {
            let a = agent("a").input("topic", topic).prompt("Go.");
            if key == "unsafe" { a.effect(Unsafe).text() } else { a.text() }
        })
        .all()
    })
    .unwrap();
    let store = Store::new();
    let ended = Arc::new(Mutex::new(Vec::new()));
    let executor = store.executor(Siblings { begun: Barrier::new(3), ended: Arc::clone(&ended) });
    let failure = start(&executor, &plan, "t".to_owned()).await.failed();
    assert_eq!(failure.path, "both[one]/a");
    let mut ended = ended.lock().unwrap().clone();
    ended.sort();
    assert_eq!(ended, ["both[two]/a cancelled", "both[unsafe]/a finished"]);
    drop(executor);
    // What finished is kept; what failed or was cancelled runs again.
    let (runner, calls) = echo();
    retry(&store.executor(runner), &plan).await.completed();
    assert_eq!(calls.count(), 2);
}

#[tokio::test]
async fn the_failure_is_the_step_that_failed_and_not_what_was_left_undone_for_it() {
    // `ask` succeeds after `bad` has failed: `tell` never starts, and comes first in the plan.
    let chain = |topic: Step<String>| {
        let asked = agent("ask").input("topic", topic).prompt("Go.").effect(Unsafe).text();
        agent("tell").input("asked", asked).prompt("Go.").text()
    };
    let fan = Plan::new("fan", move |topic: Step<String>| {
        parallel("both", ["chain", "bad"], |key| match key {
            "chain" => chain(topic),
            _ => agent("bad").input("topic", topic).prompt("Go.").text(),
        })
        .all()
    })
    .unwrap();
    let frame = Plan::new("frame", move |topic: Step<String>| {
        let group = parallel("group", ["chain"], |_| chain(topic)).all();
        join((group, agent("bad").input("topic", topic).prompt("Go.").text()))
    })
    .unwrap();
    let runner = || {
        let both = Arc::new(Barrier::new(2));
        FnRunner::new(move |call: AgentCall| {
            let both = Arc::clone(&both);
            async move {
                both.wait().await;
                if call.path.ends_with("bad") {
                    return Err(RunnerError::new(RunnerErrorKind::Failed, "no luck"));
                }
                for _ in 0..1000 {
                    tokio::task::yield_now().await;
                }
                Ok(AgentReply::text(call.path))
            }
        })
    };
    let failure = start(&Store::new().executor(runner()), &fan, "t".to_owned()).await.failed();
    assert_eq!((failure.path.as_str(), failure.class), ("both[bad]/bad", FailureClass::RunnerError));
    let failure = start(&Store::new().executor(runner()), &frame, "t".to_owned()).await.failed();
    assert_eq!((failure.path.as_str(), failure.class), ("bad", FailureClass::RunnerError));
}

#[tokio::test]
async fn what_runs_beside_a_failure_is_let_finish_and_nothing_new_starts() {
    let plan = Plan::new("p", |topic: Step<String>| {
        let bad = agent("bad").input("topic", topic).prompt("Go.").text();
        let good = agent("good").input("topic", topic).prompt("Go.").text();
        let after = agent("after").input("good", good).prompt("Go.").text();
        join((bad, after))
    })
    .unwrap();
    let store = Store::new();
    let both = Arc::new(Barrier::new(2));
    let called = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&called);
    let runner = FnRunner::new(move |call: AgentCall| {
        let both = Arc::clone(&both);
        noted.lock().unwrap().push(call.path.clone());
        async move {
            both.wait().await;
            if call.path == "bad" {
                return Err(RunnerError::new(RunnerErrorKind::Failed, "no luck"));
            }
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            Ok(AgentReply::text(call.path))
        }
    });
    start(&store.executor(runner), &plan, "t".to_owned()).await.failed();
    let mut called = called.lock().unwrap().clone();
    called.sort();
    assert_eq!(called, ["bad", "good"]);
    let (runner, calls) = echo();
    retry(&store.executor(runner), &plan).await.completed();
    assert_eq!(calls.count(), 2, "`good` was recorded");
}

#[tokio::test]
async fn open_questions_of_a_failed_run_rest_and_come_back_under_the_same_ids() {
    let plan = Plan::new("p", |topic: Step<String>| {
        let go = ask("go").title("Go?").input("topic", topic).returns::<bool>();
        let bad = agent("bad").input("topic", topic).prompt("Go.").text();
        join((go, bad))
    })
    .unwrap();
    let store = Store::new();
    let executor = store.executor(failing_at_once());
    let mut watch = executor.watch();
    start(&executor, &plan, "t".to_owned()).await.failed();
    let mut asked = None;
    while let Some(Seen::Event(event)) = watch.try_next() {
        if event.kind == Kind::Asked {
            asked = Some(event.seq);
        }
    }
    assert!(executor.needs(&run_id()).unwrap().is_empty(), "a failed run waits for nobody");
    drop(executor);
    let executor = store.executor(echo().0);
    let needs = retry(&executor, &plan).await.waiting();
    assert_eq!(needs.iter().map(|need| Some(need.id)).collect::<Vec<_>>(), [asked]);
    answer(&executor, "go", &serde_json::json!(true)).await;
    assert_eq!(resume(&executor, &plan).await.completed().0, (true, "<bad>".to_owned()));
}

fn failing_at_once() -> FnRunner {
    FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no luck")))
}

#[tokio::test]
async fn a_loop_ends_as_its_flow_says_and_fails_or_goes_on_when_its_rounds_are_used_up() {
    let plan = |max: u32, or_else: bool| {
        Plan::new("loop", move |start: Step<u32>| {
            let repeated = repeat("until", start, max, |state| {
                let next = step("next").input("state", state).run(|state: &u32| state + 1);
                branch("big", next)
                    .when("yes", |next| *next >= 5, |next| next.map(u32::to_string).done())
                    .otherwise(|next| next.again())
            });
            if or_else {
                repeated.or_else(|last| last.map(|last| format!("gave up at {last}")))
            } else {
                repeated.or_fail()
            }
        })
        .unwrap()
    };
    let executor = || Executor::builder().ledger(Ledger::in_memory().unwrap()).build();
    assert_eq!(start(&executor(), &plan(9, false), 1).await.completed().0, "5");
    let failure = start(&executor(), &plan(2, false), 1).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::RoundsUsedUp, "until"));
    assert_eq!(failure.raw.as_deref(), Some("3"));
    assert_eq!(start(&executor(), &plan(2, true), 1).await.completed().0, "gave up at 3");
    // Resumed: the same, from the journal.
    let store = Store::new();
    start(&store.replayer(), &plan(9, false), 1).await.completed();
    let (value, counts) = resume(&store.replayer(), &plan(9, false)).await.completed();
    assert_eq!((value.as_str(), counts.reused), ("5", 4));
}

#[tokio::test]
async fn no_arm_fails_by_name_with_the_value() {
    let plan = Plan::new("p", |x: Step<u32>| {
        branch("size", x).when("big", |x| *x > 10, |x| x.map(u32::to_string)).or_fail()
    })
    .unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).build();
    let failure = start(&executor, &plan, 3).await.failed();
    assert_eq!((failure.class, failure.raw.as_deref()), (FailureClass::NoArm, Some("3")));
    assert!(failure.message.contains("big"), "{failure}");
}

#[tokio::test]
async fn a_call_in_doubt_does_not_keep_others_from_running() {
    let plan = |prompt: &'static str| {
        Plan::new("p", move |topic: Step<String>| {
            let a = agent("a").input("topic", topic).prompt(prompt).effect(Unsafe).text();
            let b = agent("b").input("topic", topic).prompt("Go.").text();
            join((a, b))
        })
        .unwrap()
    };
    // `a` is left in doubt by a process that ended; `b` then holds the run open while the decision is made.
    let store = Store::new();
    let runtime = std::thread::spawn({
        let path = store.path();
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let executor = Executor::builder()
                    .ledger(Ledger::open(path).unwrap())
                    .runner(FnRunner::new(|_| std::future::pending()))
                    .build();
                let mut watch = executor.watch();
                let _run = executor.start(&plan("Go."), "t".to_owned()).id("r").await.unwrap();
                let mut started = 0;
                while started < 2 {
                    if let Some(Seen::Event(event)) = watch.next().await
                        && event.kind == Kind::Started
                    {
                        started += 1;
                    }
                }
            });
        }
    });
    runtime.join().unwrap();

    let gate = Arc::new(tokio::sync::Notify::new());
    let held = Arc::clone(&gate);
    let runner = FnRunner::new(move |call: AgentCall| {
        let held = Arc::clone(&held);
        async move {
            if call.path == "b" {
                held.notified().await;
            }
            Ok(AgentReply::text(call.path))
        }
    });
    let executor = store.executor(runner);
    let first = resume_in_background(&executor, &plan("Go."));
    gate.notify_one();
    let needs = first.await.unwrap().parked();
    executor.decide(&run_id(), &needs[0], Decision::Retry).await.unwrap();
    assert_eq!(resume(&executor, &plan("Go.")).await.completed().0, ("a".to_owned(), "b".to_owned()));
}

fn resume_in_background<O: Data + std::fmt::Debug>(
    executor: &Executor,
    plan: &Plan<String, O>,
) -> tokio::task::JoinHandle<Result<Outcome<O>, hermes_workflows::executor::DriveError>> {
    let (executor, plan) = (executor.clone(), plan.clone());
    tokio::spawn(async move { resume(&executor, &plan).await })
}

#[tokio::test(start_paused = true)]
async fn a_step_that_passes_its_timeout_has_failed() {
    let plan = Plan::new("p", move |x: Step<u32>| {
        step("slow").input("x", x).timeout(Duration::from_secs(3)).run_async(move |x| async move {
            std::future::pending::<()>().await;
            *x
        })
    })
    .unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).build();
    let failure = start(&executor, &plan, 1).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::TimedOut, "slow"));
}

#[tokio::test]
async fn a_thread_past_its_timeout_keeps_its_permit_until_it_returns() {
    let returned = Arc::new(AtomicBool::new(false));
    let (release, released) = std::sync::mpsc::channel();
    let released = Mutex::new(released);
    let plan = Plan::new("p", {
        let returned = Arc::clone(&returned);
        move |x: Step<u32>| {
            let released = Arc::new(released);
            parallel("each", ["slow", "next"], move |which| {
                let (returned, released) = (Arc::clone(&returned), Arc::clone(&released));
                if which == "slow" {
                    step("slow").input("x", x).timeout(Duration::from_millis(1)).run(move |_| {
                        released.lock().unwrap().recv().unwrap();
                        returned.swap(true, Ordering::SeqCst)
                    })
                } else {
                    step("next").input("x", x).run(move |_| returned.load(Ordering::SeqCst))
                }
            })
            .options()
        }
    })
    .unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).concurrency(1).build();
    let mut watch = executor.watch();
    let run = tokio::spawn({
        let (executor, plan) = (executor.clone(), plan.clone());
        async move { start(&executor, &plan, 1).await }
    });
    loop {
        match watch.next().await {
            Some(Seen::Event(event)) if event.kind == Kind::Failed => break,
            Some(_) => {}
            None => panic!("nothing failed"),
        }
    }
    release.send(()).unwrap();
    let (value, _) = run.await.unwrap().completed();
    assert_eq!(value, [None, Some(true)]);
}

#[tokio::test]
async fn order_without_data_is_kept() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&order);
    let plan = Plan::new("p", |topic: Step<String>| {
        let last = agent("first").input("topic", topic).prompt("Go.").text();
        agent("second").input("topic", topic).prompt("Go.").after(last).text()
    })
    .unwrap();
    let runner = FnRunner::sync(move |call| {
        noted.lock().unwrap().push(call.path.clone());
        Ok(AgentReply::text("x"))
    });
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    start(&executor, &plan, "t".to_owned()).await.completed();
    assert_eq!(*order.lock().unwrap(), ["first", "second"]);
}

#[tokio::test]
async fn an_item_that_fails_otherwise_when_it_is_retried_runs_what_is_below_it_again() {
    let plan = Plan::new("p", |list: Step<Vec<u32>>| {
        let each =
            parallel_each("each", list, |item| agent("a").input("item", item).prompt("Go.").text()).results();
        agent("end").input("each", each).prompt("End.").text()
    })
    .unwrap();
    let (store, calls) = (Store::new(), Calls::default());
    let runner = || {
        let calls = calls.clone();
        FnRunner::sync(move |call| {
            let number = calls.add();
            if call.path == "each[1]/a" {
                return Err(RunnerError::new(RunnerErrorKind::Failed, format!("failure {number}")));
            }
            Ok(AgentReply::text(format!("answer {number}")))
        })
    };
    start(&store.executor(runner()), &plan, items(2)).await.completed();
    assert_eq!(calls.count(), 3);
    let (value, counts) = retry(&store.executor(runner()), &plan).await.completed();
    assert_eq!((value.as_str(), counts.calls, calls.count()), ("answer 5", 2, 5));
    resume(&store.replayer(), &plan).await.completed();
}

/// The failure that stops a group comes to a check later than to the run: what the run never began is not held against it.
#[tokio::test]
async fn what_a_failed_group_never_began_is_nothing_new_for_a_completed_run() {
    let plan = Plan::new("swallowed", |list: Step<Vec<u32>>| {
        parallel("tries", ["one"], |_| {
            pipeline("items", list)
                .stage(|item| agent("first").input("item", item).prompt("Go.").text())
                .stage(|text| step("second").input("text", text).try_run(|_| Err::<String, _>("no luck")))
                .streaming()
                .limit(1)
                .all()
        })
        .options()
    })
    .unwrap();
    let store = Store::new();
    let (runner, calls) = echo();
    let (value, _) = start(&store.executor(runner), &plan, items(4)).await.completed();
    assert_eq!((value, calls.count()), (vec![None], 1));
    let (value, counts) = resume(&store.replayer(), &plan).await.completed();
    assert_eq!((value, counts.calls), (vec![None], 0));
}
