//! A crash at any sync of the store, and at any event of the journal, in a run of a plan that has every primitive: the run
//! goes on to the same end, nothing that anybody was told is lost, nothing finished is done again, and no answer counts
//! twice. The same check fails on writers that are broken. A real process is killed in `kill`.

#[path = "crash/account.rs"]
mod account;
#[path = "crash/broken.rs"]
mod broken;
#[path = "crash/check.rs"]
mod check;
#[path = "crash/observed.rs"]
mod observed;
#[path = "crash/reference.rs"]
mod reference;
#[path = "support/store.rs"]
mod store;
mod support;

use broken::{Hasty, OutcomesLate};
use check::{Person, crash_everywhere, go_on};
use hermes_workflows::{core::journal::Kind, executor::ledger::Loss};
use reference::Reference;
use support::diary::Entry;

#[tokio::test]
async fn at_every_sync_what_was_not_synced_is_gone() {
    let reference = Reference::undisturbed().await;
    let crashes = reference.backend.syncs() + 1;
    println!("{crashes} crashes in a run of {} records", reference.journal.len());
    assert_eq!(crash_everywhere(&reference, Loss::All).await, [""; 0]);
}

#[tokio::test]
async fn at_every_sync_half_of_what_was_not_synced_is_gone() {
    let reference = Reference::undisturbed().await;
    assert_eq!(crash_everywhere(&reference, Loss::Half(1)).await, [""; 0]);
}

#[tokio::test]
async fn at_every_event_of_the_journal() {
    let reference = Reference::undisturbed().await;
    let mut wrong = Vec::new();
    for (record, ledger) in (1..).zip(reference.by_event()) {
        let person = if record % 2 == 0 { Person::Repeats } else { Person::Looks };
        if let Err(why) = go_on(&reference, ledger, person).await {
            wrong.push(format!("after record {record}: {why}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// What the crash tests check is there to be checked.
#[tokio::test]
async fn the_run_that_crashes_has_everything_in_it() {
    let reference = Reference::undisturbed().await;
    let count = |what: fn(&Entry) -> bool| reference.diary.iter().filter(|(_, entry)| what(entry)).count();
    assert_eq!(count(|entry| matches!(entry, Entry::Called(_))), 30);
    assert_eq!(count(|entry| matches!(entry, Entry::Ran { .. })), 14);
    assert_eq!(count(|entry| matches!(entry, Entry::Thanked(..))), 7);
    let records = |kind| reference.journal.iter().filter(|record| record.header.kind == kind).count();
    assert_eq!((records(Kind::Timed), records(Kind::Expired)), (1, 1));
    assert_eq!(count(|entry| matches!(entry, Entry::Completed)), 1);
    assert!(count(|entry| matches!(entry, Entry::Told(_))) > 50);
    let told = "[true, false, true, true, false, true, true, false, true]";
    let first = [format!("<send>: {told}"), "9".to_owned(), "the end".to_owned()];
    let more = "<look[wide]> <look[narrow]> <try_it> <try_it> <instead> <anyway> <found_it> <inside>";
    let expected: Vec<_> = first.into_iter().chain(more.split(' ').map(str::to_owned)).collect();
    assert_eq!(reference.output, expected);
}

#[tokio::test]
async fn a_writer_that_makes_outcomes_durable_after_their_dependants_is_found_out() {
    let reference = Reference::through(OutcomesLate::around).await;
    let wrong = crash_everywhere(&reference, Loss::All).await;
    println!("{} crashes go wrong, the first {:?}", wrong.len(), wrong.first());
    assert!(wrong.iter().any(|why| why.contains("is not sound")), "{wrong:#?}");
}

#[tokio::test]
async fn a_writer_that_says_durable_before_it_is_is_found_out() {
    let reference = Reference::through(Hasty::around).await;
    let wrong = crash_everywhere(&reference, Loss::All).await;
    println!("{} crashes go wrong, the first {:?}", wrong.len(), wrong.first());
    assert!(wrong.iter().any(|why| why.contains("were acknowledged")), "{wrong:#?}");
}
