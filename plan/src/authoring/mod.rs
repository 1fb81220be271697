//! What authors write: the primitives, and the handle on a step.

mod agent;
mod arity;
mod ask;
mod branch;
mod call;
mod catch;
mod dag;
mod derived;
mod each;
mod fan;
mod files;
mod flow;
mod inputs;
mod join;
mod leaf;
mod lists;
mod local;
mod options;
mod parallel;
mod pipeline;
mod plan;
mod prompt;
mod recursive;
mod repeat;
mod review;
mod scope;
mod step;
mod then;
mod value;

#[cfg(test)]
mod tests;

pub use agent::{AgentBuilder, agent};
pub use ask::{AskBuilder, ChooseBuilder, ask};
pub use branch::{BranchArms, BranchBuilder, branch};
pub use catch::{CatchBuilder, catch};
pub use dag::{DagBuilder, DagItems, parallel_dag};
pub use each::{EachBuilder, parallel_each};
pub use fan::{Ends, KeyedFan, Limit};
pub use files::{FilesBuilder, files};
pub use flow::Flow;
pub use inputs::{Inputs, Room};
pub use join::{Joinable, join};
pub use local::{StepBuilder, step};
pub use options::{AgentOptions, AgentOptionsBuilder};
pub use parallel::{ParallelBuilder, parallel};
pub use pipeline::{PipelineBuilder, pipeline};
pub use plan::{AnyPlan, Plan};
pub use prompt::{BeforePrompt, Checked, HasPrompt, NoPrompt, PromptText, Prompted, Yields};
pub use recursive::{Again, recursive};
pub use repeat::{RepeatBuilder, repeat};
pub use review::{ReviewBuilder, review};
pub use scope::scope;
pub use step::Step;
pub use value::value;
