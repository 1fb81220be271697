//! Commands: their options and defaults, what is built from inputs, and every mistake.

use super::{Expected, mistakes};
use crate::{
    build::PlanErrorKind::*,
    graph::{Command, CommandEnd, CommandLine, Kind, Redaction, Stdin},
    prelude::*,
};
use hermes_core::value::Val;
use serde_json::json;

fn command_of<I, O>(plan: &Plan<I, O>, name: &str) -> Command {
    let node = plan.graph().nodes().find(|node| node.name == name).unwrap();
    let Kind::Command(command) = &node.kind else { panic!("{name} is no command") };
    (**command).clone()
}

fn only(kind: PlanErrorKind, at: &str, says: &str, errors: &PlanErrors) {
    Expected { source: include_str!("commands.rs"), kind, at, also: None, says }.is_the_only_one(errors);
}

#[test]
fn a_command_has_its_options_and_defaults() -> Result<(), PlanErrors> {
    let plan = Plan::new("commands", |input: Step<String>| {
        let plain = command("plain").argv(["git", "log"]).stdout();
        let full = command("full")
            .key("k")
            .input("plain", plain)
            .shell("git log | wc -l")
            .stdin("text")
            .env("MODE", "fast")
            .pass_env("TOKEN")
            .dir("docs/./guide")
            .files(["a.md"])
            .cap(10)
            .redact("secret")
            .redact_env("TOKEN")
            .timeout(Duration::from_mins(1))
            .effect(Idempotent)
            .version(2)
            .after(input)
            .json::<u8>();
        join((full, command("last").argv(vec!["ls".to_owned()]).output()))
    })?;
    let simple = command_of(&plan, "plain");
    assert!(matches!(simple.line, CommandLine::Argv(argv) if argv == ["git", "log"]));
    assert!(
        matches!(simple.stdin, Stdin::Empty) && simple.environment.is_empty() && simple.redactions.is_empty()
    );
    assert_eq!((simple.effect, simple.output, simple.cap), (Unsafe, CommandEnd::Stdout, 8 << 20));
    assert_eq!((simple.directory.as_str(), simple.timeout, simple.version), ("", None, None));
    let full = command_of(&plan, "full[k]");
    assert!(matches!(full.line, CommandLine::Shell(script) if script == "git log | wc -l"));
    assert!(matches!(full.stdin, Stdin::Text(text) if text == "text"));
    assert_eq!(full.environment, [("MODE".to_owned(), "fast".to_owned())]);
    assert_eq!((full.inherited, full.files), (vec!["TOKEN".to_owned()], vec!["a.md".to_owned()]));
    let secrets = [Redaction::Text("secret".to_owned()), Redaction::Variable("TOKEN".to_owned())];
    assert_eq!((full.redactions.as_slice(), full.cap), (secrets.as_slice(), 10));
    assert!(!format!("{secrets:?}").contains("secret"));
    assert_eq!((full.directory.as_str(), full.output), ("docs/./guide", CommandEnd::Json));
    assert_eq!((full.effect, full.version), (Idempotent, Some(2)));
    assert_eq!(command_of(&plan, "last").output, CommandEnd::Output);
    Ok(())
}

#[test]
fn arguments_and_standard_input_are_built_from_the_inputs_so_far() -> Result<(), PlanErrors> {
    let plan = Plan::new("built", |input: Step<String>| {
        command("c")
            .input("text", input)
            .stdin_with(|text| format!("in {text}"))
            .input_value("count", &3_u8)
            .argv_with(|text, count| ["echo".to_owned(), format!("{text} {count}")])
            .stdout()
    })?;
    let command = command_of(&plan, "c");
    let values = [Val::from_json(json!("tea")), Val::from_json(json!(3))];
    let CommandLine::Built { build, .. } = &command.line else { panic!() };
    assert_eq!(build(&values), Ok(vec!["echo".to_owned(), "tea 3".to_owned()]));
    let Stdin::Built { build, at } = &command.stdin else { panic!() };
    assert_eq!(build(&values), Ok("in tea".to_owned()));
    let failure = build(&[Val::from_json(json!(1))]).unwrap_err();
    assert_eq!((failure.class, failure.location), (FailureClass::Undecodable, Some(at.to_string())));
    Ok(())
}

#[test]
fn a_command_that_starts_nothing() {
    let errors = mistakes(|_| command("c").argv(Vec::<String>::new()).stdout()); // no program
    only(NoProgram, "no program", "`c` starts nothing", &errors);
    let errors = mistakes(|_| command("c").argv([" ", "-l"]).stdout()); // blank program
    only(NoProgram, "blank program", "begins with no program", &errors);
    let errors = mistakes(|_| command("c").shell("\n").stdout()); // blank script
    only(NoProgram, "blank script", "the script is blank", &errors);
}

#[test]
fn a_directory_or_file_that_leaves_the_directory() {
    for outside in ["/etc", "..", "a/../b", ""] {
        let errors = mistakes(|_| command("c").argv(["ls"]).dir(outside).stdout()); // directory
        only(InvalidPath, "directory", "the directory of `c`", &errors);
        let errors = mistakes(|_| command("c").argv(["ls"]).files([outside]).stdout()); // file
        only(InvalidPath, "file", "a file of `c`", &errors);
    }
}

#[test]
fn a_variable_that_no_environment_can_have() {
    for name in ["", "A=B", "A\0"] {
        let errors = mistakes(|_| command("c").argv(["ls"]).env(name, "x").stdout()); // set
        only(InvalidVariable, "set", "cannot name a variable", &errors);
        let errors = mistakes(|_| command("c").argv(["ls"]).pass_env(name).stdout()); // passed
        only(InvalidVariable, "passed", "cannot name a variable", &errors);
        let errors = mistakes(|_| command("c").argv(["ls"]).redact_env(name).stdout()); // redacted
        only(InvalidVariable, "redacted", "cannot name a variable", &errors);
    }
}

#[test]
fn a_cap_of_nothing_and_a_secret_of_nothing() {
    let errors = mistakes(|_| command("c").argv(["ls"]).cap(0).stdout()); // cap
    only(ZeroCap, "cap", "the cap of `c` is 0 bytes", &errors);
    let errors = mistakes(|_| command("c").argv(["ls"]).redact(" ").stdout()); // secret
    only(BlankOption, "secret", "a text to redact of `c` is blank", &errors);
}

#[test]
fn a_command_that_was_begun_and_not_ended() {
    let errors = mistakes(|input| {
        drop(command("c").argv(["ls"])); // begun
        input
    });
    only(Unfinished, "begun", "`command(\"c\", ..)`", &errors);
}
