//! Draws a plan for each pattern and runs it, with agents that are a few lines of Rust.
//!
//! ```sh
//! cargo run --example patterns
//! ```

mod plans;

use hermes_workflows::prelude::*;
use serde_json::{Value, json};
use std::{error::Error, fmt::Debug, process::ExitCode};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if let Some(argument) = std::env::args().nth(1) {
        eprintln!("error: it takes no arguments, and was given `{argument}`");
        return ExitCode::FAILURE;
    }
    match all().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn all() -> Result<(), Box<dyn Error>> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let long = "Tides rise and fall because the moon and the sun pull at the sea".to_owned();
    show(Plan::new("goal", plans::short_enough)?, long.clone()).await?;
    show(Plan::new("judge", plans::best_titles)?, words("Tides Moons Oceans")).await?;
    show(Plan::new("tournament", plans::best_draft)?, words("one three five seven nine")).await?;
    show(Plan::new("verify", plans::checked)?, long.clone()).await?;
    show(Plan::new("loop_until_dry", plans::all_bugs)?, "fn main() {}".to_owned()).await?;
    show(Plan::new("map_reduce", plans::digest)?, words(&long)).await
}

/// Draws a plan, runs it once, and prints what came of it.
async fn show<I: Data, O: Data + Debug>(plan: Plan<I, O>, input: I) -> Result<(), Box<dyn Error>> {
    println!("{}", plan.layout());
    let runner =
        FnRunner::sync(|call| answer(call).map_err(|why| RunnerError::new(RunnerErrorKind::Failed, why)));
    let executor = Executor::builder().ledger(Ledger::in_memory()?).runner(runner).build();
    match executor.start(&plan, input).id(plan.name()).await?.outcome().await? {
        Outcome::Completed(done) => println!("=> {:?} in {} calls\n", done.value, done.counts.calls),
        other => println!("=> {other:?}\n"),
    }
    Ok(())
}

/// What the agents say: enough to see the patterns at work.
fn answer(call: &AgentCall) -> Result<AgentReply, String> {
    let input = |index: usize| -> Result<Value, String> {
        let (_, text) = call.inputs.get(index).ok_or("an input is missing")?;
        serde_json::from_str(text).map_err(|error| error.to_string())
    };
    let length = |value: &Value| value.as_str().map_or(0, str::len);
    let name = call.path.rsplit('/').next().unwrap_or_default();
    Ok(match name {
        "shorter" => {
            let text = input(0)?;
            let words: Vec<_> = text.as_str().unwrap_or_default().split(' ').collect();
            AgentReply::text(words[..words.len().saturating_sub(3)].join(" "))
        }
        "score" => AgentReply::json(json!(length(&input(0)?))),
        "compare" => {
            AgentReply::json(json!(if length(&input(0)?) >= length(&input(1)?) { "First" } else { "Second" }))
        }
        "refuter" => {
            let refuted = call.text.contains("logic");
            AgentReply::json(json!({ "refuted": refuted, "reason": "I looked." }))
        }
        "look" => {
            let seen = input(1)?.as_array().map_or(0, Vec::len);
            let found: Vec<_> = (0..(seen + 2).min(5)).map(|bug| format!("bug {bug}")).collect();
            AgentReply::json(json!(found))
        }
        "summarize" => AgentReply::text(input(0)?.as_str().unwrap_or_default().to_uppercase()),
        _ => {
            let parts = input(0)?;
            let parts: Vec<_> = parts.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            AgentReply::text(format!("({})", parts.join(" ")))
        }
    })
}
