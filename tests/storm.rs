//! Rate limits: many calls against an endpoint that takes few. All settle, few are turned away, and nobody rushes back at the
//! end of a window. The time is the runtime's, paused.

mod support;

use hermes_workflows::{core::journal::Kind, executor::Clock, prelude::*};
use std::sync::{Arc, Mutex};
use support::*;
use tokio::time::Instant;

/// An endpoint that takes so many calls at once, and so many in each second, and says when to come again.
#[derive(Clone)]
struct Endpoint(Arc<Mutex<Counts>>);

struct Counts {
    start: Instant,
    at_once: usize,
    a_second: usize,
    running: usize,
    used: (u64, usize),
    taken: usize,
    /// At which millisecond each was turned away.
    turned_away: Vec<u128>,
    closed_till: u128,
    /// Calls that came although it had said when to come again, after that was known.
    too_early: usize,
    /// Calls that have come since it opened and before one of them had its answer; and the most there ever were.
    rush: Option<usize>,
    most_in_a_rush: usize,
}

impl Endpoint {
    fn new(at_once: usize, a_second: usize) -> Self {
        Self(Arc::new(Mutex::new(Counts {
            start: Instant::now(),
            at_once,
            a_second,
            running: 0,
            used: (0, 0),
            taken: 0,
            turned_away: Vec::new(),
            closed_till: 0,
            too_early: 0,
            rush: None,
            most_in_a_rush: 0,
        })))
    }

    /// Until then it takes none, as whoever asked before knows.
    fn closed_till(self, millis: u128) -> Self {
        self.counts().closed_till = millis;
        self.counts().rush = Some(0);
        self
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap()
    }

    fn runner(&self) -> FnRunner {
        let endpoint = self.clone();
        FnRunner::new(move |call| {
            let endpoint = endpoint.clone();
            async move {
                endpoint.counts().arrives()?;
                tokio::time::sleep(Duration::from_millis(100)).await;
                endpoint.counts().answers();
                Ok(AgentReply::text(format!("<{}>", call.path)))
            }
        })
    }
}

impl Counts {
    fn now(&self) -> u128 {
        self.start.elapsed().as_millis()
    }

    fn arrives(&mut self) -> Result<(), RunnerError> {
        let now = self.now();
        let last = self.turned_away.last().copied();
        // Those that came at the same moment could not know.
        self.too_early += usize::from(now < self.closed_till && last != Some(now));
        if now >= self.closed_till
            && let Some(rush) = &mut self.rush
        {
            *rush += 1;
            self.most_in_a_rush = self.most_in_a_rush.max(*rush);
        }
        let second = u64::try_from(now / 1000).unwrap();
        if self.used.0 != second {
            self.used = (second, 0);
        }
        if now < self.closed_till || self.running >= self.at_once || self.used.1 >= self.a_second {
            self.turned_away.push(now);
            // Till the next second begins.
            self.closed_till = u128::from(second + 1) * 1000;
            self.rush = Some(0);
            let after = u64::try_from(self.closed_till - now).unwrap();
            return Err(RunnerError::rate_limited("429").retry_after(Duration::from_millis(after)));
        }
        self.used.1 += 1;
        self.running += 1;
        Ok(())
    }

    fn answers(&mut self) {
        self.running -= 1;
        self.taken += 1;
        if self.now() >= self.closed_till {
            self.rush = None;
        }
    }

    /// How many were turned away after the first, which nobody could foresee.
    fn later(&self) -> usize {
        self.turned_away.iter().filter(|at| **at > 0).count()
    }
}

fn storm() -> Plan<u32, Vec<String>> {
    Plan::new("storm", |count: Step<u32>| {
        let all = count.map(|count| (0..*count).collect::<Vec<u32>>());
        parallel_each("each", all, |item| agent("call").input("item", item).prompt("Call.").text()).all()
    })
    .unwrap()
}

fn executor(ledger: Ledger, clock: &Clock, runner: FnRunner, concurrency: usize) -> Executor {
    Executor::builder().ledger(ledger).runner(runner).clock(clock.clone()).concurrency(concurrency).build()
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_a_hundred_calls_settles_with_few_of_them_turned_away() {
    // So many at once; so many in a second; so many of ours at first; so many may be turned away after the first.
    for (at_once, a_second, concurrency, few) in
        [(4, 1000, 100, 12), (4, 1000, 16, 12), (1000, 10, 100, 30), (1000, 10, 16, 30), (1, 1000, 16, 12)]
    {
        let clock = paused_clock();
        let endpoint = Endpoint::new(at_once, a_second);
        let ledger = Ledger::in_memory().unwrap();
        let executor = executor(ledger.clone(), &clock, endpoint.runner(), concurrency);
        assert_eq!(start(&executor, &storm(), 100).await.completed().0.len(), 100);
        {
            let counts = endpoint.counts();
            let (first, later) = (counts.turned_away.len() - counts.later(), counts.later());
            let case =
                format!("{at_once} at once, {a_second} a second, {concurrency}: {first} and {later} wasted");
            assert_eq!((counts.taken, counts.too_early), (100, 0), "{case}");
            assert!(first <= concurrency && later <= few, "{case}");
            assert!(counts.most_in_a_rush <= 1, "{} came at once: {case}", counts.most_in_a_rush);
            let limited =
                records(&ledger).iter().filter(|record| record.header.kind == Kind::Delayed).count();
            assert_eq!(limited, first + later, "each is in the journal: {case}");
        }

        let replayer = Executor::builder().ledger(ledger).runner(refuses()).build();
        assert_eq!(start(&replayer, &storm(), 100).await.completed().1.reused, 100);
    }
}

#[tokio::test(start_paused = true)]
async fn runs_of_one_executor_share_what_they_learnt_and_other_runners_are_not_slowed() {
    let clock = paused_clock();
    let endpoint = Endpoint::new(4, 1000);
    let (quick, calls) = echo();
    let executor = Executor::builder()
        .ledger(Ledger::in_memory().unwrap())
        .runner(endpoint.runner())
        .named_runner("quick", quick)
        .clock(clock)
        .concurrency(50)
        .build();
    let other = Plan::new("other", |_: Step<()>| {
        let slow = agent("slow").prompt("Slow.").text();
        let quick = agent("quick").runner("quick").prompt("Quick.").text();
        join((slow, quick))
    })
    .unwrap();
    let storms = storm();
    let one = executor.start(&storms, 40).id("r").await.unwrap();
    let two = executor.start(&storms, 40).id("s").await.unwrap();
    let three = executor.start(&other, ()).id("t").await.unwrap();
    let (one, two, three) = tokio::join!(one.outcome(), two.outcome(), three.outcome());
    assert_eq!((one.completed().0.len(), two.completed().0.len()), (40, 40));
    three.completed();
    assert_eq!(calls.count(), 1);
    let counts = endpoint.counts();
    assert_eq!((counts.taken, counts.too_early), (81, 0));
    assert!(counts.later() <= 14 && counts.most_in_a_rush <= 1, "{} later", counts.later());
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_in_the_storm_nobody_rushes_either() {
    let clock = paused_clock();
    let whole = Ledger::in_memory().unwrap();
    let endpoint = Endpoint::new(4, 1000);
    start(&executor(whole.clone(), &clock, endpoint.runner(), 16), &storm(), 20).await.completed();
    let limited = |ledger: &Ledger| kinds(ledger).iter().filter(|kind| *kind == "Delayed").count();
    let mut seen = 0;
    for left in after_each_record(&whole) {
        // Each crash right after a call was turned away.
        if kinds(&left).last().unwrap() != "Delayed" || limited(&left) == seen {
            continue;
        }
        seen = limited(&left);
        // Time begins anew: whoever was turned away in the first second is to come back at its end.
        let (clock, endpoint) = (paused_clock(), Endpoint::new(4, 1000).closed_till(1000));
        if records(&left).last().unwrap().header.time >= second(1).millis() {
            break;
        }
        let runner = endpoint.runner();
        let executor = executor(left.clone(), &clock, runner, 16);
        start(&executor, &storm(), 20).await.completed();
        let counts = endpoint.counts();
        assert_eq!(counts.too_early, 0, "after {seen}");
        assert!(counts.most_in_a_rush <= 1, "{} at once after {seen}", counts.most_in_a_rush);
    }
    assert!(seen > 5, "{seen} crashes");
}

#[tokio::test(start_paused = true)]
async fn rate_limits_use_up_no_attempts_and_have_a_count_of_their_own() {
    let (store, clock) = (Store::new(), paused_clock());
    let plan = |retry: Retry| {
        Plan::new("one", move |_: Step<()>| agent("call").retry(retry).prompt("Call.").text()).unwrap()
    };
    let limited = || RunnerError::rate_limited("429");
    let failed = || RunnerError::new(RunnerErrorKind::Failed, "no");
    let runner = Scripted::new()
        .text("call", "done")
        .fail("call", 3, limited())
        .fail("call", 1, failed())
        .fail("call", 3, limited());
    let executor = store.executor_by(&clock, runner.clone());
    start(&executor, &plan(Retry::attempts(2)), ()).await.completed();
    assert_eq!(runner.count("call"), 8);
    drop(executor);

    let whole = Ledger::in_memory().unwrap();
    let runner = || Scripted::new().text("call", "done").fail("call", 9, limited());
    let over = |ledger: Ledger, runner: Scripted| {
        Executor::builder().ledger(ledger).runner(runner).clock(clock.clone()).build()
    };
    let failure =
        start(&over(whole.clone(), runner()), &plan(Retry::attempts(5).rate_limits(2)), ()).await.failed();
    assert_eq!(failure.class, FailureClass::RateLimited);
    // Two were waited out, whenever the process ended.
    for left in after_each_record(&whole) {
        start(&over(left.clone(), runner()), &plan(Retry::attempts(5).rate_limits(2)), ()).await.failed();
        let count = |of: &str| kinds(&left).iter().filter(|kind| *kind == of).count();
        assert_eq!((count("Delayed"), count("Failed")), (2, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unsafe_call_waits_for_a_limit_only_where_it_was_not_even_sent() {
    let limits = [
        (RunnerError::rate_limited("429"), false),
        (
            RunnerError::new(RunnerErrorKind::NotBegun, "the window is full")
                .retry_after(Duration::from_secs(9)),
            true,
        ),
    ];
    for (limit, waits) in limits {
        let clock = paused_clock();
        let runner = Scripted::new().text("call", "done").fail_once("call", limit);
        let executor = Executor::builder()
            .ledger(Ledger::in_memory().unwrap())
            .runner(runner.clone())
            .clock(clock)
            .build();
        let plan =
            Plan::new("one", |_: Step<()>| agent("call").effect(Unsafe).prompt("Call.").text()).unwrap();
        let outcome = start(&executor, &plan, ()).await.unwrap();
        assert_eq!(
            (matches!(outcome, Outcome::Completed(_)), runner.count("call")),
            (waits, 1 + usize::from(waits))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_call_that_goes_ahead_does_not_hold_up_the_others() {
    let clock = paused_clock();
    let first = Arc::new(Mutex::new(true));
    let (all_but_one, told) = tokio::sync::watch::channel(false);
    let runner = FnRunner::new(move |call| {
        let (first, mut told) = (Arc::clone(&first), told.clone());
        async move {
            if call.attempt == 1 {
                return Err(RunnerError::rate_limited("429").retry_after(Duration::from_secs(1)));
            }
            let long = std::mem::replace(&mut *first.lock().unwrap(), false);
            if long {
                // It goes ahead alone, and ends after all others.
                told.wait_for(|told| *told).await.unwrap();
            }
            Ok(AgentReply::text("done"))
        }
    });
    let ledger = Ledger::in_memory().unwrap();
    let executor = executor(ledger.clone(), &clock, runner, 16);
    let run = executor.start(&storm(), 10).id("r").await.unwrap();
    let mut watch = executor.watch();
    let others = async {
        while kinds(&ledger).iter().filter(|kind| *kind == "Succeeded").count() < 9 {
            watch.next().await;
        }
        all_but_one.send_replace(true);
    };
    let (outcome, ()) = tokio::join!(run.outcome(), others);
    assert_eq!(outcome.completed().0.len(), 10);
}
