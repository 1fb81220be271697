//! `Subprocess` with real children: what is sent, what an answer is worth, and that nothing of a call outlives it.
#![expect(clippy::unwrap_used, reason = "an unwrap in a test is an assertion")]

mod support;

use hermes_executor::{
    AgentReply, Answer, CallWatch, Executor, Ledger, Outcome, Runner, RunnerError, RunnerErrorKind, carriers,
};
use hermes_plan::prelude::*;
use hermes_runners::Subprocess;
use std::time::Duration;
use support::*;
use tokio_util::sync::CancellationToken;

const HI: &str = r#"printf '%s' '{"protocol":1,"ok":{"text":"hi"}}'"#;

fn shell(script: &str) -> Subprocess {
    Subprocess::new("sh").args(["-c", script])
}

fn unwatched() -> CallWatch {
    CallWatch::new(CancellationToken::new())
}

async fn result(runner: Subprocess) -> Result<AgentReply, RunnerError> {
    let captured = text_call("some input").await;
    let cookie = captured.call.cookie.clone();
    let result = runner.run(captured.call.clone(), unwatched()).await;
    assert!(carriers(&cookie).is_empty(), "nothing of the call may live on");
    result
}

async fn error(script: &str) -> RunnerError {
    result(shell(script)).await.unwrap_err()
}

fn hi() -> Answer {
    Answer::Text("hi".to_owned())
}

#[tokio::test]
async fn the_request_holds_everything_and_the_environment_nothing_more() {
    let captured = json_call("grün \"and\" more").await;
    let kept = tempfile::tempdir().unwrap();
    let script = format!(
        "cat > \"$KEPT/request\"; env > \"$KEPT/env\"; pwd > \"$KEPT/pwd\"; {}",
        r#"printf '%s' '{"protocol":1,"ok":{"json":7},"model":"m-1"}'"#
    );
    let runner = shell(&script).env("KEPT", kept.path());
    let reply = runner.run(captured.call.clone(), unwatched()).await.unwrap();
    assert_eq!((reply.answer, reply.model.as_deref()), (Answer::Json(7.into()), Some("m-1")));

    let read = |name: &str| std::fs::read_to_string(kept.path().join(name)).unwrap();
    let request: serde_json::Value = serde_json::from_str(&read("request")).unwrap();
    let call = &captured.call;
    let expected = serde_json::json!({
        "protocol": 1, "run": "r", "path": "a",
        "text": "Go.\n\ntext:\n```json\n\"grün \\\"and\\\" more\"\n```",
        "inputs": [{"name": "text", "value": "grün \"and\" more"}],
        "expect": {"form": "json", "schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "uint32", "type": "integer", "format": "uint32", "minimum": 0,
        }},
        "tools": ["t"], "skills": [], "model": "m", "variant": null,
        "idempotency_key": call.idempotency_key.to_string(), "attempt": 1,
        "workspace": read("pwd").trim_end(),
    });
    assert_eq!(request, expected);

    let mut names: Vec<_> =
        read("env").lines().map(|line| line.split('=').next().unwrap().to_owned()).collect();
    names.retain(|name| !name.starts_with("LC_"));
    // `PWD`, `OLDPWD`, `SHLVL` and `_` are the shell's own.
    let known = ["PATH", "HOME", "LANG", "TMPDIR", "TERM", "USER", "PWD", "OLDPWD", "SHLVL", "_"];
    names.retain(|name| !known.contains(&name.as_str()));
    names.sort();
    assert_eq!(names, ["HERMES_CALL_COOKIE", "KEPT"]);
    assert!(read("env").contains(&format!("HERMES_CALL_COOKIE={}", call.cookie)));
}

#[tokio::test]
async fn text_is_asked_for_as_text() {
    let script = r#"grep -q '"expect":{"form":"text"}' && printf '%s' '{"protocol":1,"ok":{"text":"hi"}}'"#;
    assert_eq!(result(shell(script)).await.unwrap().answer, hi());
}

#[tokio::test]
async fn an_error_reply_keeps_its_kind_whatever_the_exit_code() {
    for code in [0, 1] {
        let script = format!(
            r#"printf '%s' '{{"protocol":1,"error":{{"kind":"rate_limited","message":"after noon"}}}}'; exit {code}"#
        );
        let error = error(&script).await;
        assert_eq!(error.kind, RunnerErrorKind::RateLimited);
        assert!(error.message.contains("after noon") && error.message.contains("step `a`"), "{error}");
    }
}

#[tokio::test]
async fn another_exit_code_is_a_failure_with_the_end_of_standard_error() {
    let error = error(&format!("{HI}; echo first >&2; echo 'no such model' >&2; exit 3")).await;
    assert_eq!(error.kind, RunnerErrorKind::Failed, "an answer does not count then");
    assert!(
        error.message.contains("exited with 3") && error.message.ends_with("first\nno such model"),
        "{error}"
    );
    assert!(error.raw.unwrap().contains("\"hi\""));
    let error = result(shell("kill -9 $$")).await.unwrap_err();
    assert!(error.message.contains("kill -9"), "{error}");
}

#[tokio::test]
async fn half_a_reply_or_none_is_cut_off() {
    let half = error(r#"printf '%s' '{"protocol":1,"ok":{"te'"#).await;
    assert_eq!(half.kind, RunnerErrorKind::CutOff);
    assert_eq!(half.raw.as_deref(), Some(r#"{"protocol":1,"ok":{"te"#));
    let none = error(":").await;
    assert_eq!(none.kind, RunnerErrorKind::CutOff);
    assert!(none.message.contains("wrote no reply"), "{none}");
}

#[tokio::test]
async fn what_is_not_utf_8_is_invalid_output() {
    let error = error(r"printf '\377\376\n'").await;
    assert_eq!(error.kind, RunnerErrorKind::InvalidOutput);
    assert!(error.message.contains("not UTF-8"), "{error}");
}

#[tokio::test]
async fn a_missing_program_is_not_begun_and_says_what_to_do() {
    for program in ["hermes-has-no-such-program", "./no/such/program"] {
        let error = result(Subprocess::new(program)).await.unwrap_err();
        assert_eq!(error.kind, RunnerErrorKind::NotBegun);
        assert!(error.message.contains("no such program; install it"), "{error}");
        assert!(error.message.contains("step `a`"), "{error}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_executable_is_not_begun() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = result(Subprocess::new(file.path())).await.unwrap_err();
    assert_eq!(error.kind, RunnerErrorKind::NotBegun);
    assert!(error.message.contains("make it executable"), "{error}");
}

#[tokio::test]
async fn a_flood_on_standard_output_is_ended() {
    let error = error("exec cat /dev/zero").await;
    assert_eq!(error.kind, RunnerErrorKind::TooLarge);
    assert!(error.message.contains("67108864"), "{error}");
    assert!(error.raw.unwrap().len() < 200 << 10);
}

#[tokio::test]
async fn a_flood_on_standard_error_is_taken_and_forgotten() {
    let reply = result(shell(&format!("head -c 30000000 /dev/zero >&2; {HI}"))).await.unwrap();
    assert_eq!(reply.answer, hi());
    let error =
        error("head -c 30000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo the end >&2; exit 1").await;
    assert!(error.message.ends_with("the end"), "{}", error.message.len());
    assert!(error.raw.unwrap().len() < 200 << 10);
}

#[tokio::test]
async fn a_program_need_not_read_its_input() {
    let captured = text_call(&"x".repeat(4 << 20)).await;
    for script in [format!("exec 0<&-; {HI}"), HI.to_owned(), format!("head -c 10 > /dev/null; {HI}")] {
        let reply = shell(&script).run(captured.call.clone(), unwatched()).await.unwrap();
        assert_eq!(reply.answer, hi(), "{script}");
    }
}

#[tokio::test]
async fn a_long_input_and_a_long_answer_pass_at_the_same_time() {
    let captured = text_call(&"x".repeat(8 << 20)).await;
    // It answers while it still reads: a runner that first writes everything would hang.
    let script = r#"printf '%s' '{"protocol":1,"ok":{"text":"'; tr -cd x; printf '%s' '"}}'"#;
    let reply = shell(script).run(captured.call.clone(), unwatched()).await.unwrap();
    let Answer::Text(text) = reply.answer else { panic!() };
    assert!(text.len() > 16 << 20, "it is in the text and in the inputs: {}", text.len());
}

#[tokio::test]
async fn its_lines_on_standard_error_are_live() {
    let captured = text_call("x").await;
    let watch = unwatched();
    shell(&format!("echo one >&2; echo two >&2; {HI}"))
        .run(captured.call.clone(), watch.clone())
        .await
        .unwrap();
    assert_eq!(watch.last_line(), "two");
}

/// The program has come to the signpost; then the call is cancelled, and ends.
async fn cancelled_at(post: &Signpost, runner: Subprocess) -> RunnerError {
    let captured = text_call("x").await;
    let cancel = CancellationToken::new();
    let call = runner.run(captured.call.clone(), CallWatch::new(cancel.clone()));
    let (result, ()) = tokio::join!(call, async {
        post.reached().await;
        cancel.cancel();
    });
    assert!(carriers(&captured.call.cookie).is_empty(), "nothing of the call may live on");
    result.unwrap_err()
}

#[tokio::test]
async fn a_cancelled_program_may_end_in_order() {
    let post = Signpost::new();
    let script = "trap 'echo saved > \"$DIR/saved\"; exit 0' INT; sleep 1000 & echo > \"$POST\"; wait";
    let runner =
        shell(script).env("POST", post.path()).env("DIR", post.directory()).grace(Duration::from_secs(60));
    assert_eq!(cancelled_at(&post, runner).await.kind, RunnerErrorKind::Cancelled);
    assert_eq!(std::fs::read_to_string(post.directory().join("saved")).unwrap(), "saved\n");
}

#[tokio::test(start_paused = true)]
async fn one_that_ignores_its_end_is_killed() {
    let post = Signpost::new();
    let runner = shell("trap '' INT TERM; echo > \"$POST\"; exec sleep 1000").env("POST", post.path());
    assert_eq!(cancelled_at(&post, runner).await.kind, RunnerErrorKind::Cancelled);
}

// Not on a paused clock: that stands still while the runtime is busy with the flood.
#[tokio::test]
async fn one_that_floods_while_it_ignores_its_end_is_killed() {
    let post = Signpost::new();
    let runner = shell("trap '' INT TERM; echo > \"$POST\"; exec yes >&2").env("POST", post.path());
    let runner = runner.grace(Duration::from_millis(20));
    assert_eq!(cancelled_at(&post, runner).await.kind, RunnerErrorKind::Cancelled);
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn a_descendant_in_a_session_of_its_own_is_found_and_killed() {
    let post = Signpost::new();
    let script = "setsid sh -c 'trap \"\" INT TERM HUP; echo > \"$POST\"; exec sleep 1000' & wait";
    let runner = shell(script).env("POST", post.path());
    assert_eq!(cancelled_at(&post, runner).await.kind, RunnerErrorKind::Cancelled);
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn what_a_finished_program_leaves_behind_is_ended() {
    // The first holds the outputs open; the second has let go of everything.
    for left in ["sleep 1000 &", "setsid sleep 1000 > /dev/null 2>&1 < /dev/null &"] {
        let reply = result(shell(&format!("{left} {HI}"))).await.unwrap();
        assert_eq!(reply.answer, hi());
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_the_call_kills_all_of_it() {
    let post = Signpost::new();
    let captured = text_call("x").await;
    let script = "trap '' INT TERM; setsid sh -c 'echo > \"$POST\"; exec sleep 1000' & wait";
    let runner = shell(script).env("POST", post.path());
    tokio::select! {
        result = runner.run(captured.call.clone(), unwatched()) => panic!("{result:?}"),
        _ = post.reached() => {}
    }
    assert!(carriers(&captured.call.cookie).is_empty());
}

#[tokio::test]
async fn a_call_cancelled_before_it_begins_starts_nothing() {
    let captured = text_call("x").await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let runner = Subprocess::new("hermes-has-no-such-program");
    let error = runner.run(captured.call.clone(), CallWatch::new(cancel)).await.unwrap_err();
    assert_eq!(error.kind, RunnerErrorKind::Cancelled);
}

#[tokio::test]
async fn a_program_that_hangs_past_its_timeout_fails_the_step_and_is_gone() {
    let plan = Plan::new("p", |text: Step<String>| {
        agent("a").input("text", text).prompt("Go.").timeout(Duration::from_millis(200)).text()
    })
    .unwrap();
    let kept = tempfile::tempdir().unwrap();
    let runner = shell("trap '' INT; echo $$ > \"$KEPT/pid\"; exec sleep 1000").env("KEPT", kept.path());
    let runner = runner.grace(Duration::from_millis(20));
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    let run = executor.start(&plan, "x".to_owned()).id("r").await.unwrap();
    let Outcome::Failed(failure) = run.outcome().await.unwrap() else { panic!("it must fail") };
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::TimedOut, "a"));
    if let Ok(pid) = std::fs::read_to_string(kept.path().join("pid")) {
        assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
    }
}

#[test]
fn its_debug_form_shows_no_environment() {
    let runner = Subprocess::new("/bin/house-writer").arg("-q").env("API_KEY", "hunter2");
    let shown = format!("{runner:?}");
    assert!(shown.contains("house-writer") && shown.contains("-q") && !shown.contains("hunter2"), "{shown}");
    assert_eq!(runner.identity().name, "house-writer");
}

#[tokio::test]
async fn a_refused_answer_is_in_the_next_request_and_in_no_first_one() {
    let kept = tempfile::tempdir().unwrap();
    let script = r#"request=$(cat); n=$(ls "$KEPT" | wc -l); printf '%s' "$request" > "$KEPT/$((n + 1))"; pwd >> turns;
        printf '{"protocol":1,"ok":{"text":"%s"},"session":"s-%s"}' "$(wc -l < turns | tr -d ' ')" "$((n + 1))""#;
    let plan = Plan::new("p", |text: Step<String>| {
        agent("a")
            .input("text", text)
            .prompt("Count to three.")
            .check(|text: &String| if text == "3" { Ok(()) } else { Err(format!("{text} is not 3")) })
            .repair(2)
            .text()
    });
    let runner = shell(script).env("KEPT", kept.path());
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    let run = executor.start(&plan.unwrap(), "t".to_owned()).id("r").await.unwrap();
    let outcome = run.outcome().await.unwrap();
    // Each turn found the file that the one before had left in the workspace.
    assert!(matches!(&outcome, Outcome::Completed(done) if done.value == "3"), "{outcome:?}");
    let request = |number: u32| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(kept.path().join(number.to_string())).unwrap()).unwrap()
    };
    let (first, third) = (request(1), request(3));
    assert!(first.get("previous").is_none() && first.get("session").is_none(), "{first}");
    assert_eq!(third["session"], "s-2");
    let previous = third["previous"].as_array().unwrap();
    assert_eq!(previous.len(), 2);
    assert_eq!((&previous[1]["answer"], &previous[1]["violations"][0]), (&"2".into(), &"2 is not 3".into()));
    assert!(previous[1]["feedback"].as_str().unwrap().contains("- 2 is not 3"), "{third}");
    for field in ["text", "attempt", "workspace", "idempotency_key"] {
        assert_eq!(first[field], third[field], "{field}");
    }
}
