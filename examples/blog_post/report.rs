//! What is said when the job stops: what waits for whom, and how to go on; or where the post is.

use crate::screen::{line, quoted};
use hermes_workflows::{core::request::Field, executor::LedgerError, prelude::*};
use serde_json::{Value, json};

/// Says which questions wait, and the option that answers each.
pub(crate) fn waiting(executor: &Executor, id: &RunId, needs: &[Need]) -> Result<(), LedgerError> {
    let questions: Vec<_> =
        needs.iter().filter(|need| matches!(need.kind, NeedKind::Review { .. })).collect();
    line(&format!(
        "waiting: run {id} has {} to answer; add one of the options below to the same command",
        plural(questions.len(), "question")
    ));
    for need in questions {
        line(&format!("  {}: {}", need.path, need.title));
        let answers = match executor.choices(need)? {
            Some(choices) => choices.as_array().cloned().unwrap_or_default(),
            None => vec![
                json!({"decision": "approve"}),
                json!({"decision": "request_changes", "feedback": "what should be different"}),
            ],
        };
        for answer in answers {
            line(&format!("    --answer {}", quoted(&format!("{}={}", need.path, text(&answer)))));
        }
    }
    Ok(())
}

fn text(answer: &Value) -> String {
    answer.to_string()
}

/// Says what has to be decided, and the options that decide it.
pub(crate) fn parked(id: &RunId, needs: &[Need]) {
    let open: Vec<_> = needs.iter().filter(|need| !matches!(need.kind, NeedKind::Review { .. })).collect();
    line(&format!(
        "parked: run {id} cannot go on before {} decided",
        if open.len() == 1 { "this is" } else { "these are" }
    ));
    for need in open {
        line(&format!("  {}: {}", need.path, need.title));
        let offer = |decision: &str, means: &str| {
            line(&format!("    --decide {}  {means}", quoted(&format!("{}={decision}", need.path))));
        };
        match &need.kind {
            NeedKind::Conflict { fields, count, examples, not_kept, .. } => {
                for changed in fields {
                    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
                    line(&format!(
                        "    {}: was {}, is {}",
                        changed.field,
                        side(&changed.old),
                        side(&changed.new)
                    ));
                }
                if *count > 1 {
                    line(&format!("    in {count} copies, such as {}", examples.join(", ")));
                }
                if fields.iter().any(|changed| changed.field == Field::RunInput) {
                    line("    the notes are not the ones that this run began with");
                    line("    --run-id NEW-ID  writes a new post from the notes as they are");
                    offer("keep", "finishes this post from the notes as they were");
                } else {
                    offer("rerun", "does it again, and what depends on it");
                    match not_kept {
                        None => offer("keep", "keeps what it gave"),
                        Some(why) => line(&format!("    it cannot be kept: {why}")),
                    }
                }
            }
            NeedKind::Dropped { count, .. } => {
                offer(
                    "drop",
                    &format!(
                        "forgets what {} gave",
                        plural(usize::try_from(*count).unwrap_or(usize::MAX), "copy")
                    ),
                );
            }
            NeedKind::InDoubt { why, .. } => {
                line(&format!("    {why}"));
                offer("retry", "calls again");
            }
            NeedKind::Budget { .. } => {
                line("    it can be raised: `executor.raise(..)`");
            }
            NeedKind::Review { .. } => {}
        }
    }
}

fn plural(count: usize, word: &str) -> String {
    let many = word.strip_suffix('y').map_or_else(|| format!("{word}s"), |stem| format!("{stem}ies"));
    if count == 1 { format!("1 {word}") } else { format!("{count} {many}") }
}
