//! Failures and choices as values: `catch`, `.settled()` and `branch(..).case(..)`.

mod support;

use hermes_workflows::{core::request::Field, prelude::*};
use support::*;

/// Fails the agents whose path is listed.
fn failing(paths: &'static [&'static str]) -> (FnRunner, Calls) {
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::sync(move |call| {
        counted.add();
        if paths.contains(&call.path.as_str()) {
            return Err(RunnerError::new(RunnerErrorKind::Failed, "no luck"));
        }
        Ok(AgentReply::text(format!("<{}>", call.path)))
    });
    (runner, calls)
}

fn say(name: &str, text: Step<String>) -> Step<String> {
    agent(name).input("text", text).prompt("Say it.").text()
}

fn caught() -> Plan<String, String> {
    Plan::new("caught", |text: Step<String>| {
        let tried = catch("try", || say("second", say("first", text))).or_else(|failure| {
            agent("instead")
                .input("why", failure.map(|failure| failure.path.clone()))
                .prompt("Say it.")
                .text()
        });
        say("last", tried)
    })
    .unwrap()
}

#[tokio::test]
async fn a_caught_failure_is_replaced_and_the_run_goes_on() {
    let store = Store::new();
    let (runner, calls) = failing(&["try/first"]);
    let (value, counts) = start(&store.executor(runner), &caught(), "t".to_owned()).await.completed();
    assert_eq!(value, "<last>");
    // `second` never began; `instead` and `last` did.
    assert_eq!((calls.count(), counts.failed, counts.skipped), (3, 1, 1));
    let executor = store.replayer();
    let (again, counts) = resume(&executor, &caught()).await.completed();
    assert_eq!((again, counts.calls, counts.failed), (value, 0, 1));
    drop(executor);
    // What was caught is a failure all the same: a retry runs it again, and what came instead is not needed any more.
    let (runner, calls) = failing(&[]);
    let (_, counts) = retry(&store.executor(runner), &caught()).await.completed();
    assert_eq!((calls.count(), counts.failed, counts.skipped), (3, 0, 0));
    resume(&store.replayer(), &caught()).await.completed();
}

#[tokio::test]
async fn without_a_failure_nothing_is_replaced() {
    let store = Store::new();
    let (runner, calls) = failing(&[]);
    let (_, counts) = start(&store.executor(runner), &caught(), "t".to_owned()).await.completed();
    assert_eq!((calls.count(), counts.failed), (3, 0));
    let executor = store.replayer();
    assert_eq!(resume(&executor, &caught()).await.completed().1.reused, 3);
}

#[tokio::test]
async fn a_failure_of_what_came_instead_is_not_caught() {
    let store = Store::new();
    let (runner, _) = failing(&["try/second", "try:else/instead"]);
    let failure = start(&store.executor(runner), &caught(), "t".to_owned()).await.failed();
    assert_eq!(failure.path, "try:else/instead");
    assert_eq!(resume(&store.replayer(), &caught()).await.failed(), failure);
    let (runner, calls) = failing(&[]);
    retry(&store.executor(runner), &caught()).await.completed();
    // `first` stands; `second`, which failed, and `last` are called.
    assert_eq!(calls.count(), 2);
}

#[tokio::test]
async fn a_result_is_the_output_or_the_failure() {
    let plan = Plan::new("result", |text: Step<String>| {
        let results =
            parallel("lenses", ["good", "bad"], |lens| catch("look", || say(lens, text)).result()).all();
        results.map(|results| {
            let told = |result: &Result<String, Failure>| match result {
                Ok(text) => text.clone(),
                Err(failure) => format!("{}: {:?}", failure.path, failure.class),
            };
            results.iter().map(told).collect::<Vec<_>>()
        })
    })
    .unwrap();
    let store = Store::new();
    let (runner, _) = failing(&["lenses[bad]/look/bad"]);
    let (value, counts) = start(&store.executor(runner), &plan, "t".to_owned()).await.completed();
    assert_eq!(value, ["<lenses[good]/look/good>", "lenses[bad]/look/bad: RunnerError"]);
    assert_eq!(counts.failed, 1);
    assert_eq!(resume(&store.replayer(), &plan).await.completed().0, value);
}

#[tokio::test]
async fn failures_without_a_record_are_caught_too() {
    let plan = Plan::new("unrecorded", |list: Step<Vec<u32>>| {
        catch("each", || parallel_each("items", list, |item| item).key_by(|_| "one key").all().map(Vec::len))
            .or_else(|failure| failure.map(|failure| failure.message.len()))
    })
    .unwrap();
    let store = Store::new();
    let (value, _) = start(&store.replayer(), &plan, vec![1, 2]).await.completed();
    assert_eq!(value, "items 0 and 1 both have the key `one key`".len());
    assert_eq!(resume(&store.replayer(), &plan).await.completed().0, value);
}

fn settled() -> Plan<String, Vec<String>> {
    Plan::new("settled", |text: Step<String>| {
        let first = say("first", text);
        let second = say("second", first);
        let told = join([first.settled(), second.settled()]).map(|all| {
            let told = |one: &Result<String, Failure>| match one {
                Ok(text) => text.clone(),
                Err(failure) => format!("{}: {:?} {}", failure.path, failure.class, failure.message),
            };
            all.iter().map(told).collect::<Vec<_>>()
        });
        let tidied = agent("tidy").after(second.settled()).prompt("Tidy up.").text();
        join((told, tidied)).map(|(told, tidied)| [told.as_slice(), std::slice::from_ref(tidied)].concat())
    })
    .unwrap()
}

#[tokio::test]
async fn a_settled_failure_is_a_value_and_what_could_not_begin_says_why() {
    let store = Store::new();
    let (runner, calls) = failing(&["first"]);
    let (value, counts) = start(&store.executor(runner), &settled(), "t".to_owned()).await.completed();
    let expected = [
        "first: RunnerError no luck",
        "second: DependencyFailed first: the runner reported an error",
        "<tidy>",
    ];
    assert_eq!(value, expected);
    assert_eq!((calls.count(), counts.failed, counts.skipped), (2, 1, 1));
    assert_eq!(resume(&store.replayer(), &settled()).await.completed().0, value);
    let (runner, calls) = failing(&[]);
    let (value, _) = retry(&store.executor(runner), &settled()).await.completed();
    assert_eq!((value[0].as_str(), value[1].as_str(), calls.count()), ("<first>", "<second>", 2));
}

#[tokio::test]
async fn what_uses_the_output_itself_still_fails_with_it() {
    let plan = Plan::new("used", |text: Step<String>| {
        let first = say("first", text);
        let second = say("second", first);
        let told = step("told").input("first", first.settled()).run(Result::is_ok);
        join((second, told))
    })
    .unwrap();
    let store = Store::new();
    let (runner, calls) = failing(&["first"]);
    let failure = start(&store.executor(runner), &plan, "t".to_owned()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::DependencyFailed, "second"));
    assert!(failure.message.contains("first: the runner reported an error"), "{failure}");
    assert_eq!(calls.count(), 1);
    let (runner, _) = failing(&[]);
    retry(&store.executor(runner), &plan).await.completed();
}

#[test]
fn a_failure_can_only_be_handled_where_the_step_was_made() {
    let mistakes = Plan::new("elsewhere", |text: Step<String>| {
        let first = say("first", text);
        parallel("children", ["a"], |_| first.settled()).all()
    })
    .unwrap_err();
    let mistake = mistakes.iter().next().unwrap();
    assert_eq!(mistake.kind, PlanErrorKind::SettledElsewhere);
    assert!(mistake.to_string().contains("`first` was made outside this body"), "{mistake}");
    assert!(mistake.also.is_some());
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
enum Ticket {
    Bug { steps: String },
    Question(String),
    Praise,
}

fn triage(bug: fn(&Ticket) -> Option<String>) -> Plan<Ticket, String> {
    Plan::new("triage", move |ticket: Step<Ticket>| {
        branch("kind", ticket)
            .case("bug", bug, |steps| agent("reproduce").input("steps", steps).prompt("Reproduce.").text())
            .case(
                "question",
                |ticket| if let Ticket::Question(text) = ticket { Some(text.clone()) } else { None },
                |text| text.map(|text| format!("answered {text}")),
            )
            .when("praise", |ticket| matches!(ticket, Ticket::Praise), |_| value("thanks".to_owned()))
            .or_fail()
    })
    .unwrap()
}

fn steps_of(ticket: &Ticket) -> Option<String> {
    if let Ticket::Bug { steps } = ticket { Some(steps.clone()) } else { None }
}

#[tokio::test]
async fn a_case_hands_on_what_it_found() {
    for (ticket, expected) in [
        (Ticket::Bug { steps: "press".to_owned() }, "<kind:bug/reproduce>"),
        (Ticket::Question("why".to_owned()), "answered why"),
        (Ticket::Praise, "thanks"),
    ] {
        let store = Store::new();
        let (runner, _) = failing(&[]);
        let (value, _) = start(&store.executor(runner), &triage(steps_of), ticket).await.completed();
        assert_eq!(value, expected);
        assert_eq!(resume(&store.replayer(), &triage(steps_of)).await.completed().0, expected);
    }
}

#[tokio::test]
async fn a_case_that_finds_something_else_conflicts_below_and_one_that_finds_nothing_cannot_be_kept() {
    let store = Store::new();
    let (runner, _) = failing(&[]);
    let ticket = Ticket::Bug { steps: "press".to_owned() };
    start(&store.executor(runner), &triage(steps_of), ticket).await.completed();

    let louder = triage(|ticket| steps_of(ticket).map(|steps| steps.to_uppercase()));
    let needs = resume(&store.replayer(), &louder).await.parked();
    assert_eq!(changed_fields(&needs), ["kind:bug/reproduce: input `steps`"]);

    let moved = Plan::new("triage", |ticket: Step<Ticket>| {
        branch("kind", ticket)
            .case("bug", |_| None::<String>, |steps| say("reproduce", steps))
            .otherwise(|_| value("backlog".to_owned()))
    })
    .unwrap();
    let executor = store.replayer();
    let needs = resume(&executor, &moved).await.parked();
    let NeedKind::Conflict { fields, not_kept, .. } = &needs[0].kind else { panic!("{needs:?}") };
    assert_eq!(fields[0].field, Field::Arm);
    assert!(not_kept.as_deref().unwrap_or_default().contains("finds nothing in the value"), "{not_kept:?}");
}
