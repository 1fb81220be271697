//! What a journal says is done, and that it stays so.

use crate::drive::id;
use hermes_workflows::{
    core::{
        effect::Effect,
        ids::Seq,
        journal::{Event, Record},
    },
    prelude::*,
};
use std::collections::{BTreeMap, BTreeSet};

/// What a journal says is done, by path.
#[derive(Default)]
pub(crate) struct Left {
    pub(crate) records: Vec<Record>,
    /// How often each step succeeded.
    succeeded: BTreeMap<String, u32>,
    /// How often each question was answered.
    answered: BTreeMap<String, u32>,
    /// Calls that may act twice if they are made again, and of which nobody knows how they ended.
    pub(crate) in_doubt: BTreeSet<String>,
}

impl Left {
    pub(crate) fn of(ledger: &Ledger) -> Self {
        let mut left = Self::default();
        let Some(run) = ledger.find(&id()).unwrap() else { return left };
        let state = ledger.state(run).unwrap();
        for seq in 1..=ledger.records(run).unwrap() {
            let record = ledger.record(run, Seq(seq)).unwrap();
            let path = state.path(record.header.at).to_string();
            match record.event().unwrap() {
                Event::Started(started) if started.effect == Effect::Unsafe => {
                    left.in_doubt.insert(path);
                }
                Event::Succeeded(_) => {
                    left.in_doubt.remove(&path);
                    *left.succeeded.entry(path).or_default() += 1;
                }
                Event::Failed(_) => {
                    left.in_doubt.remove(&path);
                }
                Event::Answered(answered) => {
                    let asked = ledger.record(run, answered.question).unwrap().event().unwrap();
                    let Event::Asked(asked) = asked else { panic!("{asked:?} is no question") };
                    *left.answered.entry(asked.path).or_default() += 1;
                }
                _ => {}
            }
            left.records.push(record);
        }
        left
    }

    /// What was done stands: none of it was called or asked again, the journal has only grown, and in all of it nothing was
    /// done twice.
    pub(crate) fn stands(&self, called: &[String], asked: &[String], ledger: &Ledger) {
        let again: Vec<_> = called.iter().filter(|path| self.succeeded.contains_key(*path)).collect();
        assert!(again.is_empty(), "finished and called again: {again:?}");
        let again: Vec<_> = asked.iter().filter(|path| self.answered.contains_key(*path)).collect();
        assert!(again.is_empty(), "answered and asked again: {again:?}");
        let now = Self::of(ledger);
        assert!(now.records.starts_with(&self.records), "what was recorded has changed");
        let twice: Vec<_> =
            now.succeeded.iter().chain(&now.answered).filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "done twice: {twice:?}");
    }
}
