//! The directory that one attempt works in: fresh and empty, made when a runner first asks for it.

use hermes_core::effect::Isolation;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Where an attempt works. See [`Isolation`].
#[derive(Clone, Debug)]
pub struct Workspace {
    path: PathBuf,
    isolation: Isolation,
    /// Whether an earlier turn of the attempt has worked in it.
    kept: bool,
}

impl Workspace {
    pub(crate) fn new(root: &Path, run: u64, attempt: &str, isolation: Isolation) -> Self {
        let path = match isolation {
            Isolation::None => PathBuf::from("."),
            _ => root.join(run.to_string()).join(attempt),
        };
        Self { path, isolation, kept: false }
    }

    /// The same for the attempt's next turn, which finds what the last one left.
    pub(crate) fn kept(mut self) -> Self {
        self.kept = true;
        self
    }

    /// Makes the directory, fresh and empty, and gives its path. In a later turn of an attempt it is as the turn before left
    /// it. With [`Isolation::None`] it is the program's own
    /// working directory, and nothing is made.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn prepare(&self) -> io::Result<&Path> {
        if self.isolation != Isolation::None && self.kept {
            fs::create_dir_all(&self.path)?;
        } else if self.isolation != Isolation::None {
            match fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => fs::create_dir_all(&self.path)?,
            }
        }
        Ok(&self.path)
    }

    /// Removes the directory if nothing was left in it.
    pub(crate) fn tidy(&self) {
        if self.isolation != Isolation::None {
            // It is not there, or not empty: both are as they should be.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
