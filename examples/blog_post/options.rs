//! The command line.

use clap::Parser;
use hermes_workflows::{core::path::StepPath, prelude::*};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The hidden first argument under which this executable is the house writer.
pub(crate) const HOUSE_WRITER: &str = "--house-writer";

/// Writes a blog post from a file of notes, with people approving the outline and every section.
///
/// The same command goes on with the same post, wherever it stopped. Exit codes: 0 the post is written, 1 it failed (go on
/// with --retry), 2 wrong usage, 3 questions wait for an answer, 4 something has to be decided first.
#[derive(Debug, Parser)]
#[command(name = "blog_post")]
pub(crate) struct Options {
    /// The notes: a Markdown file.
    pub(crate) notes: PathBuf,
    /// Approves everything: takes the first angle, the outline and every section as they are.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Asks for one revision of the outline.
    #[arg(long)]
    pub(crate) reject_once: bool,
    /// Answers a question; without this and a terminal, the options for each are shown. Can be given several times.
    #[arg(long = "answer", value_name = "PATH=JSON", value_parser = answer)]
    pub(crate) answers: Vec<(String, Value)>,
    /// Settles what a parked run waits for: keep, rerun, drop or retry. Can be given several times.
    #[arg(long = "decide", value_name = "PATH=DECISION", value_parser = decision)]
    pub(crate) decisions: Vec<(String, Decision)>,
    /// Tries again what failed.
    #[arg(long)]
    pub(crate) retry: bool,
    /// Where the run is recorded.
    #[arg(long, value_name = "FILE", default_value = "blog_post.redb")]
    pub(crate) ledger: PathBuf,
    /// Where the post is written. Default: NAME.post.md here, for notes in NAME.md.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The run: the same id is the same post. Default: blog-NAME, for notes in NAME.md.
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
}

impl Options {
    /// Reads the command line; where that cannot be, or help was asked for, says so and gives the exit code.
    pub(crate) fn from_command_line() -> Result<Self, ExitCode> {
        Self::try_parse().and_then(Self::checked).map_err(|error| {
            // Where it cannot be shown, the exit code still tells.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        })
    }

    fn checked(self) -> Result<Self, clap::Error> {
        let mut seen = BTreeSet::new();
        let paths = self.answers.iter().map(|(path, _)| ("--answer", path));
        let mut paths = paths.chain(self.decisions.iter().map(|(path, _)| ("--decide", path)));
        match paths.find(|given| !seen.insert(*given)) {
            None => Ok(self),
            Some((option, path)) => Err(clap::Command::new("blog_post").error(
                clap::error::ErrorKind::ArgumentConflict,
                format!("{option} is given twice for `{path}`; give it once"),
            )),
        }
    }

    /// Where the post is written.
    pub(crate) fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.post.md", self.name())))
    }

    /// The run's id.
    pub(crate) fn run_id(&self) -> String {
        self.run_id.clone().unwrap_or_else(|| format!("blog-{}", self.name()))
    }

    fn name(&self) -> String {
        self.notes.file_stem().unwrap_or(Path::new("notes").as_os_str()).to_string_lossy().into_owned()
    }
}

/// A key in a path may hold `=` itself, so the right one is where a path ends and JSON begins.
fn answer(text: &str) -> Result<(String, Value), String> {
    let mut why = "it has no `=`; write PATH=JSON".to_owned();
    for (at, _) in text.match_indices('=') {
        let (path, json) = (&text[..at], &text[at + 1..]);
        match (path.parse::<StepPath>(), serde_json::from_str(json)) {
            (Ok(path), Ok(json)) if !path.is_empty() => return Ok((path.to_string(), json)),
            (Ok(path), Ok(_)) => why = format!("the path before `=` is empty{path}"),
            (Err(error), _) => why = error.to_string(),
            (Ok(_), Err(error)) => {
                why = format!("what follows `=` is not JSON ({error}); a text needs quotes: PATH='\"text\"'");
            }
        }
    }
    Err(why)
}

fn decision(text: &str) -> Result<(String, Decision), String> {
    let (path, word) = text.rsplit_once('=').ok_or("it has no `=`; write PATH=DECISION")?;
    let decision = match word {
        "keep" => Decision::Keep,
        "rerun" => Decision::Rerun,
        "drop" => Decision::Drop,
        "retry" => Decision::Retry,
        _ => return Err(format!("`{word}` is no decision; it is keep, rerun, drop or retry")),
    };
    Ok((path.to_owned(), decision))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_a_path_and_json() {
        let given = |text| answer(text).unwrap();
        assert_eq!(given(r#"choose_angle="a=b""#), ("choose_angle".to_owned(), json!("a=b")));
        let (path, json) = given(r#"polish[a=1]/review_section[1]={"decision":"approve"}"#);
        assert_eq!((path.as_str(), json), ("polish[a=1]/review_section[1]", json!({"decision": "approve"})));
        for (text, word) in
            [("choose_angle", "no `=`"), ("a=b", "not JSON"), ("a[=1", "not a step path"), ("=1", "empty")]
        {
            assert!(answer(text).unwrap_err().contains(word), "{text}: {}", answer(text).unwrap_err());
        }
    }

    #[test]
    fn a_decision_is_a_path_and_a_word() {
        assert_eq!(decision("a[b=c]=keep").unwrap(), ("a[b=c]".to_owned(), Decision::Keep));
        assert!(decision("a=maybe").unwrap_err().contains("keep, rerun, drop or retry"));
    }

    #[test]
    fn names_come_from_the_notes() {
        let options = Options::try_parse_from(["blog_post", "some/tides.md"]).unwrap();
        assert_eq!(
            (options.run_id().as_str(), options.out()),
            ("blog-tides", PathBuf::from("tides.post.md"))
        );
        let twice = ["blog_post", "n.md", "--answer", "a=1", "--answer", "a=2"];
        let error = Options::try_parse_from(twice).and_then(Options::checked).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
