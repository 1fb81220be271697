//! What waits for people and for time: what the builders put into the graph, and the mistakes they find.

use super::{Expected, mistakes, patterns};
use crate::{
    build::PlanErrorKind::*,
    graph::{Assignee, Kind, Placeholder, Review, ReviewEnd, Role, Until},
    prelude::*,
};
use hermes_core::{
    people::{DecidingApprovalAnswer, DecidingReviewAnswer},
    schema::Schema,
    value::Val,
};
use serde_json::{Value, json};

fn only(kind: PlanErrorKind, at: &str, says: &str, errors: &PlanErrors) {
    Expected { source: include_str!("people.rs"), kind, at, also: None, says }.is_the_only_one(errors);
}

fn kind<I, O>(plan: &Plan<I, O>, name: &str) -> Kind {
    plan.graph().nodes().find(|node| node.name == name).unwrap().kind.clone()
}

fn review_of<I, O>(plan: &Plan<I, O>, name: &str) -> Review {
    let Kind::Review(review) = kind(plan, name) else { panic!("{name} is no review") };
    *review
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_wait_has_its_duration_or_reads_its_moment() -> Result<(), PlanErrors> {
    let plan = Plan::new("waits", |input: Step<Timestamp>| {
        let first = wait("first").for_(HOUR);
        let second = wait("second").after(first).until(input);
        join((first, second))
    })?;
    assert!(matches!(kind(&plan, "first"), Kind::Wait(Until::After(HOUR))));
    let Kind::Wait(Until::Moment(read)) = kind(&plan, "second") else { panic!() };
    assert_eq!(read(&Val::from_json(json!("1970-01-01T00:00:01Z"))), Ok(Timestamp::from_millis(1000)));
    let failure = read(&Val::from_json(json!("soon"))).unwrap_err();
    assert_eq!(failure.class, FailureClass::Undecodable);
    assert!(failure.message.contains("`soon` is no moment"), "{failure}");
    let second = plan.graph().nodes().find(|node| node.name == "second").unwrap();
    assert_eq!((second.inputs[0].name.as_str(), second.after.len()), ("until", 1));
    Ok(())
}

#[test]
fn a_question_is_for_somebody_and_for_a_time() -> Result<(), PlanErrors> {
    let plan = Plan::new("asks", |input: Step<Vec<String>>| {
        let fixed = ask("fixed").assign_to("ops").expires_in(HOUR, OnExpiry::Fail).returns::<bool>();
        let made = ask("made")
            .input("fixed", fixed)
            .input("all", input)
            .assign_with(|fixed, all| format!("{fixed} {}", all.len()))
            .title("Made?")
            .input("later", fixed)
            .expires_in(HOUR, OnExpiry::Value("none".to_owned()))
            .choose_from(input)
            .one();
        let many = ask("many").expires_in(HOUR, OnExpiry::Value(vec![])).choose_from(input).many();
        join((made, many))
    })?;
    let Kind::Ask(fixed) = kind(&plan, "fixed") else { panic!() };
    assert!(matches!(&fixed.assignee, Some(Assignee::Fixed(who)) if who == "ops"));
    let expires = fixed.expires.unwrap();
    assert!(expires.after == HOUR && expires.value.is_none());
    let Kind::Ask(made) = kind(&plan, "made") else { panic!() };
    let Some(Assignee::Built { build, .. }) = &made.assignee else { panic!() };
    let inputs = [json!(true), json!(["x", "y"]), json!(false), json!(["x", "y"])].map(Val::from_json);
    assert_eq!(build(&inputs).unwrap(), "true 2");
    assert_eq!(made.expires.unwrap().value.unwrap().digest(), Val::from_json(json!("none")).digest());
    assert_eq!(made.choices.unwrap().input, 3);
    Ok(())
}

#[test]
fn only_a_review_that_decides_can_be_rejected() -> Result<(), PlanErrors> {
    let plan = Plan::new("reviews", |input: Step<String>| {
        let echo = |name, text: Step<String>| step(name).input("text", text).run(String::clone);
        let verdict = review("verdict", input).decision();
        let text = verdict.map(|verdict| match verdict {
            Verdict::Approved(text) => text.clone(),
            Verdict::Rejected { reason, .. } => reason.clone(),
        });
        review("ways", text).revise(|text, _| echo("revise", text)).decide(
            |text| echo("file", text),
            |text, reason| {
                echo("explain", join((text, reason)).map(|(text, reason)| format!("{text}: {reason}")))
            },
        )
    })?;
    assert_eq!(
        patterns(&plan),
        ["verdict", "ways", "ways[*]/revise", "ways:approved/file", "ways:rejected/explain"]
    );
    let verdict = review_of(&plan, "verdict");
    assert_eq!(verdict.end, ReviewEnd::Decision);
    assert_eq!(verdict.answer, Schema::of::<DecidingApprovalAnswer<String>>());
    let ways = review_of(&plan, "ways");
    assert_eq!(ways.answer, Schema::of::<DecidingReviewAnswer<String>>());
    let ReviewEnd::Decide { approved, rejected } = ways.end else { panic!("{:?}", ways.end) };
    let words = |body| {
        let body = plan.graph().body(body);
        let kinds = body.params.iter().map(|param| plan.graph().node(*param).kind.clone());
        let words = kinds.map(|kind| match kind {
            Kind::Placeholder(word) => word,
            other => panic!("{other:?}"),
        });
        (body.role.clone(), words.collect::<Vec<_>>())
    };
    assert_eq!(words(approved), (Role::Arm("approved".to_owned()), vec![Placeholder::Value]));
    assert_eq!(
        words(rejected),
        (Role::Arm("rejected".to_owned()), vec![Placeholder::Value, Placeholder::Reason])
    );
    let graph = plan.graph();
    let ways = graph.nodes().find(|node| node.name == "ways").unwrap().id;
    assert_eq!(graph.bodies_of(ways).len(), 3);
    Ok(())
}

#[test]
fn a_verdict_is_what_serde_writes() {
    let rejected = Val::encode(&Verdict::Rejected { value: 1, reason: "no".to_owned() }).unwrap();
    let parts = [("value", json!(1)), ("reason", json!("no"))];
    let parts = parts.map(|(name, value)| (name.into(), Val::from_json(value))).to_vec();
    assert_eq!(Val::variant("Rejected", Val::object(parts)).digest(), rejected.digest());
    let approved = Val::encode(&Verdict::Approved("x")).unwrap();
    assert_eq!(Val::variant("Approved", Val::from_json(json!("x"))).digest(), approved.digest());
}

#[test]
fn no_time_at_all() {
    let errors = mistakes(|_| wait("never").for_(Duration::ZERO)); // zero wait
    only(ZeroDuration, "zero wait", "the wait of `never` is no time at all", &errors);
    let errors = mistakes(|_| {
        ask("go")
            .expires_in(Duration::ZERO, OnExpiry::Fail) // zero expiry
            .returns::<bool>()
    });
    only(ZeroDuration, "zero expiry", "the expiry of `go` is no time at all", &errors);
}

#[test]
fn for_nobody() {
    let errors = mistakes(|_| ask("go").assign_to(" ").returns::<bool>()); // blank assignee
    only(BlankOption, "blank assignee", "the assignee of `go` is blank", &errors);
}

#[test]
fn a_value_on_expiry_that_does_not_survive_json() {
    let errors = mistakes(|_| ask("go").expires_in(HOUR, OnExpiry::Value(f64::NAN)).returns::<f64>()); // nan
    only(Unencodable, "nan", "what `go` has on expiry does not survive JSON", &errors);
}

#[test]
fn what_is_never_ended() {
    let errors = mistakes(|input| {
        let unfinished = wait("later"); // unfinished wait
        drop(unfinished);
        input
    });
    only(Unfinished, "unfinished wait", "wait", &errors);
    assert!(errors.to_string().contains("`.for_(duration)` or `.until(moment)`"), "{errors}");
}

#[test]
fn two_steps_of_one_name_in_one_way_and_none_across_the_ways() {
    let echo = |name, text: Step<String>| step(name).input("text", text).run(String::clone);
    let plan = Plan::new("ways", |input: Step<String>| {
        review("ways", input).decide(|text| echo("same", text), |_, reason| echo("same", reason))
    });
    assert_eq!(patterns(&plan.unwrap()), ["ways", "ways:approved/same", "ways:rejected/same"]);
    let errors = mistakes(|input| {
        review("ways", input).decide(
            |text| {
                let text = echo("same", text);
                echo("same", text)
            },
            |_, reason| reason,
        )
    });
    assert!(errors.iter().all(|error| error.kind == DuplicateName), "{errors}");
}

#[test]
fn a_handle_that_leaks_from_one_way_into_the_other() {
    let leaked = std::cell::Cell::new(None);
    let errors = mistakes(|input: Step<String>| {
        review("ways", input).decide(
            |text| {
                leaked.set(Some(step("file").input("text", text).run(String::clone)));
                text
            },
            |_, _| leaked.get().unwrap(),
        )
    });
    assert!(errors.iter().any(|error| error.kind == LeakedHandle), "{errors}");
}

#[test]
fn a_value_is_compared_with_the_type_of_the_answer() {
    let schema = Schema::of::<Timestamp>();
    assert_eq!(schema.json()["format"], Value::from("date-time"));
    assert_eq!(schema.label(), "Timestamp");
}
