//! Its side of the protocol: one request from standard input, one reply to standard output.

use super::{angles, assemble, draft, evidence, humanize, outline, research, revise};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};
use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

/// The version it speaks.
const PROTOCOL: u32 = 1;

/// What it needs of a request.
#[derive(Deserialize)]
struct Request<'a> {
    protocol: u32,
    path: String,
    #[serde(borrow)]
    inputs: Vec<Input<'a>>,
}

#[derive(Deserialize)]
struct Input<'a> {
    name: String,
    #[serde(borrow)]
    value: &'a RawValue,
}

/// Why there is no answer.
struct Refused(String);

impl From<serde_json::Error> for Refused {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

/// Answers the request on standard input.
pub(crate) fn serve() -> ExitCode {
    let mut text = String::new();
    let answer = match io::stdin().lock().read_to_string(&mut text) {
        Ok(_) => answer(&text),
        Err(error) => Err(Refused(format!("the request cannot be read: {error}"))),
    };
    let reply = answer.unwrap_or_else(|Refused(why)| {
        json!({"protocol": PROTOCOL, "error": {"kind": "failed", "message": why}}).to_string()
    });
    let mut stdout = io::stdout().lock();
    // Nobody reads what cannot be written.
    if stdout.write_all(reply.as_bytes()).and_then(|()| stdout.flush()).is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn answer(text: &str) -> Result<String, Refused> {
    let request: Request = serde_json::from_str(text)?;
    if request.protocol != PROTOCOL {
        return Err(Refused(format!("this program speaks version {PROTOCOL}, not {}", request.protocol)));
    }
    // The name of the step is the last part of its path.
    match request.path.rsplit('/').next().unwrap_or_default() {
        "research" => as_json(&research::research(&request.get::<String>("notes")?)),
        "angle_options" => as_json(&angles::options(&request.get("research")?)),
        "outline" => as_json(&outline::outline(&request.get::<String>("angle")?, request.get("research")?)),
        "revise_outline" => {
            as_json(&revise::outline(request.get("outline")?, &request.get::<String>("feedback")?))
        }
        "draft_section" => as_json(&draft::draft(request.get("section")?)),
        "humanize" => as_json(&humanize::humanize(request.get("draft")?)),
        "check_evidence" => as_json(&evidence::check(request.get("draft")?)),
        "revise_section" => {
            as_json(&revise::section(request.get("draft")?, &request.get::<String>("feedback")?))
        }
        "assemble_final_draft" => as_text(&assemble::assemble(&request.get::<Vec<_>>("sections")?)),
        other => Err(Refused(format!("the house writer has no work named `{other}`"))),
    }
}

impl Request<'_> {
    fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, Refused> {
        let input = self.inputs.iter().find(|input| input.name == name);
        let input =
            input.ok_or_else(|| Refused(format!("`{}` came without its input `{name}`", self.path)))?;
        serde_json::from_str(input.value.get()).map_err(|error| {
            Refused(format!("the input `{name}` of `{}` cannot be read: {error}", self.path))
        })
    }
}

#[derive(Serialize)]
struct Reply<T> {
    protocol: u32,
    ok: T,
    model: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Given<T> {
    Json(T),
    Text(String),
}

fn reply<T: Serialize>(given: Given<T>) -> Result<String, Refused> {
    Ok(serde_json::to_string(&Reply { protocol: PROTOCOL, ok: given, model: json!("house-writer") })?)
}

fn as_json(value: &impl Serialize) -> Result<String, Refused> {
    reply(Given::Json(value))
}

fn as_text(text: &str) -> Result<String, Refused> {
    reply(Given::<()>::Text(text.to_owned()))
}
