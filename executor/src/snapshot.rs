//! Taking a snapshot of files: which there are, and what they hold at this moment.

use crate::ledger::LIMIT;
use hermes_core::{
    digest::Digest,
    failure::{Failure, FailureClass},
    files::{FileEntry, FileSet, FileText},
    schema::Schema,
    value::Val,
};
use hermes_plan::graph::{Files, Globs};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};
use walkdir::{DirEntry, WalkDir};

/// The most bytes of one file: what a blob of the ledger may have.
const FILE: u64 = LIMIT as u64;
/// The most bytes of all files of a snapshot.
const ALL: u64 = 256 << 20;
/// The most bytes of all texts of a snapshot: they become one value.
const TEXTS: u64 = 32 << 20;

/// A file that is to be taken.
struct Found {
    path: String,
    file: PathBuf,
    size: u64,
}

/// Takes the files: what is said of them, and the contents that are to be kept beside it.
pub(crate) fn take(base: &Path, files: &Files, schema: &Schema) -> Result<(Val, Vec<Vec<u8>>), Failure> {
    let globs = &files.globs;
    let base = fs::canonicalize(base)
        .map_err(|error| not_taken(format!("the base directory {} is not there: {error}", base.display())))?;
    let found = find(&base, globs)?;
    if found.is_empty() {
        let (here, globs) = (base.display(), globs.short());
        return Err(not_taken(format!("no file under {here} matches {globs}")));
    }
    let limit = if files.texts { TEXTS } else { ALL };
    fits(&found, limit)?;
    let mut left = limit;
    let mut read = Vec::with_capacity(found.len());
    for Found { path, file, .. } in found {
        let bytes = contents(&path, &file, left.min(FILE))?;
        left -= bytes.len() as u64;
        read.push((path, Digest::of_bytes(&bytes), bytes));
    }
    if files.texts {
        return Ok((encode(&texts(read)?, schema)?, Vec::new()));
    }
    let mut entries = Vec::with_capacity(read.len());
    let mut blobs = BTreeMap::new();
    for (path, hash, bytes) in read {
        entries.push(FileEntry { path, hash, size: bytes.len() as u64 });
        blobs.entry(hash).or_insert(bytes);
    }
    Ok((encode(&FileSet { files: entries }, schema)?, blobs.into_values().collect()))
}

fn not_taken(why: String) -> Failure {
    Failure::new(FailureClass::FilesNotTaken, why)
}

/// All files that the globs take, by path.
fn find(base: &Path, globs: &Globs) -> Result<Vec<Found>, Failure> {
    let enters = |entry: &DirEntry| {
        entry.depth() == 0 || !entry.file_type().is_dir() || globs.enters(&below(base, entry.path()))
    };
    let mut found = Vec::new();
    for entry in WalkDir::new(base).min_depth(1).into_iter().filter_entry(enters) {
        let entry = entry.map_err(|error| {
            let path = error.path().map_or_else(|| ".".to_owned(), |path| below(base, path));
            not_taken(format!("`{path}` cannot be read: {error}"))
        })?;
        let path = below(base, entry.path());
        if !globs.takes(&path) {
            continue;
        }
        let kind = entry.file_type();
        let file = if kind.is_symlink() {
            let Some(target) = behind(base, &path, entry.path())? else { continue };
            target
        } else if kind.is_file() {
            entry.path().to_owned()
        } else {
            continue;
        };
        if entry.path().to_str().is_none() {
            return Err(not_taken(format!("the name of `{path}` is not UTF-8; rename it, or leave it out")));
        }
        let size = fs::metadata(&file).map_err(|error| unreadable(&path, &error))?.len();
        found.push(Found { path, file, size });
    }
    found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// A path from the base directory, with `/` between names; what is not UTF-8 in it is replaced.
fn below(base: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(base).unwrap_or(path);
    let names: Vec<_> = relative.components().map(|name| name.as_os_str().to_string_lossy()).collect();
    names.join("/")
}

fn unreadable(path: &str, error: &io::Error) -> Failure {
    not_taken(format!("`{path}` cannot be read: {error}"))
}

/// The file behind a link; `None` where it is not a file.
fn behind(base: &Path, path: &str, link: &Path) -> Result<Option<PathBuf>, Failure> {
    let target = fs::canonicalize(link).map_err(|error| {
        not_taken(format!("`{path}` is a link that cannot be followed: {error}; leave it out with `!{path}`"))
    })?;
    if !target.is_file() {
        return Ok(None);
    }
    if !target.starts_with(base) {
        let outside = target.display();
        return Err(not_taken(format!(
            "`{path}` is a link to {outside}, outside the base directory; leave it out with `!{path}`"
        )));
    }
    Ok(Some(target))
}

/// Refuses what is too large, before any of it is read.
fn fits(found: &[Found], limit: u64) -> Result<(), Failure> {
    if let Some(large) = found.iter().find(|file| file.size > FILE.min(limit)) {
        return Err(too_large(&large.path, large.size, FILE.min(limit)));
    }
    let all: u64 = found.iter().map(|file| file.size).sum();
    if all <= limit {
        return Ok(());
    }
    let mut largest: Vec<_> = found.iter().collect();
    largest.sort_by_key(|file| std::cmp::Reverse(file.size));
    let shown: Vec<_> =
        largest.iter().take(3).map(|file| format!("`{}` with {}", file.path, file.size)).collect();
    let (count, shown) = (found.len(), shown.join(", "));
    let message =
        format!("the {count} files have {all} bytes, and {limit} is the most; the largest are {shown}");
    Err(Failure::new(FailureClass::TooLarge, message))
}

fn too_large(path: &str, size: u64, limit: u64) -> Failure {
    let message = format!("the file `{path}` has {size} bytes, and {limit} is the most that is left for it");
    Failure::new(FailureClass::TooLarge, message)
}

/// What a file holds now, which may be more than when it was found.
fn contents(path: &str, file: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > limit {
        return Err(too_large(path, bytes.len() as u64, limit));
    }
    Ok(bytes)
}

fn texts(read: Vec<(String, Digest, Vec<u8>)>) -> Result<Vec<FileText>, Failure> {
    let text = |(path, hash, bytes): (String, Digest, Vec<u8>)| match String::from_utf8(bytes) {
        Ok(text) => Ok(FileText { path, hash, text }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(not_taken(format!("`{path}` is not UTF-8 text, from byte {at} on; take it with `.list()`")))
        }
    };
    read.into_iter().map(text).collect()
}

/// The value, which must fit into one record.
fn encode<T: Serialize>(value: &T, schema: &Schema) -> Result<Val, Failure> {
    let value = Val::encode_as(value, schema)
        .map_err(|error| Failure::new(FailureClass::Unencodable, error.to_string()))?;
    let size = value.text().map_or(0, |text| text.len());
    // The record holds the globs as well.
    let limit = LIMIT - (1 << 20);
    if size > limit {
        let message = format!("what is said of the files has {size} bytes, and {limit} is the most");
        return Err(Failure::new(FailureClass::TooLarge, message));
    }
    Ok(value)
}
