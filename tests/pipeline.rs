//! Pipelines: three items, two stages, killed in every cell; no finished cell runs again.

mod support;

use hermes_workflows::{plan::PipelineBuilder, prelude::*};
use support::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Draft {
    slug: String,
    text: String,
}

fn plan() -> Plan<Vec<Draft>, Vec<Draft>> {
    plan_of(|pipeline| pipeline)
}

type Polish<T> = PipelineBuilder<Draft, T>;

/// The same with other options.
fn plan_of(options: fn(Polish<Draft>) -> Polish<Draft>) -> Plan<Vec<Draft>, Vec<Draft>> {
    Plan::new("polish", |drafts: Step<Vec<Draft>>| {
        options(pipeline("polish", drafts).key_by(|draft: &Draft| draft.slug.clone()))
            .stage(|draft| agent("humanize").input("draft", draft).prompt("Humanize it.").returns::<Draft>())
            .stage(|draft| agent("check").input("draft", draft).prompt("Check it.").returns::<Draft>())
            .all()
    })
    .unwrap()
}

fn drafts() -> Vec<Draft> {
    ["a", "b", "c"].map(|slug| Draft { slug: slug.to_owned(), text: format!("text {slug}") }).to_vec()
}

/// Adds a word for each stage; does not answer at `stop`.
fn worker(stop: Option<&'static str>) -> (FnRunner, Calls) {
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::new(move |call: AgentCall| {
        let counted = counted.clone();
        async move {
            if stop == Some(call.path.as_str()) {
                std::future::pending::<()>().await;
            }
            counted.add();
            let mut draft: Draft = serde_json::from_str(&call.inputs[0].1).unwrap();
            draft.text.push_str(if call.path.ends_with("humanize") { " human" } else { " checked" });
            // Identity comes from the item as it entered: a stage that renames its output changes no key.
            draft.slug.push('!');
            Ok(AgentReply::json(serde_json::to_value(draft).unwrap()))
        }
    });
    (runner, calls)
}

fn expected() -> Vec<Draft> {
    drafts()
        .into_iter()
        .map(|draft| Draft { slug: draft.slug + "!!", text: draft.text + " human checked" })
        .collect()
}

#[tokio::test]
async fn progress_is_recorded_per_item_and_stage() {
    let store = Store::new();
    let (runner, calls) = worker(None);
    let executor = store.executor(runner);
    let (value, _) = start(&executor, &plan(), drafts()).await.completed();
    assert_eq!((value, calls.count()), (expected(), 6));
    let run = executor.ledger().find(&run_id()).unwrap().unwrap();
    let state = executor.ledger().state(run).unwrap();
    for item in ["a", "b", "c"] {
        for stage in ["humanize", "check"] {
            let path = format!("polish[{item}]/{stage}").parse().unwrap();
            assert!(state.find(&path).is_some(), "{path}");
        }
    }
}

#[test]
fn killed_in_every_cell_no_finished_cell_runs_again() {
    killed_in_every_cell(plan, 2);
}

#[test]
fn killed_in_every_cell_of_a_streaming_one_no_finished_cell_runs_again() {
    killed_in_every_cell(|| plan_of(Polish::streaming), 4);
}

/// `others`: how many cells can be done while one of the first stage hangs.
fn killed_in_every_cell(plan: fn() -> Plan<Vec<Draft>, Vec<Draft>>, others: usize) {
    for cell in ["a", "b", "c"].iter().flat_map(|item| {
        ["humanize", "check"].map(|stage| -> &'static str { format!("polish[{item}]/{stage}").leak() })
    }) {
        let store = Store::new();
        let (runner, before) = worker(Some(cell));
        // A runtime that is dropped while the call of this cell hangs: the process as far as the run can tell.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let executor = store.executor(runner);
            let mut watch = executor.watch();
            let _run = executor.start(&plan(), drafts()).id("r").await.unwrap();
            let reachable = if cell.ends_with("humanize") { others } else { 5 };
            let mut done = 0;
            while done < reachable {
                if let Some(Seen::Event(event)) = watch.next().await
                    && event.kind == hermes_workflows::core::journal::Kind::Succeeded
                {
                    done += 1;
                }
            }
        });
        drop(runtime);
        let finished = before.count();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (runner, after) = worker(None);
            let (value, counts) = resume(&store.executor(runner), &plan()).await.completed();
            assert_eq!(value, expected(), "{cell}");
            assert_eq!(finished + after.count(), 6, "{cell}: every cell was called once in all");
            assert_eq!(counts.reused, finished, "{cell}");
        });
    }
}

#[tokio::test]
async fn a_stage_begins_when_every_item_has_ended_the_one_before() {
    let calls = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&calls);
    let runner = FnRunner::sync(move |call| {
        seen.lock().unwrap().push(call.path.clone());
        Ok(AgentReply::json(serde_json::from_str(&call.inputs[0].1).unwrap()))
    });
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    start(&executor, &plan(), drafts()).await.completed();
    let calls = calls.lock().unwrap();
    assert!(calls[..3].iter().all(|path| path.ends_with("humanize")), "{calls:?}");
    assert!(calls[3..].iter().all(|path| path.ends_with("check")), "{calls:?}");
}

#[tokio::test]
async fn in_a_streaming_one_an_item_goes_on_by_itself() {
    // The second item never ends its first stage before the first one has ended both.
    let ended = std::sync::Arc::new(tokio::sync::Notify::new());
    let waits = std::sync::Arc::clone(&ended);
    let runner = FnRunner::new(move |call: AgentCall| {
        let waits = std::sync::Arc::clone(&waits);
        async move {
            match call.path.as_str() {
                "polish[b]/humanize" => waits.notified().await,
                "polish[a]/check" => waits.notify_one(),
                _ => {}
            }
            Ok(AgentReply::json(serde_json::from_str(&call.inputs[0].1).unwrap()))
        }
    });
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    let (value, _) = start(&executor, &plan_of(Polish::streaming), drafts()).await.completed();
    assert_eq!(value, drafts());
}

#[tokio::test]
async fn under_limit_1_a_streaming_one_takes_item_after_item_through_all_stages() {
    let calls = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&calls);
    let runner = FnRunner::sync(move |call| {
        seen.lock().unwrap().push(call.path.clone());
        Ok(AgentReply::json(serde_json::from_str(&call.inputs[0].1).unwrap()))
    });
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    let plan = plan_of(|pipeline| pipeline.streaming().limit(1));
    start(&executor, &plan, drafts()).await.completed();
    let expected =
        ["a", "b", "c"].map(|item| ["humanize", "check"].map(|stage| format!("polish[{item}]/{stage}")));
    assert_eq!(*calls.lock().unwrap(), expected.concat());
}

#[tokio::test]
async fn an_item_of_a_streaming_one_that_waits_for_a_person_gives_its_place_to_the_next() {
    let plan = Plan::new("people", |words: Step<Vec<String>>| {
        pipeline("words", words)
            .stage(|word| agent("say").input("word", word).prompt("Say it.").text())
            .stage(|said| review("look", said).approved())
            .stage(|said| agent("send").input("said", said).prompt("Send it.").text())
            .streaming()
            .limit(1)
            .all()
    })
    .unwrap();
    let store = Store::new();
    let (runner, calls) = echo();
    let executor = store.executor(runner);
    let words = ["a", "b"].map(str::to_owned).to_vec();
    assert_eq!(start(&executor, &plan, words).await.waiting().len(), 2);
    assert_eq!(calls.count(), 2);
    approve(&executor, "words[1]/look[1]").await;
    resume(&executor, &plan).await.waiting();
    assert_eq!(calls.count(), 3);
    approve(&executor, "words[0]/look[1]").await;
    resume(&executor, &plan).await.completed();
}

#[tokio::test]
async fn streaming_is_no_part_of_what_is_compared() {
    let store = Store::new();
    let (runner, _) = worker(None);
    start(&store.executor(runner), &plan(), drafts()).await.completed();
    let executor = store.executor(worker(None).0);
    let (value, counts) = resume(&executor, &plan_of(Polish::streaming)).await.completed();
    assert_eq!((value, counts.calls), (expected(), 0));
}
