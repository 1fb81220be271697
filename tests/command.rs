//! Commands, with real processes: what they are given, what becomes of what they write, that nothing of them outlives a
//! call, and what replay makes of them.

#[path = "command/replay.rs"]
mod replay;
mod support;

use hermes_workflows::{
    core::{fold::CellStatus, ids::Seq, journal::Event},
    executor::{
        carriers,
        ledger::{CrashBackend, Loss, RedbStore},
    },
    prelude::*,
};
use std::{fs, path::PathBuf, sync::Arc};
use support::*;

/// An executor over the store's file, whose commands work in the store's directory.
fn executor(store: &Store) -> Executor {
    Executor::builder().ledger(store.open()).base_dir(store.directory()).build()
}

/// One command, from nothing.
fn plan<O: Data>(build: impl FnOnce(Step<String>) -> Step<O>) -> Plan<String, O> {
    Plan::new("command", build).unwrap()
}

fn input() -> String {
    "an input".to_owned()
}

/// What the command yields, in a run of its own.
async fn value<O: Data + std::fmt::Debug>(build: impl FnOnce(Step<String>) -> Step<O>) -> O {
    let store = Store::new();
    start(&executor(&store), &plan(build), input()).await.completed().0
}

/// How it fails, in a run of its own.
async fn failure<O: Data + std::fmt::Debug>(build: impl FnOnce(Step<String>) -> Step<O>) -> Failure {
    let store = Store::new();
    let failure = start(&executor(&store), &plan(build), input()).await.failed();
    assert_eq!(failure.path, "c", "{failure}");
    failure
}

/// All that the journal says of calls that began: the cookies of their processes.
fn cookies(executor: &Executor) -> Vec<String> {
    let run = executor.ledger().find(&run_id()).unwrap().unwrap();
    let events = (1..=executor.ledger().records(run).unwrap())
        .map(|seq| executor.ledger().record(run, Seq(seq)).unwrap().event().unwrap());
    let cookie = |event| match event {
        Event::Started(started) => Some(started.cookie),
        _ => None,
    };
    events.filter_map(cookie).collect()
}

/// A named pipe in the directory that commands work in: how one says that it has come to a point.
struct Signpost(PathBuf);

impl Signpost {
    fn new(store: &Store) -> Self {
        let path = store.directory().join("post");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        Self(path)
    }

    /// Waits for what the command writes into it.
    async fn reached(&self) -> String {
        let path = self.0.clone();
        tokio::task::spawn_blocking(move || fs::read_to_string(path).unwrap()).await.unwrap()
    }
}

#[tokio::test]
async fn output_is_a_value_whatever_the_exit_code() {
    for code in [0, 3] {
        let script = format!("echo out; echo err >&2; exit {code}");
        let output = value(|_| command("c").shell(script).output()).await;
        let expected = CommandOutput {
            code: Some(code),
            stdout: "out\n".to_owned(),
            stderr: "err\n".to_owned(),
            ..CommandOutput::default()
        };
        assert_eq!((&output, output.success()), (&expected, code == 0));
    }
    let killed = value(|_| command("c").shell("kill -9 $$").output()).await;
    assert_eq!((killed.code, killed.killed_by, killed.success()), (None, Some(9), false));
    assert_eq!(killed.how(), "was ended by kill -9");
}

#[tokio::test]
async fn a_branch_chooses_by_its_success() {
    let chosen = value(|_| {
        let check = command("c").shell("echo it is broken >&2; exit 1").effect(Pure).output();
        branch("fine", check)
            .when("yes", CommandOutput::success, |_| hermes_workflows::prelude::value("fine".to_owned()))
            .otherwise(|check| check.get(|check| &check.stderr))
    })
    .await;
    assert_eq!(chosen, "it is broken\n");
}

#[tokio::test]
async fn stdout_is_taken_byte_for_byte_and_json_is_typed() {
    assert_eq!(value(|_| command("c").argv(["printf", " a\\n\\n"]).stdout()).await, " a\n\n");
    let numbers: Vec<u8> = value(|_| command("c").argv(["echo", "[1, 2]"]).json()).await;
    assert_eq!(numbers, [1, 2]);
}

#[tokio::test]
async fn arguments_are_made_from_inputs_and_never_pass_through_a_shell() {
    let hostile = "; echo pwned; $(id) `id` \"*\" 'x' > file\n&& ~".to_owned();
    let given = hostile.clone();
    let said = value(|text| {
        command("c")
            .input("text", text)
            .input_value("hostile", &given)
            .argv_with(|text, hostile| {
                vec!["printf".to_owned(), "%s|%s".to_owned(), text.clone(), hostile.clone()]
            })
            .stdout()
    })
    .await;
    assert_eq!(said, format!("an input|{hostile}"));
}

#[tokio::test]
async fn a_shell_reads_a_script_only_where_one_is_asked_for() {
    assert_eq!(value(|_| command("c").shell("printf '%s' a | tr a b").stdout()).await, "b");
    let piped = value(|_| command("c").argv(["printf", "%s", "a | tr a b"]).stdout()).await;
    assert_eq!(piped, "a | tr a b");
}

#[tokio::test]
async fn standard_input_is_what_is_given_and_otherwise_empty() {
    assert_eq!(value(|_| command("c").argv(["cat"]).stdin("a\nb").stdout()).await, "a\nb");
    assert_eq!(value(|_| command("c").argv(["cat"]).stdout()).await, "");
    let long = "long ".repeat(1 << 20);
    let said = value(|text| {
        command("c")
            .input("text", text)
            .input_value("long", &long)
            .argv(["wc", "-c"])
            .stdin_with(|text, long| format!("{text}{long}"))
            .stdout()
    })
    .await;
    assert_eq!(said.trim().parse(), Ok(input().len() + long.len()));
}

#[tokio::test]
async fn more_than_a_record_holds_is_refused_and_output_that_is_too_much_as_json_too() {
    let failed = failure(|_| command("c").argv(["cat"]).stdin("x".repeat((10 << 20) + 1)).stdout()).await;
    assert_eq!(failed.class, FailureClass::TooLarge);
    assert!(failed.message.contains("10485760 is the most"), "{failed}");
    // A zero byte is six in JSON.
    let zeros = ["head", "-c", "12000000", "/dev/zero"];
    let failed = failure(|_| command("c").argv(zeros).cap(12_000_000).stdout()).await;
    assert_eq!(failed.class, FailureClass::TooLarge);
    assert!(failed.message.contains("72000002 bytes as JSON"), "{failed}");
}

#[tokio::test]
async fn the_environment_is_a_short_list_and_what_is_declared() {
    // Cargo gives tests many variables, and none of them goes along unasked.
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some() && std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let env = value(|_| {
        command("c").argv(["env"]).env("MODE", "fast").pass_env("CARGO_PKG_NAME").pass_env("NOT_SET").stdout()
    })
    .await;
    let mut names: Vec<_> = env.lines().map(|line| line.split('=').next().unwrap()).collect();
    let passed = ["PATH", "HOME", "LANG", "TMPDIR", "TERM", "USER"];
    names.retain(|name| !passed.contains(name) && !name.starts_with("LC_"));
    names.sort_unstable();
    assert_eq!(names, ["CARGO_PKG_NAME", "HERMES_CALL_COOKIE", "HERMES_IDEMPOTENCY_KEY", "MODE"]);
    assert!(env.contains("MODE=fast\n") && env.contains("CARGO_PKG_NAME=hermes-workflows\n"), "{env}");
}

#[tokio::test]
async fn what_is_over_the_cap_is_left_out_of_output_and_fails_the_others() {
    let flood = "head -c 100000 /dev/zero | tr '\\0' x; printf end; printf err >&2";
    let output = value(|_| command("c").shell(flood).cap(1_000).output()).await;
    assert_eq!(output.stdout_left_out, 100_003 - 1_000);
    assert!(output.stdout.starts_with("xxx") && output.stdout.ends_with("xend"), "{}", output.stdout);
    assert!(output.stdout.contains("\n… 99003 bytes left out …\n"), "{}", output.stdout);
    assert_eq!((output.stderr.as_str(), output.stderr_left_out), ("err", 0));

    let failed = failure(|_| command("c").shell(flood).cap(1_000).stdout()).await;
    assert_eq!(failed.class, FailureClass::TooLarge);
    assert!(failed.message.contains("more than 1000 bytes") && failed.message.contains(".cap("), "{failed}");
    // A flood without an end is ended.
    failure(|_| command("c").argv(["cat", "/dev/zero"]).cap(10).json::<u8>()).await;
    // Exactly the cap is not too much.
    assert_eq!(value(|_| command("c").argv(["printf", "abc"]).cap(3).stdout()).await, "abc");
}

#[tokio::test]
async fn secrets_are_in_no_byte_that_is_stored_or_handed_on() {
    const SECRET: &str = "hunter2-hunter2";
    // A variable that this test has, and that is nowhere else in the ledger.
    let own = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let store = Store::new();
    let plan = plan(|_| {
        let told = command("told")
            .shell(format!("cat; printf ' {SECRET} %s' \"$TOKEN $CARGO_MANIFEST_DIR\"; echo {SECRET} >&2"))
            .stdin(format!("in {SECRET}"))
            .env("TOKEN", SECRET)
            .pass_env("CARGO_MANIFEST_DIR")
            .redact(SECRET)
            .redact_env("CARGO_MANIFEST_DIR")
            .output();
        let listed = command("listed").argv(["printf", "%s", SECRET]).redact(SECRET).stdout();
        let failed = parallel("failed", ["exits", "is_missing"], |how| {
            let secret = format!("/no/{SECRET}");
            let argv = if how == "exits" { vec!["ls".to_owned(), secret] } else { vec![secret] };
            command("fails").argv(argv).redact(SECRET).stdout()
        });
        join((told, listed, failed.results()))
            .map(|(told, listed, failed)| format!("{}|{}|{listed}|{failed:?}", told.stdout, told.stderr))
    });
    let executor = executor(&store);
    let (value, _) = start(&executor, &plan, input()).await.completed();
    assert!(
        value.starts_with("in [redacted] [redacted] [redacted] [redacted]|[redacted]\n|[redacted]|"),
        "{value}"
    );
    assert!(value.contains("/no/[redacted]") && !value.contains(SECRET), "{value}");
    drop(executor);
    let bytes = fs::read(store.path()).unwrap();
    let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("in [redacted]") && holds("No such file"), "what was given and written is there");
    assert!(!holds(SECRET) && !holds(&own), "and no secret");
    // What is compared is redacted too.
    let (_, counts) = resume(&self::executor(&store), &plan).await.completed();
    assert_eq!(counts.reused, 4);
}

#[tokio::test]
async fn another_exit_code_fails_with_the_end_of_standard_error() {
    let script = "echo part; echo first >&2; echo 'no such branch' >&2; exit 3";
    let failed = failure(|_| command("c").shell(script).stdout()).await;
    assert_eq!(failed.class, FailureClass::CommandFailed);
    assert!(failed.message.contains("exited with 3"), "{failed}");
    assert!(failed.message.ends_with("first\nno such branch"), "{failed}");
    assert!(failed.raw.unwrap().contains("part"));
    let failed = failure(|_| command("c").argv(["sh", "-c", "kill -9 $$"]).json::<u8>()).await;
    assert_eq!(failed.class, FailureClass::CommandFailed);
    assert!(failed.message.contains("`sh` (step `c`) was ended by kill -9"), "{failed}");
}

#[tokio::test]
async fn what_does_not_fit_the_type_fails() {
    let failed = failure(|_| command("c").argv(["echo", "{\"a\": 1}"]).json::<Vec<u8>>()).await;
    assert_eq!((failed.class, failed.raw.as_deref()), (FailureClass::InvalidOutput, Some("{\"a\": 1}\n")));
    assert!(failed.message.contains("`echo` (step `c`) wrote something else"), "{failed}");
    let failed = failure(|_| command("c").argv(["echo", "half {"]).json::<u8>()).await;
    assert!(failed.message.contains("is not JSON"), "{failed}");
}

#[tokio::test]
async fn what_is_not_utf_8_fails_and_is_never_replaced() {
    let bytes = ["printf", "a\\377b"];
    for failed in [
        failure(|_| command("c").argv(bytes).stdout()).await,
        failure(|_| command("c").argv(bytes).json::<String>()).await,
        failure(|_| command("c").argv(bytes).output()).await,
    ] {
        assert_eq!(failed.class, FailureClass::InvalidOutput);
        assert!(failed.message.contains("not UTF-8 to its standard output, from byte 1 on"), "{failed}");
    }
    let failed = failure(|_| command("c").shell("printf '\\377' >&2").output()).await;
    assert!(failed.message.contains("standard error"), "{failed}");
}

#[tokio::test]
async fn a_missing_program_never_began_and_a_retry_asks_nobody() {
    for program in ["hermes-has-no-such-program", "./no/such/program"] {
        let failed = failure(|_| command("c").argv([program]).output()).await;
        assert_eq!(failed.class, FailureClass::NotBegun);
        assert!(failed.message.contains("there is no such program; install it"), "{failed}");
    }
    let failed = failure(|_| command("c").argv(["pwd"]).dir("not/there").stdout()).await;
    assert_eq!(failed.class, FailureClass::NotBegun);
    assert!(
        failed.message.contains("working directory") && failed.message.contains("is not there"),
        "{failed}"
    );
    let failed = failure(|_| command("c").argv_with(Vec::<String>::new).stdout()).await;
    assert_eq!(failed.class, FailureClass::NotBegun);
    assert!(failed.location.unwrap().contains("tests/command.rs"), "it says where");

    // It is unsafe, and yet nobody is asked: it did nothing.
    let store = Store::new();
    let plan = plan(|_| command("c").argv(["./later"]).stdout());
    start(&executor(&store), &plan, input()).await.failed();
    let make = |script: &str| {
        // Not written by this process: one that another test forks at that moment would hold it open.
        let made =
            std::process::Command::new("sh").args(["-c", script]).current_dir(store.directory()).status();
        assert!(made.unwrap().success());
    };
    make("printf '#!/bin/sh\\necho here\\n' > later");
    let failed = retry(&executor(&store), &plan).await.failed();
    assert!(failed.message.contains("make it executable"), "{failed}");
    make("chmod +x later");
    assert_eq!(retry(&executor(&store), &plan).await.completed().0, "here\n");
}

#[tokio::test]
async fn it_works_in_the_executors_directory_or_below_it() {
    let store = Store::new();
    fs::create_dir(store.directory().join("below")).unwrap();
    fs::write(store.directory().join("below/script"), "pwd").unwrap();
    let plan = plan(|_| {
        let here = command("here").argv(["pwd"]).stdout();
        join((here, command("below").argv(["sh", "script"]).dir("below").stdout()))
    });
    let ((here, below), _) = start(&executor(&store), &plan, input()).await.completed();
    let real = store.directory().canonicalize().unwrap();
    assert_eq!((here.trim(), below.trim()), (real.to_str().unwrap(), real.join("below").to_str().unwrap()));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_time_limit_ends_its_grandchildren_too() {
    let store = Store::new();
    let plan = plan(|_| {
        let script = "setsid sh -c 'trap \"\" INT TERM; sleep 1000' & sleep 1000";
        command("c").shell(script).timeout(Duration::from_millis(200)).stdout()
    });
    let executor = executor(&store);
    let failed = start(&executor, &plan, input()).await.failed();
    assert_eq!(failed.class, FailureClass::TimedOut);
    let cookies = cookies(&executor);
    assert!(cookies.len() == 1 && carriers(&cookies[0]).is_empty());
    // It is unsafe and may have acted: a person says whether it may run again.
    let needs = retry(&executor, &plan).await.parked();
    assert!(
        matches!(&needs[0].kind, NeedKind::InDoubt { why, .. } if why.contains("may have acted")),
        "{needs:?}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn cancelling_the_run_ends_it_and_all_below_it() {
    let store = Store::new();
    let post = Signpost::new(&store);
    let plan = plan(|_| command("c").shell("setsid sh -c 'echo > post; sleep 1000' & wait").stdout());
    let executor = executor(&store);
    let run = executor.start(&plan, input()).id("r").await.unwrap();
    post.reached().await;
    executor.cancel(&run_id(), Actor::default()).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled(_)));
    let cookies = cookies(&executor);
    assert!(cookies.len() == 1 && carriers(&cookies[0]).is_empty());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_finished_command_leaves_behind_is_ended() {
    let store = Store::new();
    let plan =
        plan(|_| command("c").shell("setsid sleep 1000 > /dev/null 2>&1 < /dev/null & echo hi").stdout());
    let executor = executor(&store);
    assert_eq!(start(&executor, &plan, input()).await.completed().0, "hi\n");
    assert!(carriers(&cookies(&executor)[0]).is_empty());
}

#[tokio::test]
async fn its_beginning_is_durable_before_it_begins() {
    let store = Store::new();
    let post = Signpost::new(&store);
    let disk = CrashBackend::new();
    let ledger = Ledger::on(Arc::new(RedbStore::on_backend(disk.clone()).unwrap()));
    let executor = Executor::builder().ledger(ledger).base_dir(store.directory()).build();
    let plan = plan(|_| command("c").shell("echo > post; sleep 1000").effect(Pure).stdout());
    let _run = executor.start(&plan, input()).id("r").await.unwrap();
    post.reached().await;
    // It runs: had the power gone, the ledger would know.
    let left = CrashBackend::from_image(disk.image_at(disk.syncs(), Loss::All));
    let left = Ledger::on(Arc::new(RedbStore::on_backend(left).unwrap()));
    let state = left.state(left.find(&run_id()).unwrap().unwrap()).unwrap();
    let begun: Vec<_> = state.begun().map(|(at, cell)| (state.path(at).to_string(), cell.status)).collect();
    assert_eq!(begun, [("c".to_owned(), CellStatus::Started)]);
    executor.cancel(&run_id(), Actor::default()).await.unwrap();
}
