//! The file that the post is written to: where it may be, and how it gets there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The path from the root on, without looking at what is there.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The post must replace neither the notes nor the ledger, and must be writable as far as can be seen before anything is
/// done.
pub(crate) fn check(out: &Path, notes: &Path, ledger: &Path) -> Result<(), String> {
    let shown = out.display();
    if out.is_dir() {
        return Err(format!("--out {shown} is a directory; give the path of a file"));
    }
    let directory = absolute(out).parent().map(Path::to_owned).unwrap_or_default();
    if !directory.is_dir() {
        return Err(format!(
            "--out {shown} is in a directory that is not there; make {} first",
            directory.display()
        ));
    }
    for (other, what) in [(notes, "notes file"), (ledger, "ledger")] {
        if is_same(out, other) {
            return Err(format!("--out {shown} is the {what} itself; give the post another path"));
        }
    }
    Ok(())
}

/// Whether two paths are one file, or would be once they are made.
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => resolved(one) == resolved(other),
    }
}

/// Where a file is, or will be made: links and `..` are seen through.
fn resolved(path: &Path) -> PathBuf {
    let target = fs::read_link(path).map(|target| path.with_file_name("").join(target));
    let path = absolute(&target.unwrap_or_else(|_| path.to_owned()));
    match (path.parent().map(fs::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path,
    }
}

/// Writes the post under another name first: whoever reads it never sees half of it. What is no plain file (a pipe, a
/// terminal) is written to as it is, and a link is followed.
pub(crate) fn write(out: &Path, post: &str) -> Result<(), String> {
    let written = match fs::metadata(out) {
        Ok(found) if !found.is_file() => fs::write(out, post),
        Ok(found) => fs::canonicalize(out).and_then(|out| replace(&out, post, Some(found.permissions()))),
        Err(_) => replace(out, post, None),
    };
    written.map_err(|error| {
        format!(
            "the post is in the ledger, but {} cannot be written: {error}; the same command with another --out writes it",
            out.display()
        )
    })
}

fn replace(out: &Path, post: &str, permissions: Option<fs::Permissions>) -> io::Result<()> {
    let mut half = out.as_os_str().to_owned();
    half.push(format!(".{}.new", std::process::id()));
    let half = PathBuf::from(half);
    let written = fs::write(&half, post)
        .and_then(|()| permissions.map_or(Ok(()), |permissions| fs::set_permissions(&half, permissions)))
        .and_then(|()| fs::rename(&half, out));
    if written.is_err() {
        // It may not be there at all.
        let _ = fs::remove_file(&half);
    }
    written
}
