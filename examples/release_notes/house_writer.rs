//! The house writer: a small, deterministic function in place of an agent, with no key and no network. It invents nothing:
//! a change is the subject of its commit, and commits of one subject are one change.

use super::plan::{Area, Change, Section};
use hermes_workflows::prelude::*;

/// The runner that writes the sections.
pub(crate) fn house_writer() -> FnRunner {
    FnRunner::sync(|call| {
        let input = call.inputs.iter().find(|(name, _)| name == "area");
        let refused = |why: String| RunnerError::new(RunnerErrorKind::Failed, why);
        let (_, area) =
            input.ok_or_else(|| refused(format!("`{}` came without its input `area`", call.path)))?;
        let area = serde_json::from_str(area).map_err(|error| refused(error.to_string()))?;
        let section = serde_json::to_value(section(&area)).map_err(|error| refused(error.to_string()))?;
        Ok(AgentReply::json(section))
    })
    .name("house-writer")
}

fn section(area: &Area) -> Section {
    let mut changes: Vec<Change> = Vec::new();
    for commit in &area.commits {
        let (text, hash) = (sentence(&commit.subject), commit.short().to_owned());
        match changes.iter_mut().find(|change| change.text == text) {
            Some(known) => known.commits.push(hash),
            None => changes.push(Change { text, commits: vec![hash] }),
        }
    }
    Section { title: area.name.clone(), changes }
}

/// A subject as a line of a list: it begins with a capital, ends without a full stop, and is nothing but text in Markdown.
fn sentence(subject: &str) -> String {
    let subject = subject.trim().trim_end_matches('.');
    let mut letters = subject.chars();
    let Some(first) = letters.next() else { return "(no message)".to_owned() };
    let mut text = String::new();
    for letter in first.to_uppercase().chain(letters) {
        if matches!(letter, '<' | '>' | '[' | ']' | '*' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::history::Commit;
    use super::*;

    #[test]
    fn each_commit_is_in_one_change_and_one_subject_is_one_change() {
        let commit = |hash: &str, subject: &str| Commit {
            hash: hash.to_owned(),
            author: "Al".to_owned(),
            subject: subject.to_owned(),
            files: Vec::new(),
        };
        let commits =
            vec![commit("a", "fix it."), commit("b", "a <b> *new*"), commit("c", "Fix it"), commit("d", "")];
        let section = section(&Area { name: "core".to_owned(), commits });
        let changes: Vec<_> =
            section.changes.iter().map(|change| (change.text.as_str(), change.commits.join(" "))).collect();
        let expected = [("Fix it", "a c"), (r"A \<b\> \*new\*", "b"), ("(no message)", "d")];
        assert_eq!(changes, expected.map(|(text, commits)| (text, commits.to_owned())));
    }
}
