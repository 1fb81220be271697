//! `files`: a recorded snapshot of files.

use super::step::Step;
use crate::{
    build::{Begun, Join, PlanError, PlanErrorKind, Use, check_key, checker},
    graph::{Files, Globs, Kind, Location},
};
use hermes_core::{
    data::Data,
    files::{FileSet, FileText},
};

/// A snapshot of the files that these globs match under the executor's base directory, taken once and recorded: what
/// changes on the disk later does not change the run. It joins the plan with `.list()` or `.texts()`.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("summary", |_: Step<()>| {
///     let notes = files("notes", ["notes/**/*.md", "!notes/old"]).texts();
///     agent("summary").input("notes", notes).prompt("Sum the notes up.").text()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
///
/// - [`Globs`] says what a glob matches. An absolute one, or one with `..`, is a mistake in the plan.
/// - Files are taken; directories, sockets and the like are not. A link to a file is taken as that file, if it lies under
///   the base directory; directories behind links are not searched.
/// - The step fails, naming the path, where something cannot be read, a name is not UTF-8, a link leads outside or nowhere,
///   or the files are too large: more than 64 MiB in one, 256 MiB in all. It also fails where no file matches.
#[track_caller]
pub fn files(name: impl Into<String>, globs: impl IntoIterator<Item = impl Into<String>>) -> FilesBuilder {
    let at = Location::caller();
    let begun = Begun::new("files", name.into(), "`.list()` or `.texts()`");
    let globs = Globs::new(globs)
        .map_err(|why| {
            let message = format!("the files of `{}` cannot be found: {why}", begun.name());
            let mend = "write globs like `notes/**/*.md`";
            begun.mistake(PlanError::new(PlanErrorKind::InvalidGlob, at, message, mend));
        })
        .ok();
    FilesBuilder { begun, globs, key: None, after: Vec::new() }
}

/// A snapshot of files under construction.
#[must_use = "a snapshot of files joins the plan at `.list()` or `.texts()`"]
pub struct FilesBuilder {
    begun: Begun,
    /// `None` where they are a mistake: then there will be no plan.
    globs: Option<Globs>,
    key: Option<String>,
    after: Vec<Use>,
}

impl FilesBuilder {
    crate::authoring::leaf::renamed_from!(begun);

    /// The key of a step that is made in a plain Rust loop: its path is `name[key]`.
    #[track_caller]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        let key = key.into();
        if let Err(error) = check_key(&key, Location::caller()) {
            self.begun.mistake(error);
        }
        self.key = Some(key);
        self
    }

    /// Is taken only after `step` has succeeded, although no data flows.
    #[track_caller]
    pub fn after<S>(mut self, step: Step<S>) -> Self {
        self.after.push(step.used("", Location::caller()));
        self
    }

    /// Joins the plan: path, hash and size of each file. The contents are blobs of the ledger, under their hashes.
    #[track_caller]
    pub fn list(self) -> Step<FileSet> {
        self.join(false)
    }

    /// Joins the plan: the files with their texts, by path. They must be UTF-8, and 32 MiB in all.
    #[track_caller]
    pub fn texts(self) -> Step<Vec<FileText>> {
        self.join(true)
    }

    #[track_caller]
    fn join<T: Data>(self, texts: bool) -> Step<T> {
        let Self { begun, globs, key, after } = self;
        let (schema, check) = (begun.schema::<T>(begun.at()), checker::<T>(begun.at()));
        let kind = match globs {
            Some(globs) => Kind::Files(Box::new(Files { globs, texts, check })),
            None => Kind::Constant(hermes_core::value::Val::null()),
        };
        Step::new(begun.join(Join { key, inputs: Vec::new(), after, kind, schema }))
    }
}
