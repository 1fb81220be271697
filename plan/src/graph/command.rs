//! A command in the graph: what is started, with what, and what is kept of it.

use super::{ArgvFn, ComputeFn, Location, PromptFn};
use hermes_core::{effect::Effect, retry::Retry};
use std::{fmt, time::Duration};

/// A subprocess.
#[derive(Clone)]
pub struct Command {
    /// What is started.
    pub line: CommandLine,
    /// What it reads on its standard input.
    pub stdin: Stdin,
    /// Variables that the plan sets, by name; a later one of the same name replaces an earlier one.
    pub environment: Vec<(String, String)>,
    /// Variables of the executor's own environment that are passed on, by name.
    pub inherited: Vec<String>,
    /// The directory it works in, relative to the executor's; empty for that one itself.
    pub directory: String,
    /// The files it reads, relative to its directory.
    pub files: Vec<String>,
    /// The most bytes of each output that are kept.
    pub cap: usize,
    /// What is replaced in everything that is stored.
    pub redactions: Vec<Redaction>,
    /// What it yields.
    pub output: CommandEnd,
    /// Decodes its one value as the author's type today and hands it back; the error says why it cannot.
    pub check: ComputeFn,
    /// The longest it may take.
    pub timeout: Option<Duration>,
    /// How long nothing may be heard of it.
    pub stall: Option<Duration>,
    /// How often it is tried again by itself.
    pub retry: Retry,
    /// What running it twice would do.
    pub effect: Effect,
    /// The author's version.
    pub version: Option<u32>,
}

/// What a command starts.
#[derive(Clone)]
pub enum CommandLine {
    /// A program and its arguments, handed to it as they are.
    Argv(Vec<String>),
    /// The same, built from the inputs.
    Built {
        /// The builder.
        build: ArgvFn,
        /// Where it was written.
        at: Location,
    },
    /// A script for the shell.
    Shell(String),
}

/// What a command reads on its standard input.
#[derive(Clone)]
pub enum Stdin {
    /// Nothing.
    Empty,
    /// A fixed text.
    Text(String),
    /// Built from the inputs.
    Built {
        /// The builder.
        build: PromptFn,
        /// Where it was written.
        at: Location,
    },
}

/// What a command yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// `.output()`: how it ended and what it wrote.
    Output,
    /// `.stdout()`: its standard output, as text.
    Stdout,
    /// `.json::<T>()`: its standard output, as JSON of the node's schema.
    Json,
}

/// What is replaced in everything that is stored of a command.
#[derive(Clone, PartialEq, Eq)]
pub enum Redaction {
    /// A text.
    Text(String),
    /// What a variable of the executor's own environment holds.
    Variable(String),
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Command")
    }
}

impl fmt::Debug for Redaction {
    /// Without the text: it is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text"),
            Self::Variable(name) => f.debug_tuple("Variable").field(name).finish(),
        }
    }
}
