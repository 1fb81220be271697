//! Hermes Workflows lets a Rust program describe durable agent work as a typed plan graph — agents in parallel, outputs
//! piped through review stages, a stop for human approval before side effects — and runs it so that nothing paid for is
//! ever lost, repeated or silently stale.
//!
//! ```
//! use hermes_workflows::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let plan = Plan::new("summaries", |topics: Step<Vec<String>>| {
//!     let drafts = parallel_each("draft", topics, |topic| {
//!         agent("write").input("topic", topic).prompt("Write one sentence about the topic.").text()
//!     })
//!     .limit(4)
//!     .all();
//!     agent("merge").input("drafts", drafts).prompt("Merge the drafts into one paragraph.").text()
//! })?;
//! println!("{}", plan.layout());
//!
//! let executor = Executor::builder()
//!     .ledger(Ledger::in_memory()?)
//!     .runner(FnRunner::sync(|call| Ok(AgentReply::text(format!("({})", call.path)))))
//!     .build();
//! let run = executor.start(&plan, vec!["tides".to_owned(), "dunes".to_owned()]).id("june").await?;
//! match run.outcome().await? {
//!     Outcome::Completed(done) => assert_eq!(done.value, "(merge)"),
//!     other => panic!("{other:?}"),
//! }
//! # Ok(()) }
//! ```
//!
//! # What to know first
//!
//! - Steps that do not feed the output are still part of the plan. Independent steps run concurrently; order comes from
//!   data and `.after(step)`.
//! - A body (the closure of a `parallel_each`, a stage, a loop) runs **once**, while the plan is built, with a placeholder:
//!   `n += 1` in it counts 1. What depends on values goes into `.map(..)`, `step(..)`, `branch(..)` or `repeat(..)`.
//! - `x.map(|_| "text".to_owned())` makes a value of another; for a constant of the plan there is `value("text")`.
//! - The stored JSON is the value: every consumer, the first run included, gets what the ledger holds, decoded.
//!
//! The layers: [`core`] has the words, [`plan`] the builders and layouts, [`executor`] runs plans from a ledger,
//! [`runners`] perform agent calls.

pub use hermes_core as core;
pub use hermes_executor as executor;
pub use hermes_plan as plan;
pub use hermes_plan::patterns;
pub use hermes_runners as runners;

#[cfg(feature = "snapshot")]
pub use hermes_plan::assert_layout;

/// Everything that a program that writes and runs plans needs.
pub mod prelude {
    pub use hermes_core::{
        ids::RunId,
        people::{Actor, Decision, Need, NeedKind},
    };
    pub use hermes_executor::{
        AgentCall, AgentReply, Answer, Counts, Executor, Ledger, Needs, Outcome, Rehearsal, Rehearse, Run,
        Runner, RunnerError, RunnerErrorKind, Sampled, Seen,
    };
    pub use hermes_plan::prelude::*;
    pub use hermes_runners::{FnRunner, Scripted, Subprocess};
}
