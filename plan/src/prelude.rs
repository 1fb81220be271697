//! Everything that an author of plans needs of this crate: `use hermes_plan::prelude::*;`.

pub use crate::authoring::{
    AgentOptions, AnyPlan, BudgetScope, Flow, Limit, OnExpiry, Plan, Step, agent, ask, branch, catch,
    command, files, join, parallel, parallel_dag, parallel_each, pipeline, recursive, repeat, review, scope,
    step, value, wait,
};
pub use crate::{
    build::{PlanError, PlanErrorKind, PlanErrors},
    graph::OnChange,
    template,
    templates::Template,
};
pub use hermes_core::{
    budget::{Budget, SharedBudget, Spent, Unit},
    command::CommandOutput,
    data::{Data, Keyed},
    effect::{
        Effect::{self, Idempotent, Pure, Unsafe},
        Isolation,
    },
    failure::{Failure, FailureClass},
    files::{FileEntry, FileSet, FileText},
    people::Verdict,
    retry::Retry,
    timestamp::Timestamp,
    usd::Usd,
};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
pub use std::time::Duration;
