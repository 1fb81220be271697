//! A crash at any instant leaves a prefix of the journal: everything acknowledged, nothing torn.

use super::*;

fn on(backend: CrashBackend) -> Result<Ledger, LedgerError> {
    Ok(Ledger::on(Arc::new(RedbStore::on_backend(backend)?)))
}

/// Runs a journal on a backend; how many syncs there had been when each number of records was acknowledged.
fn run_on(backend: &CrashBackend) -> (Vec<Record>, Vec<(usize, u64)>) {
    let ledger = on(backend.clone()).unwrap();
    let mut acknowledged = vec![(backend.syncs(), 0)];
    let run = begin(&ledger, "r");
    acknowledged.push((backend.syncs(), 2));
    let mut question = None;
    for ordinal in 0..16 {
        let length = [10, 600, 3000, 70_000][ordinal as usize % 4];
        let mut records = vec![started(ordinal), succeeded(ordinal, &"x".repeat(length))];
        match question.take() {
            Some(question) => records.push(answered(ordinal - 1, question, "yes")),
            None => records.push(asked(ordinal, "a")),
        }
        let asks = ordinal % 2 == 0;
        let blobs = vec![vec![u8::try_from(ordinal).unwrap(); 2000]];
        let first = ledger.commit(run, Append { records, blobs, now: 1000 }).unwrap();
        question = asks.then_some(Seq(first.0 + 2));
        acknowledged.push((backend.syncs(), first.0 + 2));
    }
    let journal = journal(&ledger, run);
    drop(ledger);
    (journal, acknowledged)
}

#[test]
fn at_every_sync_a_prefix_is_left() {
    let backend = CrashBackend::new();
    let (journal_before, acknowledged) = run_on(&backend);
    let laid_out = acknowledged[0].0;
    assert!(backend.syncs() > laid_out + 16);
    for sync in laid_out..=backend.syncs() {
        for loss in [Loss::All, Loss::Half(1), Loss::Half(2)] {
            let ledger = on(CrashBackend::from_image(backend.image_at(sync, loss))).unwrap();
            let run = ledger.find(&id("r")).unwrap();
            let records = run.map_or(0, |run| ledger.records(run).unwrap());
            let due = acknowledged.iter().filter(|(syncs, _)| *syncs <= sync).map(|(_, due)| *due).max();
            assert!(
                due <= Some(records),
                "{records} records after sync {sync}, {loss:?}; {due:?} were acknowledged"
            );
            let Some(run) = run else { continue };
            let left = journal(&ledger, run);
            assert!(left == journal_before[..left.len()], "after sync {sync}, {loss:?}");
            assert_sound(&ledger);
            // And it goes on.
            assert_eq!(ledger.commit(run, append(vec![failed(500)])).unwrap(), Seq(records + 1));
        }
    }
}

#[test]
fn when_the_disk_fails_nothing_more_is_written_until_it_is_opened_anew() {
    let backend = CrashBackend::new();
    let ledger = on(backend.clone()).unwrap();
    let run = begin(&ledger, "r");
    ledger.commit(run, append(vec![failed(0)])).unwrap();
    backend.fail_after(backend.syncs());
    let error = ledger.commit(run, append(vec![failed(1)])).unwrap_err();
    assert!(error.to_string().contains("the test's disk is gone"), "{error}");
    for _ in 0..2 {
        let error = ledger.commit(run, append(vec![failed(2)])).unwrap_err();
        assert!(matches!(error, LedgerError::Failed { .. }), "{error}");
        assert!(error.to_string().contains("the test's disk is gone"), "{error}");
    }
    drop(ledger);
    for loss in [Loss::All, Loss::Half(1), Loss::Half(2), Loss::Half(3), Loss::Half(4)] {
        let ledger = on(CrashBackend::from_image(backend.image_at(backend.syncs(), loss))).unwrap();
        assert!([3, 4].contains(&ledger.records(run).unwrap()));
        assert_sound(&ledger);
    }
}

#[test]
fn images_are_what_was_synced() {
    use redb::StorageBackend as _;
    let backend = CrashBackend::from_image(vec![9, 9]);
    backend.set_len(4).unwrap();
    backend.write(0, &[1, 1]).unwrap();
    backend.sync_data().unwrap();
    backend.write(2, &[2, 2]).unwrap();
    assert!(backend.write(3, &[3, 3]).is_err());
    assert_eq!(backend.image_at(0, Loss::All), [9, 9]);
    assert_eq!(backend.image_at(1, Loss::All), [1, 1, 0, 0]);
    let halves: Vec<_> = (0..20).map(|seed| backend.image_at(1, Loss::Half(seed))).collect();
    assert!(halves.contains(&vec![1, 1, 0, 0]) && halves.contains(&vec![1, 1, 2, 2]));
    assert_eq!(backend.image_at(1, Loss::Half(7)), backend.image_at(1, Loss::Half(7)));
    backend.fail_after(1);
    backend.write(0, &[4]).unwrap();
    assert!(backend.sync_data().is_err() && backend.write(0, &[5]).is_err());
    assert_eq!(backend.syncs(), 1);
}
