//! Outcomes of other runs: a fork takes over what its parent got at the same path for the same request, a step with `.memo()`
//! what any run got. Nothing is called for it, and the record says where it is from.

mod support;

use hermes_workflows::{
    core::journal::{Adopted, Event},
    executor::{AttemptEnd, DriveError},
    prelude::*,
};
use std::sync::{Arc, Mutex};
use support::*;

fn id(text: &str) -> RunId {
    RunId::new(text).unwrap()
}

/// A runner that notes what it is called for, and answers with the path and a number that grows.
fn noting() -> (FnRunner, Arc<Mutex<Vec<String>>>) {
    let called = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&called);
    let calls = Calls::default();
    let runner = FnRunner::sync(move |call| {
        noted.lock().unwrap().push(call.path.clone());
        Ok(AgentReply::text(format!("<{} {}>", call.path, calls.add())))
    });
    (runner, called)
}

fn taken(called: &Arc<Mutex<Vec<String>>>) -> Vec<String> {
    std::mem::take(&mut called.lock().unwrap())
}

fn adopted(executor: &Executor, run: &str) -> Vec<Adopted> {
    let ledger = executor.ledger();
    let number = ledger.find(&id(run)).unwrap().unwrap();
    let all = (1..=ledger.records(number).unwrap()).map(hermes_workflows::core::ids::Seq);
    all.filter_map(|seq| match ledger.record(number, seq).unwrap().event().unwrap() {
        Event::Adopted(adopted) => Some(adopted),
        _ => None,
    })
    .collect()
}

/// Each item drafted, the drafts joined, and a person asked.
fn plan() -> Plan<Vec<String>, bool> {
    Plan::new("post", |items: Step<Vec<String>>| {
        let drafts = parallel_each("drafts", items, |item: Step<String>| {
            agent("draft").input("item", item).prompt("Draft.").text()
        })
        .key_by(String::clone)
        .all();
        let whole = step("whole").input("drafts", drafts).run(|drafts: &Vec<String>| drafts.join(" "));
        ask("publish").title("Publish it?").input("whole", whole).returns::<bool>()
    })
    .unwrap()
}

fn items(of: &[&str]) -> Vec<String> {
    of.iter().map(ToString::to_string).collect()
}

/// The parent, over `a` and `b`, approved.
async fn parent(executor: &Executor) {
    start(executor, &plan(), items(&["a", "b"])).await.waiting();
    answer(executor, "publish", &true.into()).await;
    resume(executor, &plan()).await.completed();
}

#[tokio::test]
async fn a_fork_takes_over_what_is_the_same_answers_too_and_calls_nothing() {
    let (store, (runner, called)) = (Store::new(), noting());
    let executor = store.executor(runner);
    parent(&executor).await;
    taken(&called);
    let fork = executor.start(&plan(), items(&["a", "b"])).id("fork").fork_of(&id("r")).await.unwrap();
    let (value, counts) = fork.outcome().await.completed();
    assert_eq!((value, counts.calls, counts.reused), (true, 0, 4));
    assert_eq!(taken(&called), [""; 0]);
    let from = adopted(&executor, "fork");
    assert_eq!(
        from.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(),
        ["drafts[a]/draft", "drafts[b]/draft", "whole", "publish"]
    );
    assert!(from.iter().all(|one| one.run == id("r")));
    let attempts = executor.attempts(&id("fork"), "drafts[a]/draft").unwrap();
    assert_eq!(attempts.iter().map(|one| one.ended).collect::<Vec<_>>(), [AttemptEnd::Adopted]);
    drop(executor);
    // It is a run of its own: it replays without its parent being looked at.
    let executor = store.replayer();
    executor.resume(&plan(), "fork").await.unwrap().outcome().await.completed();
    assert!(executor.ledger().verify().unwrap().is_empty());
}

#[tokio::test]
async fn a_fork_with_another_input_makes_only_what_differs() {
    let (store, (runner, called)) = (Store::new(), noting());
    let executor = store.executor(runner);
    parent(&executor).await;
    taken(&called);
    let fork = executor.start(&plan(), items(&["b", "c"])).id("fork").fork_of(&id("r")).await.unwrap();
    let needs = fork.outcome().await.waiting();
    assert_eq!(taken(&called), ["drafts[c]/draft"]);
    // What it shows is new, so that the answer does not carry over.
    assert_eq!(needs[0].path, "publish");
}

#[tokio::test]
async fn nothing_is_taken_over_where_it_is_to_be_made_afresh() {
    let (store, (runner, called)) = (Store::new(), noting());
    let executor = store.executor(runner);
    parent(&executor).await;
    taken(&called);
    let start = executor.start(&plan(), items(&["a", "b"])).id("fork").fork_of(&id("r"));
    start.afresh("drafts[a]").await.unwrap().outcome().await.waiting();
    assert_eq!(taken(&called), ["drafts[a]/draft"]);
    let start = executor.start(&plan(), items(&["a", "b"])).id("other").fork_of(&id("r"));
    start.afresh("drafts[*]/draft").await.unwrap().outcome().await.waiting();
    assert_eq!(taken(&called), ["drafts[a]/draft", "drafts[b]/draft"]);
}

#[tokio::test]
async fn failures_are_not_taken_over() {
    let store = Store::new();
    let one = Plan::new("one", |topic: Step<String>| agent("a").input("topic", topic).prompt("Go.").text())
        .unwrap();
    let executor = store.executor(FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no"))));
    start(&executor, &one, "t".to_owned()).await.failed();
    drop(executor);
    let (runner, calls) = echo();
    let executor = store.executor(runner);
    let fork = executor.start(&one, "t".to_owned()).id("fork").fork_of(&id("r")).await.unwrap();
    fork.outcome().await.completed();
    assert_eq!(calls.count(), 1);
}

#[tokio::test]
async fn a_fork_of_nothing_or_of_another_plan_is_refused_and_leaves_no_run() {
    let store = Store::new();
    let executor = store.executor(noting().0);
    parent(&executor).await;
    let other = Plan::new("other", |items: Step<Vec<String>>| items.map(Vec::len)).unwrap();
    let refused = executor.start(&plan(), items(&[])).id("f").fork_of(&id("none")).await.map(drop);
    assert!(matches!(refused, Err(DriveError::NoSuchRun(_))), "{refused:?}");
    let refused = executor.start(&other, items(&[])).id("f").fork_of(&id("r")).await.map(drop);
    assert!(matches!(refused, Err(DriveError::OtherPlan { .. })), "{refused:?}");
    let refused = executor.start(&plan(), items(&[])).id("f").afresh("x").await.map(drop);
    assert!(matches!(refused, Err(DriveError::NoFork)), "{refused:?}");
    let refused = executor.start(&plan(), items(&[])).id("f").fork_of(&id("r")).afresh("a[").await.map(drop);
    assert!(matches!(refused, Err(DriveError::NotAPath { .. })), "{refused:?}");
    assert_eq!(executor.ledger().find(&id("f")).unwrap(), None);
}

/// A summary, remembered over all runs, and a title, which is not.
fn remembering(prompt: &str) -> Plan<String, String> {
    let prompt = prompt.to_owned();
    Plan::new("remembering", |text: Step<String>| {
        let summary = agent("sum").input("text", text).prompt(prompt).effect(Effect::Pure).memo().text();
        agent("title").input("summary", summary).prompt("A title.").text()
    })
    .unwrap()
}

#[tokio::test]
async fn a_step_that_remembers_is_called_once_for_one_request_over_all_runs() {
    let (store, (runner, called)) = (Store::new(), noting());
    let executor = store.executor(runner);
    start(&executor, &remembering("Sum up."), "tea".to_owned()).await.completed();
    assert_eq!(taken(&called), ["sum", "title"]);
    let second = executor.start(&remembering("Sum up."), "tea".to_owned()).id("second").await.unwrap();
    let (_, counts) = second.outcome().await.completed();
    assert_eq!((taken(&called), counts.reused), (vec!["title".to_owned()], 1));
    let from = adopted(&executor, "second");
    assert_eq!((from[0].run.clone(), from[0].path.as_str()), (id("r"), "sum"));
    // Another request is another.
    for (run, plan, text) in [("third", "Sum up!", "tea"), ("fourth", "Sum up.", "coffee")] {
        let run = executor.start(&remembering(plan), text.to_owned()).id(run).await.unwrap();
        run.outcome().await.completed();
        assert_eq!(taken(&called), ["sum", "title"]);
    }
    drop(executor);
    let executor = store.replayer();
    for run in ["r", "second"] {
        executor.resume(&remembering("Sum up."), run).await.unwrap().outcome().await.completed();
    }
    assert!(executor.ledger().verify().unwrap().is_empty());
}

#[tokio::test]
async fn what_a_person_gave_is_not_remembered_and_what_is_asked_for_again_is_made_again() {
    let (store, (runner, called)) = (Store::new(), noting());
    let executor = store.executor(runner);
    let plan = remembering("Sum up.");
    start(&executor, &plan, "tea".to_owned()).await.completed();
    let first = executor.attempts(&run_id(), "sum").unwrap()[0].outcome.unwrap();
    executor.set(&plan, &run_id(), "sum", &"Mine.".to_owned()).await.unwrap();
    resume(&executor, &plan).await.completed();
    taken(&called);
    let second = executor.start(&plan, "tea".to_owned()).id("second").await.unwrap();
    second.outcome().await.completed();
    assert_eq!(adopted(&executor, "second")[0].outcome, first);
    taken(&called);
    executor.invalidate(&id("second"), "sum").await.unwrap();
    executor.resume(&plan, "second").await.unwrap().outcome().await.completed();
    assert_eq!(taken(&called)[0], "sum");
}

#[test]
fn only_what_does_nothing_but_yield_is_remembered() {
    let plan =
        Plan::new("p", |text: Step<String>| agent("a").input("text", text).prompt("Go.").memo().text());
    let errors = plan.map(drop).unwrap_err().to_string();
    assert!(errors.contains("tests/adopted.rs") && errors.contains("Pure"), "{errors}");
}
