//! What the notes are about, before anything is run: whether there is a git and a repository, and which commits the names
//! of the command line stand for.

use crate::plan::{Range, Version};
use std::{io, path::Path, process::Command};

/// The range from `since` (or the tag before, or the beginning) to `until`, and how many commits that is here.
///
/// # Errors
/// Says what is missing and what to do.
pub(crate) fn range(repository: &Path, since: Option<&str>, until: &str) -> Result<(Range, String), String> {
    let git = Git { repository };
    git.is_there()?;
    let commit = match git.commit(until)? {
        Some(commit) => commit,
        None if until == "HEAD" => {
            let shown = repository.display();
            return Err(format!("the repository {shown} has no commits yet; make one first"));
        }
        None => return Err(git.no_commit(until)),
    };
    let tag = git.ask(&["describe", "--tags", "--exact-match", &commit])?;
    let since = match since {
        Some(since) => Some(since.to_owned()),
        // A commit that is tagged itself has the notes since the tag before.
        None if tag.is_some() => git.ask(&["describe", "--tags", "--abbrev=0", &format!("{commit}^")])?,
        None => git.ask(&["describe", "--tags", "--abbrev=0", &commit])?,
    };
    let since = match since {
        Some(name) => {
            let commit = git.commit(&name)?.ok_or_else(|| git.no_commit(&name))?;
            Some(Version { name, commit })
        }
        None => None,
    };
    let name = tag.unwrap_or_else(|| commit.chars().take(9).collect());
    let range = Range { since, until: Version { name, commit } };
    let count = git.ask(&["rev-list", "--count", &range.revisions(), "--"])?;
    Ok((range, count.unwrap_or_default()))
}

struct Git<'a> {
    repository: &'a Path,
}

impl Git<'_> {
    fn is_there(&self) -> Result<(), String> {
        let shown = self.repository.display();
        if !self.repository.is_dir() {
            return Err(format!("{shown} is no directory; give the one of a git repository with --repo"));
        }
        let output = self.run(&["rev-parse", "--git-dir"])?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(format!("{shown} is in no git repository that can be read; give one with --repo ({said})"))
    }

    /// The full name of the commit that a name stands for, if it stands for one.
    fn commit(&self, name: &str) -> Result<Option<String>, String> {
        // Anything that begins with a dash would be an option.
        if name.starts_with('-') {
            return Ok(None);
        }
        self.ask(&["rev-parse", "--quiet", "--verify", &format!("{name}^{{commit}}")])
    }

    fn no_commit(&self, name: &str) -> String {
        let shallow = self.ask(&["rev-parse", "--is-shallow-repository"]);
        let look = if matches!(shallow, Ok(Some(shallow)) if shallow == "true") {
            "the clone is shallow, so it may be among what `git fetch --unshallow --tags` brings"
        } else {
            "see `git tag` and `git log` for those there are"
        };
        format!("`{name}` is no commit of this repository; {look}")
    }

    /// What git answers, if it has an answer.
    fn ask(&self, arguments: &[&str]) -> Result<Option<String>, String> {
        let output = self.run(arguments)?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Some(said).filter(|said| output.status.success() && !said.is_empty()))
    }

    fn run(&self, arguments: &[&str]) -> Result<std::process::Output, String> {
        let output = Command::new("git").args(arguments).current_dir(self.repository).output();
        output.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "there is no `git` on this machine; install it first".to_owned(),
            _ => format!("git cannot be started: {error}"),
        })
    }
}
