//! Questions for somebody, and for a time: whom they are for, till when they take an answer, what then, and who may answer.
//! The clock moves by hand.

mod support;

use hermes_workflows::{
    core::{
        journal::{Event, Kind},
        people::Trust,
    },
    executor::{AnswerError, Clock, run_layout},
    prelude::*,
};
use serde_json::json;
use support::*;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Asks for a minute, then acts.
fn plan(then: OnExpiry<bool>) -> Plan<String, bool> {
    Plan::new("deploy", move |version: Step<String>| {
        let go = ask("go").title("Deploy?").input("version", version).expires_in(secs(60), then).returns();
        step("act").input("go", go).run(|go| *go)
    })
    .unwrap()
}

fn fails() -> Plan<String, bool> {
    plan(OnExpiry::Fail)
}

/// What the needs say of the question at `path`: whom it is for, and till when.
fn card(executor: &Executor, path: &str) -> (Option<String>, Option<Timestamp>) {
    match executor.question(&run_id(), path).unwrap().kind {
        NeedKind::Review { assignee, expires, .. } => (assignee, expires),
        other => panic!("{other:?}"),
    }
}

fn version() -> String {
    "1.2".to_owned()
}

#[tokio::test]
async fn nobody_answers_in_time_and_the_run_fails_till_a_retry_asks_again() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    let outcome = start(&executor, &fails(), version()).await.unwrap();
    let Outcome::Waiting(needs) = outcome else { panic!("{outcome:?}") };
    assert_eq!((needs.list.len(), needs.until), (1, Some(second(60))));
    assert_eq!(card(&executor, "go"), (None, Some(second(60))));
    hand.set(second(59));
    resume(&executor, &fails()).await.waiting();
    hand.set(second(60));
    let failure = resume(&executor, &fails()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::Expired, "go"));
    assert_eq!(failure.message, format!("it was open until {}", second(60)));
    assert_eq!(kinds(executor.ledger())[2..], ["Asked", "Expired", "Ended"]);
    let drawn = run_layout(&executor, &fails(), &run_id()).unwrap();
    assert!(
        drawn.contains("go: ask(input), expires in 1 min -> boolean · failed: nobody answered in time"),
        "{drawn}"
    );
    drop(executor);

    // The failure is reused, and a retry asks anew, for a minute of its own.
    let executor = store.executor_by(&clock, refuses());
    assert_eq!(resume(&executor, &fails()).await.failed(), failure);
    hand.set(second(100));
    let again = retry(&executor, &fails()).await.waiting();
    assert!(again[0].id != needs.list[0].id, "{again:?}");
    assert_eq!(card(&executor, "go").1, Some(second(160)));
    answer(&executor, "go", &json!(true)).await;
    assert!(resume(&executor, &fails()).await.completed().0);
}

#[tokio::test]
async fn on_expiry_it_has_its_value_and_the_record_says_how_it_came_by_it() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let plan = || plan(OnExpiry::Value(true));
    let executor = store.executor_by(&clock, refuses());
    start(&executor, &plan(), version()).await.waiting();
    hand.set(second(60));
    let (value, counts) = resume(&executor, &plan()).await.completed();
    assert!(value && counts.failed == 0);
    let expired = &records(executor.ledger())[3];
    let Event::Expired(body) = expired.event().unwrap() else { panic!("{expired:?}") };
    assert_eq!(body.value.unwrap().get(), "true");
    let drawn = run_layout(&executor, &plan(), &run_id()).unwrap();
    assert!(drawn.contains("-> boolean · expired, with a value"), "{drawn}");
    drop(executor);
    let executor = store.executor_by(&clock, refuses());
    assert_eq!(resume(&executor, &plan()).await.completed().1.reused, 2);
    assert!(matches!(executor.question(&run_id(), "go"), Err(AnswerError::Expired { .. })));
    assert!(executor.ledger().verify().unwrap().is_empty());
}

#[tokio::test]
async fn a_late_answer_is_refused_and_records_the_expiry_first_also_without_the_plan() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    let needs = start(&executor, &fails(), version()).await.waiting();
    drop(executor);
    for (late, written) in [(second(60), 4), (second(7000), 4)] {
        // Nothing of the plan is here.
        hand.set(late);
        let executor = store.executor_by(&clock, refuses());
        let given = executor.answer(&run_id(), &needs[0], &true).key("k").await;
        let error = given.unwrap_err();
        assert!(matches!(&error, AnswerError::Expired { path } if path == "go"), "{error}");
        assert!(error.to_string().contains("has expired and takes no answer"), "{error}");
        assert_eq!(kinds(executor.ledger()).len(), written);
        assert!(executor.needs(&run_id()).unwrap().is_empty());
        assert!(matches!(executor.question(&run_id(), "go"), Err(AnswerError::Expired { .. })));
    }
    // A clock that is set back does not open it again.
    hand.set(second(0));
    let executor = store.executor_by(&clock, refuses());
    let error = executor.answer(&run_id(), &needs[0], &true).await.unwrap_err();
    assert!(matches!(error, AnswerError::Expired { .. }), "{error}");
    assert_eq!(resume(&executor, &fails()).await.failed().class, FailureClass::Expired);
    let error = executor.answer(&run_id(), &needs[0], &true).await.unwrap_err();
    assert!(matches!(error, AnswerError::Expired { .. }), "{error}");
}

#[tokio::test]
async fn an_answer_a_moment_before_counts_and_one_at_the_moment_does_not() {
    for (at, counts) in [(second(60).millis() - 1, true), (second(60).millis(), false)] {
        let store = Store::new();
        let (clock, hand) = Clock::by_hand(second(0));
        let executor = store.executor_by(&clock, refuses());
        let needs = start(&executor, &fails(), version()).await.waiting();
        hand.set(Timestamp::from_millis(at));
        assert_eq!(executor.answer(&run_id(), &needs[0], &true).await.is_ok(), counts);
        hand.set(second(3600));
        let outcome = resume(&executor, &fails()).await.unwrap();
        assert_eq!(matches!(outcome, Outcome::Completed(_)), counts, "{outcome:?}");
    }
}

/// Two questions, of which one expires, and then the run may fail at a third step.
fn two(fail: bool) -> Plan<String, (bool, bool)> {
    Plan::new("two", move |version: Step<String>| {
        let short = ask("short").expires_in(secs(60), OnExpiry::Value(false)).returns();
        let long = ask("long").returns();
        if fail {
            let _ = agent("fails").input("version", version).prompt("Fail.").text();
        }
        join((short, long))
    })
    .unwrap()
}

#[tokio::test]
async fn whoever_writes_next_records_it_first() {
    let started = |store: Store, fail| async move {
        let (clock, hand) = Clock::by_hand(second(0));
        let executor = store.executor_by(&clock, echo().0);
        start(&executor, &two(fail), version()).await.unwrap();
        hand.set(second(61));
        (store, executor)
    };
    // An answer to another question.
    let (_store, executor) = started(Store::new(), false).await;
    answer(&executor, "long", &json!(true)).await;
    assert_eq!(kinds(executor.ledger())[4..], ["Expired", "Answered"]);
    assert_eq!(resume(&executor, &two(false)).await.completed().0, (false, true));
    // A cancellation.
    let (_store, executor) = started(Store::new(), false).await;
    executor.cancel(&run_id(), Actor::default()).await.unwrap();
    assert_eq!(kinds(executor.ledger())[4..], ["Expired", "Ended"]);
    // A resume.
    let (_store, executor) = started(Store::new(), false).await;
    resume(&executor, &two(false)).await.waiting();
    assert_eq!(kinds(executor.ledger())[4..], ["Expired"]);
    // A retry, with nothing to retry.
    let (_store, executor) = started(Store::new(), false).await;
    retry(&executor, &two(false)).await.waiting();
    assert_eq!(kinds(executor.ledger())[4..], ["Expired"]);
}

#[tokio::test]
async fn a_decision_about_something_else_records_it_first_too() {
    let plan = |prompt: &'static str| {
        Plan::new("parked", move |_: Step<()>| {
            let told = agent("tell").prompt(prompt).text();
            let short = ask("short").expires_in(secs(60), OnExpiry::Value(false)).returns::<bool>();
            join((told, short))
        })
        .unwrap()
    };
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, echo().0);
    start(&executor, &plan("Tell."), ()).await.waiting();
    resume(&executor, &plan("Tell them.")).await.parked();
    hand.set(second(61));
    decide_all(&executor, Decision::Keep).await;
    let kinds = kinds(executor.ledger());
    assert_eq!(kinds[kinds.len() - 2..], ["Expired", "DecisionMade"]);
    assert_eq!(resume(&executor, &plan("Tell them.")).await.completed().0, ("<tell>".to_owned(), false));
}

#[tokio::test]
async fn a_run_that_is_driven_goes_on_when_its_question_expires() {
    let plan = plan(OnExpiry::Value(false));
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    let run = executor.start(&plan, version()).id("r").await.unwrap();
    let mut watch = executor.watch();
    let happens = async {
        while executor.question(&run_id(), "go").is_err() {
            watch.next().await;
        }
        hand.set(second(60));
    };
    let (outcome, ()) = tokio::join!(run.settled(), happens);
    assert!(!outcome.completed().0);
}

#[tokio::test]
async fn a_driven_run_hears_of_an_expiry_that_somebody_else_recorded() {
    for then in [OnExpiry::Value(false), OnExpiry::Fail] {
        let plan = plan(then.clone());
        let store = Store::new();
        let (clock, hand) = Clock::by_hand(second(0));
        let executor = store.executor_by(&clock, refuses());
        let needs = start(&executor, &plan, version()).await.waiting();
        let run = executor.resume(&plan, "r").await.unwrap();
        let late = async {
            hand.set(second(60));
            executor.answer(&run_id(), &needs[0], &true).await.unwrap_err()
        };
        let (outcome, error) = tokio::join!(run.settled(), late);
        assert!(matches!(error, AnswerError::Expired { .. }), "{error}");
        match then {
            OnExpiry::Value(value) => assert_eq!(outcome.completed().0, value),
            OnExpiry::Fail => assert_eq!(outcome.failed().class, FailureClass::Expired),
        }
        assert_eq!(kinds(executor.ledger()).iter().filter(|kind| *kind == "Expired").count(), 1);
    }
}

#[tokio::test]
async fn an_open_question_keeps_its_time_whatever_the_plan_says_later() {
    let plan = |time: Option<u64>| {
        Plan::new("keeps", move |_: Step<()>| match time {
            Some(time) => ask("go").expires_in(secs(time), OnExpiry::Fail).returns::<bool>(),
            None => ask("go").returns::<bool>(),
        })
        .unwrap()
    };
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    let first = start(&executor, &plan(Some(60)), ()).await.waiting();
    for later in [Some(7), None] {
        assert_eq!(resume(&executor, &plan(later)).await.waiting(), first);
    }
    hand.set(second(60));
    assert_eq!(resume(&executor, &plan(None)).await.failed().class, FailureClass::Expired);
}

#[tokio::test]
async fn in_a_group_that_collects_an_expiry_is_a_value_like_any_failure() {
    let plan = Plan::new("collects", |names: Step<Vec<String>>| {
        parallel_each("each", names, |name| {
            ask("go").input("name", name).expires_in(secs(60), OnExpiry::Fail).returns::<bool>()
        })
        .limit(1)
        .results()
    })
    .unwrap();
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    let needs = start(&executor, &plan, vec!["x".to_owned(), "y".to_owned()]).await.waiting();
    assert_eq!(needs.len(), 2);
    answer(&executor, "each[0]/go", &json!(true)).await;
    hand.set(second(60));
    let (value, counts) = resume(&executor, &plan).await.completed();
    assert_eq!(value[0], Ok(true));
    assert_eq!(value[1].as_ref().unwrap_err().class, FailureClass::Expired);
    assert_eq!((counts.ok, counts.failed), (1, 1));
    // Nothing ran since: the same comes of it again, and of a retry a new question.
    assert_eq!(resume(&executor, &plan).await.completed().0, value);
    assert_eq!(retry(&executor, &plan).await.waiting()[0].path, "each[1]/go");
}

#[tokio::test]
async fn a_question_that_rested_past_its_time_is_asked_anew() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let failing = FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no luck")));
    let executor = store.executor_by(&clock, failing);
    start(&executor, &two(true), version()).await.failed();
    drop(executor);
    hand.set(second(30));
    let executor = store
        .executor_by(&clock, FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "again"))));
    retry(&executor, &two(true)).await.failed();
    drop(executor);
    hand.set(second(70));
    let executor = store.executor_by(&clock, echo().0);
    let needs = retry(&executor, &two(true)).await.waiting();
    assert_eq!(needs.len(), 2);
    assert_eq!(card(&executor, "short").1, Some(second(130)));
    assert!(executor.ledger().verify().unwrap().is_empty());
    answer(&executor, "short", &json!(true)).await;
    answer(&executor, "long", &json!(true)).await;
    assert_eq!(resume(&executor, &two(true)).await.completed().0, (true, true));
}

// ---- whom it is for

/// A question for whoever these say.
fn assigned(to: &'static str) -> Plan<Vec<String>, Vec<bool>> {
    Plan::new("assigned", move |names: Step<Vec<String>>| {
        parallel_each("each", names, |name| {
            ask("go")
                .input("name", name)
                .input("scale", value(10_u8))
                .assign_with(move |name, scale| format!("{to}{name}{scale}"))
                .returns::<bool>()
        })
        .all()
    })
    .unwrap()
}

#[tokio::test]
async fn it_is_for_somebody_and_somebody_else_gets_it_at_the_next_walk() {
    let store = Store::new();
    let executor = store.replayer();
    let names = vec!["ada".to_owned(), "bob".to_owned()];
    let needs = start(&executor, &assigned("@"), names).await.waiting();
    assert_eq!(card(&executor, "each[1]/go"), (Some("@bob10".to_owned()), None));
    let written = kinds(executor.ledger()).len();
    resume(&executor, &assigned("@")).await.waiting();
    assert_eq!(kinds(executor.ledger()).len(), written, "nothing has changed");
    drop(executor);

    let executor = store.replayer();
    let again = resume(&executor, &assigned("team ")).await.waiting();
    assert_eq!(kinds(executor.ledger())[written..], ["Reassigned", "Reassigned"]);
    assert_eq!(
        again.iter().map(|need| need.id).collect::<Vec<_>>(),
        needs.iter().map(|need| need.id).collect::<Vec<_>>()
    );
    assert_eq!(card(&executor, "each[0]/go").0.as_deref(), Some("team ada10"));
    // Whoever read the question before may answer it: it is the same.
    for need in &needs {
        executor.answer(&run_id(), need, &true).await.unwrap();
    }
    assert_eq!(resume(&executor, &assigned("nobody ")).await.completed().0, [true, true]);
    assert!(executor.ledger().verify().unwrap().is_empty());
}

#[tokio::test]
async fn a_name_that_is_fixed_or_blank_or_cannot_be_made() {
    let plan = |blank: bool, fails: bool| {
        Plan::new("names", move |_: Step<()>| {
            let fixed = ask("fixed").assign_to("ops").returns::<bool>();
            let made = ask("made")
                .input("fixed", value(1_u8))
                .assign_with(move |_| {
                    assert!(!fails, "nobody is on call");
                    if blank { " ".to_owned() } else { "one".to_owned() }
                })
                .returns::<bool>();
            join((fixed, made))
        })
        .unwrap()
    };
    let store = Store::new();
    let executor = store.replayer();
    start(&executor, &plan(true, false), ()).await.waiting();
    assert_eq!(card(&executor, "fixed").0.as_deref(), Some("ops"));
    assert_eq!(card(&executor, "made").0, None);
    resume(&executor, &plan(false, false)).await.waiting();
    assert_eq!(card(&executor, "made").0.as_deref(), Some("one"));
    let failure = resume(&executor, &plan(false, true)).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::Panicked, "made"));
    assert!(failure.message.contains("nobody is on call"), "{failure}");
    assert!(failure.location.unwrap().contains("tests/expiry.rs:"));
    // Both questions rest, and are open again under their ids.
    assert!(executor.needs(&run_id()).unwrap().is_empty());
    assert_eq!(retry(&executor, &plan(false, false)).await.waiting().len(), 2);

    let executor = Store::new().replayer();
    let failure = start(&executor, &plan(false, true), ()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::Panicked, "made"));
}

#[tokio::test]
async fn a_service_may_answer_and_is_on_record_with_its_message() {
    let store = Store::new();
    let executor = store.replayer();
    let needs = start(&executor, &assigned(""), vec!["ci".to_owned()]).await.waiting();
    let by = || Actor::claimed("ci").through("webhook").message("delivery-7");
    let give = || executor.answer(&run_id(), &needs[0], &true).by(by()).key("delivery-7");
    let seq = give().await.unwrap();
    assert_eq!(give().await.unwrap(), seq, "a message that is delivered twice is one answer");
    let record = records(executor.ledger())[usize::try_from(seq.0).unwrap() - 1].clone();
    let Event::Answered(answered) = record.event().unwrap() else { panic!("{record:?}") };
    assert_eq!(answered.by, by());
    assert_eq!((answered.by.trust, answered.key.as_deref()), (Trust::Claimed, Some("delivery-7")));
    assert_eq!(answered.answer.get(), "true");
    assert!(record.header.time > 0);
}

// ---- crashes

/// What can happen at the moment at which the question expires.
#[derive(Clone, Copy, Debug)]
enum First {
    TheAnswer,
    TheDriver,
}

#[tokio::test]
async fn an_answer_and_an_expiry_at_one_moment_crash_at_any_record_and_one_of_them_holds() {
    for (first, then) in [
        (First::TheAnswer, OnExpiry::Fail),
        (First::TheAnswer, OnExpiry::Value(false)),
        (First::TheDriver, OnExpiry::Fail),
        (First::TheDriver, OnExpiry::Value(false)),
    ] {
        for early in [true, false] {
            let plan = plan(then.clone());
            let store = Store::new();
            let (clock, hand) = Clock::by_hand(second(0));
            let executor = store.executor_by(&clock, refuses());
            let needs = start(&executor, &plan, version()).await.waiting();
            // The answer is given the last moment that it counts, or the first that it does not.
            hand.set(Timestamp::from_millis(second(60).millis() - i64::from(early)));
            if matches!(first, First::TheDriver) {
                resume(&executor, &plan).await.unwrap();
            }
            let given = executor.answer(&run_id(), &needs[0], &true).key("k").await;
            assert_eq!(given.is_ok(), early, "{first:?}");
            hand.set(second(60));
            let ended = resume(&executor, &plan).await.unwrap();
            let said = format!("{ended:?}");
            for left in after_each_record(executor.ledger()) {
                let (clock, _hand) = Clock::by_hand(second(60));
                let asked = kinds(&left).contains(&"Asked".to_owned());
                let answered = kinds(&left).contains(&"Answered".to_owned());
                let executor = Executor::builder().ledger(left).clock(clock).build();
                let again = executor.answer(&run_id(), &needs[0], &true).key("k").await;
                // What was recorded holds; what was not comes too late now.
                assert_eq!(again.is_ok(), answered, "{first:?} {again:?}");
                let outcome = start(&executor, &plan, version()).await.unwrap();
                match (asked, answered, &then) {
                    (false, ..) => assert!(matches!(outcome, Outcome::Waiting(_)), "{outcome:?}"),
                    (_, true, _) => assert_eq!(format!("{:?}", ended_with(outcome)), "Some(true)"),
                    (_, false, OnExpiry::Value(other)) => assert_eq!(ended_with(outcome), Some(*other)),
                    (_, false, OnExpiry::Fail) => assert_eq!(ended_with(outcome), None),
                }
                let kinds = kinds(executor.ledger());
                let ends = kinds.iter().filter(|kind| ["Answered", "Expired"].contains(&kind.as_str()));
                assert_eq!(ends.count(), usize::from(asked), "{first:?}: {kinds:?}");
                assert!(executor.ledger().verify().unwrap().is_empty());
            }
            assert_eq!(said.contains("Expired"), !early && then == OnExpiry::Fail, "{said}");
        }
    }
}

fn ended_with(outcome: Outcome<bool>) -> Option<bool> {
    match outcome {
        Outcome::Completed(done) => Some(done.value),
        Outcome::Failed(failure) => {
            assert_eq!(failure.class, FailureClass::Expired);
            None
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_record_of_an_expiry_comes_before_all_that_follows_from_it() {
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let plan = plan(OnExpiry::Value(true));
    let executor = store.executor_by(&clock, refuses());
    start(&executor, &plan, version()).await.waiting();
    hand.set(second(60));
    resume(&executor, &plan).await.completed();
    let all = records(executor.ledger());
    let expired = all.iter().position(|record| record.header.kind == Kind::Expired).unwrap();
    assert!(all[expired].header.time >= second(60).millis());
    assert!(all[..expired].iter().all(|record| record.header.time < second(60).millis()));
}
