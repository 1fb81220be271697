//! Opening files: ours, of other programs, of other versions, broken, and held.

use super::*;
use crate::ledger::{
    holder::{Holder, beside},
    redb_store::META,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.ledger");
    (directory, path)
}

/// A ledger of one run, closed.
fn written() -> (tempfile::TempDir, PathBuf) {
    let (directory, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    let run = begin(&ledger, "r");
    for ordinal in 0..200 {
        ledger.commit(run, append(vec![succeeded(ordinal, &"x".repeat(1000))])).unwrap();
    }
    (directory, path)
}

/// That opening refuses the file, leaves it and its directory as they were, and says so.
fn assert_refused(path: &Path, part: &str) {
    let before = fs::read(path).unwrap();
    let names = || {
        let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    let beside = names();
    let error = Ledger::open(path).unwrap_err().to_string();
    assert!(error.contains(part) && error.contains("runs.ledger"), "{error}");
    assert!(fs::read(path).unwrap() == before, "the file was changed: {error}");
    assert_eq!(names(), beside);
}

#[test]
fn the_lock_of_a_holder_that_is_no_more_is_waited_for() {
    let (_directory, path) = written();
    let ledger = Ledger::open(&path).unwrap();
    // As when the holder was killed while it started another process: the lock is still there, the holder is not.
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let holder = Holder { pid: gone.id(), ..Holder::read(&path).unwrap() };
    fs::write(beside(&path, ".holder"), serde_json::to_vec(&holder).unwrap()).unwrap();
    let (at_it, opener) = std::sync::mpsc::channel();
    let opening = std::thread::spawn(move || {
        at_it.send(()).unwrap();
        Ledger::open(path).map(drop)
    });
    opener.recv().unwrap();
    drop(ledger);
    opening.join().unwrap().unwrap();
}

#[test]
fn a_ledger_is_reopened_as_it_was() {
    let (_directory, path) = written();
    for more in 0..3 {
        let ledger = Ledger::open(&path).unwrap();
        let run = ledger.find(&id("r")).unwrap().unwrap();
        assert_eq!(ledger.records(run).unwrap(), 202 + more);
        assert_eq!(ledger.commit(run, append(vec![failed(1000)])).unwrap(), Seq(203 + more));
        assert_sound(&ledger);
    }
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(begin(&ledger, "s"), RunNo(2));
    assert_eq!(ledger.path(), Some(path.as_path()));
    assert_eq!(ledger.work_directory(), Some(beside(&path, ".work").as_path()));
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let (directory, path) = place();
    let _ledger = Ledger::open(&path).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&beside(&path, ".holder"))), (0o600, 0o600));
    // And what it was made of is gone.
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn a_ledger_that_is_held_is_refused_by_name() {
    let (_directory, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    let error = Ledger::open(&path).unwrap_err();
    let LedgerError::Held { holder: Some(holder), .. } = &error else { panic!("{error}") };
    assert_eq!(holder.pid, std::process::id());
    assert_eq!(
        error.to_string().matches(&format!("held by process {} on ", holder.pid)).count(),
        1,
        "{error}"
    );
    // A clone holds it as much as the first.
    let clone = ledger.clone();
    drop(ledger);
    assert!(matches!(Ledger::open(&path), Err(LedgerError::Held { .. })));
    drop(clone);
    assert!(!beside(&path, ".holder").exists());
    Ledger::open(&path).unwrap();
}

#[test]
fn a_stale_note_is_replaced() {
    let (_directory, path) = place();
    for stale in ["{\"pid\":1,\"host\":\"elsewhere\",\"since\":0}", "not a note"] {
        fs::write(beside(&path, ".holder"), stale).unwrap();
        let _ledger = Ledger::open(&path).unwrap();
        assert_eq!(Holder::read(&path).unwrap().pid, std::process::id());
    }
    fs::create_dir(beside(&path, ".holder")).unwrap();
    let error = Ledger::open(&path).unwrap_err();
    assert!(matches!(error, LedgerError::Io { .. }), "{error}");
    fs::remove_dir(beside(&path, ".holder")).unwrap();
    Ledger::open(&path).unwrap();
}

/// Changes the format of a closed ledger; closed cleanly, or found as after a crash.
fn reformat(path: &Path, format: u64, crash: bool) {
    let db = redb::Database::open(path).unwrap();
    let transaction = db.begin_write().unwrap();
    transaction.open_table(META).unwrap().insert("hermes ledger format", format).unwrap();
    transaction.commit().unwrap();
    if crash {
        let found = fs::read(path).unwrap();
        drop(db);
        fs::write(path, found).unwrap();
    }
}

#[test]
fn a_newer_format_is_refused_unread() {
    for crash in [false, true] {
        let (_directory, path) = written();
        reformat(&path, 2, crash);
        assert_refused(&path, "is of format 2, and this version reads formats up to 1");
        assert!(matches!(Ledger::open(&path), Err(LedgerError::Newer { found: 2, known: 1, .. })));
        // As it was, it opens.
        reformat(&path, 1, crash);
        assert_sound(&Ledger::open(&path).unwrap());
    }
}

#[test]
fn what_is_not_a_ledger_is_refused_and_left_alone() {
    let (directory, path) = place();
    let sizes = [1, 8, 9, 100, 320, 4096, 5000, 100_000];
    let noise = |size: usize| (0..size).map(|at| u8::try_from(at * at % 251).unwrap()).collect::<Vec<_>>();
    for size in sizes {
        fs::write(&path, noise(size)).unwrap();
        assert_refused(&path, "it does not begin as a ledger does");
        // What begins as a redb file, and goes on as noise.
        let mut begun = b"redb\x1A\x0A\xA9\x0D\x0A".to_vec();
        begun.extend(noise(size));
        fs::write(&path, begun).unwrap();
        assert_refused(&path, "the file was not changed");
    }
    fs::write(&path, "").unwrap();
    assert_refused(&path, "the file is empty");
    fs::write(&path, "some text\n").unwrap();
    assert_refused(&path, "it does not begin as a ledger does");
    let error = Ledger::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("it is not a file"), "{error}");
    let error = Ledger::open(directory.path().join("no such directory/x")).unwrap_err();
    assert!(matches!(error, LedgerError::Io { .. }), "{error}");
}

#[test]
fn a_file_of_another_program_is_refused_and_left_alone() {
    let (_directory, path) = place();
    for crash in [false, true] {
        for table in [Some("meta"), Some("other"), None] {
            let _ = fs::remove_file(&path);
            let db = redb::Database::create(&path).unwrap();
            if let Some(table) = table {
                let transaction = db.begin_write().unwrap();
                let table = redb::TableDefinition::<&str, &str>::new(table);
                transaction.open_table(table).unwrap().insert("version", "7").unwrap();
                transaction.commit().unwrap();
            }
            let found = fs::read(&path).unwrap();
            drop(db);
            if crash {
                fs::write(&path, found).unwrap();
            }
            assert_refused(&path, "it is a redb file of another program");
        }
    }
}

#[test]
fn a_file_that_was_cut_off_is_refused_and_left_alone() {
    for crash in [false, true] {
        let (_directory, path) = written();
        if crash {
            reformat(&path, 1, true);
        }
        let whole = fs::read(&path).unwrap();
        let pages = whole.len() / 4096;
        let cuts = [1, 2, 3, pages / 2, pages - 2, pages - 1].map(|page| page * 4096);
        for cut in cuts.into_iter().chain([10, 100, 5000, whole.len() - 1]) {
            fs::write(&path, &whole[..cut]).unwrap();
            // Pages that hold nothing may be missing after a crash: then nothing is lost.
            if let Ok(ledger) = Ledger::open(&path) {
                assert!(crash, "{cut} of {} bytes opened", whole.len());
                assert_sound(&ledger);
                continue;
            }
            assert_refused(&path, "the file was not changed");
        }
        fs::write(&path, &whole).unwrap();
        assert_sound(&Ledger::open(&path).unwrap());
    }
}

#[test]
fn after_a_kill_everything_acknowledged_is_there() {
    let (_directory, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    let run = begin(&ledger, "r");
    for ordinal in 0..50 {
        ledger.commit(run, append(vec![succeeded(ordinal, &"x".repeat(700))])).unwrap();
        // What a killed process leaves: the file as it is, and its note.
        let found = beside(&path, ".found");
        fs::copy(&path, &found).unwrap();
        fs::copy(beside(&path, ".holder"), beside(&found, ".holder")).unwrap();
        let found = Ledger::open(&found).unwrap();
        assert_eq!(found.records(run).unwrap(), u64::from(3 + ordinal));
        if ordinal % 10 == 0 {
            assert_sound(&found);
        }
    }
}

#[test]
fn two_may_make_it_at_once() {
    let (directory, path) = place();
    let opened: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| Ledger::open(&path))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(opened.iter().any(Result::is_ok));
    for error in opened.iter().filter_map(|opened| opened.as_ref().err()) {
        assert!(matches!(error, LedgerError::Held { .. }), "{error}");
    }
    drop(opened);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    Ledger::open(&path).unwrap();
}
