//! The plan: from the commits between two versions to release notes.

use super::history::{self, Commit};
use hermes_workflows::prelude::*;

/// What the notes are about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Range {
    /// The version before. Without one, the whole history there is.
    pub(crate) since: Option<Version>,
    /// The version that the notes are of.
    pub(crate) until: Version,
}

/// A version. It is a commit, not a branch: what a run is about does not move on while it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Version {
    /// What people call it.
    pub(crate) name: String,
    /// The full name of the commit.
    pub(crate) commit: String,
}

impl Range {
    /// The same as git writes it.
    pub(crate) fn revisions(&self) -> String {
        let until = &self.until.commit;
        self.since.as_ref().map_or_else(|| until.clone(), |since| format!("{}..{until}", since.commit))
    }
}

/// The commits of one area of the project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Area {
    /// Its name: a top-level directory, or `project`.
    pub(crate) name: String,
    /// Its commits, the oldest first.
    pub(crate) commits: Vec<Commit>,
}

/// What the notes say of one area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Section {
    /// The area.
    pub(crate) title: String,
    /// The changes.
    pub(crate) changes: Vec<Change>,
}

/// One change, as users of the project read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Change {
    /// What it is.
    pub(crate) text: String,
    /// The commits that made it.
    pub(crate) commits: Vec<String>,
}

fn notes_prompt(area: &Area) -> String {
    let subjects: Vec<_> =
        area.commits.iter().map(|commit| format!("- {}: {}", commit.short(), commit.subject)).collect();
    format!(
        "Write the release notes of `{}`: one line a change, commits that belong together in one, each with its \
         commits. Leave out nothing, and invent nothing.\n\n{}",
        area.name,
        subjects.join("\n")
    )
}

/// The workflow: commands read the history, local steps sort it, an agent writes each section.
pub(crate) fn release_notes(range: Step<Range>) -> Step<String> {
    let log = command("log")
        .input("range", range)
        .argv_with(|range| history::log_arguments(&range.revisions()))
        .effect(Pure)
        .cap(32 << 20)
        .stdout();
    let shallow = command("is_shallow")
        .argv(["git", "rev-parse", "--is-shallow-repository"])
        .effect(Pure)
        .json::<bool>();
    let day = command("day")
        .input("range", range)
        .argv_with(|range| history::day_arguments(&range.until.commit))
        .effect(Pure)
        .stdout();

    let commits = step("read_log").input("log", log).try_run(|log| history::read(log));
    let areas = step("sort_by_area").input("commits", commits).run(|commits| history::by_area(commits));
    let sections = parallel_each("areas", areas, |area| {
        agent("write_section").input("area", area).prompt_with(notes_prompt).returns::<Section>()
    })
    .key_by(|area| area.name.clone())
    .limit(4)
    .all();
    step("assemble")
        .input("range", range)
        .input("day", day)
        .input("shallow", shallow)
        .input("commits", commits)
        .input("sections", sections)
        .run(|range, day, shallow, commits, sections| {
            history::Notes { range, day: day.trim(), shallow: *shallow, commits, sections }.to_string()
        })
}
