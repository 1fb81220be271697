//! What git says, read; and what is made of it. Ordinary functions of values.

use super::plan::{Area, Range, Section};
use hermes_workflows::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Begins a commit, and ends a field of it: no message has these characters in it by accident.
const COMMIT: char = '\u{1e}';
const FIELD: char = '\u{1f}';

/// The area of what touches no directory.
const PROJECT: &str = "project";

/// One commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Commit {
    /// Its full name.
    pub(crate) hash: String,
    /// Who wrote it.
    pub(crate) author: String,
    /// The first line of its message.
    pub(crate) subject: String,
    /// The files it touches.
    pub(crate) files: Vec<String>,
}

impl Commit {
    /// Its name as people write it.
    pub(crate) fn short(&self) -> &str {
        self.hash.get(..9).unwrap_or(&self.hash)
    }

    /// The top-level directory that most of its files are in; of several, the first by name.
    fn area(&self) -> String {
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        for file in &self.files {
            // A name with unusual characters comes in quotes.
            let file = file.trim_matches('"');
            let directory = file.split_once('/').map_or(PROJECT, |(directory, _)| directory);
            *files.entry(directory).or_default() += 1;
        }
        let most = files.values().max().copied();
        let area = files.into_iter().find(|(_, count)| Some(*count) == most);
        area.map_or(PROJECT, |(area, _)| area).to_owned()
    }
}

/// What lists the commits of a range, in a form that no setting of the user's changes.
pub(crate) fn log_arguments(revisions: &str) -> Vec<String> {
    let form = format!("--format=tformat:{COMMIT}%H{FIELD}%an{FIELD}%s{FIELD}");
    let arguments = ["git", "--no-pager", "-c", "core.quotePath=true", "log", "--no-merges", "--name-only"];
    let plain = ["--no-color", "--no-show-signature", "--no-ext-diff", "--no-renames", "--encoding=UTF-8"];
    let arguments = arguments.into_iter().chain(plain).map(str::to_owned);
    // What follows the last one can be no path.
    arguments.chain([form, revisions.to_owned(), "--".to_owned()]).collect()
}

/// What tells the day of a commit.
pub(crate) fn day_arguments(commit: &str) -> Vec<String> {
    let arguments = ["git", "--no-pager", "show", "--no-patch", "--no-color", "--no-show-signature"];
    let arguments = arguments.into_iter().map(str::to_owned);
    arguments.chain(["--format=%cs".to_owned(), commit.to_owned(), "--".to_owned()]).collect()
}

/// The commits of a log, the oldest first.
///
/// # Errors
/// When it is not such a log.
pub(crate) fn read(log: &str) -> Result<Vec<Commit>, String> {
    let mut commits = log.split(COMMIT).skip(1).map(commit).collect::<Result<Vec<_>, _>>()?;
    commits.reverse();
    Ok(commits)
}

fn commit(text: &str) -> Result<Commit, String> {
    let fields: Vec<_> = text.split(FIELD).collect();
    let [hash, author, subject, files] = fields[..] else {
        return Err(format!(
            "git's log has a commit of {} fields, and 4 are expected: {text:?}",
            fields.len()
        ));
    };
    let files = files.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    Ok(Commit { hash: hash.to_owned(), author: author.to_owned(), subject: subject.to_owned(), files })
}

/// The commits by area: the area with the most of them first.
pub(crate) fn by_area(commits: &[Commit]) -> Vec<Area> {
    let mut areas: BTreeMap<String, Vec<Commit>> = BTreeMap::new();
    for commit in commits {
        areas.entry(commit.area()).or_default().push(commit.clone());
    }
    let mut areas: Vec<_> = areas.into_iter().map(|(name, commits)| Area { name, commits }).collect();
    areas.sort_by_key(|area| std::cmp::Reverse(area.commits.len()));
    areas
}

/// Everything the notes are made of.
pub(crate) struct Notes<'a> {
    pub(crate) range: &'a Range,
    pub(crate) day: &'a str,
    pub(crate) shallow: bool,
    pub(crate) commits: &'a [Commit],
    pub(crate) sections: &'a [Section],
}

impl fmt::Display for Notes<'_> {
    /// The notes, in Markdown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { since, until } = self.range;
        writeln!(f, "# Release notes: {} ({})\n", until.name, self.day)?;
        let since = since.as_ref().map_or_else(String::new, |since| format!(" since {}", since.name));
        if self.commits.is_empty() {
            writeln!(f, "Nothing has changed{since}.")?;
        } else {
            let authors: BTreeSet<_> = self.commits.iter().map(|commit| &commit.author).collect();
            let commits = count(self.commits.len(), "commit", "commits");
            writeln!(f, "{commits} by {}{since}.", count(authors.len(), "person", "people"))?;
        }
        if self.shallow {
            writeln!(f, "\n> This clone is shallow: what is older than its history is not in these notes.")?;
        }
        for section in self.sections {
            writeln!(f, "\n## {}\n", section.title)?;
            for change in &section.changes {
                writeln!(f, "- {} ({})", change.text, change.commits.join(", "))?;
            }
        }
        Ok(())
    }
}

fn count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_with_awkward_subjects_and_files() {
        let log = "\u{1e}b2\u{1f}Bo\u{1f}it's \"new\": a, b\u{1f}\n\ncore/a.rs\n\"caf\\303\\251/x.rs\"\n\u{1e}a1\u{1f}Al\u{1f}\u{1f}\n";
        let commits = read(log).unwrap();
        assert_eq!((commits[0].hash.as_str(), commits[0].files.len()), ("a1", 0));
        assert_eq!(commits[1].subject, "it's \"new\": a, b");
        assert_eq!(commits[1].files, ["core/a.rs", "\"caf\\303\\251/x.rs\""]);
        assert_eq!(read("").unwrap(), []);
        assert!(read("\u{1e}half\u{1f}a commit").unwrap_err().contains("2 fields"));
    }

    #[test]
    fn a_commit_belongs_where_most_of_its_files_are() {
        let area = |files: &[&str]| {
            let files = files.iter().map(|file| (*file).to_owned()).collect();
            Commit { hash: String::new(), author: String::new(), subject: String::new(), files }.area()
        };
        assert_eq!(area(&["b/1", "a/1", "b/2"]), "b");
        assert_eq!(area(&["b/1", "a/1"]), "a");
        assert_eq!(area(&["README.md"]), "project");
        assert_eq!(area(&[]), "project");
    }
}
