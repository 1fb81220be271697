//! Order: of what one thread writes, of what many write, and of a decision behind what is queued.

use super::*;
use std::sync::{
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

const THREADS: u32 = 6;
const EACH: u32 = 60;

/// A record that says who wrote it, and as what of theirs.
fn tagged(thread: u32, count: u32) -> Record {
    failed(thread * 1000 + count)
}

#[test]
fn each_writer_keeps_its_order() {
    let ledger = Ledger::in_memory().unwrap();
    let (run, other) = (begin(&ledger, "r"), begin(&ledger, "s"));
    let done = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (ledger, done) = (&ledger, &done);
            scope.spawn(move || {
                for count in 0..EACH {
                    let append = append(vec![tagged(thread, count)]);
                    match (thread + count) % 5 {
                        0 => drop(ledger.commit(run, append).unwrap()),
                        1 => {
                            let decided = ledger.transact(run, |_| Ok::<_, ()>((append, ())));
                            decided.unwrap().unwrap();
                        }
                        2 => drop(
                            ledger.commit(other, append.clone()).and(ledger.commit(run, append)).unwrap(),
                        ),
                        _ => {
                            let done = Arc::clone(done);
                            ledger.submit(run, append, move |outcome| {
                                outcome.unwrap();
                                done.fetch_add(1, Ordering::Relaxed);
                            });
                        }
                    }
                }
            });
        }
    });
    // Behind everything that is queued.
    ledger.transact(run, |_| Err::<(Append, ()), _>(())).unwrap().unwrap_err();
    assert_eq!(ledger.records(run).unwrap(), u64::from(2 + THREADS * EACH));
    let mut next = [0; THREADS as usize];
    for record in journal(&ledger, run).iter().skip(2) {
        let ordinal = record.header.at.place.ordinal;
        let (thread, count) = (ordinal / 1000, ordinal % 1000);
        assert_eq!(count, next[thread as usize], "thread {thread}");
        next[thread as usize] += 1;
    }
    assert_sound(&ledger);
    let submitted = (0..THREADS * EACH).filter(|at| (at / EACH + at % EACH) % 5 > 2).count();
    drop(ledger);
    assert_eq!(done.load(Ordering::Relaxed), submitted);
}

#[test]
fn outcomes_come_in_order_also_those_refused_at_the_door() {
    let (ledger, barrier, _) = barred();
    let run = begin(&ledger, "r");
    let (sender, outcomes) = mpsc::channel();
    barrier.shut();
    let mut large = succeeded(0, "");
    large.body = vec![b' '; (64 << 20) + 1];
    for record in [failed(0), large, failed(1), answered(0, Seq(50), "nothing"), failed(2)] {
        let sender = sender.clone();
        ledger.submit(run, append(vec![record]), move |outcome| sender.send(outcome).unwrap());
    }
    barrier.open();
    let outcomes: Vec<_> = outcomes.iter().take(5).collect();
    let written: Vec<_> = outcomes.iter().map(|outcome| outcome.as_ref().ok().copied()).collect();
    assert_eq!(written, [Some(Seq(3)), None, Some(Seq(4)), None, Some(Seq(5))]);
    assert!(matches!(**outcomes[1].as_ref().unwrap_err(), LedgerError::TooLarge { .. }));
    assert!(matches!(**outcomes[3].as_ref().unwrap_err(), LedgerError::Illegal { .. }));
    assert_sound(&ledger);
}

#[test]
fn a_decision_stands_behind_what_is_queued() {
    let (ledger, barrier, _) = barred();
    let run = begin(&ledger, "r");
    barrier.shut();
    ledger.submit(run, append(vec![failed(0)]), |_| {});
    barrier.reached();
    // The writer is at work; these wait in the queue.
    ledger.submit(run, append(vec![asked(0, "a")]), |_| {});
    std::thread::scope(|scope| {
        let transact = scope.spawn(|| {
            ledger.transact(run, |summary| {
                let question = summary.needs().keys().next().map(|(seq, _)| *seq).ok_or("nothing is open")?;
                Ok::<_, &str>((append(vec![answered(0, question, "yes")]), question))
            })
        });
        barrier.open();
        assert_eq!(transact.join().unwrap().unwrap(), Ok((Seq(5), Seq(4))));
    });
    assert_sound(&ledger);
}

#[test]
fn a_commit_does_not_overtake_what_is_queued() {
    let (ledger, barrier, sizes) = barred();
    let run = begin(&ledger, "r");
    barrier.shut();
    ledger.submit(run, append(vec![failed(0)]), |_| {});
    barrier.reached();
    ledger.submit(run, append(vec![failed(1), failed(2)]), |_| {});
    std::thread::scope(|scope| {
        let commit = scope.spawn(|| ledger.commit(run, append(vec![failed(3)])));
        barrier.open();
        assert_eq!(commit.join().unwrap().unwrap(), Seq(6));
    });
    let order: Vec<_> = journal(&ledger, run).iter().map(|record| record.header.at.place.ordinal).collect();
    assert_eq!(order[2..], [0, 1, 2, 3]);
    assert_eq!(sizes.lock().unwrap().iter().sum::<usize>(), 6);
}

#[test]
fn readers_do_not_wait_for_a_commit() {
    let (ledger, barrier, _) = barred();
    let run = begin(&ledger, "r");
    barrier.shut();
    ledger.submit(run, append(vec![failed(0)]), |_| {});
    barrier.reached();
    assert_eq!(ledger.records(run).unwrap(), 2);
    assert_eq!(ledger.state(run).unwrap().summary.head().unwrap().records, 2);
    assert_eq!(ledger.runs().unwrap().len(), 1);
    barrier.open();
}
