//! `command`: a subprocess.

use super::{
    argv::{BeforeArgv, HasArgv, NoArgv, WithArgv},
    arity::for_each_arity,
    inputs::{Inputs, Room},
    leaf::{Leaf, leaf_options, stall_option},
    step::Step,
    value::value,
};
use crate::{
    build::{Begun, checker},
    graph::{Command, CommandEnd, CommandLine, Kind, Location, Redaction, Stdin},
};
use hermes_core::{command::CommandOutput, data::Data, effect::Effect};
use std::{marker::PhantomData, sync::Arc};

/// How much is kept of each output where the author does not say: 8 MiB.
const CAP: usize = 8 << 20;

/// A subprocess whose output is recorded. It needs a program, and joins the plan with `.output()`, `.stdout()` or
/// `.json::<T>()`. It is [`Effect::Unsafe`] unless `.effect(..)` says otherwise.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("commits", |since: Step<String>| {
///     command("log")
///         .input("since", since)
///         .argv_with(|since| ["git".to_owned(), "log".to_owned(), format!("{since}..HEAD")])
///         .effect(Pure)
///         .stdout()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
///
/// The program gets its arguments as they are: no shell reads them, unless [`.shell(..)`](CommandBuilder::shell) asks for
/// one. It works in the executor's directory (`Executor::builder().base_dir(..)`), in a process group of its own. What it
/// leaves running is ended with it: everything on Linux, elsewhere what is in its group. Its environment holds `PATH`,
/// `HOME`, `LANG`, `LC_*`, `TMPDIR`, `TERM` and `USER` of the executor's own, what `.env` and `.pass_env` add,
/// `HERMES_IDEMPOTENCY_KEY` (the same for each attempt of the same request), and `HERMES_CALL_COOKIE`, by which what is left
/// of it is found.
///
/// # Panics
/// Outside any plan, at the caller's line; like every primitive.
#[track_caller]
pub fn command(name: impl Into<String>) -> CommandBuilder<(), NoArgv> {
    let begun = Begun::new("command", name.into(), "`.output()`, `.stdout()` or `.json::<T>()`");
    CommandBuilder {
        leaf: Leaf::new(begun),
        options: Options::default(),
        argv: NoArgv::new(),
        inputs: PhantomData,
    }
}

struct Options {
    stdin: Stdin,
    environment: Vec<(String, String)>,
    inherited: Vec<String>,
    directory: String,
    files: Vec<String>,
    cap: usize,
    redactions: Vec<Redaction>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            stdin: Stdin::Empty,
            environment: Vec::new(),
            inherited: Vec::new(),
            directory: String::new(),
            files: Vec::new(),
            cap: CAP,
            redactions: Vec::new(),
        }
    }
}

/// A command under construction: `I` are the types of its inputs, `A` says whether it has its arguments.
#[must_use = "a command joins the plan at `.output()`, `.stdout()` or `.json::<T>()`"]
pub struct CommandBuilder<I, A> {
    leaf: Leaf,
    options: Options,
    argv: A,
    inputs: PhantomData<fn(I)>,
}

impl<I: Inputs, A> CommandBuilder<I, A> {
    leaf_options!();
    stall_option!();

    /// Gives it the output of a step, under a name: for `.argv_with` and `.stdin_with`. Inputs come before the arguments,
    /// up to 8.
    #[track_caller]
    pub fn input<T: Data>(mut self, name: impl Into<String>, step: Step<T>) -> CommandBuilder<I::With<T>, A>
    where
        I: Room,
        A: BeforeArgv,
    {
        self.leaf.input(name.into(), step, Location::caller());
        let Self { leaf, options, argv, .. } = self;
        CommandBuilder { leaf, options, argv, inputs: PhantomData }
    }

    /// Gives it a constant, under a name: the same as `.input(name, value(constant))`.
    #[track_caller]
    pub fn input_value<T: Data>(self, name: impl Into<String>, constant: &T) -> CommandBuilder<I::With<T>, A>
    where
        I: Room,
        A: BeforeArgv,
    {
        self.input(name, value(constant.clone()))
    }

    /// The program and its arguments. The program is looked up in `PATH`, or is a path; a relative one is one from the
    /// directory the command works in.
    #[track_caller]
    pub fn argv<T: Into<String>>(self, argv: impl IntoIterator<Item = T>) -> CommandBuilder<I, HasArgv>
    where
        A: BeforeArgv,
    {
        let argv: Vec<String> = argv.into_iter().map(Into::into).collect();
        if argv.first().is_none_or(|program| program.trim().is_empty()) {
            self.leaf.begun.no_program("the list of arguments begins with no program", Location::caller());
        }
        self.starts(CommandLine::Argv(argv))
    }

    /// A script for the shell (`sh -c`) in place of a program: for pipes and the like. It is a fixed text, so that no value
    /// is ever read as shell: values come in by `.stdin_with(..)`.
    #[track_caller]
    pub fn shell(self, script: impl Into<String>) -> CommandBuilder<I, HasArgv>
    where
        A: BeforeArgv,
    {
        let script = script.into();
        if script.trim().is_empty() {
            self.leaf.begun.no_program("the script is blank", Location::caller());
        }
        self.starts(CommandLine::Shell(script))
    }

    fn starts(self, line: CommandLine) -> CommandBuilder<I, HasArgv> {
        let Self { leaf, options, .. } = self;
        CommandBuilder { leaf, options, argv: HasArgv { line }, inputs: PhantomData }
    }

    /// What it reads on its standard input: a fixed text. Without this it reads nothing. It is stored as a whole: with the
    /// arguments it can have 10 MiB.
    pub fn stdin(mut self, text: impl Into<String>) -> Self {
        self.options.stdin = Stdin::Text(text.into());
        self
    }

    /// Sets a variable of its environment. Name and value are part of what is compared, and are stored; a secret goes
    /// through `.pass_env(name)` instead, or is redacted.
    #[track_caller]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = self.leaf.begun.variable(name.into(), Location::caller());
        self.options.environment.push((name, value.into()));
        self
    }

    /// Passes on a variable of the executor's own environment, where it has it. Only the name is compared and stored, so
    /// another value runs nothing again.
    #[track_caller]
    pub fn pass_env(mut self, name: impl Into<String>) -> Self {
        let name = self.leaf.begun.variable(name.into(), Location::caller());
        self.options.inherited.push(name);
        self
    }

    /// The directory it works in, relative to the executor's: not absolute, and without `..`.
    #[track_caller]
    pub fn dir(mut self, directory: impl Into<String>) -> Self {
        let at = Location::caller();
        self.options.directory = self.leaf.begun.relative("the directory", directory.into(), at);
        self
    }

    /// Files that it reads, relative to its directory: their contents are compared, so that a changed file is noticed like
    /// a changed input. They are read when the request is made; one that is not there is a value too.
    #[track_caller]
    pub fn files<T: Into<String>>(mut self, files: impl IntoIterator<Item = T>) -> Self {
        let at = Location::caller();
        for file in files {
            let file = self.leaf.begun.relative("a file", file.into(), at);
            self.options.files.push(file);
        }
        self
    }

    /// The most bytes of its standard output that are kept, and of its standard error. 8 MiB without this.
    ///
    /// With `.output()`, of more than that the first and last halves are kept, with a line between them that says how much
    /// is missing. With `.stdout()` and `.json()`, a command that writes more to its standard output is ended and fails as
    /// too large.
    #[track_caller]
    pub fn cap(mut self, bytes: usize) -> Self {
        if bytes == 0 {
            self.leaf.begun.zero_cap(Location::caller());
        }
        self.options.cap = bytes;
        self
    }

    /// A secret: wherever it stands in what the command is given or writes, `[redacted]` is stored and handed on in its
    /// place. Only the command itself gets it. Another form of the secret (in base64, in another encoding) is not found.
    #[track_caller]
    pub fn redact(mut self, secret: impl Into<String>) -> Self {
        let secret = self.leaf.begun.option("a text to redact", secret, Location::caller());
        self.options.redactions.push(Redaction::Text(secret));
        self
    }

    /// The same for what a variable of the executor's own environment holds. One that is not set, or empty, is nothing to
    /// redact.
    #[track_caller]
    pub fn redact_env(mut self, name: impl Into<String>) -> Self {
        let name = self.leaf.begun.variable(name.into(), Location::caller());
        self.options.redactions.push(Redaction::Variable(name));
        self
    }

    /// Joins the plan: the output is how it ended and what it wrote, whatever its exit code. What is not UTF-8 fails the
    /// step.
    #[track_caller]
    pub fn output(self) -> Step<CommandOutput>
    where
        A: WithArgv,
    {
        self.join(CommandEnd::Output)
    }

    /// Joins the plan: the output is what it wrote to its standard output, byte for byte. Another exit code than 0 fails
    /// the step, as does what is not UTF-8.
    #[track_caller]
    pub fn stdout(self) -> Step<String>
    where
        A: WithArgv,
    {
        self.join(CommandEnd::Stdout)
    }

    /// Joins the plan: what it wrote to its standard output is the JSON of a `T`, or the step fails. Another exit code than
    /// 0 fails it too.
    #[track_caller]
    pub fn json<T: Data>(self) -> Step<T>
    where
        A: WithArgv,
    {
        self.join(CommandEnd::Json)
    }

    #[track_caller]
    fn join<T: Data>(self, output: CommandEnd) -> Step<T>
    where
        A: WithArgv,
    {
        let Self { leaf, options, argv, .. } = self;
        let Options { stdin, environment, inherited, directory, files, cap, redactions } = options;
        let command = Command {
            line: argv.into_line(),
            stdin,
            environment,
            inherited,
            directory,
            files,
            cap,
            redactions,
            output,
            check: checker::<T>(leaf.begun.at()),
            timeout: leaf.timeout,
            stall: leaf.stall,
            retry: leaf.retry.unwrap_or_default(),
            effect: leaf.effect.unwrap_or(Effect::Unsafe),
            version: leaf.version,
        };
        let schema = leaf.schema::<T>();
        leaf.join(Kind::Command(Box::new(command)), schema)
    }
}

macro_rules! built {
    ($($T:ident $v:ident $i:literal),*) => {
        impl<$($T: Data),*> CommandBuilder<($($T,)*), NoArgv> {
            /// The program and its arguments, made from the inputs: one reference for each, in order.
            #[track_caller]
            pub fn argv_with<Args, Text>(
                self,
                build: impl Fn($(&$T),*) -> Args + Send + Sync + 'static,
            ) -> CommandBuilder<($($T,)*), HasArgv>
            where
                Args: IntoIterator<Item = Text>,
                Text: Into<String>,
            {
                let at = Location::caller();
                let build = Arc::new(move |inputs: &[_]| {
                    let ($($v,)*) = <($($T,)*)>::decode(inputs, at)?;
                    Ok(build($(&$v),*).into_iter().map(Into::into).collect())
                });
                self.starts(CommandLine::Built { build, at })
            }
        }

        impl<Argv, $($T: Data),*> CommandBuilder<($($T,)*), Argv> {
            /// What it reads on its standard input, made from the inputs it has so far: one reference for each, in order.
            #[track_caller]
            pub fn stdin_with(mut self, build: impl Fn($(&$T),*) -> String + Send + Sync + 'static) -> Self {
                let at = Location::caller();
                let build = Arc::new(move |inputs: &[_]| {
                    let ($($v,)*) = <($($T,)*)>::decode(inputs, at)?;
                    Ok(build($(&$v),*))
                });
                self.options.stdin = Stdin::Built { build, at };
                self
            }
        }
    };
}
for_each_arity!(built);
