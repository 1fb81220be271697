//! The resume table, row by row: what the journal says, whether the request is the same, and what `resume` and `retry` do.
//! Each time the executor and the ledger are dropped, the file is reopened, and the runner's calls are counted.

mod support;

use hermes_workflows::{core::effect::Effect, executor::Clock, prelude::*};
use serde_json::json;
use support::*;

/// One agent, whose prompt and effect can be edited.
fn plan(prompt: &'static str, effect: Effect) -> Plan<String, String> {
    Plan::new("table", move |topic: Step<String>| {
        agent("a").input("topic", topic).prompt(prompt).effect(effect).text()
    })
    .unwrap()
}

/// The same, with a second agent below it.
fn chain(prompt: &'static str, version: Option<u32>) -> Plan<String, String> {
    Plan::new("table", move |topic: Step<String>| {
        let a = agent("a").input("topic", topic).prompt(prompt);
        let a = match version {
            Some(version) => a.version(version),
            None => a,
        };
        let a = a.text();
        agent("b").input("a", a).prompt("Go on.").text()
    })
    .unwrap()
}

/// A runner that answers and notes the idempotency keys it was given.
fn noting() -> (FnRunner, std::sync::Arc<std::sync::Mutex<Vec<String>>>) {
    let keys = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = std::sync::Arc::clone(&keys);
    let runner = FnRunner::sync(move |call| {
        noted.lock().unwrap().push(call.idempotency_key.to_string());
        Ok(AgentReply::text(format!("{}: {}", call.path, call.text.lines().next().unwrap_or_default())))
    });
    (runner, keys)
}

fn failing() -> FnRunner {
    FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no luck")))
}

#[tokio::test]
async fn nothing_recorded_dispatches() {
    let store = Store::new();
    let (runner, keys) = noting();
    start(&store.executor(runner), &plan("Go.", Effect::Idempotent), "t".to_owned()).await.completed();
    assert_eq!(keys.lock().unwrap().len(), 1);
}

#[test]
fn started_and_the_same_runs_again_under_the_same_key() {
    for effect in [Effect::Pure, Effect::Idempotent] {
        let store = Store::new();
        let plan = plan("Go.", effect);
        crash_in_call(&store, &plan);
        block_on(async {
            let ledger = store.open();
            let run = ledger.find(&run_id()).unwrap().unwrap();
            let state = ledger.state(run).unwrap();
            let (_, cell) = state.begun().next().unwrap();
            let body = String::from_utf8(ledger.record(run, cell.request).unwrap().body).unwrap();
            drop(ledger);
            let (runner, keys) = noting();
            let (_, counts) = resume(&store.executor(runner), &plan).await.completed();
            assert_eq!(counts.calls, 1);
            let keys = keys.lock().unwrap();
            assert!(body.contains(&keys[0]), "the key of the first attempt: {body}");
        });
    }
}

#[test]
fn started_and_unsafe_asks_a_person_and_retry_is_an_answer() {
    let store = Store::new();
    let plan = plan("Go.", Effect::Unsafe);
    crash_in_call(&store, &plan);
    block_on(async {
        let executor = store.replayer();
        let needs = resume(&executor, &plan).await.parked();
        assert!(matches!(needs[0].kind, NeedKind::InDoubt { .. }), "{needs:?}");
        assert_eq!(needs[0].path, "a");
        // `retry` of the run does not answer for the person.
        retry(&executor, &plan).await.parked();
        drop(executor);
        let (runner, keys) = noting();
        let executor = store.executor(runner);
        let wrong = executor.decide(&run_id(), &needs[0], Decision::Keep).await.unwrap_err();
        assert!(wrong.to_string().contains("retry"), "{wrong}");
        let need = executor.needs(&run_id()).unwrap().remove(0);
        executor.decide(&run_id(), &need, Decision::Retry).await.unwrap();
        resume(&executor, &plan).await.completed();
        assert_eq!(keys.lock().unwrap().len(), 1);
        drop(executor);
        resume(&store.replayer(), &plan).await.completed();
    });
}

#[test]
fn started_and_different_is_closed_and_runs_under_a_new_key() {
    let store = Store::new();
    crash_in_call(&store, &plan("Go.", Effect::Idempotent));
    block_on(async {
        let (runner, keys) = noting();
        let executor = store.executor(runner);
        let (value, _) = resume(&executor, &plan("Go on.", Effect::Idempotent)).await.completed();
        assert_eq!(value, "a: Go on.");
        let run = executor.ledger().find(&run_id()).unwrap().unwrap();
        let mut kinds = Vec::new();
        for seq in 1..=executor.ledger().records(run).unwrap() {
            let record = executor.ledger().record(run, hermes_workflows::core::ids::Seq(seq)).unwrap();
            kinds.push(format!("{:?}", record.header.kind));
        }
        assert_eq!(kinds, ["RunStarted", "Named", "Started", "Interrupted", "Started", "Succeeded", "Ended"]);
        assert_eq!(keys.lock().unwrap().len(), 1);
    });
}

#[test]
fn started_unsafe_and_different_asks_a_person_too() {
    let store = Store::new();
    crash_in_call(&store, &plan("Go.", Effect::Unsafe));
    block_on(async {
        let needs = resume(&store.replayer(), &plan("Go on.", Effect::Unsafe)).await.parked();
        assert!(matches!(needs[0].kind, NeedKind::InDoubt { .. }), "{needs:?}");
        // An effect that was loosened since does not loosen what began under the stricter one.
        let needs = resume(&store.replayer(), &plan("Go on.", Effect::Pure)).await.parked();
        assert!(matches!(needs[0].kind, NeedKind::InDoubt { .. }), "{needs:?}");
    });
}

#[test]
fn a_call_that_keeps_ending_with_the_process_is_in_doubt() {
    let store = Store::new();
    let plan = plan("Go.", Effect::Idempotent);
    for _ in 0..3 {
        crash_in_call(&store, &plan);
    }
    block_on(async {
        let needs = resume(&store.replayer(), &plan).await.parked();
        assert!(
            matches!(&needs[0].kind, NeedKind::InDoubt { why, .. } if why.contains("in a row")),
            "{needs:?}"
        );
        let executor = store.executor(noting().0);
        decide_all(&executor, Decision::Retry).await;
        resume(&executor, &plan).await.completed();
    });
}

#[tokio::test]
async fn succeeded_and_the_same_is_reused_by_resume_and_retry() {
    let store = Store::new();
    let plan = plan("Go.", Effect::Idempotent);
    start(&store.executor(noting().0), &plan, "t".to_owned()).await.completed();
    let (_, counts) = resume(&store.replayer(), &plan).await.completed();
    assert_eq!((counts.reused, counts.calls), (1, 0));
    retry(&store.replayer(), &plan).await.completed();
}

#[tokio::test]
async fn succeeded_and_different_is_a_conflict_for_resume_and_retry() {
    let store = Store::new();
    start(&store.executor(noting().0), &plan("Go.", Effect::Idempotent), "t".to_owned()).await.completed();
    let edited = plan("Go on.", Effect::Idempotent);
    assert_eq!(changed_fields(&resume(&store.replayer(), &edited).await.parked()), ["a: prompt"]);
    assert_eq!(changed_fields(&retry(&store.replayer(), &edited).await.parked()), ["a: prompt"]);
}

#[tokio::test]
async fn below_an_open_cause_a_difference_runs_again_and_without_one_it_conflicts() {
    let store = Store::new();
    start(&store.executor(noting().0), &chain("Go.", None), "t".to_owned()).await.completed();
    // The version is the cause; `b` has another input below it and is not asked about.
    let (runner, keys) = noting();
    let (_, counts) = resume(&store.executor(runner), &chain("Go far.", Some(1))).await.completed();
    assert_eq!((counts.calls, keys.lock().unwrap().len()), (2, 2));
    // The cause is closed: a later difference conflicts again.
    let needs = resume(&store.replayer(), &chain("Go near.", Some(1))).await.parked();
    assert_eq!(changed_fields(&needs), ["a: prompt"]);
}

#[tokio::test]
async fn a_rerun_that_yields_the_same_runs_nothing_below_it() {
    let store = Store::new();
    let script = || Scripted::new().text("a", "same").text("b", "end");
    start(&store.executor(script()), &chain("Go.", None), "t".to_owned()).await.completed();
    let runner = script();
    let calls = runner.clone();
    resume(&store.executor(runner), &chain("Go far.", Some(1))).await.completed();
    assert_eq!(calls.calls(), ["a"]);
}

#[tokio::test]
async fn an_unsafe_step_never_runs_again_by_itself() {
    let plan = |prompt: &'static str, version| {
        Plan::new("unsafe", move |topic: Step<String>| {
            let a = agent("a").input("topic", topic).prompt(prompt).version(version).text();
            agent("b").input("a", a).prompt("Send it.").effect(Unsafe).text()
        })
        .unwrap()
    };
    let store = Store::new();
    start(&store.executor(noting().0), &plan("Go.", 1), "t".to_owned()).await.completed();
    // Below the cause, `a` runs again; `b` is a conflict, cause or not.
    let (runner, keys) = noting();
    let executor = store.executor(runner);
    let needs = resume(&executor, &plan("Go far.", 2)).await.parked();
    assert_eq!(changed_fields(&needs), ["b: input `a`"]);
    assert_eq!(keys.lock().unwrap().len(), 1);
    decide_all(&executor, Decision::Rerun).await;
    resume(&executor, &plan("Go far.", 2)).await.completed();
    assert_eq!(keys.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn failed_and_the_same_is_reused_by_resume_and_dispatched_by_retry() {
    let store = Store::new();
    let plan = plan("Go.", Effect::Idempotent);
    start(&store.executor(failing()), &plan, "t".to_owned()).await.failed();
    let failure = resume(&store.replayer(), &plan).await.failed();
    assert_eq!((failure.class, failure.message.as_str()), (FailureClass::RunnerError, "no luck"));
    let (runner, keys) = noting();
    retry(&store.executor(runner), &plan).await.completed();
    assert_eq!(keys.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_retry_is_a_new_generation_and_so_has_a_new_key() {
    let store = Store::new();
    let plan = plan("Go.", Effect::Idempotent);
    let keys = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    for _ in 0..2 {
        let noted = std::sync::Arc::clone(&keys);
        let runner = FnRunner::sync(move |call| {
            noted.lock().unwrap().push(call.idempotency_key);
            Err(RunnerError::new(RunnerErrorKind::Failed, "no luck"))
        });
        let executor = store.executor(runner);
        if executor.ledger().find(&run_id()).unwrap().is_none() {
            start(&executor, &plan, "t".to_owned()).await.failed();
        } else {
            retry(&executor, &plan).await.failed();
        }
    }
    let keys = keys.lock().unwrap();
    assert!(keys.len() == 2 && keys[0] != keys[1]);
}

#[tokio::test]
async fn failed_and_unsafe_that_may_have_acted_asks_a_person_on_retry() {
    let store = Store::new();
    let plan = plan("Go.", Effect::Unsafe);
    start(&store.executor(failing()), &plan, "t".to_owned()).await.failed();
    let executor = store.replayer();
    let needs = retry(&executor, &plan).await.parked();
    assert!(
        matches!(&needs[0].kind, NeedKind::InDoubt { why, .. } if why.contains("may have acted")),
        "{needs:?}"
    );
    drop(executor);
    let executor = store.executor(noting().0);
    decide_all(&executor, Decision::Retry).await;
    resume(&executor, &plan).await.completed();
}

#[tokio::test]
async fn failed_and_unsafe_that_never_began_is_simply_dispatched_on_retry() {
    let store = Store::new();
    let plan = plan("Go.", Effect::Unsafe);
    let never = FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::NotBegun, "no program")));
    start(&store.executor(never), &plan, "t".to_owned()).await.failed();
    retry(&store.executor(noting().0), &plan).await.completed();
}

#[tokio::test]
async fn failed_and_different_is_dispatched() {
    // The run must be open for `resume` to dispatch: here a question holds it.
    let plan = |prompt: &'static str| {
        Plan::new("open", move |topic: Step<String>| {
            let items = value(vec![0_u32]);
            let tried =
                parallel_each("try", items, |_| agent("a").input("topic", topic).prompt(prompt).text())
                    .options();
            let go = ask("go").title("Go on?").returns::<bool>();
            join((tried, go))
        })
        .unwrap()
    };
    let store = Store::new();
    start(&store.executor(failing()), &plan("Go."), "t".to_owned()).await.waiting();
    resume(&store.replayer(), &plan("Go.")).await.waiting();
    let (runner, keys) = noting();
    let executor = store.executor(runner);
    resume(&executor, &plan("Go on.")).await.waiting();
    assert_eq!(keys.lock().unwrap().len(), 1);
    answer(&executor, "go", &json!(true)).await;
    let (value, _) = resume(&executor, &plan("Go on.")).await.completed();
    assert_eq!(value, (vec![Some("try[0]/a: Go on.".to_owned())], true));
}

#[tokio::test]
async fn cancelled_is_reused_by_resume_and_dispatched_by_retry() {
    let store = Store::new();
    let plan = plan("Go.", Effect::Idempotent);
    let (begun, wait) = tokio::sync::oneshot::channel();
    let begun = std::sync::Mutex::new(Some(begun));
    let executor = Executor::builder().ledger(store.open()).runner(CancellableRunner(begun)).build();
    let run = executor.start(&plan, "t".to_owned()).id("r").await.unwrap();
    wait.await.unwrap();
    executor.cancel(&run_id(), Actor::claimed("ada")).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled(by) if by == Actor::claimed("ada")));
    drop(executor);
    assert!(matches!(resume(&store.replayer(), &plan).await.unwrap(), Outcome::Cancelled(_)));
    retry(&store.executor(noting().0), &plan).await.completed();
}

/// Hangs until it is cancelled.
struct CancellableRunner(std::sync::Mutex<Option<tokio::sync::oneshot::Sender<()>>>);

impl Runner for CancellableRunner {
    fn identity(&self) -> hermes_workflows::executor::RunnerIdentity {
        hermes_workflows::executor::RunnerIdentity { name: "hanging".to_owned(), version: None }
    }

    fn run(
        &self,
        _: AgentCall,
        watch: hermes_workflows::executor::CallWatch,
    ) -> hermes_workflows::executor::BoxFuture<'_, Result<AgentReply, RunnerError>> {
        Box::pin(async move {
            if let Some(begun) = self.0.lock().unwrap().take() {
                begun.send(()).unwrap();
            }
            watch.cancelled().await;
            Err(RunnerError::new(RunnerErrorKind::Cancelled, "told to"))
        })
    }
}

fn asking(title: &'static str) -> Plan<String, bool> {
    Plan::new("asking", move |topic: Step<String>| {
        ask("go").title(title).input("topic", topic).returns::<bool>()
    })
    .unwrap()
}

#[tokio::test]
async fn an_open_question_that_is_the_same_stays_open_under_the_same_id() {
    let store = Store::new();
    let first = start(&store.replayer(), &asking("Go?"), "t".to_owned()).await.waiting();
    let second = resume(&store.replayer(), &asking("Go?")).await.waiting();
    assert_eq!(first, second);
    assert_eq!(retry(&store.replayer(), &asking("Go?")).await.waiting(), first);
}

#[tokio::test]
async fn an_open_question_that_differs_is_closed_and_asked_anew() {
    let store = Store::new();
    let first = start(&store.replayer(), &asking("Go?"), "t".to_owned()).await.waiting();
    let executor = store.replayer();
    let second = resume(&executor, &asking("Shall we go?")).await.waiting();
    assert_eq!(second.len(), 1);
    assert_ne!(first[0].id, second[0].id);
    // An answer names the question it was made for; the old one takes none.
    let error = executor.answer(&run_id(), &first[0], &true).await.unwrap_err();
    assert!(matches!(error, hermes_workflows::executor::AnswerError::Changed { .. }), "{error}");
    executor.answer(&run_id(), &second[0], &true).await.unwrap();
    assert!(resume(&executor, &asking("Shall we go?")).await.completed().0);
}

#[tokio::test]
async fn an_answered_question_is_reused_and_conflicts_when_it_differs() {
    let store = Store::new();
    let executor = store.replayer();
    start(&executor, &asking("Go?"), "t".to_owned()).await.waiting();
    answer(&executor, "go", &json!(true)).await;
    assert!(resume(&executor, &asking("Go?")).await.completed().0);
    drop(executor);
    let executor = store.replayer();
    let needs = resume(&executor, &asking("Shall we go?")).await.parked();
    assert_eq!(changed_fields(&needs), ["go: title"]);
    decide_all(&executor, Decision::Rerun).await;
    resume(&executor, &asking("Shall we go?")).await.waiting();
    answer(&executor, "go", &json!(false)).await;
    assert!(!resume(&executor, &asking("Shall we go?")).await.completed().0);
}

#[tokio::test]
async fn below_a_cause_an_answered_question_whose_inputs_changed_is_asked_again() {
    let plan = |version| {
        Plan::new("asks", move |topic: Step<String>| {
            let draft = agent("draft").input("topic", topic).prompt("Draft.").version(version).text();
            review("look", draft).approved()
        })
        .unwrap()
    };
    let store = Store::new();
    let executor = store.executor(Scripted::new().text("draft", "one"));
    start(&executor, &plan(1), "t".to_owned()).await.waiting();
    approve(&executor, "look[1]").await;
    assert_eq!(resume(&executor, &plan(1)).await.completed().0, "one");
    drop(executor);
    let executor = store.executor(Scripted::new().text("draft", "two"));
    let needs = resume(&executor, &plan(2)).await.waiting();
    assert_eq!(needs[0].path, "look[1]", "an approval never carries over to changed inputs");
    approve(&executor, "look[1]").await;
    assert_eq!(resume(&executor, &plan(2)).await.completed().0, "two");
}

#[tokio::test]
async fn a_finished_plan_step_that_is_gone_parks_once_and_is_dropped() {
    let plan = |extra: bool| {
        Plan::new("gone", move |topic: Step<String>| {
            if extra {
                agent("extra").input("topic", topic).prompt("Extra.").text();
            }
            agent("a").input("topic", topic).prompt("Go.").text()
        })
        .unwrap()
    };
    let store = Store::new();
    start(&store.executor(noting().0), &plan(true), "t".to_owned()).await.completed();
    let executor = store.replayer();
    let needs = resume(&executor, &plan(false)).await.parked();
    assert!(matches!(needs[0].kind, NeedKind::Dropped { .. }), "{needs:?}");
    assert_eq!(retry(&executor, &plan(false)).await.parked().len(), 1);
    let keep = executor.decide(&run_id(), &needs[0], Decision::Keep).await.unwrap_err();
    assert!(keep.to_string().contains("dropped"), "{keep}");
    decide_all(&executor, Decision::Drop).await;
    resume(&executor, &plan(false)).await.completed();
    drop(executor);
    resume(&store.replayer(), &plan(false)).await.completed();
}

#[tokio::test]
async fn every_conflict_is_found_before_anything_is_spent() {
    let plan = |a: &'static str, b: &'static str| {
        Plan::new("all", move |items: Step<Vec<String>>| {
            let all =
                parallel_each("each", items, |item| agent("a").input("item", item).prompt(a).text()).all();
            let end = agent("b").input("all", all).prompt(b).text();
            agent("never").input("end", end).prompt("New.").text()
        })
        .unwrap()
    };
    let before = |a, b| {
        Plan::new("all", move |items: Step<Vec<String>>| {
            let all =
                parallel_each("each", items, |item| agent("a").input("item", item).prompt(a).text()).all();
            agent("b").input("all", all).prompt(b).text()
        })
        .unwrap()
    };
    let store = Store::new();
    let items = ["x", "y", "z", "w"].map(str::to_owned).to_vec();
    start(&store.executor(noting().0), &before("Go.", "End."), items).await.completed();
    let needs = resume(&store.replayer(), &plan("Go!", "End!")).await.parked();
    assert_eq!(changed_fields(&needs), ["each[*]/a: prompt", "b: prompt"]);
    let NeedKind::Conflict { count, examples, .. } = &needs[0].kind else { panic!("{needs:?}") };
    assert_eq!((*count, examples.len()), (4, 3));
}

#[tokio::test]
async fn a_decision_does_not_apply_when_the_plan_changed_again() {
    let store = Store::new();
    start(&store.executor(noting().0), &plan("Go.", Effect::Idempotent), "t".to_owned()).await.completed();
    let executor = store.replayer();
    let first = resume(&executor, &plan("Go on.", Effect::Idempotent)).await.parked();
    executor.decide(&run_id(), &first[0], Decision::Keep).await.unwrap();
    let second = resume(&executor, &plan("Go far.", Effect::Idempotent)).await.parked();
    assert_eq!(changed_fields(&second), ["a: prompt"]);
    let stale = executor.decide(&run_id(), &first[0], Decision::Keep).await.unwrap_err();
    assert!(stale.to_string().contains("changed again"), "{stale}");
}

#[tokio::test]
async fn a_plan_that_is_put_back_needs_no_decision() {
    let store = Store::new();
    start(&store.executor(noting().0), &plan("Go.", Effect::Idempotent), "t".to_owned()).await.completed();
    resume(&store.replayer(), &plan("Go on.", Effect::Idempotent)).await.parked();
    resume(&store.replayer(), &plan("Go.", Effect::Idempotent)).await.completed();
    let executor = store.replayer();
    assert!(executor.needs(&run_id()).unwrap().is_empty());
}

#[tokio::test]
async fn decided_nodes_are_checked_by_recomputing_them() {
    let plan = |threshold: u32, key: fn(&u32) -> String| {
        Plan::new("decided", move |items: Step<Vec<u32>>| {
            let all = parallel_each("each", items, |item| {
                step("s").input("item", item).run(|item: &u32| item * 10)
            })
            .key_by(key)
            .all();
            let sum = all.map(|all| all.iter().sum::<u32>());
            branch("size", sum)
                .when("big", move |sum| *sum >= threshold, |sum| sum.map(|_| "big".to_owned()))
                .otherwise(|sum| sum.map(|_| "small".to_owned()))
        })
        .unwrap()
    };
    let by_value: fn(&u32) -> String = u32::to_string;
    let store = Store::new();
    let executor = store.replayer();
    assert_eq!(start(&executor, &plan(50, by_value), vec![1, 2, 3]).await.completed().0, "big");
    drop(executor);
    let needs = resume(&store.replayer(), &plan(100, by_value)).await.parked();
    assert_eq!(changed_fields(&needs), ["size: arm"]);
    let needs = resume(&store.replayer(), &plan(50, |item| format!("k{item}"))).await.parked();
    assert_eq!(changed_fields(&needs), ["each: key_by"]);
    // Keeping the recorded arm goes on with it.
    let executor = store.replayer();
    resume(&executor, &plan(100, by_value)).await.parked();
    decide_all(&executor, Decision::Keep).await;
    assert_eq!(resume(&executor, &plan(100, by_value)).await.completed().0, "big");
    drop(executor);
    // Running the decision again takes today's arm.
    let store = Store::new();
    let executor = store.replayer();
    start(&executor, &plan(50, by_value), vec![1, 2, 3]).await.completed();
    resume(&executor, &plan(100, by_value)).await.parked();
    decide_all(&executor, Decision::Rerun).await;
    assert_eq!(resume(&executor, &plan(100, by_value)).await.completed().0, "small");
}

#[test]
fn a_failed_group_dispatches_nothing_after_a_crash() {
    // `one` fails while `two` is under way; the process ends; on resume `two` is closed, not run again.
    let plan = Plan::new("group", |topic: Step<String>| {
        parallel("both", ["one", "two"], |_| agent("a").input("topic", topic).prompt("Go.").text()).all()
    })
    .unwrap();
    let store = Store::new();
    block_on(async {
        let executor = store.executor(FnRunner::new(|call: AgentCall| async move {
            if call.path == "both[one]/a" {
                return Err(RunnerError::new(RunnerErrorKind::Failed, "no luck"));
            }
            std::future::pending().await
        }));
        let mut watch = executor.watch();
        let _run = executor.start(&plan, "t".to_owned()).id("r").await.unwrap();
        while let Some(Seen::Event(event)) = watch.next().await {
            if event.kind == hermes_workflows::core::journal::Kind::Failed {
                break;
            }
        }
    });
    block_on(async {
        let executor = store.replayer();
        let failure = resume(&executor, &plan).await.failed();
        assert_eq!(failure.path, "both[one]/a");
        drop(executor);
        let (runner, calls) = echo();
        retry(&store.executor(runner), &plan).await.completed();
        assert_eq!(calls.count(), 2);
    });
}

/// A command with these arguments, which works in the directory of the store.
fn echoing(word: &'static str, version: u32) -> Plan<String, String> {
    Plan::new("table", move |_: Step<String>| {
        let script = "echo x >> ran; test -e ready && printf %s \"$1\"";
        command("c").argv(["sh", "-c", script, "sh", word]).effect(Idempotent).version(version).stdout()
    })
    .unwrap()
}

#[tokio::test]
async fn the_rows_hold_for_commands() {
    let store = Store::new();
    let executor = || Executor::builder().ledger(store.open()).base_dir(store.directory()).build();
    let ran = || std::fs::read_to_string(store.directory().join("ran")).unwrap().lines().count();
    // Failed and the same: reused by `resume`, dispatched by `retry`.
    start(&executor(), &echoing("a", 1), "t".to_owned()).await.failed();
    let failure = resume(&executor(), &echoing("a", 1)).await.failed();
    assert_eq!((failure.class, ran()), (FailureClass::CommandFailed, 1));
    std::fs::write(store.directory().join("ready"), "").unwrap();
    assert_eq!(retry(&executor(), &echoing("a", 1)).await.completed().0, "a");
    assert_eq!(ran(), 2);
    // Succeeded and the same: reused by both.
    assert_eq!(resume(&executor(), &echoing("a", 1)).await.completed().0, "a");
    retry(&executor(), &echoing("a", 1)).await.completed();
    // Succeeded and different: a conflict, and below a cause it runs again.
    assert_eq!(changed_fields(&resume(&executor(), &echoing("b", 1)).await.parked()), ["c: argv"]);
    assert_eq!(ran(), 2);
    assert_eq!(resume(&executor(), &echoing("b", 2)).await.completed().0, "b");
    assert_eq!(ran(), 3);
}

/// A question with a time, on a clock that stands at this second.
fn timed(title: &'static str) -> Plan<(), bool> {
    Plan::new("timed", move |_: Step<()>| {
        let go = ask("go").title(title).expires_in(Duration::from_secs(60), OnExpiry::Fail).returns::<bool>();
        let kept = ask("keep").returns::<bool>();
        join((go, kept)).map(|(go, _)| *go)
    })
    .unwrap()
}

#[tokio::test]
async fn expired_and_the_same_is_reused_by_resume_and_asked_anew_by_retry() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    start(&executor, &timed("Go?"), ()).await.waiting();
    hand.set(second(60));
    assert_eq!(resume(&executor, &timed("Go?")).await.failed().class, FailureClass::Expired);
    drop(executor);
    let executor = store.executor_by(&clock, refuses());
    assert_eq!(resume(&executor, &timed("Go?")).await.failed().class, FailureClass::Expired);
    let open = retry(&executor, &timed("Go?")).await.waiting();
    assert_eq!(open.iter().map(|need| need.path.as_str()).collect::<Vec<_>>(), ["keep", "go"]);
}

#[tokio::test]
async fn expired_and_different_is_asked_anew() {
    // In a group that swallows the failure, so that the run is still open.
    let plan = |title: &'static str| {
        Plan::new("open", move |_: Step<()>| {
            let tried = parallel("try", ["it"], |_| {
                ask("go").title(title).expires_in(Duration::from_secs(60), OnExpiry::Fail).returns::<bool>()
            })
            .options();
            join((tried, ask("keep").returns::<bool>()))
        })
        .unwrap()
    };
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    start(&executor, &plan("Go?"), ()).await.waiting();
    hand.set(second(60));
    assert_eq!(resume(&executor, &plan("Go?")).await.waiting().len(), 1);
    assert_eq!(resume(&executor, &plan("Really?")).await.waiting().len(), 2);
}

#[tokio::test]
async fn a_wait_goes_on_as_it_began_whatever_differs_and_is_reused() {
    let plan = |seconds: u64, other: bool| {
        Plan::new("wait", move |input: Step<Timestamp>| {
            let until = input.map(move |at| if other { at.after(Duration::from_secs(1)) } else { *at });
            let first = wait("first").until(until);
            let second = wait("second").after(first).for_(Duration::from_secs(seconds));
            join((first, second))
        })
        .unwrap()
    };
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    start(&executor, &plan(60, false), second(10)).await.waiting();
    assert!(resume(&executor, &plan(60, true)).await.waiting().is_empty());
    hand.set(second(10));
    resume(&executor, &plan(60, false)).await.waiting();
    hand.set(second(70));
    // Neither another moment nor another duration is a difference.
    let ((first, then), counts) = resume(&executor, &plan(7, true)).await.completed();
    assert_eq!((first, then, counts.reused), (second(10), second(70), 1));
    let (_, counts) = retry(&executor, &plan(7, true)).await.completed();
    assert_eq!(counts.reused, 2);
}

#[tokio::test]
async fn a_wait_in_the_place_of_another_step_is_a_conflict() {
    let store = Store::new();
    let agent = Plan::new("kind", |_: Step<()>| {
        let told = agent("it").prompt("Go.").text();
        ask("keep").after(told).returns::<bool>()
    });
    let waits = Plan::new("kind", |_: Step<()>| {
        let waited = wait("it").for_(Duration::from_secs(1));
        ask("keep").after(waited).returns::<bool>()
    });
    start(&store.executor(noting().0), &agent.unwrap(), ()).await.waiting();
    let needs = resume(&store.replayer(), &waits.unwrap()).await.parked();
    assert!(changed_fields(&needs).contains(&"it: kind".to_owned()), "{needs:?}");
}

/// A snapshot of files, whose globs can be edited.
fn snapshot(globs: &'static [&'static str]) -> Plan<String, FileSet> {
    Plan::new("snapshot", move |_: Step<String>| files("taken", globs.iter().copied()).list()).unwrap()
}

fn over(store: &Store, base: &tempfile::TempDir) -> Executor {
    Executor::builder().ledger(store.open()).runner(refuses()).base_dir(base.path()).build()
}

#[tokio::test]
async fn files_taken_are_reused_whatever_became_of_them_and_other_globs_conflict() {
    let (store, base) = (Store::new(), tempfile::tempdir().unwrap());
    std::fs::write(base.path().join("a.md"), "one").unwrap();
    let plan = snapshot(&["*.md"]);
    let (first, _) = start(&over(&store, &base), &plan, "t".to_owned()).await.completed();
    std::fs::write(base.path().join("a.md"), "two").unwrap();
    let (set, counts) = resume(&over(&store, &base), &plan).await.completed();
    assert_eq!((&set, counts.reused), (&first, 1));
    let (set, counts) = retry(&over(&store, &base), &plan).await.completed();
    assert_eq!((&set, counts.reused), (&first, 1));
    let other = snapshot(&["*.md", "*.txt"]);
    assert_eq!(changed_fields(&resume(&over(&store, &base), &other).await.parked()), ["taken: globs"]);
    assert_eq!(changed_fields(&retry(&over(&store, &base), &other).await.parked()), ["taken: globs"]);
}

#[tokio::test]
async fn files_that_could_not_be_taken_are_tried_again_by_retry_and_with_other_globs() {
    let (store, base) = (Store::new(), tempfile::tempdir().unwrap());
    let plan = snapshot(&["*.md"]);
    start(&over(&store, &base), &plan, "t".to_owned()).await.failed();
    std::fs::write(base.path().join("a.md"), "one").unwrap();
    // The recorded failure is the outcome, until somebody retries.
    resume(&over(&store, &base), &plan).await.failed();
    retry(&over(&store, &base), &plan).await.completed();
}
