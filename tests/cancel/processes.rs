//! Real processes: a child that starts a grandchild in a session of its own, which ignores every request to end.

use super::*;
use hermes_workflows::executor::{COOKIE_VARIABLE, carriers};
use std::{
    path::Path,
    process::{Command, Stdio},
};

/// The grandchild has its own session, ignores what it is asked, and says that it lives by making `file`.
fn stubborn(file: &str) -> String {
    format!("setsid sh -c 'trap \"\" INT TERM HUP; echo > {file}; while :; do sleep 1000; done' &")
}

/// Waits for a file that a child makes.
async fn made(file: &Path) {
    while !file.exists() {
        tokio::task::yield_now().await;
    }
}

fn cookies(ledger: &Ledger) -> Vec<String> {
    let started = records(ledger).into_iter().filter_map(|record| match record.event().unwrap() {
        Event::Started(started) => Some(started.cookie),
        _ => None,
    });
    started.collect()
}

/// Two commands whose failures are values: one with a stubborn grandchild, one that ends when a file is there.
fn commands(leader: &'static str) -> Plan<(), (Option<String>, String)> {
    Plan::new("commands", move |_: Step<()>| {
        let calm = catch("calm", || {
            command("c")
                .shell(format!("{leader} {} wait", stubborn("lives")))
                .stdout()
                .map(|text| Some(text.clone()))
        })
        .or_else(|_| value(None));
        let other = command("other").shell("while ! test -e go; do :; done; echo done").effect(Pure).stdout();
        join((calm, other))
    })
    .unwrap()
}

#[tokio::test]
async fn a_cancelled_command_ends_with_its_last_descendant_and_the_rest_goes_on() {
    let store = Store::new();
    let executor = Executor::builder().ledger(store.open()).base_dir(store.directory()).build();
    let run = executor.start(&commands(""), ()).id("r").await.unwrap();
    made(&store.directory().join("lives")).await;
    assert_eq!(executor.cancel_step(&run_id(), "calm/c").by(ada()).await.unwrap(), 1);
    let cookies = cookies(executor.ledger());
    assert_eq!(cookies.len(), 2);
    assert_eq!(cookies.iter().filter(|cookie| carriers(cookie).is_empty()).count(), 1, "the other goes on");
    std::fs::write(store.directory().join("go"), "").unwrap();
    assert_eq!(run.outcome().await.completed().0, (None, "done\n".to_owned()));
    assert!(cookies.iter().all(|cookie| carriers(cookie).is_empty()));
    drop(executor);
    resume(&store.replayer(), &commands("")).await.completed();
    // It is unsafe, and may have acted: nobody runs it again unasked.
    let needs = retry(&store.replayer(), &commands("")).await.parked();
    assert!(matches!(needs[0].kind, NeedKind::InDoubt { .. }), "{needs:?}");
}

#[tokio::test]
async fn a_cancelled_run_ends_both_and_their_descendants() {
    let store = Store::new();
    let executor = Executor::builder().ledger(store.open()).base_dir(store.directory()).build();
    let run = executor.start(&commands(""), ()).id("r").await.unwrap();
    made(&store.directory().join("lives")).await;
    executor.cancel(&run_id(), ada()).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled(_)));
    let cookies = cookies(executor.ledger());
    assert!(cookies.len() == 2 && cookies.iter().all(|cookie| carriers(cookie).is_empty()));
}

#[tokio::test]
async fn an_agent_that_ignores_everything_is_killed_with_all_below_it() {
    let store = Store::new();
    let lives = store.directory().join("lives");
    let script =
        format!("trap '' INT TERM; {} while :; do sleep 1000; done", stubborn(lives.to_str().unwrap()));
    let runner = Subprocess::new("/bin/sh").args(["-c", &script]).grace(Duration::from_millis(20));
    let plan = || Plan::new("agent", |_: Step<()>| agent("a").effect(Unsafe).prompt("Go.").text()).unwrap();
    let executor = store.executor(runner);
    let run = executor.start(&plan(), ()).id("r").await.unwrap();
    made(&lives).await;
    // A person cancels an unsafe call too.
    assert_eq!(executor.cancel_step(&run_id(), "a").by(ada()).await.unwrap(), 1);
    assert_eq!(run.outcome().await.failed().class, FailureClass::Cancelled);
    let cookies = cookies(executor.ledger());
    assert!(cookies.len() == 1 && carriers(&cookies[0]).is_empty());
}

#[tokio::test]
async fn what_a_process_left_when_it_ended_is_cancelled_without_a_plan() {
    let store = Store::new();
    let plan = || Plan::new("agent", |_: Step<()>| agent("a").effect(Unsafe).prompt("Go.").text()).unwrap();
    let whole = Ledger::in_memory().unwrap();
    let (runner, _) = echo();
    start(&Executor::builder().ledger(whole.clone()).runner(runner).build(), &plan(), ()).await.completed();
    let left = after_each_record(&whole).find(|left| kinds(left).last().unwrap() == "Started").unwrap();
    let cookie = cookies(&left).remove(0);
    // What is left of the call.
    let lives = store.directory().join("lives");
    let mut child = Command::new("/bin/sh")
        .args(["-c", &format!("{} wait", stubborn(lives.to_str().unwrap()))])
        .env(COOKIE_VARIABLE, &cookie)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    made(&lives).await;
    assert!(carriers(&cookie).len() >= 2);
    let executor = Executor::builder().ledger(left).runner(refuses()).build();
    assert_eq!(executor.cancel_step(&run_id(), "a").by(ada()).await.unwrap(), 1);
    child.wait().unwrap();
    assert!(carriers(&cookie).is_empty());
    let failure = start(&executor, &plan(), ()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::Cancelled, "a"));
}
