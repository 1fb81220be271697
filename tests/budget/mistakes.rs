//! What is refused: by `Plan::new`, by `plan.budget(..)`, by the start.

use super::*;
use hermes_workflows::executor::DriveError;

fn codes<O>(plan: Result<Plan<(), O>, PlanErrors>) -> Vec<(&'static str, String)> {
    let mistakes = plan.err().unwrap();
    mistakes.iter().map(|mistake| (mistake.kind.code(), mistake.to_string())).collect()
}

fn unbounded() -> Step<String> {
    agent("free").prompt("Go.").text()
}

#[tokio::test]
async fn a_start_with_a_budget_names_each_agent_without_a_bound_and_its_line() {
    let store = Store::new();
    let executor = store.executor(refuses());
    let line = line!() + 2;
    let plan = Plan::new("two", |_: Step<()>| {
        let _ = agent("first").prompt("Go.").text();
        let _ = scope("inner", || agent("second").prompt("Go.").budget(Budget::tokens(9)).text());
        bounded("third", 0.1)
    })
    .unwrap();
    let error = start_with(&executor, &plan, Budget::usd(1.0).and(Budget::calls(3))).await.unwrap_err();
    assert!(
        matches!(&error, DriveError::Unbounded { unit: Unit::Usd, steps } if steps.len() == 2),
        "{error}"
    );
    let text = error.to_string();
    for named in
        [format!("`first` ({}:{line})", file!()), format!("`inner/second` ({}:{})", file!(), line + 1)]
    {
        assert!(text.contains(&named), "{text}");
    }
    assert!(executor.ledger().find(&run_id()).unwrap().is_none(), "nothing was recorded");
    let error = start_with(&executor, &plan, Budget::calls(0)).await.unwrap_err();
    assert!(matches!(error, DriveError::EmptyBudget), "{error}");
    drop(executor);
    // Calls and time want no bounds; and a plan that has lost one is refused later too.
    let executor = store.executor(costing(0.1).0);
    let budget = Budget::calls(9).and(Budget::time(Duration::from_secs(9)));
    start_with(&executor, &plan, budget).await.completed();
    let lost = |bound: bool| {
        let plan = Plan::new("lost", move |_: Step<()>| {
            let first = bounded("first", 0.1);
            let second = agent("second").input("first", first).prompt("Go.");
            if bound { second.budget(Budget::usd(0.1)).text() } else { second.text() }
        });
        plan.unwrap()
    };
    let run = executor.start(&lost(true), ()).id("s").budget(Budget::usd(0.1)).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Parked(_)));
    let error = executor.resume(&lost(false), "s").await.unwrap().outcome().await.unwrap_err();
    assert!(matches!(error, DriveError::Unbounded { unit: Unit::Usd, .. }), "{error}");
}

#[test]
fn a_scope_with_a_budget_names_the_agents_in_it_that_have_no_bound() {
    let in_scope = Plan::new("p", |_: Step<()>| Budget::usd(1.0).scope("part", || scope("inner", unbounded)));
    let in_fan = Plan::new("p", |_: Step<()>| {
        parallel("fan", ["a", "b"], |_| unbounded()).budget(Budget::tokens(10)).all()
    });
    let inner = Plan::new("inner", |_: Step<()>| unbounded()).unwrap();
    let in_call =
        Plan::new("p", move |start: Step<()>| Budget::usd(1.0).scope("part", || inner.call("called", start)));
    let whole = Plan::new("p", |_: Step<()>| unbounded()).unwrap().budget(Budget::usd(1.0));
    for found in [codes(in_scope), codes(in_fan), codes(in_call), codes(whole)] {
        assert!(!found.is_empty());
        for (code, text) in found {
            assert_eq!(code, "unbounded_agent");
            assert!(text.contains("`free`") || text.contains("free` stands"), "{text}");
            assert!(text.contains("says nothing of what a call of it costs"), "{text}");
        }
    }
    // Calls want no bound.
    assert!(Plan::new("p", |_: Step<()>| Budget::calls(2).scope("part", unbounded)).is_ok());
}

#[test]
fn a_budget_of_nothing_or_of_the_wrong_kind_is_a_mistake() {
    for nothing in
        [Budget::usd(0.0), Budget::usd(-1.0), Budget::usd(f64::NAN), Budget::calls(0), Budget::default()]
    {
        let plan = Plan::new("p", |_: Step<()>| nothing.scope("part", || bounded("a", 1.0)));
        assert_eq!(codes(plan)[0].0, "empty_budget", "{nothing:?}");
        let plan = Plan::new("p", |_: Step<()>| agent("a").prompt("Go.").budget(nothing).text());
        assert_eq!(codes(plan)[0].0, "empty_budget", "{nothing:?}");
        let plan = Plan::new("p", |_: Step<()>| bounded("a", 1.0)).unwrap().budget(nothing);
        assert_eq!(codes(plan)[0].0, "empty_budget", "{nothing:?}");
    }
    for elsewhere in [Budget::calls(1), Budget::time(Duration::from_secs(1))] {
        let plan = Plan::new("p", |_: Step<()>| agent("a").prompt("Go.").budget(elsewhere).text());
        assert_eq!(codes(plan)[0].0, "misplaced_budget");
    }
}

#[test]
fn a_shared_budget_is_one_number_and_not_inside_itself() {
    let two = Plan::new("p", |_: Step<()>| {
        let first = Budget::shared("all", Budget::usd(1.0)).scope("first", || bounded("a", 1.0));
        let second = Budget::shared("all", Budget::usd(2.0)).scope("second", || bounded("a", 1.0));
        join((first, second))
    });
    let inside = Plan::new("p", |_: Step<()>| {
        let all = Budget::shared("all", Budget::usd(1.0));
        all.scope("outer", || all.scope("inner", || bounded("a", 1.0)))
    });
    let (two, inside) = (codes(two), codes(inside));
    assert_eq!(two[0].0, "conflicting_budget");
    assert!(two[0].1.contains("the budget `all` is $1.00 in one place and $2.00 in another"), "{two:?}");
    assert_eq!(inside[0].0, "conflicting_budget");
    assert!(inside[0].1.contains("inside a part that has it already"), "{inside:?}");
}

#[tokio::test]
async fn what_is_built_at_run_time_without_a_bound_fails_by_name() {
    let plan = || {
        let plan = Plan::new("grown", |_: Step<()>| {
            let first = bounded("first", 0.1);
            first.then("more", |_| agent("free").prompt("Go.").text())
        });
        plan.unwrap()
    };
    let store = Store::new();
    let executor = store.executor(costing(0.1).0);
    let failure = start_with(&executor, &plan(), Budget::usd(1.0)).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::Budget, "more/free"));
    assert!(failure.location.unwrap().contains("mistakes.rs:"));
    drop(executor);
    assert_eq!(resume(&store.replayer(), &plan()).await.failed().class, FailureClass::Budget);
}

#[test]
fn a_budget_shows_in_the_layout() {
    let plan = Plan::new("p", |words: Step<Vec<String>>| {
        parallel_each("fan", words, |word| {
            agent("a").input("word", word).prompt("Go.").budget(Budget::usd(0.05)).text()
        })
        .budget(Budget::usd(5.0).and(Budget::calls(20)))
        .all()
    })
    .unwrap();
    let drawn = plan.layout().text();
    assert!(drawn.contains("by position, budget $5.00, 20 agent calls, fail fast"), "{drawn}");
    assert!(drawn.contains("a: agent(item), budget $0.05 -> string"), "{drawn}");
}
