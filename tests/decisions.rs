//! What people decide about finished steps: run again, keep, take another output, accept another input, go on with a plan that
//! has grown. Each is in the journal, holds after a reopening, and re-runs what depends on it and differs, and nothing else.

mod support;

use hermes_workflows::{
    core::journal::{CauseKind, Event},
    executor::{AttemptEnd, DecideError, DriveError},
    prelude::*,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use support::*;

/// Answers by path, which a test may change, and what was called.
#[derive(Clone, Default)]
struct World {
    answers: Arc<Mutex<BTreeMap<String, String>>>,
    called: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn runner(&self) -> FnRunner {
        let world = self.clone();
        FnRunner::sync(move |call| {
            world.called.lock().unwrap().push(call.path.clone());
            let answers = world.answers.lock().unwrap();
            Ok(AgentReply::text(
                answers.get(&call.path).cloned().unwrap_or_else(|| format!("<{}>", call.path)),
            ))
        })
    }

    fn says(&self, path: &str, text: &str) {
        self.answers.lock().unwrap().insert(path.to_owned(), text.to_owned());
    }

    /// What was called since this was last asked.
    fn called(&self) -> Vec<String> {
        std::mem::take(&mut self.called.lock().unwrap())
    }
}

/// `facts` → `draft` → `title`, with a prompt for the draft.
fn post(prompt: &str) -> Plan<String, String> {
    let prompt = prompt.to_owned();
    Plan::new("post", |topic: Step<String>| {
        let facts = agent("facts").input("topic", topic).prompt("Facts.").text();
        let draft = agent("draft").input("facts", facts).prompt(prompt).text();
        agent("title").input("draft", draft).prompt("A title.").text()
    })
    .unwrap()
}

async fn finished(store: &Store, world: &World) {
    start(&store.executor(world.runner()), &post("Write."), "tea".to_owned()).await.completed();
    assert_eq!(world.called(), ["facts", "draft", "title"]);
}

/// The causes in the journal: what kind, who, why.
fn causes(executor: &Executor) -> Vec<(CauseKind, Option<String>, Option<String>)> {
    let mut found = Vec::new();
    for record in records(executor.ledger()) {
        if let Event::Caused(caused) = record.event().unwrap() {
            found.push((caused.kind, caused.by.name, caused.why));
        }
    }
    found
}

#[tokio::test]
async fn an_invalidated_step_that_yields_the_same_runs_nothing_downstream() {
    let (store, world) = (Store::new(), World::default());
    finished(&store, &world).await;
    let executor = store.executor(world.runner());
    let asked = executor.invalidate(&run_id(), "facts").by(Actor::claimed("ada")).why("stale").await;
    assert_eq!(asked.unwrap(), 1);
    drop(executor);
    let executor = store.executor(world.runner());
    let (_, counts) = resume(&executor, &post("Write.")).await.completed();
    assert_eq!(world.called(), ["facts"]);
    assert_eq!((counts.calls, counts.reused), (1, 2));
    let said = (CauseKind::Rerun, Some("ada".to_owned()), Some("stale".to_owned()));
    assert_eq!(causes(&executor), [said]);
    drop(executor);
    resume(&store.replayer(), &post("Write.")).await.completed();
}

#[tokio::test]
async fn an_invalidated_step_that_yields_something_else_runs_again_what_differs() {
    let (store, world) = (Store::new(), World::default());
    finished(&store, &world).await;
    let executor = store.executor(world.runner());
    executor.invalidate(&run_id(), "facts").await.unwrap();
    world.says("facts", "other facts");
    world.says("draft", "<draft>");
    resume(&executor, &post("Write.")).await.completed();
    // The draft came out as before, so that the title holds.
    assert_eq!(world.called(), ["facts", "draft"]);
}

#[tokio::test]
async fn a_pattern_invalidates_the_items_it_names_and_a_group_what_is_in_it() {
    let plan = || {
        Plan::new("items", |items: Step<Vec<String>>| {
            parallel_each("drafts", items, |item: Step<String>| {
                let draft = agent("draft").input("item", item).prompt("Draft.").text();
                agent("send").input("draft", draft).prompt("Send.").effect(Effect::Unsafe).text()
            })
            .key_by(String::clone)
            .all()
        })
        .unwrap()
    };
    let (store, world) = (Store::new(), World::default());
    let items = vec!["a".to_owned(), "b".to_owned()];
    start(&store.executor(world.runner()), &plan(), items).await.completed();
    world.called();

    let executor = store.executor(world.runner());
    assert_eq!(executor.invalidate(&run_id(), "drafts[a]/draft").await.unwrap(), 1);
    resume(&executor, &plan()).await.completed();
    assert_eq!(world.called(), ["drafts[a]/draft"]);

    assert_eq!(executor.invalidate(&run_id(), "drafts[*]/draft").await.unwrap(), 2);
    resume(&executor, &plan()).await.completed();
    assert_eq!(world.called(), ["drafts[a]/draft", "drafts[b]/draft"]);

    // A group means what is in it, but nothing that must not happen twice: that has to be named.
    executor.invalidate(&run_id(), "drafts[b]").await.unwrap();
    resume(&executor, &plan()).await.completed();
    assert_eq!(world.called(), ["drafts[b]/draft"]);
    executor.invalidate(&run_id(), "drafts[b]/send").await.unwrap();
    resume(&executor, &plan()).await.completed();
    assert_eq!(world.called(), ["drafts[b]/send"]);

    let refused = executor.invalidate(&run_id(), "drafts[c]/draft").await.unwrap_err();
    assert!(matches!(refused, DecideError::NothingRecorded { .. }), "{refused}");
    let refused = executor.invalidate(&run_id(), "drafts[").await.unwrap_err();
    assert!(matches!(refused, DecideError::NotAPath { .. }), "{refused}");
}

#[tokio::test]
async fn an_output_set_by_hand_counts_and_what_depends_on_it_runs_again() {
    let (store, world) = (Store::new(), World::default());
    finished(&store, &world).await;
    let executor = store.executor(world.runner());
    let plan = post("Write.");
    let set = executor.set(&plan, &run_id(), "draft", &"My own draft.".to_owned());
    set.by(Actor::claimed("ada")).await.unwrap();
    drop(executor);
    let executor = store.executor(world.runner());
    resume(&executor, &plan).await.completed();
    assert_eq!(world.called(), ["title"]);
    assert_eq!(causes(&executor)[0].0, CauseKind::Set);
    drop(executor);
    let executor = store.replayer();
    resume(&executor, &plan).await.completed();
    let ends: Vec<_> = executor.attempts(&run_id(), "draft").unwrap().iter().map(|one| one.ended).collect();
    assert_eq!(ends, [AttemptEnd::Succeeded, AttemptEnd::Given]);

    let refused = executor.set(&plan, &run_id(), "draft", &7_u32).await.unwrap_err();
    assert!(matches!(refused, DecideError::Invalid { .. }), "{refused}");
    let refused = executor.set(&plan, &run_id(), "drift", &"x".to_owned()).await.unwrap_err();
    assert!(matches!(refused, DecideError::NothingRecorded { .. }), "{refused}");
}

#[tokio::test]
async fn an_earlier_output_can_be_restored_without_a_call() {
    let (store, world) = (Store::new(), World::default());
    finished(&store, &world).await;
    let (executor, plan) = (store.executor(world.runner()), post("Write."));
    executor.invalidate(&run_id(), "draft").await.unwrap();
    world.says("draft", "a worse draft");
    resume(&executor, &plan).await.completed();
    assert_eq!(world.called(), ["draft", "title"]);
    drop(executor);

    let executor = store.executor(world.runner());
    let attempts = executor.attempts(&run_id(), "draft").unwrap();
    assert_eq!(attempts.len(), 2);
    assert_eq!((attempts[0].generation, attempts[1].generation), (0, 1));
    executor.restore(&run_id(), "draft", attempts[0].outcome.unwrap()).await.unwrap();
    resume(&executor, &plan).await.completed();
    assert_eq!(world.called(), ["title"]);
    drop(executor);
    let executor = store.replayer();
    resume(&executor, &plan).await.completed();

    // Not any record is an outcome of this step.
    let other = executor.attempts(&run_id(), "facts").unwrap()[0].outcome.unwrap();
    for wrong in [other, attempts[0].began, hermes_workflows::core::ids::Seq(9_999)] {
        let refused = executor.restore(&run_id(), "draft", wrong).await.unwrap_err();
        assert!(matches!(refused, DecideError::NotItsOutcome { .. }), "{refused}");
    }
}

#[tokio::test]
async fn an_accepted_input_runs_again_what_depends_on_it() {
    let plan = || {
        Plan::new("both", |topic: Step<String>| {
            let fixed = agent("fixed").prompt("Nothing to do with it.").text();
            let facts = agent("facts").input("topic", topic).prompt("Facts.").text();
            join((fixed, facts)).map(|(a, b)| format!("{a} {b}"))
        })
        .unwrap()
    };
    let (store, world) = (Store::new(), World::default());
    start(&store.executor(world.runner()), &plan(), "tea".to_owned()).await.completed();
    world.called();
    let executor = store.executor(world.runner());
    let needs = start(&executor, &plan(), "coffee".to_owned()).await.parked();
    assert_eq!(changed_fields(&needs), ["input: run input"]);
    let refused = executor.decide(&run_id(), &needs[0], Decision::Rerun).await.unwrap_err();
    assert!(refused.to_string().contains("accept"), "{refused}");
    executor.decide(&run_id(), &needs[0], Decision::Accept).by(Actor::claimed("ada")).await.unwrap();
    drop(executor);
    let executor = store.executor(world.runner());
    // `resume` takes the input from the journal: the accepted one.
    resume(&executor, &plan()).await.completed();
    assert_eq!(world.called(), ["facts"]);
    start(&executor, &plan(), "coffee".to_owned()).await.completed();
    assert_eq!(world.called(), [""; 0]);
    // The first one is now another.
    let needs = start(&executor, &plan(), "tea".to_owned()).await.parked();
    assert_eq!(changed_fields(&needs), ["input: run input"]);
}

#[tokio::test]
async fn a_completed_run_whose_plan_has_grown_is_extended() {
    let grown = || {
        Plan::new("post", |topic: Step<String>| {
            let facts = agent("facts").input("topic", topic).prompt("Facts.").text();
            let draft = agent("draft").input("facts", facts).prompt("Write.").text();
            let title = agent("title").input("draft", draft).prompt("A title.").text();
            agent("tweet").input("title", title).prompt("A tweet.").text()
        })
        .unwrap()
    };
    let (store, world) = (Store::new(), World::default());
    finished(&store, &world).await;
    let executor = store.executor(world.runner());
    let refused = executor.resume(&grown(), "r").await.unwrap().outcome().await.unwrap_err();
    assert!(refused.to_string().contains("extend"), "{refused}");
    let (value, _) = executor.extend(&grown(), "r").await.unwrap().outcome().await.completed();
    assert_eq!((value.as_str(), world.called()), ("<tweet>", vec!["tweet".to_owned()]));
    assert_eq!(causes(&executor)[0].0, CauseKind::Extend);
    drop(executor);
    resume(&store.replayer(), &grown()).await.completed();
}

#[tokio::test]
async fn only_a_completed_run_is_extended() {
    let (store, world) = (Store::new(), World::default());
    let executor = store.executor(FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no"))));
    start(&executor, &post("Write."), "tea".to_owned()).await.failed();
    let refused = executor.extend(&post("Write."), "r").await.map(drop).unwrap_err();
    assert!(matches!(refused, DriveError::NotCompleted(_)), "{refused}");
    let refused = executor.extend(&post("Write."), "s").await.map(drop).unwrap_err();
    assert!(matches!(refused, DriveError::NoSuchRun(_)), "{refused}");
    drop(world);
}

/// A question about a draft.
fn asked(prompt: &str) -> Plan<String, bool> {
    let prompt = prompt.to_owned();
    Plan::new("asked", |topic: Step<String>| {
        let draft = agent("draft").input("topic", topic).prompt(prompt).text();
        ask("publish").title("Publish it?").input("draft", draft).returns::<bool>()
    })
    .unwrap()
}

#[tokio::test]
async fn below_a_cause_an_answered_question_is_asked_again_and_shows_the_old_answer() {
    let (store, world) = (Store::new(), World::default());
    let executor = store.executor(world.runner());
    start(&executor, &asked("Write."), "tea".to_owned()).await.waiting();
    answer(&executor, "publish", &true.into()).await;
    resume(&executor, &asked("Write.")).await.completed();
    executor.invalidate(&run_id(), "draft").await.unwrap();
    world.says("draft", "another draft");
    let needs = resume(&executor, &asked("Write.")).await.waiting();
    let NeedKind::Review { shown, .. } = &needs[0].kind else { panic!("{needs:?}") };
    let shown: BTreeMap<&str, String> = shown
        .iter()
        .map(|(name, blob)| {
            let text = executor.ledger().blob(blob).unwrap().unwrap();
            (name.as_str(), String::from_utf8(text).unwrap())
        })
        .collect();
    assert_eq!(shown["draft"], "\"another draft\"");
    assert_eq!(shown["the earlier answer"], "true");
    answer(&executor, "publish", &false.into()).await;
    let (value, _) = resume(&executor, &asked("Write.")).await.completed();
    assert!(!value);
}

#[tokio::test]
async fn a_question_that_is_to_be_asked_again_says_so_in_the_journal() {
    let (store, world) = (Store::new(), World::default());
    let executor = store.executor(world.runner());
    start(&executor, &asked("Write."), "tea".to_owned()).await.waiting();
    answer(&executor, "publish", &true.into()).await;
    resume(&executor, &asked("Write.")).await.completed();
    executor.invalidate(&run_id(), "publish").await.unwrap();
    resume(&executor, &asked("Write.")).await.waiting();
    assert_eq!(causes(&executor)[0].0, CauseKind::AskAgain);
    answer(&executor, "publish", &false.into()).await;
    let (value, _) = resume(&executor, &asked("Write.")).await.completed();
    assert!(!value);
}

#[tokio::test]
async fn a_conflict_is_settled_with_an_output_of_ones_own() {
    let (store, world) = (Store::new(), World::default());
    finished(&store, &world).await;
    let executor = store.executor(world.runner());
    let needs = resume(&executor, &post("Write better.")).await.parked();
    let refused = executor.decide(&run_id(), &needs[0], Decision::Set { value: 7.into() }).await.unwrap_err();
    assert!(matches!(refused, DecideError::Invalid { .. }), "{refused}");
    executor.decide(&run_id(), &needs[0], Decision::Set { value: "Mine.".into() }).await.unwrap();
    resume(&executor, &post("Write better.")).await.completed();
    assert_eq!(world.called(), ["title"]);
    drop(executor);
    resume(&store.replayer(), &post("Write better.")).await.completed();
}

#[tokio::test]
async fn one_decision_settles_the_conflicts_that_a_pattern_names() {
    let plan = |prompt: &str| {
        let prompt = prompt.to_owned();
        Plan::new("items", |items: Step<Vec<String>>| {
            let intro = agent("intro").prompt(prompt.clone()).text();
            let drafts = parallel_each("drafts", items, move |item: Step<String>| {
                agent("draft").input("item", item).prompt(prompt.clone()).text()
            })
            .key_by(String::clone)
            .all();
            join((intro, drafts)).map(|(intro, drafts)| format!("{intro} {}", drafts.join(" ")))
        })
        .unwrap()
    };
    let (store, world) = (Store::new(), World::default());
    let items = vec!["a".to_owned(), "b".to_owned()];
    start(&store.executor(world.runner()), &plan("Draft."), items).await.completed();
    world.called();
    let executor = store.executor(world.runner());
    assert_eq!(resume(&executor, &plan("Draft!")).await.parked().len(), 2);
    let decided =
        executor.decide_matching(&run_id(), "drafts[*]/draft", Decision::Rerun, Actor::claimed("ada")).await;
    assert_eq!(decided.unwrap(), 1);
    let refused = executor.decide_matching(&run_id(), "nobody", Decision::Keep, Actor::default()).await;
    assert!(matches!(refused, Err(DecideError::NotOpen { .. })), "{refused:?}");
    executor.decide_matching(&run_id(), "intro", Decision::Keep, Actor::default()).await.unwrap();
    resume(&executor, &plan("Draft!")).await.completed();
    assert_eq!(world.called(), ["drafts[a]/draft", "drafts[b]/draft"]);
    assert_eq!(causes(&executor)[0].1.as_deref(), Some("ada"));
}

/// An unsafe call, and what is made from it.
fn sending() -> Plan<String, String> {
    Plan::new("doubt", |topic: Step<String>| {
        let sent = agent("send").input("topic", topic).prompt("Send.").effect(Effect::Unsafe).text();
        agent("report").input("sent", sent).prompt("Report.").text()
    })
    .unwrap()
}

#[test]
fn a_call_in_doubt_has_three_answers() {
    let decisions = [
        (Decision::Retry, vec!["send", "report"]),
        (Decision::Set { value: "sent by hand".into() }, vec!["report"]),
        (Decision::Failed { why: "the mail server says so".to_owned() }, vec![]),
    ];
    for (decision, calls) in decisions {
        let (store, world, plan) = (Store::new(), World::default(), sending());
        crash_in_call(&store, &plan);
        block_on(settle_doubt(&store, &world, &plan, decision, calls));
    }
}

async fn settle_doubt(
    store: &Store,
    world: &World,
    plan: &Plan<String, String>,
    decision: Decision,
    calls: Vec<&str>,
) {
    let executor = store.executor(world.runner());
    let needs = resume(&executor, plan).await.parked();
    assert!(matches!(needs[0].kind, NeedKind::InDoubt { .. }), "{needs:?}");
    let refused = executor.decide(&run_id(), &needs[0], Decision::Keep).await.unwrap_err();
    assert!(matches!(refused, DecideError::NotOffered { .. }), "{refused}");
    executor.decide(&run_id(), &needs[0], decision.clone()).by(Actor::claimed("ada")).await.unwrap();
    drop(executor);
    let executor = store.executor(world.runner());
    let outcome = resume(&executor, plan).await;
    assert_eq!(world.called(), calls, "{decision:?}");
    if let Decision::Failed { why } = &decision {
        assert!(outcome.failed().message.contains(why.as_str()));
        // It has not acted, so that a retry may.
        retry(&executor, plan).await.completed();
        assert_eq!(world.called(), ["send", "report"]);
    } else {
        outcome.completed();
    }
    drop(executor);
    resume(&store.replayer(), plan).await.completed();
}

/// The post with what its author says of changes of the draft.
fn changing(prompt: &str, on_change: OnChange) -> Plan<String, String> {
    let prompt = prompt.to_owned();
    Plan::new("post", |topic: Step<String>| {
        let facts = agent("facts").input("topic", topic).prompt("Facts.").text();
        let draft = agent("draft").input("facts", facts).prompt(prompt).on_change(on_change).text();
        agent("title").input("draft", draft).prompt("A title.").text()
    })
    .unwrap()
}

#[tokio::test]
async fn the_plan_may_say_that_a_changed_step_runs_again() {
    let (store, world) = (Store::new(), World::default());
    finished(&store, &world).await;
    world.says("draft", "a better draft");
    let executor = store.executor(world.runner());
    resume(&executor, &changing("Write better.", OnChange::Rerun)).await.completed();
    assert_eq!(world.called(), ["draft", "title"]);
    assert_eq!(causes(&executor)[0].0, CauseKind::OnChange);
    drop(executor);
    resume(&store.replayer(), &changing("Write better.", OnChange::Rerun)).await.completed();
}

#[tokio::test]
async fn the_plan_may_say_that_a_changed_step_is_kept() {
    let (store, world) = (Store::new(), World::default());
    finished(&store, &world).await;
    let executor = store.replayer();
    resume(&executor, &changing("Write better.", OnChange::Keep)).await.completed();
    assert_eq!(kinds(executor.ledger()).iter().filter(|kind| *kind == "Accepted").count(), 1);
    // It was accepted, so that it needs no word of the author's any more.
    resume(&executor, &post("Write better.")).await.completed();
    assert_eq!(kinds(executor.ledger()).iter().filter(|kind| *kind == "Accepted").count(), 1);
}

#[tokio::test]
async fn what_is_no_longer_of_its_type_is_not_kept_whatever_the_plan_says() {
    let plan = |strict: bool| {
        Plan::new("post", move |topic: Step<String>| {
            let draft = agent("draft").input("topic", topic).prompt("Write.").on_change(OnChange::Keep);
            if strict {
                draft.returns::<Vec<String>>().map(Vec::len)
            } else {
                draft.returns::<String>().map(String::len)
            }
        })
        .unwrap()
    };
    let store = Store::new();
    let runner = FnRunner::sync(|_| Ok(AgentReply::json("text".into())));
    start(&store.executor(runner), &plan(false), "tea".to_owned()).await.completed();
    let needs = resume(&store.replayer(), &plan(true)).await.parked();
    assert!(matches!(&needs[0].kind, NeedKind::Conflict { not_kept: Some(_), .. }), "{needs:?}");
}

#[test]
fn what_must_not_happen_twice_has_no_policy_for_changes() {
    let plan = Plan::new("post", |topic: Step<String>| {
        agent("send")
            .input("topic", topic)
            .prompt("Send.")
            .effect(Effect::Unsafe)
            .on_change(OnChange::Rerun)
            .text()
    });
    let errors = plan.map(drop).unwrap_err().to_string();
    assert!(errors.contains("tests/decisions.rs") && errors.contains("on_change"), "{errors}");
}
