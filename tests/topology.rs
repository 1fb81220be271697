//! The drawings of small plans, as a user sees them: the built example, in a process of its own.

mod support;

use std::{
    io::Read,
    process::{Command, Output, Stdio},
};
use support::example;

fn topology(arguments: &[&str]) -> Output {
    Command::new(example("topology")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn it_draws_all_plans_or_those_asked_for_in_four_forms() {
    let all = topology(&[]);
    assert!(all.status.success());
    let names = topology(&["--list"]);
    for name in text(&names.stdout).lines() {
        assert!(text(&all.stdout).contains(&format!("plan {name}(")), "{name} is not drawn");
    }
    let two = topology(&["after", "review"]);
    assert_eq!(text(&two.stdout).lines().filter(|line| line.starts_with("plan ")).count(), 2);
    assert!(text(&topology(&["--mermaid", "after"]).stdout).contains("flowchart TD"));
    assert!(text(&topology(&["--dot", "after"]).stdout).starts_with("digraph \"after\""));
    let json = topology(&["--json", "after", "review"]);
    let plans: Vec<_> = text(&json.stdout).lines().collect();
    assert!(plans.len() == 2 && plans.iter().all(|plan| plan.contains("\"format\":1")), "{plans:?}");
}

#[test]
fn an_unknown_plan_is_refused_with_the_names_there_are() {
    let unknown = topology(&["reviews"]);
    assert_eq!(unknown.status.code(), Some(2));
    let said = text(&unknown.stderr);
    assert!(said.contains("no plan `reviews`") && said.contains("review, decide"), "{said}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child =
        Command::new(example("topology")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success() && said.is_empty(), "{said}");
}
