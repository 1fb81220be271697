//! What is found after each kill: in the ledger, and in the agents' own notes of their calls.

use crate::{
    account::{Account, journal},
    child,
    support::every_primitive::{NOTES, STEPS},
};
use hermes_workflows::{core::journal::Record, prelude::*};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// What was found of one run so far.
#[derive(Default)]
pub(crate) struct Findings {
    journal: Vec<Record>,
    /// At how many kills each call had begun and had no outcome: so often it may be made again.
    under_way: BTreeMap<String, u64>,
}

impl Findings {
    /// Whether anything was committed.
    pub(crate) fn any(&self) -> bool {
        !self.journal.is_empty()
    }

    /// After a kill: nothing that was found before is lost, and nothing was called that may not have been.
    pub(crate) fn look(&mut self, desk: &Path) -> Result<(), String> {
        let account = self.read(desk)?;
        for path in &account.started {
            if !account.settled(path) {
                *self.under_way.entry(path.clone()).or_insert(0) += 1;
            }
        }
        self.judge(&calls(desk), &account)
    }

    /// After the end: everything was done, and each thing once. Says how many calls were made again.
    pub(crate) fn at_the_end(&mut self, desk: &Path) -> Result<u64, String> {
        let account = self.read(desk)?;
        let calls = calls(desk);
        self.judge(&calls, &account)?;
        // The beginning of a local step is recorded too, where it may act twice.
        let agents: BTreeSet<_> =
            account.started.iter().filter(|path| !STEPS.contains(&path.as_str())).collect();
        if agents != calls.keys().collect() || !account.started.iter().all(|path| account.settled(path)) {
            return Err(format!("{calls:?} were called, and the ledger says {account:?}"));
        }
        for (path, times) in account.outcomes.iter().chain(&account.answers) {
            if *times != 1 {
                return Err(format!("{path} has {times} outcomes"));
            }
        }
        Ok(calls.values().sum::<u64>() - calls.len() as u64)
    }

    fn read(&mut self, desk: &Path) -> Result<Account, String> {
        let ledger = Ledger::open(desk.join(child::LEDGER)).map_err(|error| error.to_string())?;
        let wrong = ledger.verify().map_err(|error| error.to_string())?;
        if !wrong.is_empty() {
            return Err(format!("the ledger is not sound: {wrong:?}"));
        }
        let journal = journal(&ledger);
        if !journal.starts_with(&self.journal) {
            return Err("what was recorded is lost or has changed".to_owned());
        }
        self.journal = journal;
        Ok(Account::of(&ledger, &self.journal))
    }

    /// A call is made once, and once more for each kill at which it was under way; never before it is recorded.
    fn judge(&self, calls: &BTreeMap<String, u64>, account: &Account) -> Result<(), String> {
        for (path, times) in calls {
            if !account.started.contains(path) {
                return Err(format!("{path} was called, and the ledger knows nothing of it"));
            }
            let under_way = self.under_way.get(path).copied().unwrap_or(0);
            if *times > under_way + u64::from(account.settled(path)) {
                return Err(format!(
                    "{path} was called {times} times, and was under way at {under_way} kills"
                ));
            }
        }
        Ok(())
    }
}

/// How often each agent and command has begun.
fn calls(desk: &Path) -> BTreeMap<String, u64> {
    let notes = fs::read_to_string(desk.join(NOTES)).unwrap_or_default();
    let mut calls = BTreeMap::new();
    for path in notes.lines().filter_map(|line| line.strip_prefix("begin ")) {
        *calls.entry(path.to_owned()).or_insert(0) += 1;
    }
    calls
}
