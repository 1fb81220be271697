//! Release notes as a user gets them: the built example, on real repositories, in a process of its own.

#[path = "../examples/release_notes"]
mod parts {
    mod history;
    pub(crate) mod house_writer;
    pub(crate) mod plan;
}
mod support;

use hermes_workflows::{executor::run_layout, prelude::*};
use parts::plan::{Range, Version};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use support::{Expect, example, run_id, start};
use tempfile::TempDir;

/// A folder with a repository in it, and the ledger and notes beside that.
struct Desk {
    directory: TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(desk.path("repo")).unwrap();
        desk
    }

    /// With a repository that has these commits: a subject, and the files it touches.
    fn with(commits: &[(&str, &[&str])]) -> Self {
        let desk = Self::new();
        desk.git(&["init", "--quiet", "--initial-branch=trunk"]);
        desk.commit(commits);
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.path("repo"), arguments)
    }

    fn commit(&self, commits: &[(&str, &[&str])]) {
        for (subject, files) in commits {
            for file in *files {
                let path = self.path("repo").join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, subject).unwrap();
            }
            self.git(&["add", "--all"]);
            self.git(&["commit", "--quiet", "--allow-empty", "--allow-empty-message", "--message", subject]);
        }
    }

    fn command(&self, repository: &Path, options: &[&str]) -> Command {
        let mut command = Command::new(example("release_notes"));
        command.arg("--repo").arg(repository).arg("--ledger").arg(self.path("runs.redb")).args(options);
        command.stdin(Stdio::null()).current_dir(self.directory.path());
        command
    }

    fn run(&self, options: &[&str]) -> Ran {
        Ran::of(&self.command(&self.path("repo"), options).output().unwrap())
    }

    /// A clone of the last commits only, and what is said of it.
    fn shallow(&self, depth: &str, options: &[&str]) -> Ran {
        let from = format!("file://{}", self.path("repo").display());
        let clone = self.path("clone");
        git(self.directory.path(), &["clone", "--quiet", "--depth", depth, &from, clone.to_str().unwrap()]);
        Ran::of(&self.command(&clone, options).output().unwrap())
    }
}

/// What git answers, with no settings but these.
fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Al Ö.", "-c", "user.email=al@example.org"])
        .args(arguments)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    fn says(self, words: &str) -> Self {
        let said = self.out.contains(words) || self.err.contains(words);
        assert!(said, "nothing says `{words}`:\n{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    fn says_nothing_of(self, words: &str) -> Self {
        assert!(!self.out.contains(words), "{}", self.out);
        self
    }
}

const THREE: [(&str, &[&str]); 3] = [
    ("Begin", &["README.md"]),
    ("add a parser", &["core/parse.rs", "core/lib.rs", "docs/parse.md"]),
    ("Explain it.", &["docs/guide.md"]),
];

#[test]
fn without_tags_the_whole_history_is_told_area_by_area() {
    let desk = Desk::with(&THREE);
    let notes = desk.run(&[]).exits(0).says("3 commits by 1 person.").out;
    let head = desk.git(&["rev-parse", "HEAD"]);
    assert!(notes.starts_with(&format!("# Release notes: {} (", &head[..9])), "{notes}");
    let line =
        |subject: &str, revision: &str| format!("- {subject} ({})", &desk.git(&["rev-parse", revision])[..9]);
    for (area, line) in [
        ("project", line("Begin", "HEAD~2")),
        ("core", line("Add a parser", "HEAD~1")),
        ("docs", line("Explain it", "HEAD")),
    ] {
        assert!(notes.contains(&format!("\n## {area}\n\n{line}\n")), "{area}: {line}\n{notes}");
    }
    assert!(!notes.contains("shallow"));
}

#[test]
fn since_the_last_tag_or_the_one_before_or_what_is_asked_for() {
    let desk = Desk::with(&THREE);
    desk.git(&["tag", "v1"]);
    desk.run(&[]).exits(0).says("# Release notes: v1 (").says("3 commits by 1 person.");
    desk.commit(&[("Second", &["core/a"])]);
    desk.git(&["tag", "v2"]);
    desk.run(&[])
        .exits(0)
        .says("# Release notes: v2 (")
        .says("1 commit by 1 person since v1.")
        .says("Second");
    desk.commit(&[("Third", &["core/b"])]);
    let third = desk.run(&[]).exits(0).says("1 commit by 1 person since v2.").says("Third");
    third.says_nothing_of("Second");
    let asked = desk.run(&["--since", "v1", "--until", "v2"]).exits(0).says("# Release notes: v2 (");
    asked.says("Second").says_nothing_of("Third");
    desk.run(&["--since", "HEAD"]).exits(0).says("Nothing has changed since HEAD.");
}

#[test]
fn a_detached_head_and_a_directory_inside_are_as_good() {
    let desk = Desk::with(&THREE);
    desk.git(&["checkout", "--quiet", "--detach", "HEAD~1"]);
    let inside = desk.command(&desk.path("repo/core"), &[]).output().unwrap();
    Ran::of(&inside).exits(0).says("2 commits by 1 person.").says("Add a parser").says_nothing_of("Explain");
}

#[test]
fn a_shallow_clone_says_so_and_tells_what_is_there() {
    let desk = Desk::with(&THREE);
    let shallow =
        desk.shallow("2", &[]).exits(0).says("This clone is shallow").says("2 commits by 1 person.");
    shallow.says("Explain it").says_nothing_of("Begin");
    // Deepened, the same command tells more: that is another run.
    git(&desk.path("clone"), &["fetch", "--quiet", "--unshallow"]);
    let whole = desk.command(&desk.path("clone"), &[]).output().unwrap();
    Ran::of(&whole).exits(0).says("3 commits by 1 person.").says("Begin").says_nothing_of("shallow");
}

#[test]
fn awkward_messages_authors_and_files_are_text() {
    let subject = "Say \"it's $(id) `id`\" — für <b>alle</b> | ; & \\ %H";
    let desk = Desk::with(&[(subject, &["ein Ö/grün \"x\".rs"]), ("", &[])]);
    let notes = desk.run(&[]).exits(0).says("2 commits by 1 person.").out;
    let line = "Say \"it's $(id) `id`\" — für \\<b\\>alle\\</b\\> | ; & \\\\ %H";
    assert!(notes.contains(line), "{notes}");
    assert!(notes.contains("- (no message) ("), "{notes}");
}

/// A `git` that notes what it is asked, and the `PATH` that has it.
fn noting_git(desk: &Desk) -> std::ffi::OsString {
    let real = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let (real, bin) = (String::from_utf8(real.stdout).unwrap(), desk.path("bin"));
    fs::create_dir(&bin).unwrap();
    // Not written by this process: one that another test forks at that moment would hold it open.
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\nexec {} \"$@\"\n",
        desk.path("asked").display(),
        real.trim()
    );
    let made = Command::new("sh")
        .args(["-c", "printf '%s' \"$SCRIPT\" > git && chmod +x git"])
        .env("SCRIPT", script)
        .current_dir(&bin)
        .status();
    assert!(made.unwrap().success());
    let path = std::env::var_os("PATH").unwrap();
    std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap()
}

#[test]
fn the_same_again_asks_neither_git_nor_the_writer_and_is_the_same() {
    let desk = Desk::with(&THREE);
    let path = noting_git(&desk);
    let run =
        || Ran::of(&desk.command(&desk.path("repo"), &[]).env("PATH", &path).output().unwrap()).exits(0);
    let logs = || {
        let asked = fs::read_to_string(desk.path("asked")).unwrap();
        asked.lines().filter(|line| line.contains(" log ")).count()
    };
    let first = run().says("reused 0 steps, 3 agent calls");
    assert_eq!(logs(), 1);
    let second = run().says("reused 9 steps, 0 agent calls");
    assert_eq!((first.out, logs()), (second.out, 1));
}

#[test]
fn notes_go_to_a_file_where_one_is_named() {
    let desk = Desk::with(&THREE);
    let ran = desk.run(&["--out", "NOTES.md"]).exits(0);
    assert_eq!(ran.out, "");
    assert!(fs::read_to_string(desk.path("NOTES.md")).unwrap().contains("Explain it"));
    desk.run(&["--out", "no/such/NOTES.md"]).exits(1).says("the notes are in the ledger, but");
}

#[test]
fn where_there_is_no_git_or_no_repository_it_says_what_to_do() {
    let desk = Desk::new();
    // Looking for one stops here, also where a directory above is in one.
    let mut alone = desk.command(&desk.path("repo"), &[]);
    let alone = alone.env("GIT_CEILING_DIRECTORIES", desk.directory.path().canonicalize().unwrap());
    Ran::of(&alone.output().unwrap()).exits(2).says("is in no git repository").says("--repo");
    let nowhere = desk.command(&desk.path("nowhere"), &[]).output().unwrap();
    Ran::of(&nowhere).exits(2).says("is no directory");
    desk.git(&["init", "--quiet"]);
    desk.run(&[]).exits(2).says("has no commits yet; make one first");
    let without = desk.command(&desk.path("repo"), &[]).env("PATH", desk.path("nowhere")).output().unwrap();
    Ran::of(&without).exits(2).says("there is no `git` on this machine; install it first");
    assert!(!desk.path("runs.redb").exists(), "nothing was begun");
}

#[test]
fn a_version_that_is_not_there_is_refused_with_where_to_look() {
    let desk = Desk::with(&THREE);
    for name in ["v9", "--all", ""] {
        let since = format!("--since={name}");
        desk.run(&[&since]).exits(2).says(&format!("`{name}` is no commit")).says("see `git tag`");
    }
    desk.run(&["--until", "v9"]).exits(2).says("`v9` is no commit");
    let first = desk.git(&["rev-parse", "HEAD~2"]);
    desk.shallow("1", &["--since", &first]).exits(2).says("git fetch --unshallow --tags");
}

#[tokio::test]
async fn its_run_is_drawn_with_its_commands() {
    let desk = Desk::with(&THREE);
    let head = Version { name: "next".to_owned(), commit: desk.git(&["rev-parse", "HEAD"]) };
    let plan = Plan::new("release-notes", parts::plan::release_notes).unwrap();
    let executor = Executor::builder()
        .ledger(Ledger::in_memory().unwrap())
        .runner(parts::house_writer::house_writer())
        .base_dir(desk.path("repo"))
        .build();
    let (notes, counts) = start(&executor, &plan, Range { since: None, until: head }).await.completed();
    assert!(notes.starts_with("# Release notes: next ("), "{notes}");
    assert_eq!((counts.calls, counts.ok), (3, 9));
    let drawn = run_layout(&executor, &plan, &run_id()).unwrap();
    for line in ["├─ log: command(input) -> string · done", "├─ is_shallow: command() -> boolean · done"]
    {
        assert!(drawn.contains(line), "{drawn}");
    }
}

#[test]
fn this_repositorys_own_history_is_told() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !own.join(".git").exists() {
        println!("SKIPPED: these sources are in no git repository, so they have no history to tell");
        return;
    }
    let desk = Desk::new();
    let ran = Ran::of(&desk.command(own, &[]).output().unwrap()).exits(0);
    assert!(ran.out.starts_with("# Release notes: ") && ran.out.contains("\n## "), "{}", ran.out);
}
