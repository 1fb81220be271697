//! The check: from what a crash left, the run goes on to the same end, and everything that anybody was told holds.

use crate::{
    account::{Account, journal},
    reference::Reference,
    support::{
        diary::{Diary, Entry},
        every_primitive::{STEPS, UNCALLED, answer, runner, to_the_end},
        run_id,
    },
};
use hermes_workflows::{core::ids::Seq, executor::ledger::Loss, prelude::*};
use std::collections::BTreeMap;

/// Whether the person whose last thanks got lost gives all answers again, or only looks at what is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Person {
    Repeats,
    Looks,
}

/// Crashes after every sync; what went wrong, by sync.
pub(crate) async fn crash_everywhere(reference: &Reference, loss: Loss) -> Vec<String> {
    let mut wrong = Vec::new();
    let syncs = reference.backend.syncs();
    for sync in 0..=syncs {
        // Over two losses, each sync meets both.
        let person = if (sync % 2 == 0) == (loss == Loss::All) { Person::Repeats } else { Person::Looks };
        if let Err(why) = crash(reference, sync, loss, person).await {
            wrong.push(format!("after sync {sync} of {syncs}, {loss:?}, {person:?}: {why}"));
        }
    }
    wrong
}

/// Goes on from the file as a crash after `sync` left it; says what is wrong.
async fn crash(reference: &Reference, sync: usize, loss: Loss, person: Person) -> Result<(), String> {
    let ledger = match reference.after(sync, loss) {
        // Half a layout is no ledger: a real file gets its name only when it is whole.
        Err(_) if sync < reference.laid_out => return Ok(()),
        opened => opened?,
    };
    sound(&ledger)?;
    let left = journal(&ledger);
    let due = reference.acknowledged.iter().filter(|(syncs, _)| *syncs <= sync).map(|(_, seq)| seq.0);
    let due = due.max().unwrap_or(0);
    if due > left.len() as u64 {
        return Err(format!("{} records are left, and {due} were acknowledged", left.len()));
    }
    let account = Account::of(&ledger, &left);
    for (_, entry) in reference.diary.iter().filter(|(syncs, _)| *syncs <= sync) {
        if !borne_out(entry, &account, left.len() as u64) {
            return Err(format!("{} records are left, and {entry:?}", left.len()));
        }
    }
    go_on(reference, ledger, person).await
}

/// Whether what was done then was right, by what is left.
fn borne_out(entry: &Entry, left: &Account, records: u64) -> bool {
    match entry {
        Entry::Called(path) => left.started.contains(path),
        Entry::Ran { on, .. } => left.settled(on),
        Entry::Thanked(_, seq) | Entry::Told(seq) => seq.0 <= records,
        Entry::Completed => left.ended,
    }
}

fn sound(ledger: &Ledger) -> Result<(), String> {
    match ledger.verify() {
        Ok(found) if found.is_empty() => Ok(()),
        Ok(found) => Err(format!("the ledger is not sound: {found:?}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Goes on with what is left of the run in `ledger`; says what is wrong.
pub(crate) async fn go_on(reference: &Reference, ledger: Ledger, person: Person) -> Result<(), String> {
    let left = journal(&ledger);
    if !reference.journal.starts_with(&left) {
        return Err(format!("{} records are left, and they are not the first of the run", left.len()));
    }
    let before = Account::of(&ledger, &left);
    let diary = Diary::default();
    let executor = Executor::builder()
        .ledger(ledger)
        .runner(runner(&diary))
        .base_dir(diary.directory())
        .crash_limit(None)
        .build();
    let mut asked = reference.answers.clone();
    asked.retain(|(need, _)| need.id.0 <= left.len() as u64);
    if person == Person::Repeats {
        repeat(&asked, &executor, left.len() as u64).await?;
    }
    let output = to_the_end(&executor, &diary).await?;
    if output != reference.output {
        return Err(format!("it ends in {output:?}"));
    }
    let whole = journal(executor.ledger());
    if !whole.starts_with(&left) {
        return Err("what was recorded has changed".to_owned());
    }
    compare(&before, &Account::of(executor.ledger(), &whole), &diary)?;
    repeat(&asked, &executor, left.len() as u64).await?;
    repeat(&diary.answers(), &executor, whole.len() as u64).await?;
    if journal(executor.ledger()) != whole {
        return Err("an answer given again was recorded again".to_owned());
    }
    sound(executor.ledger())
}

/// Everything was done once, in all.
fn compare(before: &Account, after: &Account, diary: &Diary) -> Result<(), String> {
    let (calls, new) = (diary.calls(), new_outcomes(before, after));
    if calls != new {
        return Err(format!("{calls:?} were called, and these outcomes are new: {new:?}"));
    }
    for (path, times) in after.outcomes.iter().chain(&after.answers) {
        if *times != 1 {
            return Err(format!("{path} has {times} outcomes"));
        }
    }
    if after.decisions != before.in_doubt.len() as u64 {
        return Err(format!("{} decisions were asked for: {:?}", after.decisions, before.in_doubt));
    }
    Ok(())
}

/// How many outcomes came after `before`: by path for agents, by name for local steps.
fn new_outcomes(before: &Account, after: &Account) -> BTreeMap<String, u32> {
    let mut new = BTreeMap::new();
    for (path, outcomes) in after.outcomes.iter().filter(|(path, _)| !UNCALLED.contains(&path.as_str())) {
        let more = outcomes - before.outcomes.get(path).copied().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or(path);
        let callee = if STEPS.contains(&name) { name } else { path };
        if more > 0 {
            *new.entry(callee.to_owned()).or_insert(0) += more;
        }
    }
    new
}

/// The person gives each of these answers again: those that are recorded stay where they are, the others are taken.
async fn repeat(answers: &[(Need, Seq)], executor: &Executor, recorded: u64) -> Result<(), String> {
    for (need, seq) in answers {
        let given = executor.answer(&run_id(), need, &answer(&need.path)).key(&need.path).await;
        let given = given.map_err(|error| format!("{} is answered again: {error}", need.path))?;
        if seq.0 <= recorded && given != *seq {
            return Err(format!("{} was answered by record {seq}, and is by {given} now", need.path));
        }
    }
    Ok(())
}
