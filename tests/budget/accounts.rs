//! Several budgets at once: nested scopes, items, fan-outs, shared ones, called plans; and many calls at the same time.

use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

#[tokio::test]
async fn a_call_needs_room_in_every_budget_around_it() {
    let plan = || {
        let plan = Plan::new("nested", |_: Step<()>| {
            Budget::usd(1.0).scope("outer", || {
                let left = Budget::usd(0.5).scope("left", || {
                    let first = bounded("first", 0.5);
                    agent("second").input("first", first).prompt("Go.").budget(Budget::usd(0.5)).text()
                });
                let right = bounded("right", 0.5);
                join((left, right))
            })
        });
        plan.unwrap()
    };
    let store = Store::new();
    let (runner, calls) = costing(0.5);
    let executor = store.executor(runner);
    let needs = start(&executor, &plan(), ()).await.parked();
    // The outer one is asked first; what has no room there does not reserve in the inner one either.
    let found: Vec<_> = needs.iter().map(said).collect();
    let full = 1_000_000_000;
    assert_eq!(found, [("outer".to_owned(), Unit::Usd, full, full, Some("outer/left/second".to_owned()))]);
    assert_eq!(calls.count(), 2);
    executor.raise(&run_id(), "outer", Budget::usd(2.0)).await.unwrap();
    let needs = resume(&executor, &plan()).await.parked();
    let half = 500_000_000;
    let found: Vec<_> = needs.iter().map(said).collect();
    assert_eq!(
        found,
        [("outer/left".to_owned(), Unit::Usd, half, half, Some("outer/left/second".to_owned()))]
    );
    decide_all(&executor, raise(Budget::usd(1.0))).await;
    resume(&executor, &plan()).await.completed();
    let in_left = executor.spent_in(&run_id(), "outer/left").unwrap();
    assert_eq!((in_left.usd, executor.spent(&run_id()).unwrap().usd), (usd(1.0), usd(1.5)));
}

/// Each item has a budget of its own, and the fan-out one for all.
fn items(each: f64, all: f64) -> Plan<Vec<String>, Vec<Result<String, Failure>>> {
    Plan::new("items", move |words: Step<Vec<String>>| {
        parallel_each("words", words, |word| {
            Budget::usd(each).scope("one", || {
                let first = agent("first").input("word", word).prompt("Go.").budget(Budget::usd(0.5)).text();
                agent("second").input("first", first).prompt("Go.").budget(Budget::usd(0.5)).text()
            })
        })
        .key_by(|word| word.clone())
        .limit(1)
        .budget(Budget::usd(all))
        .results()
    })
    .unwrap()
}

#[tokio::test]
async fn items_have_their_own_and_the_others_go_on() {
    let words = || vec!["dear".to_owned(), "cheap".to_owned()];
    let store = Store::new();
    let runner = || {
        FnRunner::sync(|call| {
            Ok(paid(call.path.as_str(), if call.path.contains("dear") { 0.5 } else { 0.25 }))
        })
    };
    let executor = store.executor(runner());
    let needs = start(&executor, &items(0.75, 9.0), words()).await.parked();
    let found: Vec<_> = needs.iter().map(said).collect();
    // One item at a time: the one that waits for a raise gives its place to the other.
    assert_eq!(executor.spent_in(&run_id(), "words[cheap]").unwrap().usd, usd(0.5));
    let asks = Some("words[dear]/one/second".to_owned());
    assert_eq!(found, [("words[dear]/one".to_owned(), Unit::Usd, 750_000_000, 500_000_000, asks)]);
    drop(executor);
    let executor = store.executor(runner());
    executor.raise(&run_id(), "words[dear]/one", Budget::usd(1.0)).await.unwrap();
    let (value, _) = resume(&executor, &items(0.75, 9.0)).await.completed();
    assert!(value.iter().all(Result::is_ok), "{value:?}");
    assert_eq!(executor.spent_in(&run_id(), "words[dear]").unwrap().usd, usd(1.0));
    assert_eq!(executor.spent_in(&run_id(), "words").unwrap().usd, usd(1.5));

    // All of them together.
    let store = Store::new();
    let executor = store.executor(runner());
    let needs = start(&executor, &items(1.0, 1.2), words()).await.parked();
    assert_eq!(said(&needs[0]).0, "words");
    executor.raise(&run_id(), "words", Budget::usd(2.0)).await.unwrap();
    resume(&executor, &items(1.0, 1.2)).await.completed();
}

#[tokio::test]
async fn a_shared_budget_is_one_for_all_that_have_it_also_after_a_restart() {
    let plan = || {
        let plan = Plan::new("shared", |_: Step<()>| {
            let all = Budget::shared("all", Budget::usd(1.0));
            let first = parallel("first", ["a"], |_| bounded("go", 0.4)).budget(&all).all();
            let second = all.scope("second", || {
                agent("go").input("first", first).prompt("Go.").budget(Budget::usd(0.4)).text()
            });
            parallel("third", ["a"], |_| {
                agent("go").input("second", second).prompt("Go.").budget(Budget::usd(0.4)).text()
            })
            .budget(&all)
            .all()
        });
        plan.unwrap()
    };
    let store = Store::new();
    let executor = store.executor(costing(0.4).0);
    let asks = ("#all".to_owned(), Unit::Usd, 1_000_000_000, 800_000_000, Some("third[a]/go".to_owned()));
    assert_eq!(said(&start(&executor, &plan(), ()).await.parked()[0]), asks);
    drop(executor);
    let executor = store.executor(costing(0.4).0);
    let needs = resume(&executor, &plan()).await.parked();
    assert_eq!(said(&needs[0]), asks);
    executor.decide(&run_id(), &needs[0], raise(Budget::usd(1.2))).await.unwrap();
    resume(&executor, &plan()).await.completed();
}

#[tokio::test]
async fn a_called_plan_has_its_budget_in_each_of_its_calls() {
    let inner =
        Plan::new("inner", |_: Step<()>| bounded("go", 0.5)).unwrap().budget(Budget::usd(0.5)).unwrap();
    let plan = || {
        let inner = inner.clone();
        let plan = Plan::new("outer", move |start: Step<()>| {
            let once = inner.call("once", start);
            let again = inner.call("again", start);
            join((once, again))
        });
        plan.unwrap()
    };
    let store = Store::new();
    let runner = || {
        FnRunner::sync(|call| Ok(paid(call.path.as_str(), if call.path == "once/go" { 0.5 } else { 0.6 })))
    };
    let executor = store.executor(runner());
    let needs = start(&executor, &plan(), ()).await.parked();
    let found: Vec<_> = needs.iter().map(said).collect();
    let over = |path: &str| (path.to_owned(), Unit::Usd, 500_000_000, 600_000_000, None);
    assert_eq!(found, [over("again"), over("again/go")]);
    decide_all(&executor, raise(Budget::usd(0.6))).await;
    drop(executor);
    resume(&store.replayer(), &plan()).await.completed();
}

#[tokio::test]
async fn a_failure_lets_go_of_what_waits_for_room() {
    let plan = Plan::new("fails", |_: Step<()>| {
        let dear = Budget::usd(0.5).scope("part", || {
            let first = bounded("first", 0.4);
            agent("second").input("first", first).prompt("Go.").budget(Budget::usd(0.4)).text()
        });
        let fails = agent("fails").prompt("Go.").text();
        join((dear, fails))
    })
    .unwrap();
    let (go, gone) = tokio::sync::watch::channel(false);
    let go = Arc::new(go);
    let runner = FnRunner::new(move |call: AgentCall| {
        let (go, mut gone) = (Arc::clone(&go), gone.clone());
        async move {
            if call.path == "fails" {
                gone.wait_for(|gone| *gone).await.unwrap();
                return Err(RunnerError::new(RunnerErrorKind::Failed, "no"));
            }
            go.send_replace(true);
            Ok(paid("fine", 0.4))
        }
    });
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    let failure = start(&executor, &plan, ()).await.failed();
    assert_eq!(failure.path, "fails");
}

#[tokio::test]
async fn a_quorum_that_has_its_members_lets_go_of_what_waits_for_room() {
    let plan = Plan::new("first", |_: Step<()>| {
        parallel("race", ["a", "b", "c"], |_| bounded("go", 0.4)).budget(Budget::usd(0.5)).first()
    })
    .unwrap();
    let store = Store::new();
    let (runner, calls) = costing(0.4);
    let executor = store.executor(runner);
    assert_eq!(start(&executor, &plan, ()).await.completed().0, "<race[a]/go>");
    assert_eq!(calls.count(), 1);
    drop(executor);
    resume(&store.replayer(), &plan).await.completed();
}

#[tokio::test]
async fn nothing_is_paid_in_a_rehearsal_so_budgets_do_not_count() {
    let rehearsal = chain().budget(Budget::usd(0.5)).unwrap().rehearse(()).await.unwrap();
    rehearsal.ensure_covered().unwrap();
}

#[tokio::test]
async fn one_decision_raises_all_that_a_pattern_names() {
    let words = || ["a", "b", "c"].map(str::to_owned).to_vec();
    let store = Store::new();
    let executor = store.executor(costing(0.5).0);
    let needs = start(&executor, &items(0.5, 9.0), words()).await.parked();
    assert_eq!(needs.len(), 3, "{needs:?}");
    let by = Actor::claimed("ada");
    let to = raise(Budget::usd(1.0));
    assert_eq!(executor.decide_matching(&run_id(), "words[*]/one", to, by).await.unwrap(), 3);
    resume(&executor, &items(0.5, 9.0)).await.completed();
    // What one call of a step may cost, for all its copies at once.
    let store = Store::new();
    let executor = store.executor(costing(0.7).0);
    let needs = start(&executor, &items(9.0, 9.0), words()).await.parked();
    let paths: Vec<_> = needs.iter().map(|need| need.path.as_str()).collect();
    assert_eq!(paths, ["words[*]/one/first", "words[*]/one/second"]);
    for path in paths {
        executor.raise(&run_id(), path, Budget::usd(0.7)).await.unwrap();
    }
    resume(&executor, &items(9.0, 9.0)).await.completed();
}

#[tokio::test]
async fn no_more_calls_begin_at_once_than_there_is_room_for() {
    let (under_way, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let highest = Arc::clone(&most);
    let runner = FnRunner::new(move |_| {
        let (under_way, most) = (Arc::clone(&under_way), Arc::clone(&most));
        async move {
            most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            under_way.fetch_sub(1, Ordering::SeqCst);
            Ok(paid("fine", 0.01))
        }
    });
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    // Ten calls of at most 10 cents each, in 30 cents: three at once, later two, and all are made.
    let nanos = usd(0.1).as_nanos();
    let run = executor.start(&wide(nanos), (0..10).collect()).id("r").budget(Budget::usd(0.3));
    let outcome = run.await.unwrap().outcome().await;
    assert_eq!(outcome.completed().0.len(), 10);
    assert_eq!((highest.load(Ordering::SeqCst), executor.spent(&run_id()).unwrap().usd), (3, usd(0.1)));
}

/// What a property's runner sees: what is reserved for the calls under way and what was paid, at its highest.
#[derive(Default)]
struct Till {
    under_way: AtomicU64,
    paid: AtomicU64,
    highest: AtomicU64,
    overshoot: AtomicU64,
}

/// A call for each number, each of which may cost so many nano-dollars.
fn wide(bound: u64) -> Plan<Vec<usize>, Vec<String>> {
    Plan::new("wide", move |numbers: Step<Vec<usize>>| {
        let each = move |number: Step<usize>| {
            agent("go").input("number", number).prompt("Go.").budget(Budget::money(Usd::nanos(bound))).text()
        };
        parallel_each("all", numbers, each).all()
    })
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 16 } else { 400 }))]

    /// Whatever calls cost, and however many run at once: what is paid and what is reserved never exceed the budget by more
    /// than running calls cost above their bounds; a raise resumes, and no call is made twice.
    #[test]
    fn reservations_never_overshoot(
        costs in prop::collection::vec(0_u64..15, 1..25),
        bound in 1_u64..12,
        limit in 1_u64..60,
        concurrency in 1_usize..9,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let limit = limit.max(bound);
            let till = Arc::new(Till::default());
            let (seen, prices) = (Arc::clone(&till), costs.clone());
            let calls = Calls::default();
            let counted = calls.clone();
            let runner = FnRunner::new(move |call: AgentCall| {
                let (till, calls) = (Arc::clone(&seen), counted.clone());
                let number: usize = call.inputs[0].1.parse().unwrap();
                let cost = prices[number];
                async move {
                    calls.add();
                    let reserved = till.under_way.fetch_add(bound, Ordering::SeqCst) + bound;
                    let taken = till.paid.load(Ordering::SeqCst) + reserved;
                    till.highest.fetch_max(taken, Ordering::SeqCst);
                    for _ in 0..number % 3 {
                        tokio::task::yield_now().await;
                    }
                    till.under_way.fetch_sub(bound, Ordering::SeqCst);
                    till.paid.fetch_add(cost, Ordering::SeqCst);
                    till.overshoot.fetch_max(cost.saturating_sub(bound), Ordering::SeqCst);
                    let usd = Usd::nanos(cost).dollars();
                    Ok(AgentReply { cost: Cost::Known { usd }, ..AgentReply::text("fine") })
                }
            });
            let executor = Executor::builder()
                .ledger(Ledger::in_memory().unwrap())
                .runner(runner)
                .concurrency(concurrency)
                .build();
            let plan = wide(bound);
            let numbers: Vec<usize> = (0..costs.len()).collect();
            let mut now = limit;
            let run = executor.start(&plan, numbers).id("r").budget(Budget::money(Usd::nanos(now)));
            let mut outcome = run.await.unwrap().outcome().await.unwrap();
            let mut before = till.paid.load(Ordering::SeqCst);
            loop {
                let paid = till.paid.load(Ordering::SeqCst);
                // Never more than the budget, but for what the calls under way cost above their bounds.
                let over = till.overshoot.load(Ordering::SeqCst) * concurrency as u64;
                prop_assert!(till.highest.load(Ordering::SeqCst) <= now.max(before) + over);
                prop_assert_eq!(executor.spent(&run_id()).unwrap().usd.as_nanos(), paid);
                match outcome {
                    Outcome::Completed(_) => break,
                    Outcome::Parked(needs) => {
                        for need in needs.list {
                            let NeedKind::Budget { limit, spent, .. } = &need.kind else { panic!("{need:?}") };
                            if need.path.is_empty() {
                                now = (*spent).max(*limit) + bound;
                            }
                            let to = (*spent).max(*limit) + bound;
                            executor.decide(&run_id(), &need, raise(Budget::money(Usd::nanos(to)))).await.unwrap();
                        }
                    }
                    other => panic!("{other:?}"),
                }
                before = paid;
                outcome = executor.resume(&plan, "r").await.unwrap().outcome().await.unwrap();
            }
            prop_assert_eq!(calls.count(), costs.len() as u64);
            prop_assert_eq!(till.paid.load(Ordering::SeqCst), costs.iter().sum::<u64>());
            Ok(())
        })?;
    }
}
