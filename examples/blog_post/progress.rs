//! A line for each step that finishes, while the run goes on.

use crate::screen::line;
use hermes_workflows::{
    core::journal::Kind,
    executor::{DriveError, RunEvent, Watch},
    prelude::*,
};

/// Waits for what becomes of the run, and shows what finishes meanwhile.
pub(crate) async fn watched(run: Run<String>, watch: &mut Watch) -> Result<Outcome<String>, DriveError> {
    let outcome = run.outcome();
    tokio::pin!(outcome);
    let outcome = loop {
        tokio::select! {
            biased;
            seen = watch.next() => match seen {
                Some(seen) => show(&seen),
                // The executor is gone, and with it whatever could still be shown.
                None => break outcome.await,
            },
            outcome = &mut outcome => break outcome,
        }
    };
    while let Some(seen) = watch.try_next() {
        show(&seen);
    }
    outcome
}

fn show(seen: &Seen) {
    match seen {
        Seen::Event(event) => {
            if let Some(text) = text(event) {
                line(&text);
            }
        }
        Seen::Lagged(missed) => {
            line(&format!("({missed} events went by too fast to show; the ledger has them)"));
        }
    }
}

fn text(event: &RunEvent) -> Option<String> {
    let word = match event.kind {
        Kind::Succeeded => "done",
        Kind::Failed => "failed",
        Kind::Asked => "asked",
        _ => return None,
    };
    (!event.path.is_empty()).then(|| format!("{word}: {}", event.path))
}
