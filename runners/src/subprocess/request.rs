//! The request as it goes over the wire. Its form is documented in the module above and does not change within a version.

use hermes_executor::{AgentCall, Expect, Turn};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::path::{Path, PathBuf};

/// The version of the protocol that this runner speaks.
pub(super) const PROTOCOL: u32 = 1;

#[derive(Serialize)]
struct Request<'a> {
    protocol: u32,
    run: &'a str,
    path: &'a str,
    text: &'a str,
    inputs: Vec<Input<'a>>,
    expect: Form<'a>,
    tools: &'a [String],
    skills: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    files: &'a [PathBuf],
    model: Option<&'a str>,
    variant: Option<&'a str>,
    idempotency_key: String,
    attempt: u32,
    workspace: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    previous: Vec<Refused<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

/// An answer of an earlier turn.
#[derive(Serialize)]
struct Refused<'a> {
    answer: &'a str,
    violations: &'a [String],
    feedback: &'a str,
}

#[derive(Serialize)]
struct Input<'a> {
    name: &'a str,
    value: &'a RawValue,
}

#[derive(Serialize)]
#[serde(tag = "form", rename_all = "snake_case")]
enum Form<'a> {
    Text,
    Json { schema: &'a Value },
}

impl<'a> Refused<'a> {
    fn of(turn: &'a Turn) -> Self {
        Self { answer: &turn.answer, violations: &turn.violations, feedback: &turn.feedback }
    }
}

/// The bytes of the request.
///
/// # Errors
/// Says why they cannot be made.
pub(super) fn encode(call: &AgentCall, workspace: &Path) -> Result<Vec<u8>, String> {
    let workspace = workspace.to_str().ok_or_else(|| {
        format!(
            "the path of its workspace is not UTF-8: {}; keep the ledger under another one",
            workspace.display()
        )
    })?;
    let mut inputs = Vec::with_capacity(call.inputs.len());
    for (name, text) in &call.inputs {
        let value =
            serde_json::from_str(text).map_err(|error| format!("its input `{name}` is not JSON: {error}"))?;
        inputs.push(Input { name, value });
    }
    let request = Request {
        protocol: PROTOCOL,
        run: &call.run,
        path: &call.path,
        text: &call.text,
        inputs,
        expect: match &call.expect {
            Expect::Text => Form::Text,
            Expect::Json(schema) => Form::Json { schema: schema.json() },
        },
        tools: &call.tools,
        skills: &call.skills,
        files: &call.files,
        model: call.model.as_deref(),
        variant: call.variant.as_deref(),
        idempotency_key: call.idempotency_key.to_string(),
        attempt: call.attempt,
        workspace,
        previous: call.previous.iter().map(Refused::of).collect(),
        session: call.session.as_deref(),
    };
    serde_json::to_vec(&request).map_err(|error| error.to_string())
}
