//! Plan 12: An issue tree: what depends on what is known only once an agent has cut the goal into issues. Each is worked on when
//! those it needs are done, and what needs a failed one is told why it was not begun.

use hermes_workflows::prelude::*;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Issue {
    id: String,
    text: String,
    /// Ids of the issues that have to be done before it.
    after: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Patch {
    summary: String,
    lines: u32,
}

fn work_prompt(issue: &Issue, done: &[Keyed<Patch>]) -> String {
    let done: Vec<_> = done.iter().map(|done| format!("- {}: {}", done.key, done.value.summary)).collect();
    format!("{}\n\nDone before it:\n{}", issue.text, done.join("\n"))
}

fn work_on(issue: Step<Issue>, done: Step<Vec<Keyed<Patch>>>) -> Step<Patch> {
    let patch = agent("write_patch")
        .input("issue", issue)
        .input("done", done)
        .prompt_with(|issue, done| work_prompt(issue, done))
        .returns::<Patch>();
    step("check_size").input("patch", patch).try_run(|patch| match patch.lines {
        0 => Err("it changes nothing".to_owned()),
        1..=400 => Ok(patch.clone()),
        lines => Err(format!("{lines} lines are too many for one review")),
    })
}

fn issue_tree(goal: Step<String>) -> Step<String> {
    let issues =
        agent("cut_into_issues").input("goal", goal).prompt("Cut it into issues.").returns::<Vec<Issue>>();
    let patches = parallel_dag("issues", issues, work_on)
        .key_by(|issue| issue.id.clone())
        .needs(|issue| issue.after.clone())
        .limit(3)
        .keyed()
        .results();
    agent("report").input("patches", patches).prompt("Tell what is done, and what is not and why.").text()
}

mod run {
    use super::{Issue, Patch, issue_tree, work_prompt};
    use crate::{
        drawing::assert_drawing,
        drive::{Drive, id, input},
    };
    use hermes_plan::assert_layout;
    use hermes_workflows::prelude::*;
    use serde_json::json;

    fn issue(id: &str, after: &[&str]) -> Issue {
        let after = after.iter().map(|id| (*id).to_owned()).collect();
        Issue { id: id.to_owned(), text: format!("Do {id}."), after }
    }

    fn script() -> Scripted {
        Scripted::new()
            .on(
                "cut_into_issues",
                json!([
                    issue("release", &["docs", "cli"]),
                    issue("docs", &["cli"]),
                    issue("cli", &["parser"]),
                    issue("parser", &[]),
                    issue("logo", &[])
                ]),
            )
            .on("issues[*]/write_patch", |call: &AgentCall| {
                let (issue, done): (Issue, Vec<Keyed<Patch>>) = (input(call, "issue"), input(call, "done"));
                let lines = 1 + done.iter().map(|done| done.value.lines).sum::<u32>();
                Ok(AgentReply::json(json!(Patch { summary: format!("{} is done", issue.id), lines })))
            })
            .on("report", |call: &AgentCall| {
                let patches: Vec<Keyed<Result<Patch, Failure>>> = input(call, "patches");
                let told = patches.iter().map(|patch| match &patch.value {
                    Ok(done) => format!("{}: {} lines", patch.key, done.lines),
                    Err(failure) => format!("{}: {}", patch.key, failure.message),
                });
                Ok(AgentReply::text(told.collect::<Vec<_>>().join("\n")))
            })
    }

    /// The command line becomes too large.
    fn too_large() -> Scripted {
        script().on("issues[cli]/write_patch", json!({"summary": "all of it", "lines": 4000}))
    }

    fn drive(script: fn() -> Scripted) -> Drive<String, String> {
        Drive::new(Plan::new("issue-tree", issue_tree).unwrap(), "Ship it.".to_owned(), script)
    }

    #[test]
    fn its_layout_and_its_prompt() {
        assert_layout!(Plan::new("issue-tree", issue_tree).unwrap(), "plan-issue_tree");
        let patch = Patch { summary: "parsed".to_owned(), lines: 1 };
        let done = [Keyed { key: "parser".to_owned(), value: patch }];
        assert_eq!(work_prompt(&issue("cli", &[]), &done), "Do cli.\n\nDone before it:\n- parser: parsed");
    }

    #[tokio::test]
    async fn killed_anywhere_each_issue_is_worked_on_once_after_those_it_needs() {
        let ended = drive(script).survives(6).await;
        let told = "release: 6 lines\ndocs: 3 lines\ncli: 2 lines\nparser: 1 lines\nlogo: 1 lines";
        assert_eq!(ended.value, told);
        let calls = ended.script.calls();
        let at = |id: &str| calls.iter().position(|path| path.starts_with(&format!("issues[{id}]"))).unwrap();
        assert!(
            at("parser") < at("cli") && at("cli") < at("docs") && at("docs") < at("release"),
            "{calls:?}"
        );
    }

    #[tokio::test]
    async fn killed_anywhere_what_needs_a_failed_issue_is_not_begun_and_says_why() {
        let ended = drive(too_large).survives(6).await;
        let lines: Vec<_> = ended.value.lines().collect();
        assert_eq!(
            lines[2..],
            ["cli: 4000 lines are too many for one review", "parser: 1 lines", "logo: 1 lines"]
        );
        assert!(
            lines[0].starts_with("release: it needs `") && lines[1].starts_with("docs: it needs `cli`"),
            "{lines:?}"
        );
        assert_eq!(ended.script.count("issues[*]/write_patch"), 3);
        assert_drawing("plan-issue_tree-run", &ended.layout);
    }

    #[tokio::test]
    async fn an_issue_whose_agent_fails_is_retried_and_what_needs_it_follows() {
        let ledger = Ledger::in_memory().unwrap();
        let failing = script()
            .fail_once("issues[cli]/write_patch", RunnerError::new(RunnerErrorKind::Failed, "no luck"));
        let plan = Plan::new("issue-tree", issue_tree).unwrap();
        let executor = Executor::builder().ledger(ledger.clone()).runner(failing.clone()).build();
        let run = executor.start(&plan, "Ship it.".to_owned()).id("r").await.unwrap();
        let Outcome::Completed(first) = run.outcome().await.unwrap() else {
            panic!("it completes over failures")
        };
        assert!(first.value.contains("cli: no luck") && first.counts.failed == 1, "{first:?}");
        let called = failing.calls().len();
        let run = executor.retry(&plan, id()).await.unwrap();
        let Outcome::Completed(done) = run.outcome().await.unwrap() else { panic!("it completes") };
        assert!(done.value.starts_with("release: 6 lines"), "{}", done.value);
        let again = failing.calls().split_off(called);
        let expected =
            ["issues[cli]/write_patch", "issues[docs]/write_patch", "issues[release]/write_patch", "report"];
        assert_eq!(again, expected);
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending() {
        assert_eq!(drive(script).never_rehearsed(|plan| plan).await, [""; 0]);
    }
}
