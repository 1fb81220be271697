//! Which files a snapshot takes: globs from a base directory, and what they leave out. Pure: it matches paths, and reads none.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// The globs of a snapshot of files. Paths are relative to a base directory, with `/` between names.
///
/// `*`, `?` and `[..]` match within a name, also one that begins with a dot; `**` matches any number of directories;
/// `{a,b}` matches either. A glob after a `!` leaves out what it matches, wherever it stands in the list; if that is a
/// directory, everything in it.
///
/// ```
/// use hermes_plan::graph::Globs;
///
/// let globs = Globs::new(["notes/**/*.md", "!notes/old"])?;
/// assert!(globs.takes("notes/a.md") && globs.takes("notes/deep/er/b.md") && !globs.takes("notes/a.txt"));
/// assert!(globs.enters("notes") && globs.enters("notes/deep"));
/// assert!(!globs.enters("src") && !globs.enters("notes/old"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Globs {
    written: Vec<String>,
    wanted: GlobSet,
    left_out: GlobSet,
    reach: Vec<Reach>,
}

/// Which directories can hold what one glob matches.
#[derive(Clone, Debug)]
struct Reach {
    /// The names that its paths begin with.
    prefix: Vec<String>,
    /// How many names its paths have, where that is known.
    names: Option<usize>,
}

impl Globs {
    /// The globs as the author wrote them.
    ///
    /// # Errors
    /// Says which one cannot be used, and why.
    pub fn new(globs: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, String> {
        let written: Vec<String> = globs.into_iter().map(Into::into).collect();
        let (mut wanted, mut left_out) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let mut reach = Vec::new();
        for whole in &written {
            let bad = |why: String| format!("the glob `{}` {why}", whole.escape_debug());
            if let Some(glob) = whole.strip_prefix('!') {
                left_out.add(compile(glob).map_err(bad)?);
                // Whoever leaves out all that is in a directory leaves out the directory.
                if let Some(directory) = glob.strip_suffix("/**") {
                    left_out.add(compile(directory).map_err(bad)?);
                }
            } else {
                wanted.add(compile(whole).map_err(bad)?);
                reach.push(Reach::of(whole));
            }
        }
        if reach.is_empty() {
            return Err("no glob says which files to take".to_owned());
        }
        let whole = |error: globset::Error| format!("the globs cannot be used together: {error}");
        let (wanted, left_out) = (wanted.build().map_err(whole)?, left_out.build().map_err(whole)?);
        Ok(Self { written, wanted, left_out, reach })
    }

    /// The globs as the author wrote them.
    pub fn written(&self) -> &[String] {
        &self.written
    }

    /// Whether the file with this path is taken, if its directory is entered.
    pub fn takes(&self, path: &str) -> bool {
        self.wanted.is_match(path) && !self.left_out.is_match(path)
    }

    /// Whether something in this directory can be taken.
    pub fn enters(&self, directory: &str) -> bool {
        let names: Vec<_> = directory.split('/').collect();
        self.reach.iter().any(|reach| reach.into(&names)) && !self.left_out.is_match(directory)
    }

    /// In one line: the first three of them.
    pub fn short(&self) -> String {
        let shown: Vec<_> = self.written.iter().take(3).map(String::as_str).collect();
        let more = if self.written.len() > shown.len() { ", …" } else { "" };
        shown.join(", ") + more
    }
}

impl Reach {
    fn of(glob: &str) -> Self {
        let names: Vec<_> = glob.split('/').collect();
        let fixed = |name: &&&str| !name.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let directories = &names[..names.len() - 1];
        let prefix = directories.iter().take_while(fixed).map(|name| (*name).to_owned()).collect();
        // An alternative, or a set, may have slashes in it.
        let counted = !glob.contains("**") && !glob.contains(['{', '[']);
        Self { prefix, names: counted.then_some(names.len()) }
    }

    /// Whether a path that begins with these names can be reached.
    fn into(&self, directory: &[&str]) -> bool {
        let agrees = self.prefix.iter().zip(directory).all(|(one, other)| one == other);
        agrees && self.names.is_none_or(|names| directory.len() < names)
    }
}

fn compile(glob: &str) -> Result<Glob, String> {
    let why = if glob.trim().is_empty() {
        "is blank"
    } else if glob.starts_with('/') {
        "is absolute; write it from the executor's base directory"
    } else if glob.chars().any(char::is_control) {
        "has a control character in it"
    } else if glob.ends_with('/') {
        "names a directory; end it with `/**` for all files in it"
    } else if glob.split('/').any(|name| name == "..") {
        "leads out of a directory with `..`; files outside the base directory are not taken"
    } else if glob.split('/').any(|name| name.is_empty() || name == ".") {
        "has an empty name or a `.` in it; leave it out"
    } else {
        return GlobBuilder::new(glob)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("is none: {}", error.kind()));
    };
    Err(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_name_and_two_of_them_cross_directories() {
        let globs = Globs::new(["*.md", "src/**", "a/{b,c/d}/e?.[ch]"]).unwrap();
        for path in ["a.md", ".hidden.md", "src/x", "src/deep/y", "a/b/e1.c", "a/c/d/e2.h"] {
            assert!(globs.takes(path), "{path}");
        }
        for path in ["b/a.md", "srcs", "a/b/e1.d", "a/b/e/.c", "A.MD"] {
            assert!(!globs.takes(path), "{path}");
        }
    }

    #[test]
    fn only_directories_that_can_hold_something_are_entered() {
        let globs =
            Globs::new(["README.md", "notes/20*/x/*.md", "a/{b,c/d}/e", "deep/**/*.rs", "!**/target/**"])
                .unwrap();
        for directory in
            ["notes", "notes/2024", "notes/other", "notes/2024/x", "a", "a/c", "a/c/d", "deep", "deep/er"]
        {
            assert!(globs.enters(directory), "{directory}");
        }
        for directory in ["src", "notes/2024/x/y", "b", "deep/target", "deep/er/target"] {
            assert!(!globs.enters(directory), "{directory}");
        }
    }

    #[test]
    fn what_is_no_glob_is_refused_with_the_reason() {
        for (glob, why) in [
            ("", "blank"),
            ("!", "blank"),
            ("/etc/*", "absolute"),
            ("a/../b", "`..`"),
            ("!../b", "`..`"),
            ("./a", "`.`"),
            ("a//b", "empty"),
            ("a/", "`/**`"),
            ("a\nb", "control"),
            ("a[", "is none"),
            ("{a,b", "is none"),
        ] {
            let said = Globs::new([glob]).unwrap_err();
            assert!(said.contains(why) && said.contains("the glob `"), "{glob:?}: {said}");
        }
        assert!(Globs::new(["!a"]).unwrap_err().contains("no glob"));
        assert!(Globs::new([""; 0]).unwrap_err().contains("no glob"));
    }

    #[test]
    fn a_line_shows_three() {
        assert_eq!(Globs::new(["a", "b"]).unwrap().short(), "a, b");
        assert_eq!(Globs::new(["a", "b", "c", "d"]).unwrap().short(), "a, b, c, …");
    }
}
