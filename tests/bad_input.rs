//! Bad input gets a clear error that names the step and the place, and nothing already finished is lost.

mod support;

use hermes_workflows::{executor::LedgerError, prelude::*};
use std::{fs, sync::Arc};
use support::*;

fn plan() -> Plan<String, String> {
    Plan::new("p", |topic: Step<String>| {
        let a = agent("a").input("topic", topic).prompt("Go.").text();
        let each = parallel_each("each", value(vec![1_u32, 2]), |item| {
            agent("b").input("a", a).input("item", item).prompt("Go.").text()
        })
        .all();
        each.map(|each: &Vec<String>| each.join(" "))
    })
    .unwrap()
}

#[test]
fn a_plan_with_mistakes_names_all_of_them_with_their_lines() {
    let errors = Plan::new("mistakes", |topic: Step<String>| {
        let blank = agent("blank").input("topic", topic).prompt("  \n").text();
        agent("twice").input("topic", topic).prompt("One.").text();
        agent("twice").input("topic", topic).prompt("Two.").text();
        let mut leaked = None;
        parallel_each("each", value(vec![1_u32]), |item| {
            leaked = Some(item);
            agent("in").input("item", item).prompt("Go.").text()
        })
        .limit(0)
        .all();
        if let Some(item) = leaked {
            agent("uses").input("item", item).prompt("Go.").text();
        }
        let _ = agent("a/b").prompt("Go.").text();
        let _forgotten = agent("forgotten").prompt("Go.");
        blank
    })
    .unwrap_err();
    let text = errors.to_string();
    assert_eq!(format!("{errors:?}"), text, "Debug is Display");
    assert_eq!(errors.iter().count(), 6, "{text}");
    assert_eq!(
        text.matches("bad_input.rs:").count(),
        8,
        "every mistake with its place, clashes with both: {text}"
    );
    for name in ["blank", "twice", "limit", "`item` was made inside", "a/b", "forgotten"] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[tokio::test]
async fn an_invalid_item_key_fails_the_fan_out_by_name() {
    let plan = Plan::new("p", |items: Step<Vec<String>>| {
        parallel_each("each", items, |item| step("s").input("item", item).run(|item: &String| item.clone()))
            .key_by(|item: &String| item.clone())
            .all()
    })
    .unwrap();
    for (bad, why) in [(String::new(), "is empty"), ("x".repeat(2000), "2000 bytes")] {
        let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).build();
        let failure = start(&executor, &plan, vec!["ok".to_owned(), bad]).await.failed();
        assert_eq!((failure.class, failure.path.as_str()), (FailureClass::InvalidKey, "each"));
        assert!(failure.message.contains("item 1") && failure.message.contains(why), "{failure}");
    }
}

#[tokio::test]
async fn awkward_keys_are_escaped_and_never_ambiguous() {
    let plan = Plan::new("p", |items: Step<Vec<String>>| {
        parallel_each("each", items, |item| agent("s").input("item", item).prompt("Go.").text())
            .key_by(|item: &String| item.clone())
            .all()
    })
    .unwrap();
    let keys = ["a/b", "a]/s[b", "a:b", "a#b", "100%", "*", "new\nline", "Größe 🦀", " "]
        .map(str::to_owned)
        .to_vec();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(echo().0).build();
    let (value, _) = start(&executor, &plan, keys.clone()).await.completed();
    assert_eq!(value[0], "<each[a%2Fb]/s>");
    assert_eq!(value[6], "<each[new%0Aline]/s>");
    let distinct: std::collections::BTreeSet<_> = value.iter().collect();
    assert_eq!(distinct.len(), keys.len());
    assert_eq!(resume(&executor, &plan).await.completed().1.calls, 0);
}

#[tokio::test]
async fn a_file_that_is_no_ledger_is_refused_and_not_touched() {
    let store = Store::new();
    for content in [&b""[..], b"hello", &[0_u8; 4096]] {
        fs::write(store.path(), content).unwrap();
        let error = Ledger::open(store.path()).err().unwrap();
        assert!(error.to_string().contains("runs.redb"), "{error}");
        assert_eq!(fs::read(store.path()).unwrap(), content, "{error}");
    }
}

#[tokio::test]
async fn a_truncated_ledger_is_refused_and_not_touched() {
    let store = Store::new();
    start(&store.executor(echo().0), &plan(), "t".to_owned()).await.completed();
    let whole = fs::read(store.path()).unwrap();
    for keep in [whole.len() / 2, 100] {
        fs::write(store.path(), &whole[..keep]).unwrap();
        assert!(Ledger::open(store.path()).is_err());
        assert_eq!(fs::read(store.path()).unwrap(), &whole[..keep]);
    }
    fs::write(store.path(), &whole).unwrap();
    resume(&store.replayer(), &plan()).await.completed();
}

#[tokio::test]
async fn a_ledger_that_is_held_is_refused_with_its_holder_named() {
    let store = Store::new();
    let _held = store.open();
    let error = Ledger::open(store.path()).err().unwrap();
    assert!(matches!(error, LedgerError::Held { .. }), "{error}");
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
}

#[tokio::test]
async fn a_failing_step_loses_nothing_that_is_finished() {
    let store = Store::new();
    let runner = FnRunner::sync(|call| match call.path.as_str() {
        "each[1]/b" => panic!("boom"),
        path => Ok(AgentReply::text(path)),
    });
    let failure = start(&store.executor(runner), &plan(), "t".to_owned()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::Panicked, "each[1]/b"));
    let (runner, calls) = echo();
    let (value, _) = retry(&store.executor(runner), &plan()).await.completed();
    assert_eq!(value, "each[0]/b <each[1]/b>");
    assert_eq!(calls.count(), 1);
}

#[tokio::test]
async fn a_panic_in_any_closure_fails_the_node_that_needed_it_and_names_the_line() {
    let panicking = |place: &'static str| {
        Plan::new("p", move |input: Step<u32>| {
            let boom = move |at: &str| assert_ne!(at, place, "boom");
            let mapped = input.map(move |input| {
                boom("map");
                vec![*input]
            });
            let each = parallel_each("each", mapped, move |item| {
                step("s").input("item", item).run(move |item: &u32| {
                    boom("run");
                    *item
                })
            })
            .key_by(move |item: &u32| {
                boom("key_by");
                item.to_string()
            })
            .all();
            branch("b", each)
                .when(
                    "yes",
                    move |_| {
                        boom("when");
                        true
                    },
                    |each| {
                        agent("a")
                            .input("each", each)
                            .prompt_with(move |each| {
                                boom("prompt");
                                format!("{each:?}")
                            })
                            .text()
                    },
                )
                .or_fail()
        })
        .unwrap()
    };
    for (place, path, verb) in [
        ("map", "each", ".map("),
        ("run", "each[1]/s", ".run("),
        ("key_by", "each", ".key_by("),
        ("when", "b", ".when("),
        ("prompt", "b:yes/a", ".prompt_with("),
    ] {
        let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(echo().0).build();
        let failure = start(&executor, &panicking(place), 1).await.failed();
        assert_eq!(
            (failure.class, failure.path.as_str()),
            (FailureClass::Panicked, path),
            "{place}: {failure}"
        );
        // The line that it names is the one where the closure is given.
        let (_, line) = failure.location.as_deref().unwrap().split_once("bad_input.rs:").unwrap();
        let line = line.split(':').next().unwrap().parse::<usize>().unwrap();
        let line = include_str!("bad_input.rs").lines().nth(line - 1).unwrap();
        assert!(line.contains(verb), "{place}: {line:?}");
    }
}

#[tokio::test]
async fn large_and_empty_values_simply_work() {
    let plan = Plan::new("p", |input: Step<String>| {
        let a = step("a").input("input", input).run(|input: &String| input.clone());
        agent("b").input("a", a).prompt("Go.").text()
    })
    .unwrap();
    for text in [String::new(), "x".repeat(10 << 20)] {
        let store = Store::new();
        let runner = FnRunner::sync(|call| Ok(AgentReply::text(call.inputs[0].1.len().to_string())));
        let (value, _) = start(&store.executor(runner), &plan, text.clone()).await.completed();
        assert_eq!(value, (text.len() + 2).to_string());
        resume(&store.replayer(), &plan).await.completed();
    }
}

#[tokio::test]
async fn a_run_of_another_type_under_the_same_id_is_refused() {
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).build();
    let number = Plan::new("p", |x: Step<u32>| x).unwrap();
    let text = Plan::new("p", |x: Step<u32>| x.map(u32::to_string)).unwrap();
    start(&executor, &number, 1).await.completed();
    let error = start(&executor, &text, 1).await.unwrap_err();
    assert!(error.to_string().contains("another type"), "{error}");
}

#[tokio::test]
async fn an_empty_run_id_is_refused() {
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).build();
    let plan = Plan::new("p", |x: Step<u32>| x).unwrap();
    for bad in ["", " ", "a\nb"] {
        assert!(executor.start(&plan, 1).id(bad).await.is_err(), "{bad:?}");
    }
    let given = executor.start(&plan, 1).await.unwrap();
    assert!(given.id().as_str().starts_with("p-"));
}

#[tokio::test]
async fn a_run_is_driven_by_one_executor_whoever_shares_the_ledger() {
    let plan =
        Plan::new("p", |input: Step<u32>| agent("a").input("input", input).prompt("Go.").text()).unwrap();
    let (reached, go) = (Arc::new(tokio::sync::Notify::new()), Arc::new(tokio::sync::Notify::new()));
    let runner = FnRunner::new({
        let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
        move |_| {
            let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
            async move {
                reached.notify_one();
                go.notified().await;
                Ok(AgentReply::text("done"))
            }
        }
    });
    let ledger = Ledger::in_memory().unwrap();
    let one = Executor::builder().ledger(ledger.clone()).runner(runner).build();
    let other = Executor::builder().ledger(ledger).runner(refuses()).build();
    let run = one.start(&plan, 1).id("r").await.unwrap();
    reached.notified().await;
    let refused = other.start(&plan, 1).id("r").await.unwrap_err();
    assert!(refused.to_string().contains("driven by another executor"), "{refused}");
    go.notify_one();
    run.outcome().await.completed();
    // Once it is done, anybody may look at it.
    resume(&other, &plan).await.completed();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_id_started_at_once_is_the_same_run() {
    let plan =
        Plan::new("p", |input: Step<u32>| agent("a").input("input", input).prompt("Go.").text()).unwrap();
    let (runner, calls) = echo();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    let starts: Vec<_> = (0..20)
        .map(|_| {
            let (executor, plan) = (executor.clone(), plan.clone());
            tokio::spawn(async move { start(&executor, &plan, 1).await.completed().0 })
        })
        .collect();
    for start in starts {
        assert_eq!(start.await.unwrap(), "<a>");
    }
    // Also while one drive is just ending.
    let again: Vec<_> = (0..20)
        .map(|_| {
            let (executor, plan) = (executor.clone(), plan.clone());
            tokio::spawn(async move {
                for _ in 0..50 {
                    start(&executor, &plan, 1).await.completed();
                }
            })
        })
        .collect();
    for start in again {
        start.await.unwrap();
    }
    assert_eq!(calls.count(), 1);
}

#[test]
fn a_runtime_that_is_gone_before_the_run_began_leaves_the_run_to_the_next() {
    let plan =
        Plan::new("p", |input: Step<u32>| agent("a").input("input", input).prompt("Go.").text()).unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(echo().0).build();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let run = first.block_on(async { executor.start(&plan, 1).id("r").await.unwrap() });
    drop((run, first));
    assert_eq!(runtime().block_on(start(&executor, &plan, 1)).completed().0, "<a>");
}
