//! Child processes of calls: what they are started with, what is kept of what they write, and that nothing of them is left.

mod capture;
mod child;
mod environment;

pub use capture::{HeadTail, NotText};
pub use child::{Child, End, Ended, Keep, start};
pub use environment::environment;

use hermes_core::command::Exit;
use std::{io, os::unix::process::ExitStatusExt, path::Path, process::ExitStatus};

/// How much of an output is kept for a failure, at either end.
pub const KEPT: usize = 64 << 10;

/// How a process ended, in words.
pub fn exit(status: ExitStatus) -> Exit {
    Exit { code: status.code(), killed_by: status.signal() }
}

/// Why a program could not be started in `directory`, and what to do. `missing` says it where there is no such program.
pub fn cannot_start(error: &io::Error, directory: &Path, missing: &str) -> String {
    let mend = match error.kind() {
        io::ErrorKind::NotFound if !directory.is_dir() => {
            format!("its working directory {} is not there", directory.display())
        }
        io::ErrorKind::NotFound => format!("there is no such program; {missing}"),
        io::ErrorKind::PermissionDenied => "make it executable, or name another program".to_owned(),
        io::ErrorKind::ArgumentListTooLong => "pass less in arguments and environment".to_owned(),
        io::ErrorKind::NotADirectory => {
            format!("its working directory {} is not a directory", directory.display())
        }
        _ => "see what the system says, then retry".to_owned(),
    };
    format!("cannot be started: {error}; {mend}")
}

/// Both outputs as one text, for a failure.
pub fn both(stdout: &HeadTail, stderr: &HeadTail) -> String {
    let parts = [("standard output", stdout.text()), ("standard error", stderr.text())];
    let shown = parts.iter().filter(|(_, text)| !text.is_empty());
    shown.map(|(name, text)| format!("{name}:\n{text}")).collect::<Vec<_>>().join("\n")
}

/// What a failed program says of itself: `who` ended how, and the last lines of its standard error.
pub fn failed(who: &str, exit: Exit, stderr: &HeadTail) -> String {
    let last = stderr.last_lines();
    if last.is_empty() {
        format!("{who} {exit} and wrote nothing to its standard error")
    } else {
        format!("{who} {exit}; its standard error ends:\n{last}")
    }
}
