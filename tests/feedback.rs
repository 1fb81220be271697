//! Approve-or-revise: the ready-made review, each way it can be answered, and what it refuses.

mod support;

use hermes_workflows::{
    executor::{AnswerError, Clock, run_layout},
    prelude::*,
};
use serde_json::json;
use support::*;

fn plan(max_rounds: u32) -> Plan<String, String> {
    Plan::new("outline", move |topic: Step<String>| {
        let outline = agent("outline").input("topic", topic).prompt("Outline it.").text();
        let outline = review("review_outline", outline)
            .title("Review outline")
            .revise(|outline, feedback| {
                agent("revise_outline")
                    .input("outline", outline)
                    .input("feedback", feedback)
                    .prompt_with(|outline, feedback| format!("{outline} + {feedback}"))
                    .text()
            })
            .max_rounds(max_rounds)
            .approved();
        agent("write").input("outline", outline).prompt_with(|outline| format!("Write {outline}.")).text()
    })
    .unwrap()
}

/// Answers with the text it was sent, in brackets.
fn mirror() -> FnRunner {
    FnRunner::sync(|call| {
        let text = call.text.lines().next().unwrap_or_default();
        Ok(AgentReply::text(format!("[{text}]")))
    })
}

#[tokio::test]
async fn rejection_feeds_a_revision_and_approval_goes_on() {
    let store = Store::new();
    let needs = start(&store.executor(mirror()), &plan(5), "tides".to_owned()).await.waiting();
    assert_eq!(needs.len(), 1);
    assert_eq!((needs[0].path.as_str(), needs[0].title.as_str()), ("review_outline[1]", "Review outline"));

    // A process without the plan can answer; the next one goes on.
    let executor = store.replayer();
    assert_eq!(executor.shown(&needs[0]).unwrap(), [("value".to_owned(), json!("[Outline it.]"))]);
    request_changes(&executor, "review_outline[1]", "shorter").await;
    drop(executor);

    let needs = resume(&store.executor(mirror()), &plan(5)).await.waiting();
    assert_eq!(needs[0].path, "review_outline[2]");
    let executor = store.executor(mirror());
    assert_eq!(executor.shown(&needs[0]).unwrap()[0].1, json!("[[Outline it.] + shorter]"));
    approve(&executor, "review_outline[2]").await;
    let (value, counts) = resume(&executor, &plan(5)).await.completed();
    assert_eq!(value, "[Write [[Outline it.] + shorter].]");
    assert_eq!(counts.calls, 1, "only the last step is called after the approval");
    drop(executor);
    let (value, counts) = resume(&store.replayer(), &plan(5)).await.completed();
    assert_eq!((value.as_str(), counts.calls), ("[Write [[Outline it.] + shorter].]", 0));
}

#[tokio::test]
async fn an_edit_approves_the_edited_value() {
    let store = Store::new();
    let executor = store.executor(mirror());
    start(&executor, &plan(5), "tides".to_owned()).await.waiting();
    answer(&executor, "review_outline[1]", &json!({"decision": "edit", "value": "my own"})).await;
    let (value, _) = resume(&executor, &plan(5)).await.completed();
    assert_eq!(value, "[Write my own.]");
}

#[tokio::test]
async fn used_up_rounds_fail_with_the_last_value() {
    let store = Store::new();
    let executor = store.executor(mirror());
    start(&executor, &plan(2), "tides".to_owned()).await.waiting();
    request_changes(&executor, "review_outline[1]", "no").await;
    resume(&executor, &plan(2)).await.waiting();
    request_changes(&executor, "review_outline[2]", "still no").await;
    let failure = resume(&executor, &plan(2)).await.failed();
    assert_eq!(failure.class, FailureClass::NotApproved);
    assert_eq!(failure.raw.as_deref(), Some("\"[[Outline it.] + no]\""));
    assert!(failure.to_string().contains("not approved"), "{failure}");
}

#[tokio::test]
async fn an_answer_given_while_the_run_is_driven_moves_it_on() {
    let store = Store::new();
    let executor = store.executor(mirror());
    let run = executor.start(&plan(5), "tides".to_owned()).id("r").await.unwrap();
    let mut watch = executor.watch();
    let answering = async {
        loop {
            if executor.question(&run_id(), "review_outline[1]").is_ok() {
                return approve(&executor, "review_outline[1]").await;
            }
            watch.next().await;
        }
    };
    answering.await;
    let (value, _) = run.outcome().await.completed();
    assert_eq!(value, "[Write [Outline it.].]");
}

#[tokio::test]
async fn blank_feedback_and_invalid_answers_are_refused_and_change_nothing() {
    let store = Store::new();
    let executor = store.executor(mirror());
    let needs = start(&executor, &plan(5), "tides".to_owned()).await.waiting();
    for bad in [
        json!({"decision": "request_changes", "feedback": ""}),
        json!({"decision": "request_changes", "feedback": "  \n"}),
        json!({"decision": "reject"}),
        json!({"decision": "edit", "value": 7}),
        json!("approve"),
    ] {
        let error = executor.answer(&run_id(), &needs[0], &bad).await.unwrap_err();
        assert!(matches!(error, AnswerError::Invalid { .. }), "{bad}: {error}");
        assert!(error.to_string().contains("review_outline[1]"), "{error}");
    }
    assert_eq!(executor.needs(&run_id()).unwrap(), needs);
}

#[tokio::test]
async fn a_review_without_a_revision_offers_no_changes() {
    let plan = Plan::new("p", |topic: Step<String>| review("look", topic).approved()).unwrap();
    let store = Store::new();
    let executor = store.replayer();
    let needs = start(&executor, &plan, "x".to_owned()).await.waiting();
    let changes = json!({"decision": "request_changes", "feedback": "more"});
    let error = executor.answer(&run_id(), &needs[0], &changes).await.unwrap_err();
    assert!(matches!(error, AnswerError::Invalid { .. }), "{error}");
    approve(&executor, "look[1]").await;
    assert_eq!(resume(&executor, &plan).await.completed().0, "x");
}

#[tokio::test]
async fn answers_are_idempotent_by_key_and_late_or_conflicting_ones_are_refused() {
    let store = Store::new();
    let executor = store.executor(mirror());
    let needs = start(&executor, &plan(5), "tides".to_owned()).await.waiting();
    let yes = json!({"decision": "approve"});
    let edit = json!({"decision": "edit", "value": "x"});
    let give = |answer: &serde_json::Value, key: &str| executor.answer(&run_id(), &needs[0], answer).key(key);
    let first = give(&yes, "k1").await.unwrap();
    assert_eq!(give(&yes, "k1").await.unwrap(), first, "the same again changes nothing");
    assert!(matches!(give(&edit, "k1").await.unwrap_err(), AnswerError::Conflicting { .. }));
    assert!(matches!(give(&yes, "k2").await.unwrap_err(), AnswerError::Late { .. }));
    assert!(matches!(
        executor.question(&run_id(), "review_outline[1]").unwrap_err(),
        AnswerError::Late { .. }
    ));
    assert!(matches!(
        executor.question(&run_id(), "review_outline[7]").unwrap_err(),
        AnswerError::NotOpen { .. }
    ));
    resume(&executor, &plan(5)).await.completed();
    assert_eq!(give(&yes, "k1").await.unwrap(), first, "nor does it once the run has ended");
    assert!(matches!(
        give(&yes, "k3").await.unwrap_err(),
        AnswerError::Ended { .. } | AnswerError::Late { .. }
    ));
}

#[tokio::test]
async fn an_actor_a_client_names_is_claimed_never_more() {
    let store = Store::new();
    let executor = store.executor(mirror());
    let needs = start(&executor, &plan(5), "tides".to_owned()).await.waiting();
    let by = Actor::claimed("ada").through("chat");
    let seq = executor.answer(&run_id(), &needs[0], &json!({"decision": "approve"})).by(by).await.unwrap();
    let run = executor.ledger().find(&run_id()).unwrap().unwrap();
    let record = executor.ledger().record(run, seq).unwrap();
    let body = String::from_utf8(record.body).unwrap();
    assert!(body.contains("\"trust\":\"claimed\"") && body.contains("ada"), "{body}");
}

#[tokio::test]
async fn questions_of_a_fan_out_are_open_at_once_and_answered_in_any_order() {
    let plan = Plan::new("sections", |sections: Step<Vec<String>>| {
        parallel_each("each", sections, |section| review("look", section).approved()).limit(1).all()
    })
    .unwrap();
    let store = Store::new();
    let executor = store.replayer();
    let sections = ["x", "y", "z"].map(str::to_owned).to_vec();
    let needs = start(&executor, &plan, sections.clone()).await.waiting();
    let paths: Vec<_> = needs.iter().map(|need| need.path.as_str()).collect();
    assert_eq!(
        paths,
        ["each[0]/look[1]", "each[1]/look[1]", "each[2]/look[1]"],
        "people hold no place in a limit"
    );
    for path in ["each[2]/look[1]", "each[0]/look[1]"] {
        approve(&executor, path).await;
        let open = resume(&executor, &plan).await.waiting();
        assert!(open.iter().all(|need| need.path != path), "a resolved one never re-opens");
    }
    answer(&executor, "each[1]/look[1]", &json!({"decision": "edit", "value": "Y"})).await;
    assert_eq!(resume(&executor, &plan).await.completed().0, ["x", "Y", "z"]);
}

#[tokio::test]
async fn choices_must_be_among_the_options() {
    let plan = Plan::new("angles", |angles: Step<Vec<String>>| {
        let one = ask("one").title("Choose one").choose_from(angles).one();
        let many = ask("many").title("Choose some").choose_from(angles).many();
        join((one, many))
    })
    .unwrap();
    let store = Store::new();
    let executor = store.replayer();
    start(&executor, &plan, vec!["a".to_owned(), "b".to_owned()]).await.waiting();
    let one = executor.question(&run_id(), "one").unwrap();
    let many = executor.question(&run_id(), "many").unwrap();
    assert_eq!(executor.choices(&one).unwrap(), Some(json!(["a", "b"])));
    assert!(executor.answer(&run_id(), &one, "c").await.is_err());
    assert!(executor.answer(&run_id(), &many, &["a", "c"]).await.is_err());
    executor.answer(&run_id(), &one, "b").await.unwrap();
    executor.answer(&run_id(), &many, &["b", "a"]).await.unwrap();
    let (value, _) = resume(&executor, &plan).await.completed();
    assert_eq!(value, ("b".to_owned(), vec!["b".to_owned(), "a".to_owned()]));
}

#[tokio::test]
async fn one_of_no_choices_fails_and_some_of_none_is_asked() {
    let plan = Plan::new("angles", |angles: Step<Vec<String>>| {
        let one = ask("one").title("Choose one").choose_from(angles).one();
        let many = ask("many").title("Choose some").choose_from(angles).many();
        join((one.settled(), many)).map(|(one, many)| (one.is_ok(), many.clone()))
    })
    .unwrap();
    let store = Store::new();
    let executor = store.replayer();
    let needs = start(&executor, &plan, Vec::new()).await.waiting();
    assert_eq!(needs.iter().map(|need| need.path.as_str()).collect::<Vec<_>>(), ["many"]);
    answer(&executor, "many", &json!([])).await;
    let (value, counts) = resume(&executor, &plan).await.completed();
    assert_eq!((&value, counts.failed), (&(false, Vec::new()), 1));
    drop(executor);
    let (again, _) = resume(&store.replayer(), &plan).await.completed();
    assert_eq!(again, value);
}

#[tokio::test]
async fn a_question_that_cannot_be_asked_fails_the_same_way_in_a_replay() {
    let plan = Plan::new("nobody", |topic: Step<String>| {
        let asked =
            ask("who").input("topic", topic).assign_with(|_| panic!("nobody is on call")).returns::<bool>();
        asked.settled().map(Result::is_ok)
    })
    .unwrap();
    let store = Store::new();
    let (value, counts) = start(&store.replayer(), &plan, "t".to_owned()).await.completed();
    assert_eq!((value, counts.failed), (false, 1));
    assert!(!resume(&store.replayer(), &plan).await.completed().0);
}

/// A number that is asked for, and then may be edited.
fn number() -> Plan<u32, u32> {
    Plan::new("number", |input: Step<u32>| {
        let asked = ask("which").input("input", input).returns::<u8>();
        review("sure", asked.map(|asked| u32::from(*asked))).approved()
    })
    .unwrap()
}

#[tokio::test]
async fn an_answer_that_its_type_cannot_read_is_asked_again_with_the_reason() {
    // For a schema 1.0 is an integer; for the type it is none.
    let store = Store::new();
    let executor = store.replayer();
    let needs = start(&executor, &number(), 1).await.waiting();
    executor.answer(&run_id(), &needs[0], &1.0).await.unwrap();
    let again = resume(&executor, &number()).await.waiting();
    assert!(again[0].path == "which" && again[0].id != needs[0].id, "{again:?}");
    let shown = executor.shown(&again[0]).unwrap();
    let why = |shown: &[(String, serde_json::Value)]| {
        let (name, why) = shown.last().unwrap();
        assert_eq!(name, "the last answer does not count");
        why.as_str().unwrap().to_owned()
    };
    assert!(why(&shown).contains("1.0"), "{shown:?}");
    answer(&executor, "which", &serde_json::json!(3)).await;
    resume(&executor, &number()).await.waiting();

    let edited = serde_json::json!({ "decision": "edit", "value": 4.0 });
    answer(&executor, "sure[1]", &edited).await;
    drop(executor);
    let executor = store.replayer();
    let again = resume(&executor, &number()).await.waiting();
    assert_eq!(again[0].path, "sure[1]");
    assert!(why(&executor.shown(&again[0]).unwrap()).contains("4.0"));
    // An approval is one, whatever stands beside it.
    answer(&executor, "sure[1]", &serde_json::json!({ "decision": "approve", "value": 4.0 })).await;
    assert_eq!(resume(&executor, &number()).await.completed().0, 3);
    assert_eq!(resume(&executor, &number()).await.completed().0, 3);
}

#[tokio::test]
async fn a_live_run_asks_again_too() {
    let store = Store::new();
    let executor = store.replayer();
    let plan = Plan::new("two", |input: Step<u32>| {
        let first = ask("first").input("input", input).returns::<u8>();
        let second = ask("second").input("input", input).returns::<u8>();
        join((first, second))
    })
    .unwrap();
    start(&executor, &plan, 1).await.waiting();
    // Answered while the run is being driven, or just after: it makes no difference to what comes of it.
    let run = executor.resume(&plan, "r").await.unwrap();
    answer(&executor, "first", &serde_json::json!(1.0)).await;
    run.outcome().await.unwrap();
    let needs = resume(&executor, &plan).await.waiting();
    assert_eq!(needs.len(), 2);
    answer(&executor, "first", &serde_json::json!(1)).await;
    answer(&executor, "second", &serde_json::json!(2)).await;
    assert_eq!(resume(&executor, &plan).await.completed().0, (1, 2));
}

// ---- rejection

/// An offer that is sent, or filed with the reason; changes may be asked for as well.
fn offer() -> Plan<String, String> {
    Plan::new("offer", |topic: Step<String>| {
        review("offer", topic)
            .revise(|offer, feedback| {
                agent("revise")
                    .input("offer", offer)
                    .input("feedback", feedback)
                    .prompt_with(|offer, feedback| format!("{offer} + {feedback}"))
                    .text()
            })
            .max_rounds(2)
            .decide(
                |offer| {
                    agent("send").input("offer", offer).prompt_with(|offer| format!("Send {offer}.")).text()
                },
                |offer, reason| {
                    agent("file")
                        .input("offer", offer)
                        .input("reason", reason)
                        .prompt_with(|offer, reason| format!("File {offer}: {reason}."))
                        .text()
                },
            )
    })
    .unwrap()
}

fn reject(reason: &str) -> serde_json::Value {
    json!({"decision": "reject", "reason": reason})
}

#[tokio::test]
async fn what_is_decided_opens_one_of_two_ways() {
    for (given, value, path) in [
        (json!({"decision": "approve"}), "[Send x.]", "offer:approved/send"),
        (json!({"decision": "edit", "value": "y"}), "[Send y.]", "offer:approved/send"),
        (reject("too dear"), "[File x: too dear.]", "offer:rejected/file"),
    ] {
        let store = Store::new();
        let runner = Scripted::new().otherwise(|call| {
            let text = call.text.lines().next().unwrap_or_default();
            Ok(AgentReply::text(format!("[{text}]")))
        });
        let calls = runner.clone();
        let executor = store.executor(runner);
        start(&executor, &offer(), "x".to_owned()).await.waiting();
        answer(&executor, "offer[1]", &given).await;
        drop(executor);
        let executor = store.executor(calls.clone());
        assert_eq!(resume(&executor, &offer()).await.completed().0, value);
        assert_eq!(calls.calls(), [path]);
        // The decision is no record of its own: it is what the answer says.
        assert!(!kinds(executor.ledger()).contains(&"Decided".to_owned()));
        drop(executor);
        let (again, counts) = resume(&store.replayer(), &offer()).await.completed();
        assert_eq!((again.as_str(), counts.reused), (value, 2));
    }
}

#[tokio::test]
async fn changes_can_be_asked_for_before_it_is_rejected_and_rounds_are_used_up_all_the_same() {
    for (last, fails) in
        [(reject("no"), false), (json!({"decision": "request_changes", "feedback": "no"}), true)]
    {
        let store = Store::new();
        let executor = store.executor(mirror());
        start(&executor, &offer(), "x".to_owned()).await.waiting();
        request_changes(&executor, "offer[1]", "cheaper").await;
        resume(&executor, &offer()).await.waiting();
        answer(&executor, "offer[2]", &last).await;
        let outcome = resume(&executor, &offer()).await;
        if fails {
            assert_eq!(outcome.failed().class, FailureClass::NotApproved);
        } else {
            assert_eq!(outcome.completed().0, "[File [x + cheaper]: no.]");
        }
    }
}

#[tokio::test]
async fn rejection_as_a_value() {
    let plan = Plan::new("verdict", |input: Step<u32>| review("sure", input).decision()).unwrap();
    for (given, verdict) in [
        (json!({"decision": "approve"}), Verdict::Approved(7)),
        (json!({"decision": "edit", "value": 8}), Verdict::Approved(8)),
        (reject("odd"), Verdict::Rejected { value: 7, reason: "odd".to_owned() }),
    ] {
        let store = Store::new();
        let executor = store.replayer();
        let needs = start(&executor, &plan, 7).await.waiting();
        let changes = json!({"decision": "request_changes", "feedback": "more"});
        let error = executor.answer(&run_id(), &needs[0], &changes).await.unwrap_err();
        assert!(matches!(error, AnswerError::Invalid { .. }), "nobody revises it: {error}");
        answer(&executor, "sure[1]", &given).await;
        assert_eq!(resume(&executor, &plan).await.completed().0, verdict);
        drop(executor);
        assert_eq!(resume(&store.replayer(), &plan).await.completed().0, verdict);
    }
}

#[tokio::test]
async fn a_reason_is_never_blank_and_an_edit_is_one_of_the_type() {
    let store = Store::new();
    let executor = store.executor(mirror());
    let needs = start(&executor, &offer(), "x".to_owned()).await.waiting();
    for bad in [
        reject(""),
        reject(" \n"),
        json!({"decision": "reject"}),
        json!({"decision": "reject", "feedback": "why"}),
        json!({"decision": "request_changes", "reason": "why"}),
        json!({"decision": "edit", "value": 3}),
        json!({"decision": "decline", "reason": "why"}),
    ] {
        let error = executor.answer(&run_id(), &needs[0], &bad).await.unwrap_err();
        assert!(matches!(error, AnswerError::Invalid { .. }), "{bad}: {error}");
    }
    let error = executor.answer(&run_id(), &needs[0], &reject("\t")).await.unwrap_err();
    assert!(error.to_string().contains("say why it is rejected"), "{error}");
    assert_eq!(executor.needs(&run_id()).unwrap(), needs);
}

#[tokio::test]
async fn a_way_that_fails_fails_the_review_and_retry_goes_on_in_it() {
    let store = Store::new();
    let failing = FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no luck")));
    let executor = store.executor(failing);
    start(&executor, &offer(), "x".to_owned()).await.waiting();
    answer(&executor, "offer[1]", &reject("no")).await;
    let failure = resume(&executor, &offer()).await.failed();
    assert_eq!(failure.path, "offer:rejected/file");
    let drawn = run_layout(&executor, &offer(), &run_id()).unwrap();
    assert_eq!(
        drawn,
        "run of plan offer(input: string) -> string · failed at offer:rejected/file: the runner reported an error\n\
         └─ offer: review(input) up to 2 rounds, decide -> string · rejected in round 1, failed\n\
         \u{20}  ├─ [1] · rejected\n\
         \u{20}  └─ when rejected file: agent(value, reason) -> string · failed: the runner reported an error"
    );
    drop(executor);
    let executor = store.executor(mirror());
    assert_eq!(retry(&executor, &offer()).await.completed().0, "[File x: no.]");
    let drawn = run_layout(&executor, &offer(), &run_id()).unwrap();
    assert!(drawn.contains("decide -> string · rejected in round 1\n"), "{drawn}");
}

#[tokio::test]
async fn a_decision_never_carries_over_to_another_value() {
    let plan = |version: u32| {
        Plan::new("careful", move |_: Step<()>| {
            let made = step("make").version(version).run(move || version);
            review("sure", made).decide(|value| value, |value, _| value.map(|value| value + 100))
        })
        .unwrap()
    };
    let store = Store::new();
    let executor = store.replayer();
    start(&executor, &plan(1), ()).await.waiting();
    answer(&executor, "sure[1]", &reject("no")).await;
    assert_eq!(resume(&executor, &plan(1)).await.completed().0, 101);
    // Below a cause it is asked again; whatever was decided was decided about the other value.
    let needs = resume(&executor, &plan(2)).await.waiting();
    assert_eq!(needs[0].path, "sure[1]");
    approve(&executor, "sure[1]").await;
    assert_eq!(resume(&executor, &plan(2)).await.completed().0, 2);
}

#[tokio::test]
async fn decisions_waits_and_expiries_nest_in_what_is_called_and_what_is_built_at_run_time() {
    let inner = Plan::new("inner", |text: Step<String>| {
        let text = review("sure", text).decide(
            |text| step("keep").input("text", text).run(String::clone),
            |text, reason| {
                step("explain")
                    .input("text", text)
                    .input("reason", reason)
                    .run(|text, why| format!("{text}: {why}"))
            },
        );
        let paused = wait("pause").until(value(second(0)));
        let go = ask("go")
            .after(paused)
            .expires_in(Duration::from_secs(60), OnExpiry::Value(true))
            .returns::<bool>();
        join((text, go)).map(|(text, go)| format!("{text} {go}"))
    })
    .unwrap();
    let plan = Plan::new("outer", move |text: Step<String>| {
        let one = inner.call("one", text);
        let inner = inner.clone();
        let two = text.then("two", move |text| inner.call("again", value(format!("{text}!"))));
        join((one, two))
    })
    .unwrap();
    let store = Store::new();
    let (clock, hand) = Clock::by_hand(second(0));
    let executor = store.executor_by(&clock, refuses());
    let mut paths: Vec<_> =
        start(&executor, &plan, "x".to_owned()).await.waiting().into_iter().map(|need| need.path).collect();
    paths.sort();
    assert_eq!(paths, ["one/go", "one/sure[1]", "two/again/go", "two/again/sure[1]"]);
    answer(&executor, "one/sure[1]", &reject("no")).await;
    approve(&executor, "two/again/sure[1]").await;
    drop(executor);
    hand.set(second(60));
    let executor = store.executor_by(&clock, refuses());
    let (value, counts) = resume(&executor, &plan).await.completed();
    assert_eq!(value, ("x: no true".to_owned(), "x! true".to_owned()));
    drop(executor);
    let (again, reused) = resume(&store.replayer(), &plan).await.completed();
    assert_eq!((again, reused.reused), (value, counts.ok));
}
