//! What got another name in the plan keeps what runs have recorded under the old one: nobody is asked, nothing is paid again. What
//! the plan no longer has stops the run once, and is dropped or adopted.

mod support;

use hermes_workflows::{executor::DecideError, prelude::*};
use support::*;

fn chain(first: &'static str, second: &'static str) -> Plan<String, String> {
    chain_of(first, None, second, None)
}

/// Two agents, with the names that they had.
fn chain_of(
    first: &'static str,
    first_was: Option<&'static str>,
    second: &'static str,
    second_was: Option<&'static str>,
) -> Plan<String, String> {
    Plan::new("chain", |topic: Step<String>| {
        let facts = agent(first).input("topic", topic).prompt("Facts.");
        let facts = first_was.into_iter().fold(facts, |agent, was| agent.renamed_from(was)).text();
        let draft = agent(second).input("facts", facts).prompt("Draft.");
        second_was.into_iter().fold(draft, |agent, was| agent.renamed_from(was)).text()
    })
    .unwrap()
}

async fn finished<O: Data + std::fmt::Debug>(store: &Store, plan: &Plan<String, O>) -> O {
    let (runner, _) = echo();
    start(&store.executor(runner), plan, "tea".to_owned()).await.completed().0
}

#[tokio::test]
async fn a_renamed_step_is_the_same_step() {
    let store = Store::new();
    let value = finished(&store, &chain("facts", "draft")).await;
    let renamed = chain_of("research", Some("facts"), "draft", None);
    assert_eq!(resume(&store.replayer(), &renamed).await.completed().0, value);
    let executor = store.replayer();
    assert_eq!(executor.attempts(&run_id(), "research").unwrap().len(), 1);
    assert_eq!(kinds(executor.ledger()).iter().filter(|kind| *kind == "Renamed").count(), 1);
    // Once it is in the journal, the plan need not say it any more.
    resume(&executor, &chain("research", "draft")).await.completed();
}

#[tokio::test]
async fn a_name_may_go_from_one_step_to_another() {
    let store = Store::new();
    let value = finished(&store, &chain("a", "b")).await;
    resume(&store.replayer(), &chain_of("x", Some("a"), "a", Some("b"))).await.completed();
    // Said once more it means nothing: the journal has it.
    resume(&store.replayer(), &chain_of("x", Some("a"), "a", Some("b"))).await.completed();
    let back = chain_of("b", Some("x"), "a", None);
    assert_eq!(resume(&store.replayer(), &back).await.completed().0, value);
}

#[tokio::test]
async fn a_renamed_step_that_also_changed_is_a_conflict_under_its_new_name() {
    let store = Store::new();
    finished(&store, &chain("facts", "draft")).await;
    let plan = Plan::new("chain", |topic: Step<String>| {
        let facts =
            agent("research").renamed_from("facts").input("topic", topic).prompt("More facts.").text();
        agent("draft").input("facts", facts).prompt("Draft.").text()
    })
    .unwrap();
    let needs = resume(&store.replayer(), &plan).await.parked();
    assert_eq!(changed_fields(&needs), ["research: prompt"]);
}

fn items(
    each: &'static str,
    was: Option<&'static str>,
    scope_name: &'static str,
) -> Plan<Vec<String>, String> {
    let plan = Plan::new("items", |items: Step<Vec<String>>| {
        let drafts = scope(scope_name, || {
            let drafts = parallel_each(each, items, |item: Step<String>| {
                agent("draft").input("item", item).prompt("Draft.").text()
            });
            was.into_iter().fold(drafts, |drafts, was| drafts.renamed_from(was)).key_by(String::clone).all()
        });
        drafts.map(|drafts| drafts.join(" "))
    });
    plan.unwrap()
}

#[tokio::test]
async fn a_renamed_fan_out_and_a_renamed_scope_keep_all_that_is_in_them() {
    let store = Store::new();
    let (runner, calls) = echo();
    let input = vec!["a".to_owned(), "b".to_owned()];
    start(&store.executor(runner), &items("drafts", None, "work"), input).await.completed();
    assert_eq!(calls.count(), 2);
    let renamed = items("sections", Some("drafts"), "writing").renamed("work", "writing").unwrap();
    let executor = store.replayer();
    resume(&executor, &renamed).await.completed();
    assert_eq!(executor.attempts(&run_id(), "writing/sections[b]/draft").unwrap().len(), 1);
}

#[tokio::test]
async fn a_renamed_plan_goes_on_with_its_runs() {
    let plan = |name: &str| {
        Plan::new(name, |topic: Step<String>| agent("a").input("topic", topic).prompt("Go.").text()).unwrap()
    };
    let store = Store::new();
    finished(&store, &plan("old")).await;
    let refused = resume(&store.replayer(), &plan("new")).await.unwrap_err();
    assert!(refused.to_string().contains("old"), "{refused}");
    resume(&store.replayer(), &plan("new").renamed("old", "new").unwrap()).await.completed();
}

#[tokio::test]
async fn a_renamed_then_keeps_what_was_built_in_it() {
    let plan = |name: &'static str| {
        Plan::new("grown", |topic: Step<String>| {
            topic.then(name, |topic| agent("answer").prompt(format!("About {topic}.")).text())
        })
        .unwrap()
    };
    let store = Store::new();
    let value = finished(&store, &plan("more")).await;
    let executor = store.replayer();
    let renamed = plan("further").renamed("more", "further").unwrap();
    assert_eq!(resume(&executor, &renamed).await.completed().0, value);
}

#[test]
fn a_begun_call_keeps_its_key_under_another_name() {
    let plan = |name: &'static str, was: Option<&'static str>| {
        Plan::new("one", |topic: Step<String>| {
            let call = agent(name).input("topic", topic).prompt("Go.");
            was.into_iter().fold(call, |call, was| call.renamed_from(was)).text()
        })
        .unwrap()
    };
    let store = Store::new();
    crash_in_call(&store, &plan("facts", None));
    block_on(async {
        let key = {
            let ledger = store.open();
            let run = ledger.find(&run_id()).unwrap().unwrap();
            let state = ledger.state(run).unwrap();
            let (_, cell) = state.begun().next().unwrap();
            String::from_utf8(ledger.record(run, cell.request).unwrap().body).unwrap()
        };
        let executor = store.executor(FnRunner::sync(move |call| {
            assert!(key.contains(&call.idempotency_key.to_string()), "{key}");
            Ok(AgentReply::text(call.path.clone()))
        }));
        let (value, counts) = resume(&executor, &plan("research", Some("facts"))).await.completed();
        assert_eq!((value.as_str(), counts.calls), ("research", 1));
    });
}

#[tokio::test]
async fn a_step_that_the_plan_lacks_is_proposed_as_its_twin_and_adopted() {
    let store = Store::new();
    let value = finished(&store, &chain("facts", "draft")).await;
    let executor = store.replayer();
    let needs = resume(&executor, &chain("research", "draft")).await.parked();
    assert_eq!(needs.len(), 1);
    let NeedKind::Dropped { proposed: Some(step), .. } = &needs[0].kind else { panic!("{needs:?}") };
    assert_eq!(step, "research");
    let adopt = Decision::Adopt { step: step.clone() };
    executor.decide(&run_id(), &needs[0], adopt).by(Actor::claimed("ada")).await.unwrap();
    drop(executor);
    let executor = store.replayer();
    assert_eq!(resume(&executor, &chain("research", "draft")).await.completed().0, value);
}

#[tokio::test]
async fn what_is_not_adopted_is_dropped_and_run_anew() {
    let store = Store::new();
    finished(&store, &chain("facts", "draft")).await;
    let (runner, calls) = echo();
    let executor = store.executor(runner);
    let needs = resume(&executor, &chain("research", "draft")).await.parked();
    let refused = executor.decide(&run_id(), &needs[0], Decision::Rerun).await.unwrap_err();
    assert!(matches!(refused, DecideError::NotOffered { .. }), "{refused}");
    // A step of another kind, or one that has records, is not what it may become: the run asks again.
    let wrong = Decision::Adopt { step: "draft".to_owned() };
    executor.decide(&run_id(), &needs[0], wrong).await.unwrap();
    let needs = resume(&executor, &chain("research", "draft")).await.parked();
    executor.decide(&run_id(), &needs[0], Decision::Drop).await.unwrap();
    // The run had completed: what its plan has beyond it, it gets by being extended.
    let needs = executor.extend(&chain("research", "draft"), "r").await.unwrap().outcome().await.parked();
    assert_eq!(changed_fields(&needs), ["draft: input `facts`"]);
    decide_all(&executor, Decision::Rerun).await;
    resume(&executor, &chain("research", "draft")).await.completed();
    assert_eq!(calls.count(), 2);
}

#[test]
fn a_renaming_to_nothing_is_a_mistake_with_its_place() {
    let errors = chain("a", "b").renamed("x", "y").map(drop).unwrap_err().to_string();
    assert!(errors.contains("tests/renames.rs") && errors.contains("`y`"), "{errors}");
    let errors = chain("a", "b").renamed("[", "a").map(drop).unwrap_err().to_string();
    assert!(errors.contains("is not a path"), "{errors}");
}
