//! Release notes from the history of a git repository, by default the one this is started in; with no key and no network:
//!
//! ```text
//! cargo run --example release_notes                                   # since the last tag
//! cargo run --example release_notes -- --since v0.1.0 --out NOTES.md
//! ```
//!
//! The workflow is `plan.rs`. Its commands are git's; its agent is played by the house writer, a small deterministic
//! function. Nobody is asked anything.

mod history;
mod house_writer;
mod plan;
mod range;

use clap::Parser;
use hermes_workflows::prelude::*;
use plan::{Range, release_notes};
use std::{error::Error, io::Write, path::PathBuf, process::ExitCode};

/// It failed; `--retry` goes on.
const FAILED: u8 = 1;
/// What was asked for cannot be.
const USAGE: u8 = 2;
/// Something must be decided first.
const PARKED: u8 = 4;

/// Writes release notes from the history of a git repository.
///
/// The same command goes on with the same notes, wherever it stopped; a new commit is a new run. Exit codes: 0 the notes
/// are written, 1 it failed (go on with --retry), 2 wrong usage, no git or no repository, 4 something has to be decided
/// first.
#[derive(Debug, Parser)]
#[command(name = "release_notes")]
struct Options {
    /// A directory of the repository.
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,
    /// The version before: a tag or commit. Default: the last tag before; without tags, the whole history there is.
    #[arg(long, value_name = "REVISION")]
    since: Option<String>,
    /// The version that the notes are of: a tag, branch or commit.
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    until: String,
    /// Where the notes are written. Default: to standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where the run is recorded.
    #[arg(long, value_name = "FILE", default_value = "release_notes.redb")]
    ledger: PathBuf,
    /// The run: the same id is the same notes. Default: made of the two versions.
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// Tries again what failed.
    #[arg(long)]
    retry: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let (range, count) = match range::range(&options.repo, options.since.as_deref(), &options.until) {
        Ok(found) => found,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(USAGE);
        }
    };
    let done = tokio::runtime::Runtime::new()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(run(&options, range, &count)));
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(FAILED)
        }
    }
}

async fn run(options: &Options, range: Range, count: &str) -> Result<u8, Box<dyn Error>> {
    let id = options.run_id.clone().unwrap_or_else(|| {
        // The same two commits can have more between them: once a shallow clone is deepened.
        format!("notes {}, {count} commits", range.revisions())
    });
    let plan = Plan::new("release-notes", release_notes)?;
    let executor = Executor::builder()
        .ledger(Ledger::open(&options.ledger)?)
        .runner(house_writer::house_writer())
        .base_dir(&options.repo)
        .build();
    let mut outcome = executor.start(&plan, range).id(&id).await?.outcome().await?;
    if options.retry && matches!(outcome, Outcome::Failed(_) | Outcome::Cancelled(_)) {
        outcome = executor.retry(&plan, &id).await?.outcome().await?;
    }
    match outcome {
        Outcome::Completed(done) => {
            write(options, &done.value)?;
            eprintln!("run: {id}: reused {} steps, {} agent calls", done.counts.reused, done.counts.calls);
            Ok(0)
        }
        Outcome::Failed(failure) => {
            eprintln!("failed: {failure}\nthe same command with --retry goes on from here");
            Ok(FAILED)
        }
        Outcome::Cancelled(_) => {
            eprintln!("cancelled: the same command with --retry goes on from here");
            Ok(FAILED)
        }
        Outcome::Waiting(needs) | Outcome::Parked(needs) => {
            for need in needs.list {
                eprintln!("parked: {}: {}", need.path, need.title);
            }
            eprintln!("another --run-id writes the notes anew");
            Ok(PARKED)
        }
    }
}

fn write(options: &Options, notes: &str) -> Result<(), Box<dyn Error>> {
    if let Some(file) = &options.out {
        return std::fs::write(file, notes).map_err(|error| {
            format!("the notes are in the ledger, but {} cannot be written: {error}", file.display()).into()
        });
    }
    let mut out = std::io::stdout().lock();
    match out.write_all(notes.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
