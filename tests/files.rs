//! Snapshots of files: taken once, kept with their contents, and honest about what cannot be taken.

mod support;

use hermes_workflows::{
    core::{digest::Digest, fold::CellStatus, ids::Seq},
    executor::ledger::{CrashBackend, Loss, RedbStore, Store as Engine},
    prelude::*,
};
use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
};
use support::*;
use tempfile::TempDir;

/// A directory with these files.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, content) in files {
        write(directory.path(), path, content);
    }
    directory
}

fn write(base: &Path, path: &str, content: &str) {
    let path = base.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn listing(globs: &[&str]) -> Plan<(), FileSet> {
    let globs: Vec<_> = globs.iter().map(|glob| (*glob).to_owned()).collect();
    Plan::new("listing", move |_| files("notes", globs).list()).unwrap()
}

fn reading(globs: &[&str]) -> Plan<(), Vec<FileText>> {
    let globs: Vec<_> = globs.iter().map(|glob| (*glob).to_owned()).collect();
    Plan::new("reading", move |_| files("notes", globs).texts()).unwrap()
}

fn over(ledger: Ledger, base: &Path) -> Executor {
    Executor::builder().ledger(ledger).runner(echo().0).base_dir(base).build()
}

fn memory(base: &Path) -> Executor {
    over(Ledger::in_memory().unwrap(), base)
}

async fn listed(base: &Path, globs: &[&str]) -> Vec<String> {
    let (set, _) = start(&memory(base), &listing(globs), ()).await.completed();
    set.files.into_iter().map(|file| file.path).collect()
}

async fn refused(base: &Path, globs: &[&str]) -> Failure {
    let failure = start(&memory(base), &listing(globs), ()).await.failed();
    assert_eq!(failure.path, "notes");
    assert!(failure.location.as_ref().unwrap().starts_with("tests/files.rs:"), "{failure}");
    failure
}

#[tokio::test]
async fn path_hash_and_size_of_each_file_once_and_in_order() {
    let base =
        directory(&[("b.md", "two"), ("a/z.md", "one"), ("a/y.txt", ""), ("a.md", "tree"), (".c.md", "")]);
    let globs = ["**/*.md", "a.md", "a/*"];
    let (set, counts) = start(&memory(base.path()), &listing(&globs), ()).await.completed();
    let paths: Vec<_> = set.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, [".c.md", "a.md", "a/y.txt", "a/z.md", "b.md"]);
    assert_eq!(set.get("a/z.md").unwrap().hash, Digest::of_bytes(b"one"));
    assert_eq!((set.get("a.md").unwrap().size, set.size()), (4, 10));
    assert_eq!((counts.ok, counts.calls), (1, 0));
}

#[tokio::test]
async fn what_changes_on_the_disk_later_does_not_change_the_run() {
    let base = directory(&[("a.md", "one"), ("b.md", "two")]);
    let store = Store::new();
    let plan = Plan::new("sum", |_: Step<()>| {
        let notes = files("notes", ["*.md"]).texts();
        let count = step("count").input("notes", notes).run(Vec::len);
        agent("sum_up").input("notes", notes).input("count", count).prompt("Sum up.").text()
    })
    .unwrap();
    let script = Scripted::new().text("sum_up", "done");
    let ledger = store.open();
    let executor = Executor::builder().ledger(ledger).runner(script.clone()).base_dir(base.path()).build();
    start(&executor, &plan, ()).await.completed();
    assert!(script.seen()[0].text.contains("\"text\":\"one\""), "{}", script.seen()[0].text);
    drop(executor);

    write(base.path(), "a.md", "another");
    write(base.path(), "c.md", "three");
    fs::remove_file(base.path().join("b.md")).unwrap();
    let executor = Executor::builder().ledger(store.open()).runner(refuses()).base_dir(base.path()).build();
    let (_, counts) = resume(&executor, &plan).await.completed();
    assert_eq!((counts.reused, counts.calls), (3, 0));
    drop(executor);
    // Not even a base directory is needed for what was taken.
    let nowhere = base.path().join("nowhere");
    let executor = Executor::builder().ledger(store.open()).runner(refuses()).base_dir(nowhere).build();
    resume(&executor, &plan).await.completed();
    drop(executor);

    // Another run takes them as they are then.
    let executor = over(store.open(), base.path());
    let run = executor.start(&listing(&["*.md"]), ()).id("other").await.unwrap();
    let (set, _) = run.outcome().await.completed();
    assert_eq!(set.files.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["a.md", "c.md"]);
}

#[tokio::test]
async fn other_globs_are_a_conflict_and_a_rerun_takes_the_files_anew() {
    let base = directory(&[("a.md", "one"), ("b.txt", "two")]);
    let store = Store::new();
    start(&over(store.open(), base.path()), &listing(&["*.md"]), ()).await.completed();
    write(base.path(), "a.md", "changed");
    let other = listing(&["*.md", "*.txt"]);
    let executor = over(store.open(), base.path());
    let needs = resume(&executor, &other).await.parked();
    assert_eq!(changed_fields(&needs), ["notes: globs"]);
    // The order is part of what the author wrote.
    assert_eq!(
        changed_fields(&resume(&executor, &listing(&["*.md", "!x"])).await.parked()),
        ["notes: globs"]
    );
    resume(&executor, &other).await.parked();
    decide_all(&executor, Decision::Keep).await;
    let (set, counts) = resume(&executor, &other).await.completed();
    assert_eq!((set.files.len(), counts.reused), (1, 1));
    assert_eq!(set.files[0].hash, Digest::of_bytes(b"one"));

    let third = listing(&["*.txt", "*.md"]);
    resume(&executor, &third).await.parked();
    decide_all(&executor, Decision::Rerun).await;
    // The run had ended; the rerun is a cause, and it goes on.
    let (set, _) = resume(&executor, &third).await.completed();
    assert_eq!(set.get("a.md").unwrap().hash, Digest::of_bytes(b"changed"));
    // What was taken first is still there.
    assert_eq!(executor.ledger().blob(&Digest::of_bytes(b"one")).unwrap().unwrap(), b"one");
}

#[tokio::test]
async fn contents_are_blobs_under_their_hashes_each_once() {
    let base = directory(&[("a", "same"), ("b", "same"), ("c", "other")]);
    let store = Arc::new(RedbStore::in_memory().unwrap());
    let ledger = Ledger::on(Arc::clone(&store) as Arc<dyn Engine>);
    let executor = over(ledger.clone(), base.path());
    let (set, _) = start(&executor, &listing(&["*"]), ()).await.completed();
    assert_eq!(set.files[0].hash, set.files[1].hash);
    assert_eq!(ledger.blob(&set.files[1].hash).unwrap().unwrap(), b"same");
    let mut blobs = 0;
    store.blobs(&mut |_, _| blobs += 1).unwrap();
    assert_eq!(blobs, 2);
    // A step reads them through the ledger.
    let plan = Plan::new("read", move |_: Step<()>| {
        let ledger = ledger.clone();
        step("read").input("set", files("notes", ["*"]).list()).try_run(move |set: &FileSet| {
            let blob = ledger.blob(&set.files[2].hash).map_err(|error| error.to_string())?;
            String::from_utf8(blob.ok_or("there is no such blob")?).map_err(|error| error.to_string())
        })
    });
    let run = executor.start(&plan.unwrap(), ()).id("other").await.unwrap();
    assert_eq!(run.outcome().await.completed().0, "other");
}

#[tokio::test]
async fn a_crash_leaves_the_snapshot_with_all_contents_or_nothing_of_it() {
    let base = directory(&[("a.md", "one"), ("b.md", "two")]);
    let disk = CrashBackend::new();
    let on = |disk: &CrashBackend| Ledger::on(Arc::new(RedbStore::on_backend(disk.clone()).unwrap()));
    let plan = listing(&["*.md"]);
    start(&over(on(&disk), base.path()), &plan, ()).await.completed();
    write(base.path(), "a.md", "later");
    let mut seen = (0, 0);
    for loss in [Loss::All, Loss::Half(1)] {
        for sync in 0..=disk.syncs() {
            let image = CrashBackend::from_image(disk.image_at(sync, loss));
            let Ok(store) = RedbStore::on_backend(image.clone()) else { continue };
            let ledger = Ledger::on(Arc::new(store));
            let Some(run) = ledger.find(&run_id()).unwrap() else { continue };
            let state = ledger.state(run).unwrap();
            let taken = state.cells().any(|(at, cell)| {
                state.path(at).to_string() == "notes" && cell.status == CellStatus::Succeeded
            });
            let (set, counts) = resume(&over(ledger, base.path()), &plan).await.completed();
            let first = Digest::of_bytes(if taken { b"one" } else { b"later" });
            assert_eq!((set.files[0].hash, counts.reused), (first, u64::from(taken)));
            let ledger = on(&image);
            for file in &set.files {
                assert!(ledger.blob(&file.hash).unwrap().is_some(), "{file:?}");
            }
            assert_eq!(ledger.verify().unwrap(), [""; 0]);
            if taken { seen.0 += 1 } else { seen.1 += 1 }
        }
    }
    assert!(seen.0 > 0 && seen.1 > 0, "{seen:?}");
}

#[tokio::test]
async fn only_files_are_taken_and_what_is_left_out_is_not_searched() {
    let base = directory(&[
        ("x/a.md", ""),
        ("x/y/b.md", ""),
        ("x.md/c.md", ""),
        ("target/d.md", ""),
        ("x/target/e", ""),
    ]);
    assert_eq!(
        listed(base.path(), &["**"]).await,
        ["target/d.md", "x.md/c.md", "x/a.md", "x/target/e", "x/y/b.md"]
    );
    assert_eq!(listed(base.path(), &["**/*.md", "!**/target/**"]).await, ["x.md/c.md", "x/a.md", "x/y/b.md"]);
    assert_eq!(listed(base.path(), &["*/*", "!x"]).await, ["target/d.md", "x.md/c.md"]);
    // A directory that matches is no file.
    let failure = refused(base.path(), &["x*"]).await;
    assert!(failure.message.contains("no file under") && failure.message.contains("matches x*"), "{failure}");
}

#[tokio::test]
async fn where_no_file_matches_it_fails_and_a_retry_looks_again() {
    let base = directory(&[("a.txt", "")]);
    let executor = memory(base.path());
    let plan = listing(&["*.md", "notes/*.md"]);
    let failure = start(&executor, &plan, ()).await.failed();
    assert_eq!(failure.class, FailureClass::FilesNotTaken);
    assert!(failure.message.ends_with("matches *.md, notes/*.md"), "{failure}");
    write(base.path(), "notes/a.md", "here");
    // A resume is told what is recorded.
    resume(&executor, &plan).await.failed();
    assert_eq!(retry(&executor, &plan).await.completed().0.files[0].path, "notes/a.md");
}

#[cfg(unix)]
#[tokio::test]
async fn links_count_as_the_files_they_lead_to_but_lead_nowhere_else() {
    use std::os::unix::fs::symlink;
    let outside = directory(&[("secret.md", "secret")]);
    let base = directory(&[("real/a.md", "one")]);
    let at = |path: &str| base.path().join(path);
    symlink("real/a.md", at("link.md")).unwrap();
    symlink("real", at("directory")).unwrap();
    symlink(".", at("real/circle")).unwrap();
    let (set, _) = start(&memory(base.path()), &listing(&["**/*.md"]), ()).await.completed();
    let paths: Vec<_> = set.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["link.md", "real/a.md"]);
    assert_eq!(set.files[0].hash, set.files[1].hash);

    symlink(outside.path().join("secret.md"), at("out.md")).unwrap();
    let failure = refused(base.path(), &["*.md"]).await;
    assert!(
        failure.message.contains("`out.md` is a link to") && failure.message.contains("`!out.md`"),
        "{failure}"
    );
    fs::remove_file(at("out.md")).unwrap();
    symlink("nothing", at("gone.md")).unwrap();
    let failure = refused(base.path(), &["*.md"]).await;
    assert!(failure.message.contains("`gone.md` is a link that cannot be followed"), "{failure}");
    assert_eq!(listed(base.path(), &["*.md", "!gone.md"]).await, ["link.md"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn names_that_are_not_utf_8_and_files_that_cannot_be_read_are_named() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let base = directory(&[("a.md", "")]);
    File::create(base.path().join(OsStr::from_bytes(b"b\xff.md"))).unwrap();
    let failure = refused(base.path(), &["*.md"]).await;
    assert_eq!(failure.class, FailureClass::FilesNotTaken);
    assert!(failure.message.contains("`b\u{fffd}.md` is not UTF-8"), "{failure}");
    assert_eq!(listed(base.path(), &["a*"]).await, ["a.md"]);
    // A file that is there and cannot be read, whoever asks.
    let failure = refused(Path::new("/proc/self"), &["mem"]).await;
    assert!(failure.message.contains("`mem` cannot be read"), "{failure}");
    let failure = refused(&base.path().join("nowhere"), &["*"]).await;
    assert!(failure.message.contains("nowhere is not there"), "{failure}");
}

#[tokio::test]
async fn what_is_too_large_is_refused_by_name_and_size_before_it_is_read() {
    let base = directory(&[("small", "x")]);
    // Files of this size without a content: they take no room on the disk.
    let sized = |name: &str, size: u64| File::create(base.path().join(name)).unwrap().set_len(size).unwrap();
    sized("one", (64 << 20) + 1);
    let failure = refused(base.path(), &["*"]).await;
    assert_eq!(failure.class, FailureClass::TooLarge);
    assert!(failure.message.contains("`one` has 67108865 bytes, and 67108864 is the most"), "{failure}");
    fs::remove_file(base.path().join("one")).unwrap();
    for (name, size) in [("a", 60), ("b", 61), ("c", 62), ("d", 63), ("e", 64)] {
        sized(name, size << 20);
    }
    let failure = refused(base.path(), &["*"]).await;
    assert_eq!(failure.class, FailureClass::TooLarge);
    let says = "the 6 files have 325058561 bytes, and 268435456 is the most; the largest are `e` with 67108864, `d` with";
    assert!(failure.message.starts_with(says), "{failure}");
    // As texts they become one value, which must be smaller.
    let failure = start(&memory(base.path()), &reading(&["a"]), ()).await.failed();
    assert!(failure.message.contains("`a` has 62914560 bytes, and 33554432 is the most"), "{failure}");
}

#[tokio::test]
async fn texts_must_be_utf_8() {
    let base = directory(&[("a.md", "grün\n")]);
    fs::write(base.path().join("b.bin"), b"ab\xffc").unwrap();
    let (texts, _) = start(&memory(base.path()), &reading(&["*.md"]), ()).await.completed();
    assert_eq!((&*texts[0].path, &*texts[0].text), ("a.md", "grün\n"));
    assert_eq!(texts[0].hash, Digest::of_bytes("grün\n".as_bytes()));
    let failure = start(&memory(base.path()), &reading(&["*"]), ()).await.failed();
    assert_eq!(failure.class, FailureClass::FilesNotTaken);
    assert!(
        failure.message.contains("`b.bin` is not UTF-8 text, from byte 2 on; take it with `.list()`"),
        "{failure}"
    );
    assert_eq!(listed(base.path(), &["*.bin"]).await, ["b.bin"]);
}

#[test]
fn globs_that_lead_out_or_are_none_are_mistakes_in_the_plan() {
    let from = line!();
    for (glob, says) in
        [("/etc/*", "is absolute"), ("../*", "`..`"), ("a[", "is none"), ("!a", "no glob says")]
    {
        let plan = Plan::new("p", |_: Step<()>| files("notes", [glob]).list());
        let mistakes = plan.err().unwrap();
        let mistake = mistakes.iter().next().unwrap();
        assert_eq!((mistake.kind.code(), mistakes.iter().count()), ("invalid_glob", 1), "{mistakes}");
        assert!(mistake.message.contains(says) && mistake.message.contains("`notes`"), "{mistakes}");
        assert!((from..line!()).contains(&mistake.at.line()), "{mistakes}");
    }
    let unfinished = Plan::new("p", |input: Step<()>| {
        drop(files("notes", ["*"]));
        input
    });
    assert!(unfinished.err().unwrap().to_string().contains("`.list()` or `.texts()`"));
}

#[tokio::test]
async fn a_snapshot_waits_for_what_it_comes_after_and_has_a_key_in_a_loop() {
    let base = directory(&[("a.md", "before")]);
    let path = base.path().join("a.md");
    let plan = Plan::new("after", move |_: Step<()>| {
        let written = step("write").effect(Unsafe).run(move || fs::write(&path, "after").is_ok());
        let taken = ["md", "txt"].map(|kind| {
            files("taken", [format!("*.{kind}"), "a.md".to_owned()]).key(kind).after(written).texts()
        });
        join(taken)
    })
    .unwrap();
    assert!(
        plan.layout().text().contains("taken[md]: files *.md, a.md after write -> [FileText]"),
        "{}",
        plan.layout()
    );
    let (texts, _) = start(&memory(base.path()), &plan, ()).await.completed();
    assert!(texts.iter().all(|texts| texts[0].text == "after"), "{texts:?}");
}

#[tokio::test]
async fn without_a_base_directory_paths_count_from_where_the_process_is() {
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(refuses()).build();
    let (set, _) = start(&executor, &listing(&["tests/files.rs"]), ()).await.completed();
    assert_eq!(set.files[0].path, "tests/files.rs");
    let run = executor.ledger().find(&run_id()).unwrap().unwrap();
    // One record: request and outcome together, as of any local step.
    assert_eq!(executor.ledger().records(run).unwrap(), 4);
    assert!(executor.ledger().record(run, Seq(3)).unwrap().body.starts_with(b"{\"output\""));
}

#[tokio::test]
async fn globs_that_only_a_value_knows_are_written_in_a_then() {
    let base = directory(&[("a.md", "one"), ("b.txt", "two")]);
    let plan = Plan::new("kinds", |kind: Step<String>| {
        kind.then("of_kind", |kind| files("found", [format!("*.{kind}")]).list())
    })
    .unwrap();
    let executor = memory(base.path());
    let (set, _) = start(&executor, &plan, "txt".to_owned()).await.completed();
    assert_eq!(set.files[0].path, "b.txt");
    fs::remove_file(base.path().join("b.txt")).unwrap();
    let (again, counts) = resume(&executor, &plan).await.completed();
    assert_eq!((again, counts.reused), (set, 1));
}
