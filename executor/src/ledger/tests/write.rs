//! Transactions: what goes into one, what they cost, and what happens when one fails.

use super::*;
use std::sync::{
    atomic::{AtomicBool, Ordering},
    mpsc,
};

#[test]
fn what_queues_during_a_commit_goes_into_the_next_as_one() {
    let (ledger, barrier, sizes) = barred();
    let run = begin(&ledger, "r");
    barrier.shut();
    let (sender, outcomes) = mpsc::channel();
    let submit = |ordinal| {
        let sender = sender.clone();
        ledger.submit(run, append(vec![failed(ordinal)]), move |outcome| {
            sender.send(outcome.unwrap()).unwrap();
        });
    };
    submit(0);
    barrier.reached();
    (1..1500).for_each(submit);
    barrier.open();
    let seqs: Vec<_> = outcomes.iter().take(1500).map(|seq| seq.0).collect();
    assert_eq!(seqs, (3..1503).collect::<Vec<_>>());
    // One transaction holds 1,024 rows at most.
    assert_eq!(*sizes.lock().unwrap(), [2, 1, 1024, 475]);
    let stats = ledger.stats();
    assert_eq!((stats.commits, stats.rows), (4, 1502));
    assert_sound(&ledger);
}

#[test]
fn a_transaction_is_bounded_in_bytes_too() {
    let (ledger, barrier, sizes) = barred();
    let run = begin(&ledger, "r");
    barrier.shut();
    ledger.submit(run, append(vec![failed(0)]), |_| {});
    barrier.reached();
    for ordinal in 1..=5 {
        ledger.submit(run, append(vec![succeeded(ordinal, &"x".repeat(1 << 20))]), |_| {});
    }
    ledger.submit(run, append(vec![succeeded(6, &"x".repeat(6 << 20))]), |_| {});
    ledger.submit(run, append(vec![failed(7)]), |_| {});
    barrier.open();
    ledger.transact(run, |_| Err::<(Append, ()), _>(())).unwrap().unwrap_err();
    assert_eq!(*sizes.lock().unwrap(), [2, 1, 3, 2, 1, 1]);
}

#[test]
fn several_runs_and_new_ones_share_a_transaction() {
    let (ledger, barrier, sizes) = barred();
    let run = begin(&ledger, "r");
    barrier.shut();
    ledger.submit(run, append(vec![failed(0)]), |_| {});
    barrier.reached();
    std::thread::scope(|scope| {
        let threads: Vec<_> = ["s", "t", "t", "u"]
            .map(|name| {
                let ledger = &ledger;
                scope.spawn(move || ledger.create(&id(name), append(beginning(name))))
            })
            .into_iter()
            .collect();
        barrier.open();
        let made = threads.into_iter().map(|thread| thread.join().unwrap().ok());
        let mut numbers: Vec<_> = made.flatten().collect();
        numbers.sort();
        assert_eq!(numbers, [RunNo(2), RunNo(3), RunNo(4)]);
    });
    assert_eq!(sizes.lock().unwrap().iter().sum::<usize>(), 9);
    assert_sound(&ledger);
}

#[test]
fn a_chain_makes_one_commit_a_step() {
    let store = Hooked::new(|_| Ok(()));
    let ledger = Ledger::on(Arc::clone(&store) as Arc<dyn Store>);
    let run = begin(&ledger, "r");
    for ordinal in 0..1000 {
        ledger.commit(run, append(vec![succeeded(ordinal, "x")])).unwrap();
    }
    let stats = ledger.stats();
    assert_eq!((stats.commits, stats.rows), (1001, 1002));
    drop(ledger);
    // Once at the end, if not before.
    assert!(*store.settles.lock().unwrap() >= 1);
    let mut records = 0;
    store
        .records(run, &mut |_, _| {
            records += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(records, 1002);
}

#[test]
fn a_ledger_that_wrote_nothing_is_not_settled() {
    let store = Hooked::new(|_| Ok(()));
    drop(Ledger::on(Arc::clone(&store) as Arc<dyn Store>));
    assert_eq!(*store.settles.lock().unwrap(), 0);
}

#[test]
fn what_is_queued_is_written_when_the_last_handle_is_dropped() {
    let (ledger, barrier, sizes) = barred();
    let run = begin(&ledger, "r");
    barrier.shut();
    let (sender, outcomes) = mpsc::channel();
    for ordinal in 0..10 {
        let sender = sender.clone();
        ledger.submit(run, append(vec![failed(ordinal)]), move |outcome| {
            sender.send(outcome.unwrap()).unwrap();
        });
    }
    drop(sender);
    barrier.open();
    drop(ledger);
    assert_eq!(outcomes.iter().count(), 10);
    assert_eq!(sizes.lock().unwrap().iter().sum::<usize>(), 12);
}

#[test]
fn a_failed_commit_is_told_to_everybody_and_leaves_no_gap() {
    let failing = Arc::new(AtomicBool::new(false));
    let (barrier, fails) = (Barrier::default(), Arc::clone(&failing));
    let gate = barrier.clone();
    let store = Hooked::new(move |batch| {
        gate.pass();
        if fails.load(Ordering::SeqCst) && batch.rows.len() > 1 {
            return Err(LedgerError::damaged("the test says so"));
        }
        Ok(())
    });
    let ledger = Ledger::on(Arc::clone(&store) as Arc<dyn Store>);
    let run = begin(&ledger, "r");
    failing.store(true, Ordering::SeqCst);
    barrier.shut();
    let (sender, outcomes) = mpsc::channel();
    let submit = |records| {
        let sender = sender.clone();
        ledger.submit(run, append(records), move |outcome| sender.send(outcome).unwrap());
    };
    submit(vec![failed(0)]);
    barrier.reached();
    submit(vec![asked(1, "a")]);
    submit(vec![failed(2)]);
    // Too many for the same transaction, and never tried.
    submit((0..1024).map(failed).collect());
    barrier.open();
    let outcomes: Vec<_> =
        outcomes.iter().take(4).map(|outcome| outcome.map_err(|error| error.to_string())).collect();
    assert_eq!(outcomes[0], Ok(Seq(3)));
    assert!(outcomes[1].as_ref().unwrap_err().contains("the test says so"));
    assert_eq!(outcomes[1], outcomes[2]);
    assert!(outcomes[3].as_ref().unwrap_err().contains("takes no more writes"), "{outcomes:?}");
    failing.store(false, Ordering::SeqCst);
    let error = ledger.commit(run, append(vec![failed(3)])).unwrap_err();
    assert!(matches!(error, LedgerError::Failed { .. }), "{error}");
    assert!(error.to_string().contains("the test says so"), "{error}");
    // Opened anew, it goes on where the last durable record is.
    let ledger = Ledger::on(store);
    assert_eq!(ledger.commit(run, append(vec![failed(3)])).unwrap(), Seq(4));
    assert_eq!(ledger.create(&id("s"), append(beginning("s"))).unwrap(), RunNo(2));
    assert_sound(&ledger);
}

#[test]
fn a_store_that_panics_is_never_written_to_again() {
    let store = Hooked::new(|batch| if batch.rows.len() == 1 { panic!("the test says so") } else { Ok(()) });
    let ledger = Ledger::on(store);
    let run = begin(&ledger, "r");
    let inline =
        std::thread::scope(|scope| scope.spawn(|| ledger.commit(run, append(vec![failed(0)]))).join());
    assert!(inline.is_err());
    let error = ledger.commit(run, append(vec![failed(0), failed(1)])).unwrap_err();
    assert!(matches!(error, LedgerError::Failed { .. }), "{error}");
    let (sender, outcomes) = mpsc::channel();
    ledger.submit(run, append(vec![failed(0)]), move |outcome| sender.send(outcome).unwrap());
    assert!(outcomes.recv().unwrap().is_err());
    assert!(ledger.transact(run, |_| Err::<(Append, ()), _>(())).is_err());
    // Reading goes on.
    assert_eq!(ledger.records(run).unwrap(), 2);
}

#[test]
fn a_store_that_panics_on_the_writers_thread_leaves_nobody_waiting() {
    let gate = Barrier::default();
    let inner = gate.clone();
    let store = Hooked::new(move |batch| {
        inner.pass();
        if batch.rows.len() == 1 { panic!("the test says so") } else { Ok(()) }
    });
    let ledger = Ledger::on(store);
    let run = begin(&ledger, "r");
    gate.shut();
    let (sender, outcomes) = mpsc::channel();
    for ordinal in 0..3 {
        let sender = sender.clone();
        ledger.submit(run, append(vec![failed(ordinal)]), move |outcome| sender.send(outcome).unwrap());
        if ordinal == 0 {
            gate.reached();
        }
    }
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| ledger.transact(run, |_| Err::<(Append, ()), _>(())));
        gate.open();
        assert!(waits.join().unwrap().is_err());
    });
    assert_eq!(outcomes.iter().take(3).filter(Result::is_err).count(), 3);
}

#[test]
fn what_is_called_with_an_outcome_may_panic_or_drop_the_last_handle() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    ledger.submit(run, append(vec![failed(0)]), |_| panic!("the test says so"));
    assert_eq!(ledger.commit(run, append(vec![failed(1)])).unwrap(), Seq(4));
    let (sender, outcomes) = mpsc::channel();
    let last = ledger.clone();
    ledger.submit(run, append(vec![failed(2)]), move |outcome| {
        drop(last);
        sender.send(outcome).unwrap();
    });
    drop(ledger);
    assert_eq!(outcomes.recv().unwrap().unwrap(), Seq(5));
}

#[test]
fn a_panic_in_a_decision_harms_nobody() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    let panicked = std::thread::scope(|scope| {
        scope.spawn(|| ledger.transact::<(), ()>(run, |_| panic!("the test says so"))).join()
    });
    assert!(panicked.is_err());
    assert_eq!(ledger.commit(run, append(vec![failed(1)])).unwrap(), Seq(3));
    assert_sound(&ledger);
}
