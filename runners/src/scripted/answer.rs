//! What a script can answer with.

use hermes_executor::{AgentCall, AgentReply, RunnerError};
use serde_json::Value;
use std::sync::Arc;

pub(super) type Reply = Result<AgentReply, RunnerError>;
pub(super) type Answerer = Arc<dyn Fn(&AgentCall) -> Reply + Send + Sync>;

mod sealed {
    pub trait Sealed {}
}

/// What a script answers with: a JSON value, a whole [`AgentReply`], or a closure `|call: &AgentCall| ..` that makes the
/// reply or the error.
#[diagnostic::on_unimplemented(
    message = "a script cannot answer with `{Self}`",
    label = "not a JSON value, an `AgentReply` or a closure of `&AgentCall`",
    note = "write `json!(..)`, or a closure with its argument's type: `|call: &AgentCall| Ok(AgentReply::text(\"..\"))`"
)]
pub trait IntoAnswer: sealed::Sealed {
    #[doc(hidden)]
    fn into_answer(self) -> Answerer;
}

impl sealed::Sealed for Value {}
impl IntoAnswer for Value {
    fn into_answer(self) -> Answerer {
        Arc::new(move |_| Ok(AgentReply::json(self.clone())))
    }
}

impl sealed::Sealed for AgentReply {}
impl IntoAnswer for AgentReply {
    fn into_answer(self) -> Answerer {
        Arc::new(move |_| Ok(self.clone()))
    }
}

impl<F: Fn(&AgentCall) -> Reply + Send + Sync + 'static> sealed::Sealed for F {}
impl<F: Fn(&AgentCall) -> Reply + Send + Sync + 'static> IntoAnswer for F {
    fn into_answer(self) -> Answerer {
        Arc::new(self)
    }
}
