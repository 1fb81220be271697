//! The main job, as a user runs it: the built example, on real files, in a process of its own.

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use support::example;
use tempfile::TempDir;

struct Desk {
    directory: TempDir,
}

impl Desk {
    fn new(notes: impl AsRef<[u8]>) -> Self {
        let desk = Self { directory: tempfile::tempdir().unwrap() };
        fs::write(desk.path("notes.md"), notes).unwrap();
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(example("blog_post"));
        command.arg(self.path("notes.md")).arg("--ledger").arg(self.path("runs.redb"));
        command.arg("--out").arg(self.path("post.md")).args(options).stdin(Stdio::null());
        command
    }

    fn run(&self, options: &[&str]) -> Ran {
        Ran::of(&self.command(options).output().unwrap())
    }

    fn post(&self) -> String {
        fs::read_to_string(self.path("post.md")).unwrap()
    }
}

#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    fn says(self, words: &str) -> Self {
        let said = self.out.contains(words) || self.err.contains(words);
        assert!(said, "nothing says `{words}`:\n{}\n{}", self.out, self.err);
        self
    }
}

/// Notes by heading, with claims in lists and in prose.
struct Facts {
    notes: String,
    headings: Vec<&'static str>,
    claims: Vec<&'static str>,
}

fn tides() -> Facts {
    Facts {
        notes: "# Tides\n\nThe moon pulls the sea twice a day.\n\n## Spring tides\n\n- Sun and moon pull in one line at new moon.\n\
                - The range is then about twenty percent larger.\n\n### Where\n\n- The Bay of Fundy rises sixteen metres.\n\n\
                ## Neap tides\n\n- At half moon the pulls work against each other.\n\nSee https://example.org/tides for tables.\n"
            .to_owned(),
        headings: vec!["Tides", "Spring tides", "Where", "Neap tides"],
        claims: vec![
            "The moon pulls the sea twice a day",
            "Sun and moon pull in one line at new moon",
            "The range is then about twenty percent larger",
            "The Bay of Fundy rises sixteen metres",
            "At half moon the pulls work against each other",
        ],
    }
}

/// No top heading, numbered lists, setext headings, nested items.
fn bread() -> Facts {
    Facts {
        notes: "Bread\n=====\n\nFlour\n-----\n\n1. Rye holds more water than wheat.\n2. Old flour ferments slowly.\n\n\
                Ovens\n-----\n\n* Steam keeps the crust soft for ten minutes.\n  * A stone stores heat for two loaves.\n\n\
                Open: does salt slow the yeast?\n"
            .to_owned(),
        headings: vec!["Bread", "Flour", "Ovens"],
        claims: vec![
            "Rye holds more water than wheat",
            "Old flour ferments slowly",
            "Steam keeps the crust soft for ten minutes",
            "A stone stores heat for two loaves",
        ],
    }
}

#[test]
fn each_post_holds_every_heading_and_claim_of_its_own_notes_and_none_of_others() {
    let all = [tides(), bread()];
    let posts: Vec<String> = all
        .iter()
        .map(|facts| {
            let desk = Desk::new(&facts.notes);
            desk.run(&["--yes"]).exits(0);
            desk.post()
        })
        .collect();
    for (own, facts) in all.iter().enumerate() {
        for (of, post) in posts.iter().enumerate() {
            for words in facts.claims.iter().chain(&facts.headings) {
                assert_eq!(post.contains(words), own == of, "`{words}`:\n{post}");
            }
        }
    }
}

#[test]
fn it_prints_a_line_a_step_and_ends_with_what_it_reused() {
    let desk = Desk::new(tides().notes);
    let first = desk.run(&["--yes"]).exits(0).says("runs.redb").says("post.md");
    // The run's drawing, unrolled.
    let drawn = first.says("run of plan blog-post(input: string) -> string · completed");
    let first = drawn.says("[spring-tides] draft_section: agent(item) -> SectionDraft · done");
    for path in ["research", "outline", "draft_sections[", "polish["] {
        assert!(first.out.lines().any(|line| line.contains(path)), "no line for {path}:\n{}", first.out);
    }
    let post = desk.post();
    fs::remove_file(desk.path("post.md")).unwrap();
    let second = desk.run(&["--yes"]).exits(0).says("0 agent calls");
    assert!(second.out.contains("reused "), "{}", second.out);
    assert_eq!(desk.post(), post);
}

#[test]
fn without_a_terminal_it_stops_at_each_question_and_says_the_answer_option() {
    let desk = Desk::new(tides().notes);
    let mut answers: Vec<String> = Vec::new();
    let mut stops = 0;
    loop {
        let mut options: Vec<&str> = Vec::new();
        for answer in &answers {
            options.extend(["--answer", answer]);
        }
        let ran = desk.run(&options);
        if ran.code == 0 {
            break;
        }
        let ran = ran.exits(3);
        // The option is printed so that it can be pasted into a shell; the first offered for each question is taken.
        let mut fresh: Vec<String> = Vec::new();
        let mut paths = std::collections::BTreeSet::new();
        for line in ran.out.lines().filter_map(|line| line.trim().strip_prefix("--answer ")) {
            let answer = unquoted(line);
            if paths.insert(answer.split('=').next().unwrap().to_owned()) {
                fresh.push(answer);
            }
        }
        assert!(!fresh.is_empty(), "{}", ran.out);
        answers = fresh;
        stops += 1;
        assert!(stops < 20, "it never ends:\n{}", ran.out);
    }
    assert!(stops >= 3, "the angle, the outline and the sections: {stops}");
    assert!(desk.post().contains("Spring tides"));
}

/// What a shell makes of one quoted word.
fn unquoted(word: &str) -> String {
    let output = Command::new("sh").arg("-c").arg(format!("printf %s {word}")).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn rejecting_once_asks_for_one_revision() {
    let desk = Desk::new(tides().notes);
    let ran = desk.run(&["--yes", "--reject-once"]).exits(0);
    assert!(ran.out.contains("review_outline[1]/revise_outline"), "{}", ran.out);
    for claim in tides().claims {
        assert!(desk.post().contains(claim), "{claim}");
    }
    let plain = Desk::new(tides().notes).run(&["--yes"]).exits(0);
    assert!(!plain.out.contains("done: review_outline[1]"), "{}", plain.out);
}

#[test]
fn edited_notes_park_the_run_and_say_how_to_go_on() {
    let desk = Desk::new(tides().notes);
    desk.run(&["--yes"]).exits(0);
    let post = desk.post();
    fs::write(desk.path("notes.md"), tides().notes + "\n- One more claim.\n").unwrap();
    desk.run(&["--yes"]).exits(4).says("parked").says("input");
    assert_eq!(desk.post(), post, "a parked run changes nothing");
}

#[test]
fn notes_that_cannot_be_read_are_refused_before_anything_is_made() {
    let invalid: &[u8] = b"# Caf\xe9\n\n- a claim\n";
    for (notes, word) in [(&b""[..], "empty"), (b"  \n\n", "empty"), (invalid, "UTF-8")] {
        let desk = Desk::new(notes);
        let ran = desk.run(&["--yes"]);
        assert!(ran.code == 2 && ran.err.contains("notes.md") && ran.err.contains(word), "{ran:?}");
        assert!(!desk.path("runs.redb").exists());
    }
    let desk = Desk::new("x");
    fs::remove_file(desk.path("notes.md")).unwrap();
    let ran = desk.run(&["--yes"]);
    assert!(ran.code == 2 && ran.err.contains("notes.md"), "{ran:?}");
    assert_eq!(Ran::of(&Command::new(example("blog_post")).arg("--nonsense").output().unwrap()).code, 2);
}

#[test]
fn a_byte_order_mark_and_crlf_simply_work() {
    let desk = Desk::new("\u{feff}".to_owned() + &tides().notes.replace('\n', "\r\n"));
    desk.run(&["--yes"]).exits(0);
    let post = desk.post();
    for words in tides().claims.iter().chain(&tides().headings) {
        assert!(post.contains(words), "{words}:\n{post}");
    }
    assert!(!post.contains('\r') && !post.contains('\u{feff}'));
}

#[test]
fn a_file_that_is_no_ledger_is_refused_and_kept() {
    let desk = Desk::new(tides().notes);
    fs::write(desk.path("runs.redb"), "my diary").unwrap();
    let ran = desk.run(&["--yes"]);
    assert!(ran.code != 0 && ran.err.contains("runs.redb"), "{ran:?}");
    assert_eq!(fs::read_to_string(desk.path("runs.redb")).unwrap(), "my diary");
}

#[test]
fn killed_anywhere_the_same_command_finishes_the_same_post() {
    use std::io::{BufRead as _, BufReader};
    let whole = Desk::new(tides().notes);
    let lines = whole.run(&["--yes"]).exits(0).out.lines().count();
    let post = whole.post();
    for kill_at in (1..lines.min(18)).step_by(4) {
        let desk = Desk::new(tides().notes);
        let mut child =
            desk.command(&["--yes"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let seen = output.lines().take(kill_at).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, kill_at);
        desk.run(&["--yes"]).exits(0);
        assert_eq!(desk.post(), post, "killed after {kill_at} lines");
    }
}

#[test]
fn a_notes_file_of_20_mb_simply_works() {
    let mut notes = String::from("# Large\n\nThe first claim stands here.\n");
    for section in 0..20 {
        notes.extend(["\n## Part ", &section.to_string(), "\n\n"]);
        let line = format!("- Claim of part {section}: {}.\n", "word ".repeat(200));
        while notes.len() < (section + 1) << 20 {
            notes.push_str(&line);
        }
    }
    let desk = Desk::new(&notes);
    desk.run(&["--yes"]).exits(0);
    assert!(desk.post().contains("Part 19"));
    assert!(Path::new(&desk.path("post.md")).exists());
}

#[test]
fn the_post_replaces_neither_the_ledger_nor_a_link_nor_the_permissions_of_a_file() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let desk = Desk::new(tides().notes);
    let out = |path: &Path| {
        let mut command = Command::new(example("blog_post"));
        command.arg(desk.path("notes.md")).arg("--ledger").arg(desk.path("runs.redb"));
        Ran::of(&command.arg("--yes").arg("--out").arg(path).stdin(Stdio::null()).output().unwrap())
    };
    let refused = out(&desk.path("runs.redb"));
    assert!(refused.code == 2 && refused.err.contains("is the ledger itself"), "{refused:?}");
    // Nor one that is yet to be made, by another way to it.
    symlink("runs.redb", desk.path("way.md")).unwrap();
    fs::create_dir(desk.path("below")).unwrap();
    for way in ["way.md", "below/../runs.redb"] {
        let refused = out(&desk.path(way));
        assert!(refused.code == 2 && refused.err.contains("is the ledger itself"), "{refused:?}");
    }
    fs::write(desk.path("old.md"), "old").unwrap();
    fs::set_permissions(desk.path("old.md"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink(desk.path("old.md"), desk.path("link.md")).unwrap();
    let ran = out(&desk.path("link.md"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(fs::symlink_metadata(desk.path("link.md")).unwrap().is_symlink());
    let old = desk.path("old.md");
    assert!(fs::read_to_string(&old).unwrap().contains("Spring tides"));
    assert_eq!(fs::metadata(&old).unwrap().permissions().mode() & 0o777, 0o600);
}
