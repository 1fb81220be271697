//! The steps of a part of a plan that was built while the plan ran, as the journal keeps them: enough to draw them without
//! building them again.

use crate::path::StepPath;
use serde::{Deserialize, Serialize};

/// The steps of a part of a plan, in the order in which they joined. It is what a `Decided` record of a `then` says, as
/// JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Structure {
    /// The steps.
    pub steps: Vec<PlannedStep>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// The pattern of its path.
    pub path: StepPath,
    /// What it is: `agent`, `parallel each`.
    pub kind: String,
    /// What drawings call its type.
    pub yields: String,
    /// The position of the group it stands in; `None` where it stands in the part itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<u32>,
}
