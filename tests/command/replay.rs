//! What replay makes of commands: interrupted, finished, changed.

use super::*;
use hermes_workflows::{core::effect::Effect, executor::COOKIE_VARIABLE};

/// Counts its runs in a file, says that it has begun, and stays until it is ended, but for the last time.
fn counting(effect: Effect) -> Plan<String, String> {
    plan(|_| {
        let script = "echo \"$HERMES_IDEMPOTENCY_KEY\" >> runs; if [ -p post ]; then echo > post; sleep 1000; fi; echo done";
        command("c").shell(script).effect(effect).stdout()
    })
}

/// Leaves the run with the command begun and not ended: the process that drove it is gone.
fn crash_in(store: &Store, plan: &Plan<String, String>) {
    let post = Signpost::new(store);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let executor = executor(store);
        let _run = executor.start(plan, input()).id("r").await.unwrap();
        post.reached().await;
    });
    drop(runtime);
    fs::remove_file(post.0).unwrap();
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn runs(store: &Store) -> Vec<String> {
    let runs = fs::read_to_string(store.directory().join("runs")).unwrap_or_default();
    runs.lines().map(str::to_owned).collect()
}

#[test]
fn interrupted_it_runs_again_under_the_same_key_where_that_does_no_harm() {
    for effect in [Pure, Idempotent] {
        let store = Store::new();
        let plan = counting(effect);
        crash_in(&store, &plan);
        assert_eq!(block_on(resume(&executor(&store), &plan)).completed().0, "done\n");
        let runs = runs(&store);
        assert!(runs.len() == 2 && runs[0] == runs[1] && !runs[0].is_empty(), "{runs:?}");
    }
}

#[test]
fn interrupted_and_unsafe_it_waits_for_a_person() {
    let store = Store::new();
    // Unsafe is what a command is that does not say.
    let plan = counting(Unsafe);
    crash_in(&store, &plan);
    block_on(async {
        let executor = executor(&store);
        let needs = resume(&executor, &plan).await.parked();
        assert!(matches!(needs[0].kind, NeedKind::InDoubt { .. }) && needs[0].path == "c", "{needs:?}");
        retry(&executor, &plan).await.parked();
        assert_eq!(runs(&store).len(), 1);
        decide_all(&executor, Decision::Retry).await;
        assert_eq!(resume(&executor, &plan).await.completed().0, "done\n");
    });
    let runs = runs(&store);
    assert!(runs.len() == 2 && runs[0] != runs[1], "a person's word is a cause: {runs:?}");
}

#[test]
fn one_that_keeps_ending_with_the_process_waits_for_a_person_whatever_its_effect() {
    let store = Store::new();
    let plan = counting(Pure);
    for _ in 0..3 {
        crash_in(&store, &plan);
    }
    let needs = block_on(resume(&executor(&store), &plan)).parked();
    assert!(matches!(&needs[0].kind, NeedKind::InDoubt { why, .. } if why.contains("in a row")), "{needs:?}");
}

/// A process that was killed could end nothing: what is left of its command is ended before anything else.
#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_process_left_running_is_ended_before_it_runs_again() {
    for effect in [Pure, Unsafe] {
        let store = Store::new();
        let plan = counting(effect);
        crash_in(&store, &plan);
        let cookie = cookies(&executor(&store)).remove(0);
        let mut left =
            std::process::Command::new("sleep").arg("1000").env(COOKIE_VARIABLE, &cookie).spawn().unwrap();
        block_on(async {
            let executor = executor(&store);
            let outcome = resume(&executor, &plan).await;
            if effect == Pure {
                outcome.completed();
            } else {
                outcome.parked();
            }
            assert!(carriers(&cookie).is_empty());
        });
        assert!(!left.wait().unwrap().success());
    }
}

#[tokio::test]
async fn a_finished_command_is_read_back_and_not_run_again() {
    let store = Store::new();
    let plan = counting(Unsafe);
    start(&executor(&store), &plan, input()).await.completed();
    for _ in 0..2 {
        let (value, counts) = resume(&executor(&store), &plan).await.completed();
        assert_eq!((value.as_str(), counts.reused), ("done\n", 1));
    }
    retry(&executor(&store), &plan).await.completed();
    assert_eq!(runs(&store).len(), 1);
}

/// What a plan can change of a command.
#[derive(Clone, Copy)]
struct Changes<'a> {
    word: &'a str,
    stdin: &'a str,
    mode: &'a str,
    directory: &'a str,
    input: u8,
    version: u32,
    bounds: u64,
}

const AS_IT_WAS: Changes<'static> =
    Changes { word: "a", stdin: "in", mode: "fast", directory: ".", input: 1, version: 1, bounds: 60 };

fn changed(to: Changes) -> Plan<String, String> {
    plan(|_| {
        command("c")
            .input_value("number", &to.input)
            .argv(["echo", to.word])
            .stdin(to.stdin)
            .env("MODE", to.mode)
            .dir(to.directory)
            .files(["declared"])
            .version(to.version)
            .timeout(Duration::from_secs(to.bounds))
            .cap(1 << to.bounds.min(20))
            .stdout()
    })
}

#[tokio::test]
async fn a_change_of_what_counts_is_a_conflict_that_names_it() {
    let store = Store::new();
    fs::create_dir(store.directory().join("below")).unwrap();
    start(&executor(&store), &changed(AS_IT_WAS), input()).await.completed();
    let rows = [
        (Changes { word: "b", ..AS_IT_WAS }, "argv"),
        (Changes { stdin: "other", ..AS_IT_WAS }, "stdin"),
        (Changes { mode: "slow", ..AS_IT_WAS }, "variable `MODE`"),
        (Changes { directory: "below", ..AS_IT_WAS }, "directory"),
        (Changes { input: 2, ..AS_IT_WAS }, "input `number`"),
        // It is unsafe: a new version alone does not run it again.
        (Changes { version: 2, ..AS_IT_WAS }, "version"),
    ];
    for (to, field) in rows {
        let needs = resume(&executor(&store), &changed(to)).await.parked();
        assert_eq!(changed_fields(&needs), [format!("c: {field}")]);
    }
    // Bounds do not count.
    resume(&executor(&store), &changed(Changes { bounds: 5, ..AS_IT_WAS })).await.completed();
    // A declared file does, also where it was not there.
    fs::write(store.directory().join("declared"), "now it is").unwrap();
    let executor = executor(&store);
    let needs = resume(&executor, &changed(AS_IT_WAS)).await.parked();
    assert_eq!(changed_fields(&needs), ["c: file `declared`"]);
    decide_all(&executor, Decision::Rerun).await;
    resume(&executor, &changed(AS_IT_WAS)).await.completed();
}
