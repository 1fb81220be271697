//! A command from its start to what it is worth: a process, and what of its end and its outputs becomes a value.

use super::{
    call::{Bounds, GRACE, bounded},
    turns::Standard,
};
use crate::{
    process::{
        End, Ended, HeadTail, KEPT, Keep, NotText, both, cannot_start, environment, exit, failed, start,
    },
    runner::{Answer, CallWatch, Expect, IDEMPOTENCY_VARIABLE},
    walk::{CallEnd, Invocation},
};
use hermes_core::{
    command::{CommandOutput, Exit},
    digest::Digest,
    failure::{Failure, FailureClass},
    schema::Schema,
    value::Val,
};
use hermes_plan::graph::{Command, CommandEnd, CommandLine, Location};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

/// How long a cancelled command may take to end after an interrupt, and again after a request to terminate.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most bytes of what it wrote, as JSON: a record takes 64 MiB, and has a little more in it.
const VALUE_LIMIT: usize = 63 << 20;
/// What to do where there is no such program.
const MISSING: &str = "install it, or name it by its full path";

/// A command that is to be started.
pub(super) struct Started {
    pub(super) path: String,
    pub(super) invocation: Invocation,
    pub(super) options: Command,
    pub(super) directory: PathBuf,
    pub(super) schema: Schema,
    pub(super) key: Digest,
    pub(super) cookie: String,
    pub(super) place: Location,
}

/// Performs a command and says how it ended.
pub(super) async fn command(started: Started, cancel: CancellationToken) -> CallEnd {
    let watch = CallWatch::new(cancel.clone());
    let stall = started.options.stall.map(|longest| (longest, watch.signs()));
    let bounds = Bounds { timeout: started.options.timeout, stall, grace: GRACE };
    match bounded(started.run(watch), bounds, &cancel).await {
        Ok(end) => end,
        Err((cut, Some(CallEnd::Done(value, receipt)))) => {
            CallEnd::Late { failure: cut.failure(), value, receipt }
        }
        Err((cut, _)) => acted(cut.failure()),
    }
}

fn acted(failure: Failure) -> CallEnd {
    CallEnd::Failed { failure, may_have_acted: true }
}

impl Started {
    async fn run(self, watch: CallWatch) -> CallEnd {
        let not_begun = |failure| CallEnd::Failed { failure, may_have_acted: false };
        if watch.is_cancelled() {
            return not_begun(Failure::new(FailureClass::Cancelled, "before it began"));
        }
        let who = self.who();
        let child = match start(self.process(), self.cookie.clone()) {
            Ok(child) => child,
            Err(error) => {
                let why = cannot_start(&error, &self.directory, MISSING);
                return not_begun(Failure::new(FailureClass::NotBegun, format!("{who} {why}")));
            }
        };
        let input = self.invocation.stdin.clone().into_bytes();
        let ended = match child.run(input, &watch, self.keep()).await {
            Ok(ended) => ended,
            Err(error) => {
                let message = format!("{who} could not be waited for: {error}");
                return acted(Failure::new(FailureClass::RunnerError, message));
            }
        };
        match spawn_blocking(move || self.judge(&who, ended)).await {
            Ok(Ok(value)) => CallEnd::Done(value, None),
            Ok(Err(failure)) => acted(failure),
            Err(error) => acted(Failure::new(FailureClass::Panicked, super::call::joined(error))),
        }
    }

    /// The command and its step, for messages.
    fn who(&self) -> String {
        let what = match (&self.options.line, self.invocation.argv.first()) {
            (CommandLine::Shell(_), _) | (_, None) => "the script".to_owned(),
            (_, Some(program)) => format!("`{}`", self.invocation.secrets.redacted(program)),
        };
        format!("{what} (step `{}`)", self.path)
    }

    fn process(&self) -> tokio::process::Command {
        let mut argv = self.invocation.argv.iter();
        let program = argv.next().map_or("", String::as_str);
        // Which directory a relative program is one from is the system's affair otherwise.
        let program = match Path::new(program).components().nth(1) {
            Some(_) => self.directory.join(program).into_os_string(),
            None => program.into(),
        };
        let mut process = tokio::process::Command::new(program);
        process
            .args(argv)
            .env_clear()
            .envs(environment(std::env::vars_os(), &self.variables(), &self.cookie))
            .current_dir(&self.directory);
        process
    }

    /// What is added to its environment: what is passed on, what the plan sets, and the key.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let passed = self.options.inherited.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some((name.into(), value))
        });
        let set = self.options.environment.iter().map(|(name, value)| (name.into(), value.into()));
        passed.chain(set).chain([(IDEMPOTENCY_VARIABLE.into(), self.key.to_string().into())]).collect()
    }

    fn keep(&self) -> Keep<'_> {
        let cap = self.options.cap;
        let (stdout, stderr) = match self.options.output {
            CommandEnd::Output => (HeadTail::ends(cap), HeadTail::ends(cap)),
            // Its standard error is only for a failure then.
            CommandEnd::Stdout | CommandEnd::Json => {
                (HeadTail::whole(cap), HeadTail::ends(cap.min(2 * KEPT)))
            }
        };
        Keep { stdout, stderr, secrets: &self.invocation.secrets, grace: PATIENCE }
    }

    /// What its end means.
    fn judge(&self, who: &str, ended: Ended) -> Result<Val, Failure> {
        let Ended { end, stdout, stderr } = ended;
        let exit = match end {
            End::Cancelled => return Err(Failure::new(FailureClass::Cancelled, "")),
            End::TooLarge => {
                let message = format!(
                    "{who} wrote more than {} bytes to its standard output, and was ended; let it write less, or give \
                     it a larger `.cap(..)`",
                    self.options.cap
                );
                return Err(Failure::new(FailureClass::TooLarge, message).with_raw(shown(&stdout)));
            }
            End::Exited(status) => exit(status),
        };
        let value = match self.options.output {
            CommandEnd::Output => self.whole_output(who, exit, stdout, stderr)?,
            CommandEnd::Stdout | CommandEnd::Json if exit.code != Some(0) => {
                let message = failed(who, exit, &stderr);
                let raw = both(&HeadTail::of(&stdout.into_bytes(), KEPT), &stderr);
                let failure = Failure::new(FailureClass::CommandFailed, message);
                return Err(if raw.is_empty() { failure } else { failure.with_raw(raw) });
            }
            CommandEnd::Stdout => {
                let (text, _) = text(who, "output", stdout)?;
                Val::from_json(serde_json::Value::String(text))
            }
            CommandEnd::Json => {
                let (text, _) = text(who, "output", stdout)?;
                let expect = Expect::Json(self.schema.clone());
                let decode = std::sync::Arc::clone(&self.options.check);
                let standard = Standard { decode, checks: Vec::new(), place: self.place };
                standard.accept(Answer::Text(text), &expect).map_err(|mut failure| {
                    failure.message = format!("{who} wrote something else: {}", failure.message);
                    failure
                })?
            }
        };
        let size = value.text().map_or(0, |text| text.len());
        if size > VALUE_LIMIT {
            let message = format!(
                "what {who} wrote has {size} bytes as JSON, and {VALUE_LIMIT} is the most; give it a smaller `.cap(..)`"
            );
            return Err(Failure::new(FailureClass::TooLarge, message));
        }
        Ok(value)
    }

    fn whole_output(
        &self,
        who: &str,
        exit: Exit,
        stdout: HeadTail,
        stderr: HeadTail,
    ) -> Result<Val, Failure> {
        let (stdout, stdout_left_out) = text(who, "output", stdout)?;
        let (stderr, stderr_left_out) = text(who, "error", stderr)?;
        let Exit { code, killed_by } = exit;
        let output = CommandOutput { code, killed_by, stdout, stderr, stdout_left_out, stderr_left_out };
        Val::encode_as(&output, &self.schema)
            .map_err(|error| Failure::new(FailureClass::Unencodable, error.to_string()))
    }
}

/// An output as exact text, and how many bytes of it are left out.
fn text(who: &str, which: &str, output: HeadTail) -> Result<(String, u64), Failure> {
    let raw = shown(&output);
    output.into_text().map_err(|NotText(at)| {
        let at = at.map_or_else(String::new, |at| format!(", from byte {at} on"));
        let message = format!(
            "{who} wrote something that is not UTF-8 to its standard {which}{at}; let it write text, for example with \
             `base64`"
        );
        Failure::new(FailureClass::InvalidOutput, message).with_raw(raw)
    })
}

/// The ends of an output, for a failure.
fn shown(output: &HeadTail) -> String {
    HeadTail::of(&output.clone().into_bytes(), KEPT).text()
}
