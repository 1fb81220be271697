//! Texts of an agent that its author may make from the inputs: the model asked for, and what people call the call.

use super::guard::guarded;
use hermes_core::{
    failure::{Failure, FailureClass},
    value::Val,
};
use hermes_plan::graph::{Agent, Text};

/// The most characters of a title.
const TITLE: usize = 200;

fn make(text: &Text, inputs: &[Val]) -> Result<String, Failure> {
    match text {
        Text::Fixed(text) => Ok(text.clone()),
        Text::Made { make, at } => guarded(*at, || make(inputs)).map_err(|failure| failure.located(at)),
    }
}

/// The model that is asked for.
pub(super) fn model(agent: &Agent, inputs: &[Val]) -> Result<Option<String>, Failure> {
    let Some(text) = &agent.model else { return Ok(None) };
    let model = make(text, inputs)?;
    match text {
        Text::Made { at, .. } if model.trim().is_empty() => {
            let message = "the model that `.model_with(..)` gave is blank";
            Err(Failure::new(FailureClass::Rejected, message).located(at))
        }
        _ => Ok(Some(model)),
    }
}

/// What people call it, in one line; a blank one is none.
pub(super) fn title(agent: &Agent, inputs: &[Val]) -> Result<Option<String>, Failure> {
    let Some(text) = &agent.title else { return Ok(None) };
    let title = make(text, inputs)?;
    let words: Vec<_> =
        title.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    let short: String = line.chars().take(TITLE).collect();
    let title = if short.len() < line.len() { short + "…" } else { line };
    Ok(Some(title).filter(|title| !title.is_empty()))
}
