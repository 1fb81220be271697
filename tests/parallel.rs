//! Fan-outs run at the same time, in input order, and never more than their limit.

mod support;

use hermes_workflows::{core::journal::Kind, prelude::*};
use std::sync::Arc;
use support::*;
use tokio::sync::Barrier;

fn lenses() -> Plan<String, Vec<String>> {
    Plan::new("lenses", |change: Step<String>| {
        parallel("look", ["security", "style", "speed"], |lens| {
            agent("lens").input("change", change).prompt(format!("Look at it for {lens}.")).text()
        })
        .limit(3)
        .all()
    })
    .unwrap()
}

#[tokio::test]
async fn three_calls_of_a_parallel_run_at_the_same_time() {
    let barrier = Arc::new(Barrier::new(3));
    let runner = FnRunner::new(move |call: AgentCall| {
        let barrier = Arc::clone(&barrier);
        async move {
            // With fewer than three at once nobody would ever pass.
            barrier.wait().await;
            Ok(AgentReply::text(call.path))
        }
    });
    let executor =
        Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).concurrency(3).build();
    let (value, _) = start(&executor, &lenses(), "diff".to_owned()).await.completed();
    assert_eq!(value, ["look[security]/lens", "look[style]/lens", "look[speed]/lens"]);
}

#[tokio::test]
async fn their_started_records_are_one_commit_before_any_is_awaited() {
    let store = Store::new();
    let ledger = store.open();
    let seen = ledger.clone();
    let runner = FnRunner::new(move |call: AgentCall| {
        let ledger = seen.clone();
        async move {
            let run = ledger.find(&RunId::new("r").unwrap()).unwrap().unwrap();
            let started = ledger.state(run).unwrap().begun().count();
            assert_eq!(started, 3, "all three are durable as started before the first one runs");
            Ok(AgentReply::text(call.path))
        }
    });
    let executor = Executor::builder().ledger(ledger.clone()).runner(runner).concurrency(3).build();
    let mut watch = executor.watch();
    let before = ledger.stats().commits;
    start(&executor, &lenses(), "diff".to_owned()).await.completed();
    let mut started = Vec::new();
    while let Some(Seen::Event(event)) = watch.try_next() {
        if event.kind == Kind::Started {
            started.push(event.seq.0);
        }
    }
    assert_eq!(started, [3, 4, 5], "right after the run's start and its names");
    let commits = ledger.stats().commits - before;
    assert!(commits <= 6, "start, one for the calls, at most three for outcomes, the end: {commits}");
}

#[test]
fn the_layout_shows_a_fan_out_not_a_chain() {
    let text = lenses().layout().to_string();
    assert!(text.contains("look: parallel"), "{text}");
    for lens in ["security", "style", "speed"] {
        assert!(text.contains(&format!("[{lens}]")), "{text}");
    }
}

fn numbers(limit: Option<u32>) -> Plan<u32, Vec<String>> {
    Plan::new("numbers", move |count: Step<u32>| {
        let items = count.map(|count| (0..*count).collect::<Vec<u32>>());
        let fan =
            parallel_each("each", items, |item| agent("work").input("item", item).prompt("Work.").text());
        match limit {
            Some(limit) => fan.limit(limit).all(),
            None => fan.all(),
        }
    })
    .unwrap()
}

/// The longest that a call yields to others, in turns: not at all, and up to a few, at random.
const DELAYS: [u32; 2] = [0, 8];

/// Counts how many calls are under way at once; each yields up to `most` times, at random, so that others get the chance.
fn gauge(most: u32) -> (FnRunner, Arc<std::sync::Mutex<(u32, u32)>>) {
    let gauge = Arc::new(std::sync::Mutex::new((0_u32, 0_u32)));
    let counted = Arc::clone(&gauge);
    let random = Arc::new(std::sync::Mutex::new(fastrand::Rng::with_seed(7)));
    let runner = FnRunner::new(move |call: AgentCall| {
        let (gauge, random) = (Arc::clone(&counted), Arc::clone(&random));
        async move {
            {
                let mut gauge = gauge.lock().unwrap();
                gauge.0 += 1;
                gauge.1 = gauge.1.max(gauge.0);
            }
            let turns = random.lock().unwrap().u32(0..=most);
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            gauge.lock().unwrap().0 -= 1;
            Ok(AgentReply::text(call.path))
        }
    });
    (runner, gauge)
}

fn over(runner: FnRunner, concurrency: usize) -> Executor {
    Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).concurrency(concurrency).build()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_is_a_hard_bound_and_order_is_kept() {
    for (limit, delay) in [1, 2, 5].into_iter().flat_map(|limit| DELAYS.map(|delay| (limit, delay))) {
        let (runner, gauge) = gauge(delay);
        let (value, _) = start(&over(runner, 16), &numbers(Some(limit)), 40).await.completed();
        let expected: Vec<_> = (0..40).map(|i| format!("each[{i}]/work")).collect();
        assert_eq!(value, expected);
        let most = gauge.lock().unwrap().1;
        assert!(most <= limit, "{most} at once under limit {limit}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrency_bounds_calls_over_all_groups() {
    for delay in DELAYS {
        let (runner, gauge) = gauge(delay);
        start(&over(runner, 3), &numbers(None), 40).await.completed();
        let most = gauge.lock().unwrap().1;
        assert!(most <= 3, "{most} at once under concurrency 3");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_limits_bound_and_never_lock_each_other_out() {
    let nested = Plan::new("nested", |count: Step<u32>| {
        let outer = count.map(|count| (0..*count).map(|i| vec![i, i + 1, i + 2]).collect::<Vec<_>>());
        parallel_each("outer", outer, |items| {
            parallel_each("inner", items, |item| {
                let first = agent("first").input("item", item).prompt("Work.").text();
                agent("second").input("first", first).prompt("Work.").text()
            })
            .limit(1)
            .all()
        })
        .limit(2)
        .all()
    })
    .unwrap();
    for delay in DELAYS {
        let (runner, gauge) = gauge(delay);
        let (value, counts) = start(&over(runner, 16), &nested, 12).await.completed();
        assert_eq!((value.len(), counts.calls), (12, 72));
        let most = gauge.lock().unwrap().1;
        assert!(most <= 2, "{most} at once: two outer items with one inner item each");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_limit_bounds_all_that_share_it_together() {
    let plan = Plan::new("shared", |count: Step<u32>| {
        let items = count.map(|count| (0..*count).collect::<Vec<u32>>());
        let limit = Limit::shared("workers", 3);
        let each = |name: &str| {
            parallel_each(name, items, |item| agent("work").input("item", item).prompt("Work.").text())
                .limit(&limit)
                .all()
        };
        let staged = pipeline("staged", items)
            .stage(|item| agent("work").input("item", item).prompt("Work.").text())
            .stage(|item| agent("again").input("item", item).prompt("Work.").text())
            .streaming()
            .limit(&limit)
            .all();
        let known =
            parallel("known", ["a", "b"], |key| agent("look").input("items", items).prompt(key).text());
        join((each("one"), each("two"), staged, known.limit(&limit).all()))
    })
    .unwrap();
    for delay in DELAYS {
        let (runner, gauge) = gauge(delay);
        let (value, counts) = start(&over(runner, 32), &plan, 12).await.completed();
        assert_eq!((value.0.len(), value.3.len(), counts.calls), (12, 2, 50));
        let most = gauge.lock().unwrap().1;
        assert!(most <= 3, "{most} at once under a shared limit of 3");
    }
}

#[test]
fn a_shared_limit_has_one_number_and_does_not_stand_in_itself() {
    let mistakes = Plan::new("limits", |items: Step<Vec<Vec<u32>>>| {
        let (three, four) = (Limit::shared("workers", 3), Limit::shared("workers", 4));
        let outer = parallel_each("outer", items, |items| {
            parallel_each("inner", items, |item| item).limit(&three).all()
        })
        .limit(&three)
        .all();
        parallel_each("other", outer, |items| items).limit(&four).all()
    })
    .unwrap_err();
    let told = mistakes.to_string();
    assert!(told.contains("the limit `workers` is 3 in one place and 4 in another"), "{told}");
    assert!(told.contains("the limit `workers` is used inside a fan-out that has it already"), "{told}");
    assert!(mistakes.iter().all(|mistake| mistake.kind == PlanErrorKind::ConflictingLimit));
}

#[tokio::test]
async fn under_limit_1_an_item_ends_before_the_next_begins_whatever_is_in_it() {
    let plan = Plan::new("serial", |items: Step<Vec<u32>>| {
        parallel_each("each", items, |item| {
            let work =
                |name: &str, of: Step<u32>| agent(name).input("of", of).prompt("Work.").returns::<u32>();
            let looped = repeat("loop", item, 3, |state| {
                let next = work("round", state);
                branch("enough", next).when("yes", |_| false, |_| next.done()).otherwise(|_| next.again())
            })
            .or_else(|state| state);
            let several = looped.map(|last| vec![*last; 2]);
            let inner = parallel_each("inner", several, |one| work("one", one)).all();
            branch("arm", inner).when("any", |_| true, |_| work("arm", item)).or_fail()
        })
        .limit(1)
        .all()
    })
    .unwrap();
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&order);
    let runner = FnRunner::sync(move |call| {
        noted.lock().unwrap().push(call.path.clone());
        Ok(AgentReply::json(serde_json::json!(1)))
    });
    start(&over(runner, 16), &plan, vec![1, 2, 3]).await.completed();
    let items: Vec<_> = order.lock().unwrap().iter().map(|path| path[..8].to_owned()).collect();
    let expected = ["each[0]/", "each[1]/", "each[2]/"].map(|item| vec![item.to_owned(); 6]).concat();
    assert_eq!(items, expected);
}

#[tokio::test]
async fn no_item_and_one_item_are_lists_like_others() {
    for count in [0, 1] {
        let (runner, calls) = echo();
        let (value, _) = start(&over(runner, 4), &numbers(Some(1)), count).await.completed();
        assert_eq!((value.len() as u64, calls.count()), (count.into(), count.into()));
    }
}

/// Under a limit an item that was begun goes on before another begins, also when the process ended in between.
#[test]
fn after_a_kill_what_was_begun_goes_on_first() {
    let plan = Plan::new("order", |items: Step<Vec<u32>>| {
        parallel_each("each", items, |item| {
            let first = agent("first").input("item", item).prompt("Go.").text();
            let many = first.map(|first| vec![first.clone(); 2]);
            parallel_each("inner", many, |one| agent("second").input("one", one).prompt("Go.").text()).all()
        })
        .limit(1)
        .all()
    })
    .unwrap();
    let store = Store::new();
    let block_on = |future: std::pin::Pin<Box<dyn Future<Output = ()>>>| {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
    };
    let executor = store.executor(FnRunner::new(|call: AgentCall| async move {
        if call.path.contains("inner[1]") {
            std::future::pending::<()>().await;
        }
        Ok(AgentReply::text(call.path))
    }));
    let given = plan.clone();
    block_on(Box::pin(async move {
        let mut watch = executor.watch();
        let _run = executor.start(&given, vec![1, 2, 3]).id("r").await.unwrap();
        let mut done = 0;
        while done < 2 {
            if let Some(Seen::Event(event)) = watch.next().await
                && event.kind == hermes_workflows::core::journal::Kind::Succeeded
            {
                done += 1;
            }
        }
    }));
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&order);
    let executor = store.executor(FnRunner::sync(move |call| {
        noted.lock().unwrap().push(call.path.clone());
        Ok(AgentReply::text(call.path.clone()))
    }));
    block_on(Box::pin(async move {
        resume(&executor, &plan).await.completed();
    }));
    let order = order.lock().unwrap();
    assert_eq!(order[0], "each[0]/inner[1]/second");
    let items: Vec<_> = order.iter().map(|path| &path[..7]).collect();
    assert!(items.is_sorted(), "{order:?}");
}

#[tokio::test]
async fn a_fan_out_over_another_ones_result_replays_whatever_its_keys_are() {
    type Fan = fn(Step<Vec<String>>) -> Step<Vec<String>>;
    let leaf = |name: &'static str| move |item| agent(name).input("item", item).prompt("Go.").text();
    let shapes: [Fan; 4] = [
        |items| parallel_each("a", items, |item| agent("x").input("item", item).prompt("Go.").text()).all(),
        |items| {
            pipeline("a", items)
                .stage(|item| agent("x").input("item", item).prompt("Go.").text())
                .streaming()
                .all()
        },
        |items| {
            let made = parallel_each("a", items, |item| agent("x").input("item", item).prompt("Go.").text());
            made.all().filter(|made| !made.contains("[0]"))
        },
        |items| {
            let made = parallel_each("a", items, |item| agent("x").input("item", item).prompt("Go.").text());
            made.key_by(|item| item.len().to_string()).all()
        },
    ];
    for shape in shapes {
        for items in [vec![], vec!["a"], vec!["a", "bb", "ccc"]] {
            let plan = Plan::new("over", |items| parallel_each("b", shape(items), leaf("y")).all()).unwrap();
            let (store, (runner, _)) = (Store::new(), echo());
            let items: Vec<_> = items.into_iter().map(str::to_owned).collect();
            let (value, _) = start(&store.executor(runner), &plan, items).await.completed();
            assert_eq!(resume(&store.replayer(), &plan).await.completed().0, value);
        }
    }
}
