//! What is written is read back, and what must not be written is not.

use super::*;

#[test]
fn records_are_read_back_with_short_and_long_bodies() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    let mut written = beginning("r");
    // Around the length at which a body moves to the other table.
    for length in [0, 400, 470, 498, 499, 500, 513, 600, 100_000] {
        let ordinal = u32::try_from(written.len()).unwrap();
        written.push(started(ordinal));
        written.push(succeeded(ordinal, &"x".repeat(length)));
        written.push(asked(ordinal, &"p".repeat(length)));
        ledger.commit(run, append(written[written.len() - 3..].to_vec())).unwrap();
    }
    let lengths: Vec<_> = written.iter().map(|record| record.body.len()).collect();
    assert!(lengths.contains(&512) && lengths.contains(&513), "{lengths:?}");
    for record in &mut written {
        record.header.time = 1000;
    }
    assert_eq!(journal(&ledger, run), written);
    assert_eq!(ledger.state(run).unwrap().cells().count(), 1 + 2 * 9);
    assert_sound(&ledger);
}

#[test]
fn the_fold_does_without_the_long_bodies_that_it_does_not_need() {
    let store = RedbStore::in_memory().unwrap();
    let ledger = Ledger::on(Arc::new(store));
    let run = begin(&ledger, "r");
    let long = "x".repeat(2000);
    ledger.commit(run, append(vec![succeeded(0, &long), asked(0, &long)])).unwrap();
    let needs = ledger.needs(None).unwrap();
    assert_eq!((needs.len(), &needs[0].0, needs[0].1.path.len()), (1, &id("r"), 2000));
    let head = ledger.head(&id("r")).unwrap().unwrap();
    assert_eq!((head.records, head.succeeded, head.needs), (4, 1, 1));
    assert_eq!(ledger.runs().unwrap(), vec![head]);
}

#[test]
fn values_are_fetched_from_where_they_stand() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    let long = "long ".repeat(1000);
    let first =
        ledger.commit(run, append(vec![succeeded(0, &long), asked(0, "review"), started(1)])).unwrap();
    assert_eq!(first, Seq(3));
    let answer = ledger.commit(run, append(vec![answered(0, Seq(4), "yes")])).unwrap();
    let fetcher = ledger.fetcher(run);
    assert_eq!(&*fetcher.fetch(1).unwrap(), "\"the input\"");
    assert_eq!(&*fetcher.fetch(3).unwrap(), format!("\"{long}\""));
    assert_eq!(&*fetcher.fetch(answer.0).unwrap(), "\"yes\"");
    let none = fetcher.fetch(5).unwrap_err().to_string();
    assert!(none.contains("Started record holds no value"), "{none}");
    assert!(fetcher.fetch(99).unwrap_err().to_string().contains("no record 99"));
    assert!(matches!(ledger.record(run, Seq(0)), Err(LedgerError::NoSuchRecord { .. })));
}

#[test]
fn blobs_are_kept_under_their_digests() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    let blobs = vec![b"one".to_vec(), vec![], b"one".to_vec(), vec![7; 100_000]];
    let seq = ledger.commit(run, Append { records: vec![], blobs: blobs.clone(), now: 0 }).unwrap();
    // Nothing was numbered.
    assert_eq!((seq, ledger.records(run).unwrap()), (Seq(3), 2));
    for blob in &blobs {
        assert_eq!(ledger.blob(&Digest::of_bytes(blob)).unwrap().as_ref(), Some(blob));
    }
    assert_eq!(ledger.blob(&digest("other")).unwrap(), None);
    assert_sound(&ledger);
}

#[test]
fn nothing_at_all_is_no_commit() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    assert_eq!(ledger.commit(run, Append::default()).unwrap(), Seq(3));
    assert_eq!(ledger.stats().commits, 1);
}

#[test]
fn time_never_goes_back() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    for now in [2000, 1500, i64::MIN, 3000, 2999] {
        ledger.commit(run, Append { records: vec![failed(0)], blobs: vec![], now }).unwrap();
    }
    let times: Vec<_> = journal(&ledger, run).iter().map(|record| record.header.time).collect();
    assert_eq!(times, [1000, 1000, 2000, 2000, 2000, 3000, 3000]);
    assert_eq!(ledger.head(&id("r")).unwrap().unwrap().updated, 3000);
    // Each run has its own time.
    let other = ledger.create(&id("s"), Append { records: beginning("s"), blobs: vec![], now: 5 }).unwrap();
    assert_eq!(ledger.record(other, Seq(2)).unwrap().header.time, 5);
}

#[test]
fn what_is_too_large_is_refused_with_both_sizes() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    let mut large = succeeded(0, "");
    large.body = vec![b' '; (64 << 20) + 1];
    let mut error = ledger.commit(run, append(vec![large])).unwrap_err();
    let LedgerError::TooLarge { size, limit, .. } = error else { panic!("{error}") };
    assert_eq!((size, limit), (67_108_865, 67_108_864));
    error =
        ledger.commit(run, Append { blobs: vec![vec![0; (64 << 20) + 1]], ..Append::default() }).unwrap_err();
    assert!(error.to_string().starts_with("a blob has 67108865 bytes, and 67108864 is the most"), "{error}");
    assert_eq!(ledger.records(run).unwrap(), 2);
}

#[test]
fn a_run_begins_once_and_as_itself() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    let again = ledger.create(&id("r"), append(beginning("r"))).unwrap_err();
    assert!(matches!(&again, LedgerError::RunExists { run, .. } if *run == id("r")), "{again}");
    for records in [vec![], vec![succeeded(0, "")], beginning("other")] {
        let error = ledger.create(&id("s"), append(records)).unwrap_err();
        assert!(matches!(error, LedgerError::Illegal { .. }), "{error}");
        assert_eq!(ledger.find(&id("s")).unwrap(), None);
    }
    let next = begin(&ledger, "s");
    assert_eq!((run, next), (RunNo(1), RunNo(2)));
    let missing = ledger.commit(RunNo(3), append(vec![succeeded(0, "")])).unwrap_err();
    assert!(matches!(missing, LedgerError::NoSuchRun { .. }), "{missing}");
    assert!(matches!(ledger.state(RunNo(3)), Err(LedgerError::NoSuchRun { .. })));
    assert!(matches!(ledger.records(RunNo(3)), Err(LedgerError::NoSuchRun { .. })));
    assert_eq!(ledger.find(&id("t")).unwrap(), None);
    assert_eq!(ledger.needs(Some(&id("t"))).unwrap(), vec![]);
    assert_sound(&ledger);
}

#[test]
fn an_append_that_cannot_follow_changes_nothing() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    // The first two could stand there; the third answers nothing.
    let error = ledger
        .commit(run, append(vec![asked(0, "a"), asked(1, "b"), answered(2, Seq(77), "x")]))
        .unwrap_err();
    let LedgerError::Illegal { why, .. } = &error else { panic!("{error}") };
    assert_eq!(why.seq, Seq(5));
    assert_eq!((ledger.records(run).unwrap(), ledger.needs(None).unwrap().len()), (2, 0));
    assert_eq!(ledger.commit(run, append(vec![asked(0, "a")])).unwrap(), Seq(3));
    assert_sound(&ledger);
}
