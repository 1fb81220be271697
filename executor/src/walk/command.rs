//! Today's request of a command, redacted, and beside it what is really started.

use super::{guard::guarded, state::Walk};
use crate::redact::Secrets;
use hermes_core::{
    failure::{Failure, FailureClass},
    request::{CommandForm, CommandRequest, FileInput, Input, Request, Variable},
    schema::Schema,
    value::Val,
};
use hermes_plan::graph::{Command, CommandEnd, CommandLine, Redaction, Stdin};
use std::collections::BTreeMap;

/// What reads a script.
const SHELL: &str = "/bin/sh";

/// The most bytes of what a command is given: in the journal it can be six times as long, and a record has an end.
const GIVEN: usize = 10 << 20;

/// What is started, in clear text: only the process gets it.
pub(crate) struct Invocation {
    pub(crate) argv: Vec<String>,
    pub(crate) stdin: String,
    pub(crate) secrets: Secrets,
}

impl Walk {
    /// The request of a command, and what is started for it.
    pub(super) fn command_request(
        &self,
        command: &Command,
        schema: &Schema,
        inputs: Vec<Input>,
        values: &[Val],
    ) -> Result<(Request, Invocation), Failure> {
        let secrets = self.secrets(command);
        let hide = |text: &String| secrets.redacted(text);
        let (mut argv, mut shell) = (Vec::new(), None);
        let started = match &command.line {
            CommandLine::Argv(given) => {
                argv = given.iter().map(hide).collect();
                given.clone()
            }
            CommandLine::Built { build, at } => {
                let given = guarded(*at, || build(values)).map_err(|failure| failure.located(at))?;
                if given.first().is_none_or(|program| program.trim().is_empty()) {
                    let message = "`.argv_with(..)` gave no program; let it give one";
                    return Err(Failure::new(FailureClass::NotBegun, message).located(at));
                }
                argv = given.iter().map(hide).collect();
                given
            }
            CommandLine::Shell(script) => {
                shell = Some(hide(script));
                vec![SHELL.to_owned(), "-c".to_owned(), script.clone()]
            }
        };
        let stdin = match &command.stdin {
            Stdin::Empty => None,
            Stdin::Text(text) => Some(text.clone()),
            Stdin::Built { build, at } => {
                Some(guarded(*at, || build(values)).map_err(|failure| failure.located(at))?)
            }
        };
        let given = started.iter().chain(&stdin).map(String::len).sum::<usize>();
        if given > GIVEN {
            let message = format!(
                "its arguments and its standard input have {given} bytes, and {GIVEN} is the most; hand it a file"
            );
            return Err(Failure::new(FailureClass::TooLarge, message));
        }
        let request = CommandRequest {
            argv,
            shell,
            stdin: stdin.as_ref().map(hide),
            inputs,
            directory: command.directory.clone(),
            environment: variables(command, &secrets),
            files: self.declared_files(&command.directory, &command.files)?,
            tree: None,
            output: match command.output {
                CommandEnd::Output => CommandForm::Output,
                CommandEnd::Stdout => CommandForm::Stdout,
                CommandEnd::Json => CommandForm::Json { schema: schema.bare_id() },
            },
            version: command.version,
        };
        let invocation = Invocation { argv: started, stdin: stdin.unwrap_or_default(), secrets };
        Ok((Request::Command(request), invocation))
    }

    fn secrets(&self, command: &Command) -> Secrets {
        Secrets::new(command.redactions.iter().filter_map(|redaction| match redaction {
            Redaction::Text(text) => Some(text.clone()),
            Redaction::Variable(name) => self.lookup.variable(name),
        }))
    }

    /// Files that a step declares to read, by their contents.
    pub(super) fn declared_files(
        &self,
        directory: &str,
        files: &[String],
    ) -> Result<Vec<FileInput>, Failure> {
        let file = |path: &String| {
            let content = self.lookup.file(directory, path).map_err(|why| {
                let message = format!("its file `{path}` cannot be read: {why}");
                Failure::new(FailureClass::NotBegun, message)
            })?;
            Ok(FileInput { path: path.clone(), content })
        };
        files.iter().map(file).collect()
    }
}

/// What the plan puts into the environment, by name.
fn variables(command: &Command, secrets: &Secrets) -> Vec<Variable> {
    let passed = command.inherited.iter().map(|name| (name, None));
    let set = command.environment.iter().map(|(name, value)| (name, Some(secrets.redacted(value))));
    let all: BTreeMap<_, _> = passed.chain(set).collect();
    all.into_iter().map(|(name, value)| Variable { name: name.clone(), value }).collect()
}
