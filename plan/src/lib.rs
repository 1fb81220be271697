//! The typed plan graph: builders that make it, checks that refuse mistakes, layouts that draw it.
//!
//! Nothing here runs a plan: no clock, no I/O, no async runtime.

mod authoring;
mod build;
pub mod graph;
pub mod layout;
pub mod prelude;
#[cfg(feature = "snapshot")]
mod snapshot;

pub use authoring::{
    Again, AgentBuilder, AgentOptions, AgentOptionsBuilder, AnyPlan, AskBuilder, BeforePrompt, BranchArms,
    BranchBuilder, CatchBuilder, Checked, ChooseBuilder, DagBuilder, DagItems, EachBuilder, Ends,
    FilesBuilder, Flow, HasPrompt, Inputs, Joinable, KeyedFan, Limit, NoPrompt, ParallelBuilder,
    PipelineBuilder, Plan, PromptText, Prompted, RepeatBuilder, ReviewBuilder, Room, Step, StepBuilder,
    Yields, agent, ask, branch, catch, files, join, parallel, parallel_dag, parallel_each, pipeline,
    recursive, repeat, review, scope, step, value,
};
pub use build::{PlanError, PlanErrorKind, PlanErrors};
#[cfg(feature = "snapshot")]
#[doc(hidden)]
pub mod __insta {
    //! What `assert_layout!` needs of insta: not all of it, so that nothing else of it is visible through this crate.
    pub use insta::{Settings, assert_snapshot};
}
