//! Drawings of runs in the states that a run from its start to its end does not show: being driven, cut off, cancelled,
//! out of rounds, with items that left, and after each single record of its journal.

use super::{assert_drawing, everything, failing_once, topics};
use crate::support::*;
use hermes_workflows::{
    core::{ids::Seq, journal::Kind},
    executor::{ledger::Append, run_layout},
    prelude::*,
};
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, watch};

fn memory(runner: impl Runner + 'static) -> Executor {
    Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build()
}

fn drawn<I: Data, O: Data>(executor: &Executor, plan: &Plan<I, O>) -> String {
    run_layout(executor, plan, &run_id()).unwrap()
}

/// The first records of the run `r`, in a ledger of their own: what a crash right after them leaves.
fn cut_after(executor: &Executor, records: u64) -> Executor {
    let from = executor.ledger();
    let run = from.find(&run_id()).unwrap().unwrap();
    let records: Vec<_> = (1..=records).map(|seq| from.record(run, Seq(seq)).unwrap()).collect();
    let ledger = Ledger::in_memory().unwrap();
    ledger.create(&run_id(), Append { records, ..Append::default() }).unwrap();
    Executor::builder().ledger(ledger).runner(refuses()).build()
}

fn records(executor: &Executor) -> u64 {
    let run = executor.ledger().find(&run_id()).unwrap().unwrap();
    executor.ledger().records(run).unwrap()
}

/// A runner whose calls say that they have begun, and wait until they may end.
fn held() -> (FnRunner, mpsc::UnboundedReceiver<String>, Arc<Semaphore>) {
    let (begun, begins) = mpsc::unbounded_channel();
    let may_end = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&may_end);
    let runner = FnRunner::new(move |call| {
        begun.send(call.path.clone()).unwrap();
        let waits = Arc::clone(&waits);
        async move {
            waits.acquire().await.unwrap().forget();
            Ok(AgentReply::text(format!("<{}>", call.path)))
        }
    });
    (runner, begins, may_end)
}

fn drafts(prompt: &'static str, limit: u32) -> Plan<Vec<String>, String> {
    Plan::new("drafts", move |topics: Step<Vec<String>>| {
        let drafts = parallel_each("drafts", topics, |topic| {
            agent("draft").input("topic", topic).prompt(prompt).text()
        })
        .key_by(String::clone)
        .limit(limit)
        .all();
        agent("assemble").input("drafts", drafts).prompt("Assemble.").text()
    })
    .unwrap()
}

#[test]
fn a_run_that_is_driven_and_then_cut_off() {
    let plan = drafts("Draft.", 2);
    let (runner, mut begins, _) = held();
    let executor = memory(runner);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let _run = executor.start(&plan, topics(3)).id("r").await.unwrap();
        begins.recv().await.unwrap();
        begins.recv().await.unwrap();
        assert_drawing("run-running", &drawn(&executor, &plan));
    });
    // What drives it ends with the runtime, as it does in a crash.
    drop(runtime);
    assert_drawing("run-cut-off", &drawn(&executor, &plan));
}

#[tokio::test]
async fn a_run_that_has_not_started() {
    let plan = drafts("Draft.", 2);
    let executor = memory(echo().0);
    start(&executor, &plan, topics(3)).await.completed();
    // The start and the names of the steps.
    let begun = cut_after(&executor, 2);
    assert_drawing("run-not-started", &drawn(&begun, &plan));
}

#[tokio::test]
async fn many_copies_of_one_conflict() {
    let executor = memory(echo().0);
    start(&executor, &drafts("Draft.", 2), topics(5)).await.completed();
    resume(&executor, &drafts("Draft better.", 2)).await.parked();
    assert_drawing("run-parked-copies", &drawn(&executor, &drafts("Draft better.", 2)));
    decide_all(&executor, Decision::Rerun).await;
    assert_drawing("run-decided", &drawn(&executor, &drafts("Draft better.", 2)));
}

/// An outline, and a review of each of its sections.
fn sections(prompt: &'static str) -> Plan<Vec<String>, Vec<String>> {
    Plan::new("sections", move |topics: Step<Vec<String>>| {
        let outline = agent("outline").input("topics", topics).prompt(prompt).returns::<Vec<String>>();
        pipeline("sections", outline)
            .stage(|section| agent("write").input("section", section).prompt("Write.").text())
            .stage(|section| review("approve", section).approved())
            .key_by(String::clone)
            .all()
    })
    .unwrap()
}

#[tokio::test]
async fn items_that_left_the_list() {
    let runner = FnRunner::sync(|call| {
        Ok(match (call.path.as_str(), call.text.contains("shorter")) {
            ("outline", false) => AgentReply::json(serde_json::json!(["dunes", "tides"])),
            ("outline", true) => AgentReply::json(serde_json::json!(["tides", "wind"])),
            (path, _) => AgentReply::text(format!("<{path}>")),
        })
    });
    let executor = memory(runner);
    start(&executor, &sections("Outline."), topics(3)).await.waiting();
    answer(
        &executor,
        "sections[dunes]/approve[1]",
        &serde_json::json!({"decision": "edit", "value": "Dunes walk."}),
    )
    .await;
    assert_drawing("run-answered", &drawn(&executor, &sections("Outline.")));
    resume(&executor, &sections("Outline, shorter.")).await.parked();
    decide_all(&executor, Decision::Rerun).await;
    resume(&executor, &sections("Outline, shorter.")).await.waiting();
    assert_drawing("run-left-out", &drawn(&executor, &sections("Outline, shorter.")));
}

fn shortened(or_else: bool) -> Plan<String, String> {
    Plan::new("shortened", move |text: Step<String>| {
        let rounds = repeat("shorten", text, 2, |text| {
            agent("shorter").input("text", text).prompt("Shorten.").text().again::<String>()
        });
        if or_else {
            rounds.or_else(|text| agent("cut").input("text", text).prompt("Cut.").text())
        } else {
            rounds.or_fail()
        }
    })
    .unwrap()
}

#[tokio::test]
async fn rounds_that_are_used_up() {
    let executor = memory(echo().0);
    start(&executor, &shortened(false), "A text.".to_owned()).await.failed();
    assert_drawing("run-rounds-used-up", &drawn(&executor, &shortened(false)));
    let executor = memory(echo().0);
    start(&executor, &shortened(true), "A text.".to_owned()).await.completed();
    assert_drawing("run-rounds-or-else", &drawn(&executor, &shortened(true)));
}

#[tokio::test]
async fn a_review_that_is_not_approved() {
    let plan = Plan::new("letter", |text: Step<String>| {
        let letter = review("approve", text)
            .revise(|text, feedback| {
                agent("revise").input("text", text).input("feedback", feedback).prompt("Revise.").text()
            })
            .max_rounds(2)
            .approved();
        agent("send").input("letter", letter).prompt("Send.").text()
    })
    .unwrap();
    let executor = memory(echo().0);
    start(&executor, &plan, "Dear all.".to_owned()).await.waiting();
    request_changes(&executor, "approve[1]", "Warmer.").await;
    resume(&executor, &plan).await.waiting();
    request_changes(&executor, "approve[2]", "Colder.").await;
    resume(&executor, &plan).await.failed();
    assert_drawing("run-not-approved", &drawn(&executor, &plan));
}

fn routed() -> Plan<u8, String> {
    Plan::new("routed", |severity: Step<u8>| {
        let answer = branch("severity", severity)
            .when(
                "critical",
                |severity| *severity > 7,
                |severity| agent("page").input("severity", severity).prompt("Page somebody.").text(),
            )
            .when("minor", |severity| *severity < 3, |_| value("backlog".to_owned()))
            .or_fail();
        agent("note").input("answer", answer).prompt("Note it.").text()
    })
    .unwrap()
}

#[tokio::test]
async fn only_the_arm_that_was_taken() {
    for (name, severity) in [("critical", 9), ("minor", 1)] {
        let executor = memory(echo().0);
        start(&executor, &routed(), severity).await.completed();
        assert_drawing(&format!("run-arm-{name}"), &drawn(&executor, &routed()));
    }
    let executor = memory(echo().0);
    start(&executor, &routed(), 5).await.failed();
    assert_drawing("run-arm-none", &drawn(&executor, &routed()));
}

#[tokio::test]
async fn a_run_that_was_cancelled() {
    let executor = memory(failing_once());
    start(&executor, &sections_of(topics(1)), "x".to_owned()).await.waiting();
    executor.cancel(&run_id(), Actor::default()).await.unwrap();
    assert_drawing("run-cancelled", &drawn(&executor, &sections_of(topics(1))));
}

/// A pipeline in each branch of a parallel, with a review at its end.
fn sections_of(topics: Vec<String>) -> Plan<String, Vec<Vec<String>>> {
    Plan::new("languages", move |_: Step<String>| {
        let topics = value(topics);
        parallel("languages", ["de", "fr"], |language| {
            pipeline("pages", topics)
                .stage(|page| agent("translate").input("page", page).prompt(format!("To {language}.")).text())
                .stage(|page| review("approve", page).approved())
                .all()
        })
        .all()
    })
    .unwrap()
}

/// Draws what a crash after each record of the run would have left; gives where the run stood, without repeats.
fn after_each_record<I: Data, O: Data>(executor: &Executor, plan: &Plan<I, O>) -> Vec<String> {
    let all = 1..=records(executor);
    let mut stands: Vec<_> = all
        .map(|record| {
            let drawing = drawn(&cut_after(executor, record), plan);
            let (head, _) = drawing.split_once('\n').unwrap();
            head.split_once(" · ").unwrap().1.to_owned()
        })
        .collect();
    stands.dedup();
    stands
}

#[tokio::test]
async fn a_run_is_drawn_after_every_record_of_its_journal() {
    let plan = everything("Plan.");
    let executor = memory(failing_once());
    start(&executor, &plan, topics(3)).await.waiting();
    request_changes(&executor, "approve[1]", "Shorter.").await;
    resume(&executor, &plan).await.waiting();
    approve(&executor, "approve[2]").await;
    resume(&executor, &plan).await.completed();
    let better = everything("Plan better.");
    resume(&executor, &better).await.parked();
    decide_all(&executor, Decision::Rerun).await;
    resume(&executor, &better).await.completed();
    let stands = [
        "not started",
        "not finished",
        "waiting for 1 answer",
        "not finished",
        "waiting for 1 answer",
        "not finished",
        "completed over 1 failed step",
        "parked, 1 to decide",
        "decided, to be resumed",
        "not finished",
        "completed over 1 failed step",
    ];
    assert_eq!(after_each_record(&executor, &plan), stands);
    // Nor does it need the plan that the run was begun with: only one of its name.
    assert_eq!(after_each_record(&executor, &other_kinds()).last().unwrap(), "completed over 1 failed step");
}

/// The names of [`everything`], for steps and groups of other kinds.
fn other_kinds() -> Plan<Vec<String>, String> {
    Plan::new("everything", |topics: Step<Vec<String>>| {
        let short = parallel_each("shorten", topics, |topic| {
            agent("shorter").input("topic", topic).prompt("Shorten.").text()
        })
        .all();
        let drafts = step("drafts").input("short", short).run(|short| short.concat());
        let approved = repeat("approve", drafts, 3, |text| {
            branch("revise", text)
                .when("good", String::is_empty, |text| text.done())
                .otherwise(|text| agent("again").input("text", text).prompt("Again.").text().again())
        })
        .or_fail();
        let ending = review("ending", approved).approved();
        let plan = branch("plan", ending)
            .when("empty", String::is_empty, |text| text)
            .otherwise(|text| agent("fill").input("text", text).prompt("Fill.").text());
        scope("assemble", || agent("proofread").input("plan", plan).prompt("Proofread.").text())
    })
    .unwrap()
}

/// A call that may have had an effect, beside a question.
fn published() -> Plan<String, Vec<String>> {
    Plan::new("published", |post: Step<String>| {
        let sent = agent("publish").input("post", post).prompt("Publish it.").effect(Effect::Unsafe).text();
        let seen = review("look", post).approved();
        join([sent, seen])
    })
    .unwrap()
}

#[test]
fn a_call_that_is_in_doubt() {
    let (runner, mut begins, _) = held();
    let executor = memory(runner);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let _run = executor.start(&published(), "A post.".to_owned()).id("r").await.unwrap();
        begins.recv().await.unwrap();
    });
    drop(runtime);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        resume(&executor, &published()).await.parked();
        assert_drawing("run-in-doubt", &drawn(&executor, &published()));
        decide_all(&executor, Decision::Retry).await;
    });
    let stands = after_each_record(&executor, &published());
    assert_eq!(stands.last().unwrap(), "decided, to be resumed", "{stands:?}");
}

#[tokio::test]
async fn a_question_rests_while_its_run_has_failed() {
    let plan = Plan::new("checked", |topics: Step<Vec<String>>| {
        parallel_each("drafts", topics, |topic| {
            let seen = review("look", topic).approved();
            let draft = agent("draft").input("topic", topic).prompt("Draft.").text();
            join([seen, draft])
        })
        .key_by(String::clone)
        .all()
    })
    .unwrap();
    let executor = memory(failing_once());
    start(&executor, &plan, topics(2)).await.failed();
    assert_drawing("run-suspended", &drawn(&executor, &plan));
    retry(&executor, &plan).await.failed();
    let stands = after_each_record(&executor, &plan);
    assert_eq!(stands.last().unwrap(), "failed at drafts[tides]/draft: the runner reported an error");
}

/// Runs three drafts whose calls end in this order. Each ends when the one before it is durable. Gives the run's last
/// drawing.
async fn ended_in(order: [&'static str; 3]) -> String {
    let (turn, turns) = watch::channel(0);
    let runner = FnRunner::new(move |call| {
        let mut turns = turns.clone();
        async move {
            if let Some(at) = order.iter().position(|path| *path == call.path) {
                turns.wait_for(|turn| *turn == at).await.unwrap();
            }
            Ok(AgentReply::text(format!("<{}>", call.path)))
        }
    });
    let executor = memory(runner);
    let plan = drafts("Draft.", 3);
    let mut watch = executor.watch();
    let run = executor.start(&plan, topics(3)).id("r").await.unwrap();
    let mut ended = Vec::new();
    while ended.len() < order.len() {
        let Some(Seen::Event(event)) = watch.next().await else { panic!("{ended:?}") };
        if event.kind == Kind::Succeeded {
            ended.push(event.path);
            turn.send_replace(ended.len());
        }
        // While it is driven, too, it can be drawn.
        drawn(&executor, &plan);
    }
    assert_eq!(ended, order);
    run.outcome().await.completed();
    drawn(&executor, &plan)
}

#[tokio::test]
async fn the_order_in_which_calls_end_is_not_to_be_seen() {
    let paths = ["drafts[dunes]/draft", "drafts[tides]/draft", "drafts[a%2Fb]/draft"];
    let [first, second, third] = paths;
    assert_eq!(ended_in(paths).await, ended_in([third, second, first]).await);
}
