//! Items that need each other: when they start, what they are given, and what becomes of those that need what has failed.

mod support;

use hermes_workflows::prelude::*;
use std::sync::{Arc, Mutex};
use support::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Issue {
    id: String,
    after: Vec<String>,
}

fn issue(id: &str, after: &[&str]) -> Issue {
    Issue { id: id.to_owned(), after: after.iter().map(|id| (*id).to_owned()).collect() }
}

fn fix(issue: Step<Issue>, needed: Step<Vec<Keyed<String>>>) -> Step<String> {
    agent("fix").input("issue", issue).input("needed", needed).prompt("Fix it.").text()
}

fn plan() -> Plan<Vec<Issue>, Vec<Result<String, Failure>>> {
    Plan::new("issues", |issues: Step<Vec<Issue>>| {
        parallel_dag("issues", issues, fix)
            .key_by(|issue| issue.id.clone())
            .needs(|issue| issue.after.clone())
            .limit(2)
            .results()
    })
    .unwrap()
}

fn diamond() -> Vec<Issue> {
    vec![issue("d", &["b", "c"]), issue("b", &["a"]), issue("c", &["a"]), issue("a", &[])]
}

/// Says who was called after whom, with what; fails at one.
fn fixer(fails: &'static str) -> (FnRunner, Arc<Mutex<Vec<String>>>) {
    let called = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&called);
    let runner = FnRunner::sync(move |call| {
        let issue: Issue = serde_json::from_str(&call.inputs[0].1).unwrap();
        noted.lock().unwrap().push(issue.id.clone());
        if issue.id == fails {
            return Err(RunnerError::new(RunnerErrorKind::Failed, "no luck"));
        }
        let needed: Vec<Keyed<String>> = serde_json::from_str(&call.inputs[1].1).unwrap();
        let needed: Vec<_> = needed.into_iter().map(|one| format!("{}={}", one.key, one.value)).collect();
        Ok(AgentReply::text(format!("{}({})", issue.id, needed.join(","))))
    });
    (runner, called)
}

fn told(results: &[Result<String, Failure>]) -> Vec<String> {
    let told = results.iter().map(|result| match result {
        Ok(text) => text.clone(),
        Err(failure) => format!("{}: {:?}: {}", failure.path, failure.class, failure.message),
    });
    told.collect()
}

#[tokio::test]
async fn an_item_starts_when_those_it_needs_are_done_and_gets_their_outputs() {
    let store = Store::new();
    let (runner, called) = fixer("nobody");
    let (value, _) = start(&store.executor(runner), &plan(), diamond()).await.completed();
    let expected = ["d(b=b(a=a()),c=c(a=a()))", "b(a=a())", "c(a=a())", "a()"];
    assert_eq!(told(&value), expected);
    let called = called.lock().unwrap().clone();
    assert_eq!((called[0].as_str(), called[3].as_str()), ("a", "d"));
    assert_eq!(resume(&store.replayer(), &plan()).await.completed().0, value);
}

#[tokio::test]
async fn what_needs_a_failed_item_is_skipped_with_the_reason_and_follows_when_that_is_retried() {
    let store = Store::new();
    let (runner, called) = fixer("b");
    let (value, counts) = start(&store.executor(runner), &plan(), diamond()).await.completed();
    let expected = [
        "issues[d]: DependencyFailed: it needs `b`: the runner reported an error",
        "issues[b]/fix: RunnerError: no luck",
        "c(a=a())",
        "a()",
    ];
    assert_eq!(told(&value), expected);
    assert_eq!((called.lock().unwrap().len(), counts.failed, counts.skipped), (3, 1, 1));
    assert_eq!(resume(&store.replayer(), &plan()).await.completed().0, value);
    let (runner, called) = fixer("nobody");
    let (value, _) = retry(&store.executor(runner), &plan()).await.completed();
    assert_eq!(told(&value)[0], "d(b=b(a=a()),c=c(a=a()))");
    assert_eq!(*called.lock().unwrap(), ["b", "d"]);
    resume(&store.replayer(), &plan()).await.completed();
}

#[tokio::test]
async fn failing_fast_nothing_that_waits_begins() {
    let plan = Plan::new("issues", |issues: Step<Vec<Issue>>| {
        parallel_dag("issues", issues, fix)
            .key_by(|issue| issue.id.clone())
            .needs(|issue| issue.after.clone())
            .all()
    })
    .unwrap();
    let store = Store::new();
    let (runner, called) = fixer("a");
    let failure = start(&store.executor(runner), &plan, diamond()).await.failed();
    assert_eq!((failure.path.as_str(), called.lock().unwrap().len()), ("issues[a]/fix", 1));
    let (runner, _) = fixer("nobody");
    retry(&store.executor(runner), &plan).await.completed();
}

#[tokio::test]
async fn unknown_keys_and_circles_fail_it_by_name_before_anything_starts() {
    for (issues, said) in [
        (vec![issue("a", &["x"])], "the item `a` needs `x`, which is not the key of an item"),
        (vec![issue("a", &["a"])], "items need each other in a circle: `a` -> `a`"),
        (
            vec![issue("z", &[]), issue("a", &["b"]), issue("b", &["c", "z"]), issue("c", &["a"])],
            "items need each other in a circle: `a` -> `b` -> `c` -> `a`",
        ),
    ] {
        let store = Store::new();
        let failure = start(&store.replayer(), &plan(), issues).await.failed();
        assert_eq!((failure.class, failure.path.as_str()), (FailureClass::InvalidNeeds, "issues"));
        assert!(failure.message.contains(said), "{failure}");
        assert!(failure.location.unwrap().starts_with("tests/dag.rs:"));
    }
}

#[tokio::test]
async fn other_needs_are_a_conflict_and_items_in_another_order_are_not() {
    let plan = |needs: fn(&Issue) -> Vec<String>| {
        Plan::new("issues", move |issues: Step<Vec<Issue>>| {
            parallel_dag("issues", issues, fix).key_by(|issue| issue.id.clone()).needs(needs).results()
        })
        .unwrap()
    };
    let store = Store::new();
    let (runner, _) = fixer("nobody");
    start(&store.executor(runner), &plan(|issue| issue.after.clone()), diamond()).await.completed();
    let needs = resume(&store.replayer(), &plan(|_| Vec::new())).await.parked();
    assert!(changed_fields(&needs)[0].starts_with("issues: key_by"), "{needs:?}");
}

#[tokio::test]
async fn a_long_chain_and_a_wide_one_end() {
    let chain: Vec<_> = (0..300_u32)
        .map(|i| {
            issue(
                &format!("i{i}"),
                &if i == 0 { Vec::new() } else { vec![format!("i{}", i - 1)] }
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    let store = Store::new();
    let plan = Plan::new("issues", |issues: Step<Vec<Issue>>| {
        parallel_dag("issues", issues, |_, needed: Step<Vec<Keyed<usize>>>| {
            needed.map(|needed| needed.iter().map(|one| one.value + 1).max().unwrap_or_default())
        })
        .key_by(|issue| issue.id.clone())
        .needs(|issue| issue.after.clone())
        .all()
    })
    .unwrap();
    let (value, _) = start(&store.replayer(), &plan, chain).await.completed();
    assert_eq!(value, (0..300).collect::<Vec<usize>>());
}
