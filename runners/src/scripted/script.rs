//! The table: which answer the next call of a path gets. Only data and lookup; nothing waits here.

use super::{answer::Answerer, gate::Gate};
use hermes_core::path::StepPath;
use hermes_executor::{RunnerError, RunnerErrorKind};

#[derive(Default)]
pub(super) struct Script {
    answers: Vec<Answers>,
    failures: Vec<Failures>,
    gates: Vec<(StepPath, Gate)>,
    otherwise: Option<Answerer>,
}

/// The answers of a path, in sequence; the last one stays.
struct Answers {
    pattern: StepPath,
    sequence: Vec<Answerer>,
}

/// The first calls of a path, which fail.
struct Failures {
    pattern: StepPath,
    times: usize,
    error: RunnerError,
}

impl Script {
    pub(super) fn on(&mut self, pattern: StepPath, answer: Answerer) {
        self.answers.push(Answers { pattern, sequence: vec![answer] });
    }

    /// Adds to the sequence that was begun last; says whether there is one.
    pub(super) fn then(&mut self, answer: Answerer) -> bool {
        match self.answers.last_mut() {
            Some(answers) => {
                answers.sequence.push(answer);
                true
            }
            None => false,
        }
    }

    pub(super) fn fail(&mut self, pattern: StepPath, times: usize, error: RunnerError) {
        self.failures.push(Failures { pattern, times, error });
    }

    pub(super) fn otherwise(&mut self, answer: Answerer) {
        self.otherwise = Some(answer);
    }

    pub(super) fn gate(&mut self, pattern: StepPath) -> Gate {
        let gate = Gate::new();
        self.gates.push((pattern, gate.clone()));
        gate
    }

    /// The gates that hold calls of `path`.
    pub(super) fn gates(&self, path: &StepPath) -> Vec<Gate> {
        self.gates.iter().filter(|(pattern, _)| pattern.matches(path)).map(|(_, gate)| gate.clone()).collect()
    }

    /// What the call number `number` (from 1) of its path gets. Failures come first, in the order they were given; then
    /// the answers of the exact path, else of the pattern given last.
    pub(super) fn answer(&self, path: &StepPath, number: usize) -> Result<Answerer, RunnerError> {
        let mut index = number.saturating_sub(1);
        for failures in self.failures.iter().filter(|failures| failures.pattern.matches(path)) {
            match index.checked_sub(failures.times) {
                Some(rest) => index = rest,
                None => return Err(failures.error.clone()),
            }
        }
        let exact = self.answers.iter().rev().find(|answers| answers.pattern == *path);
        let answers =
            exact.or_else(|| self.answers.iter().rev().find(|answers| answers.pattern.matches(path)));
        let answer = answers.and_then(|answers| answers.sequence.get(index).or(answers.sequence.last()));
        answer.or(self.otherwise.as_ref()).cloned().ok_or_else(|| self.unknown(path))
    }

    fn unknown(&self, path: &StepPath) -> RunnerError {
        let known: Vec<_> = self.answers.iter().map(|answers| format!("`{}`", answers.pattern)).collect();
        let known = if known.is_empty() { "no path".to_owned() } else { known.join(", ") };
        RunnerError::new(
            RunnerErrorKind::NotBegun,
            format!(
                "the script has no answer for `{path}`; it knows {known}; add `.on(\"{path}\", ..)` or `.otherwise(..)`"
            ),
        )
    }
}
