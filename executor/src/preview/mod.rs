//! What resuming a run with today's plan would do, before anything is done: what is reused, what runs, what a person has to
//! decide first. Nothing is written for it.

mod cause;
mod draw;
mod fates;

use cause::Causes;
use fates::Fates;
use hermes_core::{ids::RunId, journal::CauseKind, people::Actor, receipt::Cost};
use serde::Serialize;
use std::fmt;

use crate::{drive::Foreseen, error::DriveError};

/// What a resume would do with a recorded step, or with one that is not recorded yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fate {
    /// Its recorded outcome counts, a failure too.
    Reuse,
    /// Its question stays open, its wait or its call goes on.
    Open,
    /// It runs, for the first time.
    Run,
    /// It runs again.
    RunAgain,
    /// It is finished and differs: a person decides.
    Conflict,
    /// Nobody knows how it ended: a person decides.
    InDoubt,
    /// The plan no longer has it: a person decides.
    Dropped,
    /// It is recorded, and today's run does without it: an item that is gone, an arm that is not taken.
    LeftOut,
    /// What comes before it is not known yet: it may be reused or run.
    Unknown,
}

impl Fate {
    pub(crate) const ALL: [Self; 9] = [
        Self::Reuse,
        Self::Open,
        Self::Run,
        Self::RunAgain,
        Self::Conflict,
        Self::InDoubt,
        Self::Dropped,
        Self::LeftOut,
        Self::Unknown,
    ];

    /// The word that stands in drawings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reuse => "reuse",
            Self::Open => "stays open",
            Self::Run => "run",
            Self::RunAgain => "run again",
            Self::Conflict => "conflict",
            Self::InDoubt => "in doubt",
            Self::Dropped => "dropped",
            Self::LeftOut => "left out",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How many steps have which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// See [`Fate::Reuse`].
    pub reuse: u64,
    /// See [`Fate::Open`].
    pub open: u64,
    /// See [`Fate::Run`].
    pub run: u64,
    /// See [`Fate::RunAgain`].
    pub run_again: u64,
    /// See [`Fate::Conflict`].
    pub conflict: u64,
    /// See [`Fate::InDoubt`].
    pub in_doubt: u64,
    /// See [`Fate::Dropped`].
    pub dropped: u64,
    /// See [`Fate::LeftOut`].
    pub left_out: u64,
    /// See [`Fate::Unknown`]: recorded steps, and plan steps of which nothing is recorded.
    pub unknown: u64,
}

impl Tally {
    /// How many have this fate.
    pub fn of(&self, fate: Fate) -> u64 {
        match fate {
            Fate::Reuse => self.reuse,
            Fate::Open => self.open,
            Fate::Run => self.run,
            Fate::RunAgain => self.run_again,
            Fate::Conflict => self.conflict,
            Fate::InDoubt => self.in_doubt,
            Fate::Dropped => self.dropped,
            Fate::LeftOut => self.left_out,
            Fate::Unknown => self.unknown,
        }
    }

    fn add(&mut self, fate: Fate) {
        *match fate {
            Fate::Reuse => &mut self.reuse,
            Fate::Open => &mut self.open,
            Fate::Run => &mut self.run,
            Fate::RunAgain => &mut self.run_again,
            Fate::Conflict => &mut self.conflict,
            Fate::InDoubt => &mut self.in_doubt,
            Fate::Dropped => &mut self.dropped,
            Fate::LeftOut => &mut self.left_out,
            Fate::Unknown => &mut self.unknown,
        } += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = Fate::ALL.iter().map(|fate| (self.of(*fate), fate)).filter(|(count, _)| *count > 0);
        let words: Vec<_> = counted.map(|(count, fate)| format!("{count} {fate}")).collect();
        f.write_str(if words.is_empty() { "nothing recorded" } else { "" })?;
        f.write_str(&words.join(", "))
    }
}

/// Why a step runs again: a cause that is in the journal, or that a resume would write because the plan says so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Because {
    /// What kind of cause.
    #[serde(flatten)]
    pub kind: CauseKind,
    /// The path of the step at which it was opened; empty for one that is about the whole run.
    pub path: String,
    /// Who opened it.
    pub by: Actor,
    /// Why, in their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// One step and what would become of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PreviewStep {
    /// Its path.
    pub path: String,
    /// What it is, e.g. `agent`.
    pub kind: String,
    /// What would become of it.
    pub fate: Fate,
    /// The fields that differ, for a conflict; why it is in doubt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub says: Vec<String>,
    /// The causes that explain why it runs again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Because>,
    /// What it cost last time, where it has run and that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_cost: Option<Cost>,
}

/// What the steps that run again cost last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LastCost {
    /// US dollars, of those whose cost is known or estimated.
    pub usd: f64,
    /// How many agent calls among them are of unknown cost.
    pub unknown: u64,
}

/// What resuming a run would do. Its `Display` is the plan's text tree with what becomes of each step, and, below it, what is
/// not simply reused.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// The form of its JSON: 1. Fields may be added.
    pub format: u32,
    /// The run.
    pub run: RunId,
    /// The plan's name.
    pub plan: String,
    /// Whether the run has ended, and only its recorded end would be given: what runs in it needs `retry` or `extend`.
    pub ended: bool,
    /// How many steps have which fate: agents, commands, local steps, questions, waits and files, not groups.
    pub counts: Tally,
    /// What the steps that run again cost last time.
    pub last_cost: LastCost,
    /// Every step that is not simply reused, nor left out, by path.
    pub steps: Vec<PreviewStep>,
    /// The drawing.
    pub drawing: String,
}

impl Preview {
    /// Whether a resume would stop for a person before anything is called.
    pub fn parks(&self) -> bool {
        self.counts.conflict + self.counts.dropped > 0
    }

    /// As JSON, format 1: the fields of this type.
    ///
    /// # Errors
    /// None that is known: all of it is text and numbers.
    pub fn to_json(&self) -> Result<serde_json::Value, serde_json::Error> {
        serde_json::to_value(self)
    }

    pub(crate) fn of(run: &RunId, foreseen: &Foreseen, live: bool) -> Result<Self, DriveError> {
        let causes = Causes::new(foreseen);
        let fates = Fates::of(foreseen, live, &causes)?;
        let mut last_cost = LastCost::default();
        for step in fates.steps.iter().filter(|step| step.fate == Fate::RunAgain) {
            match step.last_cost {
                Some(Cost::Known { usd } | Cost::Estimated { usd }) => last_cost.usd += usd,
                Some(Cost::Unknown) => last_cost.unknown += 1,
                None => {}
            }
        }
        let mut preview = Self {
            format: 1,
            run: run.clone(),
            plan: foreseen.walk.plan().graph.name().to_owned(),
            ended: foreseen.ended,
            counts: fates.counts,
            last_cost,
            steps: Vec::new(),
            drawing: String::new(),
        };
        preview.steps = fates.steps;
        preview.drawing = draw::draw(&preview, &foreseen.walk.plan().graph, &fates.by_node);
        Ok(preview)
    }
}

impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.drawing)
    }
}
