//! What the tests of runners share: a real call, taken from an executor, and ways to see what became of a child.
#![expect(dead_code, reason = "each test file uses its own part of this")]

use hermes_executor::{AgentCall, AgentReply, Executor, Ledger};
use hermes_plan::prelude::*;
use hermes_runners::FnRunner;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

static CALLS: AtomicU32 = AtomicU32::new(0);

/// A call as an executor makes it. Its workspace lives as long as this.
pub(crate) struct Captured {
    pub(crate) call: AgentCall,
    executor: Executor,
}

/// The call of an agent `a` with one input of this text, which asks for text.
pub(crate) async fn text_call(input: &str) -> Captured {
    let plan = Plan::new("p", |text: Step<String>| agent("a").input("text", text).prompt("Go.").text());
    capture(&plan.unwrap(), input).await
}

/// The same, asking for a number.
pub(crate) async fn json_call(input: &str) -> Captured {
    let plan = Plan::new("p", |text: Step<String>| {
        agent("a").input("text", text).prompt("Go.").tools(["t"]).model("m").returns::<u32>()
    });
    capture(&plan.unwrap(), input).await
}

async fn capture<O: Data>(plan: &Plan<String, O>, input: &str) -> Captured {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let runner = FnRunner::sync(move |call| {
        *keep.lock().unwrap() = Some(call.clone());
        Ok(AgentReply::text("0"))
    });
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    executor.start(plan, input.to_owned()).id("r").await.unwrap().outcome().await.unwrap();
    let mut call: AgentCall = kept.lock().unwrap().take().unwrap();
    // All tests make the same call; each must find its own processes.
    call.cookie = format!("test-{}-{}", std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed));
    Captured { call, executor }
}

/// A named pipe in a directory of its own: how a child says that it has come to a point.
pub(crate) struct Signpost {
    directory: tempfile::TempDir,
}

impl Signpost {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(
            rustix::fs::CWD,
            directory.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            mode,
            0,
        )
        .unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("pipe")
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Waits for what the child writes into it.
    pub(crate) async fn reached(&self) -> String {
        let path = self.path();
        tokio::task::spawn_blocking(move || std::fs::read_to_string(path).unwrap()).await.unwrap()
    }
}
