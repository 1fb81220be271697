//! Budgets: what may be spent in a run, a scope, a fan-out, a called plan, by one call. Reserved before a call begins, settled
//! with its outcome; used up, the run parks until a person raises it.

mod support;

#[path = "budget/accounts.rs"]
mod accounts;
#[path = "budget/crashes.rs"]
mod crashes;
#[path = "budget/mistakes.rs"]
mod mistakes;
#[path = "budget/time.rs"]
mod time;

use hermes_workflows::{
    core::{
        budget::Asking,
        receipt::{Cost, Usage},
    },
    executor::{DecideError, run_layout},
    prelude::*,
};
use std::sync::{Arc, Mutex};
use support::*;

fn usd(dollars: f64) -> Usd {
    Usd::nearest(dollars).unwrap()
}

/// An answer that cost so much.
fn paid(text: impl Into<String>, dollars: f64) -> AgentReply {
    AgentReply { cost: Cost::Known { usd: dollars }, ..AgentReply::text(text) }
}

/// A runner whose every call costs so much.
fn costing(dollars: f64) -> (FnRunner, Calls) {
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::sync(move |call| {
        counted.add();
        Ok(paid(format!("<{}>", call.path), dollars))
    });
    (runner, calls)
}

/// An agent whose calls may cost so much.
fn bounded(name: &str, dollars: f64) -> Step<String> {
    agent(name).prompt("Go.").budget(Budget::usd(dollars)).text()
}

fn one(dollars: f64) -> Plan<(), String> {
    Plan::new("one", move |_: Step<()>| bounded("only", dollars)).unwrap()
}

/// Three calls, one after the other.
fn chain() -> Plan<(), String> {
    Plan::new("chain", |_: Step<()>| {
        let first = bounded("first", 0.5);
        let second = agent("second").input("first", first).prompt("Go.").budget(Budget::usd(0.5)).text();
        agent("third").input("second", second).prompt("Go.").budget(Budget::usd(0.5)).text()
    })
    .unwrap()
}

async fn start_with<O: Data>(
    executor: &Executor,
    plan: &Plan<(), O>,
    budget: Budget,
) -> Result<Outcome<O>, hermes_workflows::executor::DriveError> {
    executor.start(plan, ()).id("r").budget(budget).await?.outcome().await
}

/// The need of a budget: path, unit, limit, spent, and the path that asks.
fn said(need: &Need) -> (String, Unit, u64, u64, Option<String>) {
    let NeedKind::Budget { unit, limit, spent, reserved, asked, .. } = &need.kind else { panic!("{need:?}") };
    assert_eq!(*reserved, 0, "when a run parks, nothing runs");
    (need.path.clone(), *unit, *limit, *spent, asked.as_ref().map(|asked| asked.path.clone()))
}

fn raise(to: Budget) -> Decision {
    Decision::Raise { to }
}

#[tokio::test]
async fn a_cost_of_99_in_a_budget_of_one_cent_does_not_complete_wherever_the_budget_is() {
    let plans: [(&str, Plan<(), String>); 3] = [
        // The bound of the call itself.
        ("only", one(0.01)),
        ("", one(0.01).budget(Budget::usd(0.01)).unwrap()),
        (
            "part",
            Plan::new("one", |_: Step<()>| Budget::usd(0.01).scope("part", || bounded("only", 0.01)))
                .unwrap(),
        ),
    ];
    for (path, plan) in plans {
        let store = Store::new();
        let (runner, calls) = costing(99.0);
        let executor = store.executor(runner);
        let needs = start(&executor, &plan, ()).await.parked();
        let need = needs.iter().find(|need| need.path == path).unwrap();
        assert_eq!(said(need), (path.to_owned(), Unit::Usd, 10_000_000, 99_000_000_000, None));
        assert_eq!(need.title, "its budget was $0.01, and $99.00 were spent");
        assert_eq!((calls.count(), executor.spent(&run_id()).unwrap().usd), (1, usd(99.0)));
        drop(executor);
        // It does not become less by starting again.
        let executor = store.replayer();
        assert_eq!(resume(&executor, &plan).await.parked().len(), needs.len());
        for need in executor.needs(&run_id()).unwrap() {
            executor.decide(&run_id(), &need, raise(Budget::usd(99.0))).await.unwrap();
        }
        assert_eq!(
            resume(&executor, &plan).await.completed().0,
            "<only>".replace("only", if path == "part" { "part/only" } else { "only" })
        );
        assert_eq!(executor.ledger().verify().unwrap(), [""; 0]);
    }
}

#[tokio::test]
async fn used_up_the_run_parks_and_a_recorded_raise_resumes_it_and_nothing_is_lost() {
    let store = Store::new();
    let (runner, calls) = costing(0.4);
    let executor = store.executor(runner.clone());
    let needs = start_with(&executor, &chain(), Budget::usd(1.2)).await.parked();
    assert_eq!(needs.len(), 1, "{needs:?}");
    let asks = (String::new(), Unit::Usd, 1_200_000_000, 800_000_000, Some("third".to_owned()));
    assert_eq!(said(&needs[0]), asks);
    assert_eq!(needs[0].title, "its budget is $1.20, $0.80 are spent, and `third` asks for $0.50");
    let drawn = run_layout(&executor, &chain(), &run_id()).unwrap();
    assert!(drawn.starts_with("run of plan chain(input: null) -> string · parked, 1 to decide"), "{drawn}");
    assert!(drawn.contains("the run: its budget is $1.20, $0.80 are spent"), "{drawn}");
    drop(executor);

    let executor = store.executor(runner);
    let again = resume(&executor, &chain()).await.parked();
    assert_eq!((said(&again[0]), calls.count()), (asks, 2));
    // What is refused is said, and nothing is recorded.
    let records = records(executor.ledger()).len();
    for (wrong, says) in [
        (raise(Budget::usd(1.2)), "it is $1.20 now: give more of money"),
        (raise(Budget::calls(9)), "give more of money"),
        (Decision::Keep, "a budget that is used up is raised"),
    ] {
        let error = executor.decide(&run_id(), &again[0], wrong).await.unwrap_err();
        assert!(
            matches!(error, DecideError::NotOffered { .. }) && error.to_string().contains(says),
            "{error}"
        );
    }
    assert_eq!(support::records(executor.ledger()).len(), records);
    executor
        .decide(&run_id(), &again[0], raise(Budget::usd(1.3)))
        .by(Actor::claimed("ada"))
        .why("it is worth it")
        .await
        .unwrap();
    assert!(executor.needs(&run_id()).unwrap().is_empty());
    let (value, counts) = resume(&executor, &chain()).await.completed();
    assert_eq!((value.as_str(), counts.reused, calls.count()), ("<third>", 2, 3));
    let spent = executor.spent(&run_id()).unwrap();
    assert_eq!((spent.usd, spent.calls, spent.unknown_usd), (usd(1.2), 3, 0));
    assert!(executor.ledger().verify().unwrap().is_empty());
    drop(executor);
    // Replay needs no budget.
    assert_eq!(resume(&store.replayer(), &chain()).await.completed().1.reused, 3);
}

#[tokio::test]
async fn a_raise_beforehand_and_a_raise_while_the_run_is_driven_hold_too() {
    let store = Store::new();
    let executor = store.executor(costing(0.5).0);
    let run = executor.start(&chain(), ()).id("r").budget(Budget::usd(0.5)).await.unwrap();
    executor.raise(&run_id(), "", Budget::usd(1.5)).await.unwrap();
    let Outcome::Completed(done) = run.outcome().await.unwrap() else { panic!("it did not complete") };
    assert_eq!(done.value, "<third>");
    let error = executor.raise(&run_id(), "nowhere", Budget::usd(1.0)).await.unwrap_err();
    assert!(error.to_string().contains("has nothing at `nowhere`"), "{error}");
    assert!(executor.raise(&run_id(), "", Budget::usd(0.0)).await.is_err());
}

#[tokio::test]
async fn calls_and_tokens_are_budgets_too() {
    let store = Store::new();
    let executor = store.executor(costing(0.1).0);
    // The plan has one too: the lower counts.
    let plan = chain().budget(Budget::calls(2)).unwrap();
    let needs = start_with(&executor, &plan, Budget::calls(5)).await.parked();
    assert_eq!(said(&needs[0]), (String::new(), Unit::Calls, 2, 2, Some("third".to_owned())));

    let store = Store::new();
    let read = |tokens| {
        move |call: &AgentCall| {
            let usage = Some(Usage { input_tokens: tokens, output_tokens: 1 });
            Ok(AgentReply { usage, ..AgentReply::text(call.path.as_str()) })
        }
    };
    let plan = || {
        let plan = Plan::new("tokens", |_: Step<()>| {
            let first = agent("first").prompt("Go.").budget(Budget::tokens(10)).text();
            agent("second").input("first", first).prompt("Go.").budget(Budget::tokens(10)).text()
        });
        plan.unwrap()
    };
    let executor = store.executor(FnRunner::sync(read(7)));
    let needs = start_with(&executor, &plan(), Budget::tokens(17)).await.parked();
    assert_eq!(said(&needs[0]), (String::new(), Unit::Tokens, 17, 8, Some("second".to_owned())));
    decide_all(&executor, raise(Budget::tokens(18))).await;
    assert_eq!(resume(&executor, &plan()).await.completed().0, "second");
    assert_eq!(executor.spent(&run_id()).unwrap().tokens, 16);

    let store = Store::new();
    let (runner, calls) = costing(0.1);
    let executor = store.executor(runner);
    let needs = start_with(&executor, &chain(), Budget::calls(2)).await.parked();
    assert_eq!(said(&needs[0]), (String::new(), Unit::Calls, 2, 2, Some("third".to_owned())));
    assert_eq!(calls.count(), 2);
    let NeedKind::Budget { asked, .. } = &needs[0].kind else { panic!("{needs:?}") };
    assert_eq!(asked, &Some(Asking { path: "third".to_owned(), amount: 1 }));
    decide_all(&executor, raise(Budget::calls(3))).await;
    resume(&executor, &chain()).await.completed();
}

#[tokio::test]
async fn a_budget_is_no_part_of_a_fingerprint_and_can_be_lowered_and_raised_in_the_plan() {
    let store = Store::new();
    let plan = |call: f64, all: f64| {
        let plan = Plan::new("edited", move |_: Step<()>| {
            let first = bounded("first", call);
            agent("second").input("first", first).prompt("Go.").budget(Budget::usd(call)).text()
        });
        plan.unwrap().budget(Budget::usd(all)).unwrap()
    };
    let (runner, calls) = costing(0.4);
    let executor = store.executor(runner);
    start(&executor, &plan(0.5, 0.6), ()).await.parked();
    // Lowered below what is spent: it was overspent, and what is to be called has no room.
    let needs = resume(&executor, &plan(0.5, 0.3)).await.parked();
    assert_eq!(needs.len(), 1, "{needs:?}");
    assert_eq!(said(&needs[0]).2, 300_000_000);
    assert_eq!(calls.count(), 1);
    // Raised in the plan: nobody has to be asked.
    let (value, counts) = resume(&executor, &plan(0.6, 1.0)).await.completed();
    assert_eq!((value.as_str(), counts.reused, calls.count()), ("<second>", 1, 2));
    drop(executor);
    // An ended run stays what it is, however little it may spend today.
    assert_eq!(resume(&store.replayer(), &plan(0.1, 0.1)).await.completed().1.reused, 2);
}

#[tokio::test]
async fn the_runs_budget_is_recorded_and_a_start_with_another_takes_its_place() {
    let store = Store::new();
    let executor = store.executor(costing(0.5).0);
    start_with(&executor, &chain(), Budget::usd(1.0)).await.parked();
    drop(executor);
    let executor = store.executor(costing(0.5).0);
    // Without one, it is what it was.
    assert_eq!(said(&start(&executor, &chain(), ()).await.parked()[0]).2, 1_000_000_000);
    assert_eq!(said(&start_with(&executor, &chain(), Budget::usd(0.5)).await.parked()[0]).2, 500_000_000);
    assert_eq!(start_with(&executor, &chain(), Budget::usd(1.5)).await.completed().0, "<third>");
}

#[tokio::test]
async fn what_is_not_known_counts_as_the_bound_and_never_as_nothing() {
    let replies: [fn() -> Result<AgentReply, RunnerError>; 3] =
        [|| Ok(AgentReply::text("fine")), || Ok(paid("fine", f64::NAN)), || Ok(paid("fine", -3.0))];
    for reply in replies {
        let store = Store::new();
        let executor = store.executor(FnRunner::sync(move |_| reply()));
        let needs = start_with(&executor, &chain(), Budget::usd(1.4)).await.parked();
        assert_eq!(said(&needs[0]).3, 1_000_000_000);
        let spent = executor.spent(&run_id()).unwrap();
        assert_eq!((spent.usd, spent.calls, spent.unknown_usd), (usd(1.0), 2, 2));
        assert!(spent.to_string().contains("of 2 agent calls not known, counted as their bounds"), "{spent}");
        decide_all(&executor, raise(Budget::usd(1.5))).await;
        resume(&executor, &chain()).await.completed();
    }
}

#[tokio::test]
async fn failed_attempts_count_and_one_that_never_began_does_not() {
    let kinds =
        [(RunnerErrorKind::Failed, 1), (RunnerErrorKind::RateLimited, 0), (RunnerErrorKind::NotBegun, 0)];
    let plan = || {
        Plan::new("one", |_: Step<()>| {
            agent("only").retry(Retry::never()).prompt("Go.").budget(Budget::usd(0.5)).text()
        })
        .unwrap()
    };
    for (kind, counted) in kinds {
        let store = Store::new();
        let executor = store.executor(FnRunner::sync(move |_| Err(RunnerError::new(kind, "no"))));
        start_with(&executor, &plan(), Budget::usd(0.9)).await.failed();
        let spent = executor.spent(&run_id()).unwrap();
        assert_eq!((spent.calls, spent.unknown_usd), (counted, counted), "{kind:?}");
        drop(executor);
        // The one retry that is left has room or not.
        let executor = store.executor(costing(0.5).0);
        if counted == 0 {
            retry(&executor, &plan()).await.completed();
        } else {
            let needs = retry(&executor, &plan()).await.parked();
            assert_eq!(said(&needs[0]).3, 500_000_000);
            decide_all(&executor, raise(Budget::usd(1.0))).await;
            resume(&executor, &plan()).await.completed();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn automatic_retries_reserve_anew_and_count_and_a_rate_limit_may_say_what_it_cost() {
    let plan = || {
        let retry = Retry::attempts(5).jitter(0.0);
        let only = move || agent("only").retry(retry).prompt("Go.").budget(Budget::usd(0.5)).text();
        Plan::new("tried", move |_: Step<()>| only()).unwrap()
    };
    let fails = RunnerError::new(RunnerErrorKind::Failed, "no");
    for (error, spent, calls) in [
        (fails.clone(), 1_000_000_000, 5),
        (fails.costing(usd(0.1)), 400_000_000, 5),
        (RunnerError::rate_limited("no").costing(usd(0.1)), 400_000_000, 5),
        // What a limit turned away was not worked on.
        (RunnerError::rate_limited("no"), 0, 1),
    ] {
        let (store, clock) = (Store::new(), paused_clock());
        let failing = Scripted::new().text("only", "fine").fail("only", 4, error);
        let executor = store.executor_by(&clock, failing);
        let outcome = start_with(&executor, &plan(), Budget::usd(1.4)).await.unwrap();
        if spent == 1_000_000_000 {
            // Two attempts may have cost all of it: the third has no room, and is the first that is not made.
            let Outcome::Parked(needs) = outcome else { panic!("{outcome:?}") };
            assert_eq!(said(&needs.list[0]).3, spent);
            decide_all(&executor, raise(Budget::usd(2.5))).await;
            resume(&executor, &plan()).await.completed();
            assert_eq!(executor.spent(&run_id()).unwrap().calls, 5);
        } else {
            // Four attempts, and one that has answered without saying what it cost.
            assert!(matches!(outcome, Outcome::Completed(_)), "{outcome:?}");
            let total = executor.spent(&run_id()).unwrap();
            assert_eq!((total.usd.as_nanos(), total.calls), (spent + 500_000_000, calls));
        }
    }
}

#[tokio::test]
async fn what_was_not_known_before_there_was_a_budget_counts_as_the_bound_of_today() {
    let plan = |bounds: bool| {
        let plan = Plan::new("later", move |_: Step<()>| {
            let first = agent("first").prompt("Go.");
            let first = if bounds { first.budget(Budget::usd(0.5)) } else { first }.text();
            let go = ask("go").input("first", first).returns::<bool>();
            let second = agent("second").input("go", go).prompt("Go.");
            if bounds { second.budget(Budget::usd(0.5)) } else { second }.text()
        });
        let plan = plan.unwrap();
        if bounds { plan.budget(Budget::usd(0.9)).unwrap() } else { plan }
    };
    let store = Store::new();
    let executor = store.executor(echo().0);
    start(&executor, &plan(false), ()).await.waiting();
    let spent = executor.spent(&run_id()).unwrap();
    assert_eq!((spent.usd, spent.unknown_usd), (Usd::default(), 1));
    answer(&executor, "go", &serde_json::json!(true)).await;
    let needs = resume(&executor, &plan(true)).await.parked();
    assert_eq!(
        said(&needs[0]),
        (String::new(), Unit::Usd, 900_000_000, 500_000_000, Some("second".to_owned()))
    );
    decide_all(&executor, raise(Budget::usd(1.0))).await;
    resume(&executor, &plan(true)).await.completed();
}

#[tokio::test]
async fn what_is_taken_over_costs_nothing_and_needs_no_room() {
    let store = Store::new();
    let (runner, calls) = costing(0.4);
    let executor = store.executor(runner);
    start_with(&executor, &chain(), Budget::usd(2.0)).await.completed();
    let fork =
        executor.start(&chain(), ()).id("fork").fork_of(&run_id()).budget(Budget::usd(0.1)).await.unwrap();
    let id = fork.id().clone();
    let Outcome::Completed(done) = fork.outcome().await.unwrap() else { panic!("it did not complete") };
    assert_eq!((done.value.as_str(), calls.count()), ("<third>", 3));
    assert_eq!(executor.spent(&id).unwrap(), Spent::default());
}

#[tokio::test]
async fn what_was_superseded_counts() {
    let store = Store::new();
    let executor = store.executor(costing(0.5).0);
    start_with(&executor, &one(0.5), Budget::usd(0.9)).await.completed();
    executor.invalidate(&run_id(), "only").await.unwrap();
    let needs = resume(&executor, &one(0.5)).await.parked();
    assert_eq!(said(&needs[0]).3, 500_000_000);
    decide_all(&executor, raise(Budget::usd(1.0))).await;
    resume(&executor, &one(0.5)).await.completed();
    let spent = executor.spent_in(&run_id(), "only").unwrap();
    assert_eq!((spent.usd, spent.calls), (usd(1.0), 2));
}

#[tokio::test]
async fn turns_of_repair_count_and_none_begins_once_the_bound_is_used_up() {
    let plan = || {
        let plan = Plan::new("mended", |_: Step<()>| {
            agent("only")
                .prompt("Go.")
                .budget(Budget::usd(0.5))
                .check(|text: &String| if text == "good" { Ok(()) } else { Err("it is not good".to_owned()) })
                .repair(9)
                .text()
        });
        plan.unwrap()
    };
    let bounds = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&bounds);
    let store = Store::new();
    let executor = store.executor(FnRunner::sync(move |call| {
        seen.lock().unwrap().push(call.budget.unwrap().to_string());
        Ok(paid("bad", 0.2))
    }));
    let needs = start_with(&executor, &plan(), Budget::usd(0.55)).await;
    // Three turns are more than the bound: the runner was told each time what is left.
    assert_eq!(*bounds.lock().unwrap(), ["$0.50", "$0.30", "$0.10"]);
    let failure = needs.failed();
    assert!(failure.message.contains("its budget of $0.50 for one call is used up"), "{failure}");
    assert_eq!(executor.spent(&run_id()).unwrap().usd, usd(0.6));
    // It was overspent, and so nothing more begins without a raise.
    let needs = retry(&executor, &plan()).await.parked();
    assert_eq!(said(&needs[0]).3, 600_000_000);
}
