//! Who answers a question: the command line, or a person at the terminal.

use crate::{
    job::{FAILED, Trouble, USAGE},
    options::Options,
    screen::line,
    terminal::{self, Question},
};
use hermes_workflows::{executor::AnswerError, prelude::*};
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    collections::BTreeSet,
    io::{self, IsTerminal},
};

/// The review that `--reject-once` sends back: the first round of the outline's. Naming it makes a command that was killed
/// and started again ask for the same one revision.
const SENT_BACK: &str = "review_outline[1]";
/// What it asks for. The house writer can do that.
const FEEDBACK: &str = "Put the longest section last.";

/// Gives the answers of one run.
pub(crate) struct Answers<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) id: &'a RunId,
    pub(crate) options: &'a Options,
    /// The paths whose `--answer` was given.
    pub(crate) used: RefCell<BTreeSet<String>>,
}

impl Answers<'_> {
    /// Answers what can be answered; says how many.
    pub(crate) async fn give(&self, needs: &[Need]) -> Result<usize, Trouble> {
        let mut count = 0;
        for need in needs.iter().filter(|need| matches!(need.kind, NeedKind::Review { .. })) {
            if let Some(answer) = self.given(need)? {
                self.answer(need, &answer, "command line").await.map_err(|error| refused(&error))?;
            } else if io::stdin().is_terminal() && io::stdout().is_terminal() {
                if !self.in_terminal(need).await? {
                    return Ok(0);
                }
            } else {
                continue;
            }
            count += 1;
        }
        Ok(count)
    }

    fn given(&self, need: &Need) -> Result<Option<Value>, Trouble> {
        if let Some((_, answer)) = self.options.answers.iter().find(|(path, _)| *path == need.path) {
            self.used.borrow_mut().insert(need.path.clone());
            return Ok(Some(answer.clone()));
        }
        if self.options.reject_once && need.path == SENT_BACK {
            return Ok(Some(json!({"decision": "request_changes", "feedback": FEEDBACK})));
        }
        if !self.options.yes {
            return Ok(None);
        }
        match self.executor.choices(need)? {
            Some(choices) => Ok(choices.get(0).cloned()),
            None => Ok(Some(json!({"decision": "approve"}))),
        }
    }

    /// Asks until the answer is taken; `false` when the person stops here.
    async fn in_terminal(&self, need: &Need) -> Result<bool, Trouble> {
        let shown = self.executor.shown(need)?;
        let choices = self.executor.choices(need)?;
        let choices = choices.as_ref().and_then(Value::as_array).map(Vec::as_slice);
        let question = Question { path: &need.path, title: &need.title, shown: &shown, choices };
        loop {
            let answer = terminal::ask(&question, &mut io::stdin().lock(), &mut io::stdout().lock())
                .map_err(|error| Trouble::new(FAILED, format!("the terminal is gone: {error}")))?;
            let Some(answer) = answer else { return Ok(false) };
            match self.answer(need, &answer, "terminal").await {
                Ok(()) => return Ok(true),
                Err(error @ AnswerError::Invalid { .. }) => line(&format!("{error}")),
                Err(error) => return Err(refused(&error)),
            }
        }
    }

    async fn answer(&self, need: &Need, answer: &Value, channel: &str) -> Result<(), AnswerError> {
        self.executor.answer(self.id, need, answer).by(Actor::default().through(channel)).await?;
        let what = answer.get("decision").unwrap_or(answer);
        line(&format!(
            "answered: {}: {}",
            need.path,
            what.as_str().map_or_else(|| what.to_string(), str::to_owned)
        ));
        Ok(())
    }

    /// Says which answers of the command line were not given, and why.
    pub(crate) fn warn_of_unused(&self) {
        let used = self.used.borrow();
        for (path, _) in self.options.answers.iter().filter(|(path, _)| !used.contains(path)) {
            let why = match self.executor.question(self.id, path) {
                Err(AnswerError::NotOpen { .. }) => format!("no question `{path}` has come up"),
                _ => format!("`{path}` is not open"),
            };
            eprintln!("warning: {why}; its --answer was not used");
        }
    }
}

fn refused(error: &AnswerError) -> Trouble {
    let code = if matches!(error, AnswerError::Invalid { .. }) { USAGE } else { FAILED };
    Trouble::new(code, error.to_string())
}
