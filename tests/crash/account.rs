//! What a journal says was done, by path.

use crate::support::run_id;
use hermes_workflows::{
    core::{
        effect::Effect,
        ids::Seq,
        journal::{Answered, Event, Expired, Record},
    },
    prelude::*,
};
use std::collections::{BTreeMap, BTreeSet};

/// What a journal says was done, by path.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// The calls whose beginning is recorded.
    pub(crate) started: BTreeSet<String>,
    /// How many outcomes each step has.
    pub(crate) outcomes: BTreeMap<String, u32>,
    /// How many answers each question has, and how many ends each wait.
    pub(crate) answers: BTreeMap<String, u32>,
    /// What a person decided.
    pub(crate) decisions: u64,
    /// The calls that may act twice if they are made again, and of which nobody knows how they ended.
    pub(crate) in_doubt: BTreeSet<String>,
    pub(crate) ended: bool,
}

impl Account {
    pub(crate) fn of(ledger: &Ledger, journal: &[Record]) -> Self {
        let mut account = Self::default();
        let Some(run) = ledger.find(&run_id()).unwrap() else { return account };
        let state = ledger.state(run).unwrap();
        for record in journal {
            let path = state.path(record.header.at).to_string();
            match record.event().unwrap() {
                Event::Started(started) => {
                    if started.effect == Effect::Unsafe {
                        account.in_doubt.insert(path.clone());
                    }
                    account.started.insert(path);
                }
                // Nobody is called for a wait.
                Event::Succeeded(_) if state.steps[record.header.at.step.0 as usize].1 == "wait" => {
                    *account.answers.entry(path).or_default() += 1;
                }
                Event::Succeeded(_) | Event::Failed(_) => {
                    account.in_doubt.remove(&path);
                    *account.outcomes.entry(path).or_default() += 1;
                }
                Event::Answered(Answered { question, .. }) | Event::Expired(Expired { question, .. }) => {
                    let Event::Asked(asked) = ledger.record(run, question).unwrap().event().unwrap() else {
                        panic!("{question} is no question")
                    };
                    *account.answers.entry(asked.path).or_default() += 1;
                }
                Event::DecisionMade(_) => account.decisions += 1,
                Event::Ended(_) => account.ended = true,
                _ => {}
            }
        }
        account
    }

    /// Whether the step at `path` has an outcome, or the question an answer.
    pub(crate) fn settled(&self, path: &str) -> bool {
        self.outcomes.contains_key(path) || self.answers.contains_key(path)
    }
}

/// All records of the run; none where there is no run.
pub(crate) fn journal(ledger: &Ledger) -> Vec<Record> {
    let Some(run) = ledger.find(&run_id()).unwrap() else { return Vec::new() };
    (1..=ledger.records(run).unwrap()).map(|seq| ledger.record(run, Seq(seq)).unwrap()).collect()
}
