//! The typed plan graph: builders that make it, checks that refuse mistakes, layouts that draw it.
//!
//! Nothing here runs a plan: no clock, no I/O, no async runtime.

mod authoring;
mod build;
mod diff;
pub mod graph;
pub mod layout;
pub mod patterns;
pub mod prelude;
#[cfg(feature = "snapshot")]
mod snapshot;
mod templates;

pub use authoring::{
    Again, AgentBuilder, AgentOptions, AgentOptionsBuilder, AnswersAs, AnyPlan, AskBuilder, BeforeArgv,
    BeforePrompt, BranchArms, BranchBuilder, BudgetScope, CatchBuilder, Checked, ChooseBuilder,
    CommandBuilder, DagBuilder, DagItems, EachBuilder, Ends, Expiring, ExpiryState, FanBudget, FilesBuilder,
    Flow, HasArgv, HasPrompt, Inputs, Joinable, KeyedFan, Limit, NoArgv, NoExpiry, NoPrompt, OnExpiry,
    ParallelBuilder, PipelineBuilder, Plan, PromptText, Prompted, RepeatBuilder, ReviewBuilder, Room, Step,
    StepBuilder, WaitBuilder, WithArgv, Yields, agent, ask, branch, catch, command, files, join, parallel,
    parallel_dag, parallel_each, pipeline, recursive, repeat, review, scope, step, value, wait,
};
pub use build::{PlanError, PlanErrorKind, PlanErrors, ReadyTemplates, load_templates};
pub use diff::{Became, Difference, FieldDiff, OnResume, PlanDiff, StepDiff};
pub use templates::{Flaw, ReadyTemplate, Template};
#[cfg(feature = "snapshot")]
#[doc(hidden)]
pub mod __insta {
    //! What `assert_layout!` needs of insta: not all of it, so that nothing else of it is visible through this crate.
    pub use insta::{Settings, assert_snapshot};
}
