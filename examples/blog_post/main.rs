//! A blog post from a file of notes, with no key and no network:
//!
//! ```text
//! cargo run --example blog_post -- examples/data/notes.md
//! ```
//!
//! The workflow is `plan.rs`. Its agents are played by the house writer, a small deterministic program: this executable
//! started again. Everything else here is what a program around a plan does: options, questions in a terminal, a report.

mod answers;
mod house_writer;
mod job;
mod notes_file;
mod options;
mod plan;
mod post_file;
mod progress;
mod report;
mod screen;
mod show;
mod terminal;

use options::{HOUSE_WRITER, Options};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Started again by itself: see `job.rs`.
    if std::env::args_os().nth(1).is_some_and(|first| first == HOUSE_WRITER) {
        return house_writer::serve();
    }
    let options = match Options::from_command_line() {
        Ok(options) => options,
        Err(code) => return code,
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the async runtime cannot be started: {error}");
            return ExitCode::from(job::FAILED);
        }
    };
    match runtime.block_on(job::run(options)) {
        Ok(code) => ExitCode::from(code),
        Err(trouble) => {
            eprintln!("error: {}", trouble.message);
            ExitCode::from(trouble.code)
        }
    }
}
