//! Everything that an author of plans needs of this crate: `use hermes_plan::prelude::*;`.

pub use crate::authoring::{
    AgentOptions, AnyPlan, Flow, Limit, Plan, Step, agent, ask, branch, catch, files, join, parallel,
    parallel_dag, parallel_each, pipeline, recursive, repeat, review, scope, step, value,
};
pub use crate::build::{PlanError, PlanErrorKind, PlanErrors};
pub use hermes_core::{
    data::{Data, Keyed},
    effect::{
        Effect::{self, Idempotent, Pure, Unsafe},
        Isolation,
    },
    failure::{Failure, FailureClass},
    files::{FileEntry, FileSet, FileText},
};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
pub use std::time::Duration;
