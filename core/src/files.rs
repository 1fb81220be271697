//! Files as values: what a snapshot of them says of each, and their texts.

use crate::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file of a snapshot. Its content is a blob of the ledger, under its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Its path from the executor's base directory, with `/` between names.
    pub path: String,
    /// The blake3 hash of its content.
    pub hash: Digest,
    /// Its length in bytes.
    pub size: u64,
}

/// The files of a snapshot, by path, each once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSet {
    /// The files.
    pub files: Vec<FileEntry>,
}

impl FileSet {
    /// The file with this path.
    pub fn get(&self, path: &str) -> Option<&FileEntry> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The bytes of all files together.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// A text file of a snapshot, with its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileText {
    /// Its path from the executor's base directory, with `/` between names.
    pub path: String,
    /// The blake3 hash of its content.
    pub hash: Digest,
    /// Its content.
    pub text: String,
}
