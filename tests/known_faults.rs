//! Faults reproduced in an existing system of this kind; this one must not have them.

mod support;

use hermes_workflows::{
    core::{people::NeedKind, receipt::Cost},
    executor::DriveError,
    prelude::*,
};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use support::*;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn memory(runner: impl Runner + 'static) -> Executor {
    Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d1_a_limit_is_enforced_and_is_not_one() {
    let plan = Plan::new("d1", |items: Step<Vec<String>>| {
        parallel_each("each", items, |item| agent("a").input("item", item).prompt("Go.").text())
            .limit(2)
            .all()
    })
    .unwrap();
    let now = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
    let gauge = Arc::clone(&now);
    let pair = Arc::new(tokio::sync::Barrier::new(2));
    let runner = FnRunner::new(move |_| {
        let (gauge, pair) = (Arc::clone(&gauge), Arc::clone(&pair));
        async move {
            let at_once = gauge.0.fetch_add(1, Ordering::SeqCst) + 1;
            gauge.1.fetch_max(at_once, Ordering::SeqCst);
            // Serial execution would never pass.
            pair.wait().await;
            gauge.0.fetch_sub(1, Ordering::SeqCst);
            Ok(AgentReply::text("x"))
        }
    });
    start(&memory(runner), &plan, words(&["a", "b", "c", "d", "e", "f"])).await.completed();
    assert_eq!(now.1.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn d2_a_variable_of_the_prompt_changed_and_its_text_did_not() {
    let plan = |tone: &'static str| {
        Plan::new("d2", move |topic: Step<String>| {
            agent("a")
                .input("topic", topic)
                .prompt_with(move |topic| format!("Write on {topic}, {tone}."))
                .text()
        })
        .unwrap()
    };
    let store = Store::new();
    start(&store.executor(echo().0), &plan("short"), "x".to_owned()).await.completed();
    let needs = resume(&store.replayer(), &plan("long")).await.parked();
    assert_eq!(changed_fields(&needs), ["a: prompt"]);
}

#[tokio::test]
async fn d2_a_variable_of_a_template_changed_and_its_text_did_not() {
    let plan = |tone: &'static str| {
        Plan::new("d2", move |topic: Step<String>| {
            agent("a")
                .input("topic", topic)
                .input_value("tone", &tone.to_owned())
                .prompt(template!("tests/prompts/draft.md"))
                .text()
        })
        .unwrap()
    };
    let store = Store::new();
    start(&store.executor(echo().0), &plan("short"), "x".to_owned()).await.completed();
    let needs = resume(&store.replayer(), &plan("long")).await.parked();
    assert_eq!(changed_fields(&needs), ["a: prompt", "a: input `tone`"], "the template is not to blame");
    let (_, counts) = resume(&store.replayer(), &plan("short")).await.completed();
    assert_eq!((counts.calls, counts.reused), (0, 1));
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Out")]
struct Out1 {
    a: u32,
}
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Out")]
struct Out2 {
    a: u32,
    b: Option<u32>,
}
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Out")]
struct Out3 {
    a: u32,
    b: u32,
}

#[tokio::test]
async fn d3_a_new_field_optional_or_required_is_a_named_conflict() {
    fn plan<T: Data>(a: fn(&T) -> u32) -> Plan<String, u32> {
        Plan::new("d3", move |topic: Step<String>| {
            agent("a").input("topic", topic).prompt("Go.").returns::<T>().map(a)
        })
        .unwrap()
    }
    let store = Store::new();
    let runner = Scripted::new().on("a", json!({"a": 1}));
    start(&store.executor(runner), &plan::<Out1>(|out| out.a), "x".to_owned()).await.completed();
    let needs = resume(&store.replayer(), &plan::<Out2>(|out| out.a)).await.parked();
    assert_eq!(changed_fields(&needs), ["a: schema"]);
    let needs = resume(&store.replayer(), &plan::<Out3>(|out| out.a + out.b)).await.parked();
    assert_eq!(changed_fields(&needs), ["a: schema"]);
    let NeedKind::Conflict { not_kept: Some(why), .. } = &needs[0].kind else { panic!("{needs:?}") };
    assert!(why.contains('b'), "{why}");
}

#[tokio::test]
async fn d4_a_cost_of_99_in_a_budget_of_one_cent_does_not_complete() {
    let plan =
        Plan::new("d4", |_: Step<()>| agent("a").prompt("Go.").budget(Budget::usd(0.01)).text()).unwrap();
    let executor = memory(FnRunner::sync(|_| {
        Ok(AgentReply { cost: Cost::Known { usd: 99.0 }, ..AgentReply::text("dear") })
    }));
    let run = executor.start(&plan, ()).id("r").budget(Budget::usd(0.01)).await.unwrap();
    let needs = run.outcome().await.parked();
    assert!(needs.iter().all(|need| matches!(need.kind, NeedKind::Budget { asked: None, .. })), "{needs:?}");
    assert_eq!(needs[0].title, "its budget was $0.01, and $99.00 were spent");
    decide_all(&executor, Decision::Raise { to: Budget::usd(99.0) }).await;
    assert_eq!(resume(&executor, &plan).await.completed().0, "dear");
}

#[tokio::test]
async fn d5_two_items_with_one_key_are_an_error_naming_both() {
    let plan = Plan::new("d5", |items: Step<Vec<String>>| {
        parallel_each("each", items, |item| agent("a").input("item", item).prompt("Go.").text())
            .key_by(|item: &String| item.to_lowercase())
            .all()
    })
    .unwrap();
    let failure = start(&memory(refuses()), &plan, words(&["a", "b", "A"])).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::DuplicateKey, "each"));
    assert!(failure.message.contains("items 0 and 2") && failure.message.contains("`a`"), "{failure}");
    assert!(failure.location.unwrap().contains("known_faults.rs:"));
}

#[tokio::test]
async fn d6_one_failing_item_neither_ends_the_run_for_good_nor_keeps_its_siblings_from_running() {
    let plan = Plan::new("d6", |count: Step<u32>| {
        let items = count.map(|count| (0..*count).collect::<Vec<_>>());
        let all = parallel_each("each", items, |item| agent("a").input("item", item).prompt("Go.").text())
            .results();
        step("count").input("all", all).run(|all: &Vec<Result<String, Failure>>| {
            all.iter().filter(|result| result.is_ok()).count() as u32
        })
    })
    .unwrap();
    let store = Store::new();
    let calls = Calls::default();
    let counted = calls.clone();
    let failing = FnRunner::sync(move |call| {
        counted.add();
        if call.path == "each[50]/a" {
            return Err(RunnerError::new(RunnerErrorKind::Failed, "no luck"));
        }
        Ok(AgentReply::text("x"))
    });
    let (value, counts) = start(&store.executor(failing), &plan, 102).await.completed();
    assert_eq!((value, calls.count(), counts.failed), (101, 102, 1));

    let (runner, again) = echo();
    let (value, counts) = retry(&store.executor(runner), &plan).await.completed();
    assert_eq!((value, again.count(), counts.failed), (102, 1, 0), "1 failure of 102 re-runs 1");
}

#[tokio::test]
async fn d6_fail_fast_can_be_retried_to_success() {
    let plan = Plan::new("d6b", |items: Step<Vec<String>>| {
        parallel_each("each", items, |item| agent("a").input("item", item).prompt("Go.").text())
            .limit(1)
            .all()
    })
    .unwrap();
    let store = Store::new();
    let runner = FnRunner::sync(|call| match call.path.as_str() {
        "each[1]/a" => Err(RunnerError::new(RunnerErrorKind::Failed, "no luck")),
        path => Ok(AgentReply::text(path)),
    });
    let failure = start(&store.executor(runner), &plan, words(&["x", "y", "z"])).await.failed();
    assert_eq!(failure.path, "each[1]/a");
    // Resuming reuses the failure; retrying dispatches what failed and what never ran.
    resume(&store.replayer(), &plan).await.failed();
    let (runner, calls) = echo();
    let (value, _) = retry(&store.executor(runner), &plan).await.completed();
    assert_eq!((value.len(), calls.count()), (3, 2));
}

#[tokio::test]
async fn d7_parallel_of_pipelines_works() {
    let plan = Plan::new("d7", |groups: Step<Vec<Vec<String>>>| {
        parallel_each("group", groups, |group| {
            pipeline("line", group)
                .stage(|item| agent("one").input("item", item).prompt("Go.").text())
                .stage(|item| agent("two").input("item", item).prompt("Go.").text())
                .all()
        })
        .all()
    })
    .unwrap();
    let (runner, calls) = echo();
    let groups = vec![words(&["a", "b"]), words(&["c"]), vec![]];
    let (value, _) = start(&memory(runner), &plan, groups).await.completed();
    assert_eq!(calls.count(), 6);
    assert_eq!(
        value,
        [
            words(&["<group[0]/line[0]/two>", "<group[0]/line[1]/two>"]),
            words(&["<group[1]/line[0]/two>"]),
            vec![]
        ]
    );
}

#[tokio::test]
async fn d8_items_whose_stages_yield_the_same_never_merge() {
    let plan = Plan::new("d8", |items: Step<Vec<String>>| {
        pipeline("line", items)
            .stage(|item| agent("one").input("item", item).prompt("Go.").text())
            .stage(|item| agent("two").input("item", item).prompt("Go.").text())
            .all()
    })
    .unwrap();
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::sync(move |_| {
        counted.add();
        Ok(AgentReply::text("the same"))
    });
    let (value, _) = start(&memory(runner), &plan, words(&["a", "b", "c"])).await.completed();
    assert_eq!((value.len(), calls.count()), (3, 6));
}

#[tokio::test]
async fn d9_an_inserted_item_and_a_deleted_step_are_noticed_and_can_be_settled() {
    let plan = |extra: bool| {
        Plan::new("d9", move |topic: Step<String>| {
            let list = agent("list").input("topic", topic).prompt("List.").returns::<Vec<String>>();
            if extra {
                agent("extra").input("topic", topic).prompt("Extra.").text();
            }
            parallel_each("each", list, |item| agent("a").input("item", item).prompt("Go.").text())
                .key_by(|item: &String| item.clone())
                .all()
        })
        .unwrap()
    };
    let store = Store::new();
    let script =
        |list: &[&str]| Scripted::new().on("list", json!(list)).text("each[*]/a", "x").text("extra", "e");
    start(&store.executor(script(&["a", "b"])), &plan(true), "t".to_owned()).await.completed();

    // The deleted step parks once; dropping it goes on without a call.
    let executor = store.replayer();
    let needs = resume(&executor, &plan(false)).await.parked();
    assert!(matches!(needs[0].kind, NeedKind::Dropped { count: 1, .. }), "{needs:?}");
    assert_eq!(needs[0].path, "extra");
    decide_all(&executor, Decision::Drop).await;
    let (_, counts) = resume(&executor, &plan(false)).await.completed();
    assert_eq!(counts.calls, 0);
    drop(executor);

    // The list runs again and has one item more, in front: the others are reused.
    let edited = Plan::new("d9", |topic: Step<String>| {
        let list = agent("list").input("topic", topic).prompt("List.").version(1).returns::<Vec<String>>();
        parallel_each("each", list, |item| agent("a").input("item", item).prompt("Go.").text())
            .key_by(|item: &String| item.clone())
            .all()
    })
    .unwrap();
    let runner = script(&["new", "a", "b"]);
    let calls = runner.clone();
    let (value, _) = resume(&store.executor(runner), &edited).await.completed();
    assert_eq!(value.len(), 3);
    assert_eq!(calls.calls(), ["list", "each[new]/a"]);
}

#[tokio::test]
async fn d10_the_work_of_a_run_grows_with_its_calls_not_faster() {
    let plan = Plan::new("d10", |count: Step<u32>| {
        let items = count.map(|count| (0..*count).collect::<Vec<_>>());
        parallel_each("each", items, |item| agent("a").input("item", item).prompt("Go.").text())
            .limit(16)
            .all()
    })
    .unwrap();
    let mut rows = Vec::new();
    for count in [25, 50, 100, 200] {
        let executor = memory(echo().0);
        let before = executor.ledger().stats();
        start(&executor, &plan, count).await.completed();
        let after = executor.ledger().stats();
        rows.push(after.rows - before.rows);
        // A resume compares each finished step once.
        let compared = executor.fingerprints_compared();
        resume(&executor, &plan).await.completed();
        assert_eq!(executor.fingerprints_compared() - compared, u64::from(count));
    }
    for (count, rows) in [25_u64, 50, 100, 200].iter().zip(&rows) {
        assert_eq!(*rows, 2 * count + 4, "start, names, keys, two a call, the end");
    }
}

#[tokio::test]
async fn another_plan_under_the_same_run_id_is_refused() {
    let store = Store::new();
    let plan =
        |name: &str| Plan::new(name, |x: Step<u32>| step("s").input("x", x).run(|x: &u32| *x)).unwrap();
    start(&store.replayer(), &plan("one"), 1).await.completed();
    let error = start(&store.replayer(), &plan("two"), 1).await.unwrap_err();
    assert!(matches!(error, DriveError::OtherPlan { .. }), "{error}");
}
