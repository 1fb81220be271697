//! What a rehearsal found.

use super::Ending;
use crate::executor::Outcome;
use serde_json::Value;
use std::{collections::BTreeSet, fmt};

/// What a rehearsal came to: which endings of the plan its runs had, which they had not and why, and each run.
///
/// Displayed, it is a report for people.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    /// The plan's name.
    pub plan: String,
    /// The endings that some run had, in the order of the plan.
    pub covered: Vec<Ending>,
    /// Those that none had.
    pub uncovered: Vec<Uncovered>,
    /// The runs, in order.
    pub runs: Vec<RehearsedRun>,
}

/// An ending that no run had.
#[derive(Clone, Debug)]
pub struct Uncovered {
    /// The ending.
    pub ending: Ending,
    /// Why not, as far as can be told, and what to do.
    pub why: String,
}

/// One run of a rehearsal.
#[derive(Clone, Debug)]
pub struct RehearsedRun {
    /// Its drawing: the plan's, unrolled.
    pub layout: String,
    /// The input it had.
    pub input: Value,
    /// What became of it.
    pub outcome: Outcome<Value>,
}

/// Some endings of a plan were not had by any rehearsed run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotCovered(String);

impl Rehearsal {
    /// One drawing for each shape that the runs had, in the order in which they came: the same for the same plan and seed.
    pub fn layouts(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.runs.iter().map(|run| run.layout.as_str()).filter(|layout| seen.insert(*layout)).collect()
    }

    /// For tests: that every ending was had.
    ///
    /// # Errors
    /// The whole report, where one was not.
    pub fn ensure_covered(&self) -> Result<(), NotCovered> {
        if self.uncovered.is_empty() { Ok(()) } else { Err(NotCovered(self.to_string())) }
    }
}

impl fmt::Display for Uncovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.ending, self.why)
    }
}

impl fmt::Display for Rehearsal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.covered.len() + self.uncovered.len();
        let (plan, runs, shapes) = (&self.plan, self.runs.len(), self.layouts().len());
        write!(f, "rehearsal of plan {plan}: {} of {all} endings in {runs} runs, ", self.covered.len())?;
        writeln!(f, "{shapes} shapes")?;
        let count = |is: fn(&Outcome<Value>) -> bool| self.runs.iter().filter(|run| is(&run.outcome)).count();
        let completed = count(|outcome| matches!(outcome, Outcome::Completed(_)));
        let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
        writeln!(f, "runs: {completed} completed, {failed} failed, {} stopped", runs - completed - failed)?;
        for ending in &self.covered {
            writeln!(f, "  covered    {ending}")?;
        }
        for uncovered in &self.uncovered {
            writeln!(f, "  NOT COVERED {uncovered}")?;
        }
        Ok(())
    }
}
