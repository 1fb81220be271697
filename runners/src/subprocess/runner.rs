//! `Subprocess` itself: how the program is started, and what its end means.

use super::{
    capture::HeadTail,
    environment::environment,
    process::{End, Ended, Limits, start},
    reply, request,
};
use crate::fn_runner::cancelled;
use hermes_executor::{
    AgentCall, AgentReply, BoxFuture, CallWatch, Runner, RunnerError, RunnerErrorKind, RunnerIdentity,
    Workspace,
};
use std::{
    ffi::{OsStr, OsString},
    fmt, io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};
use tokio::{process::Command, task::spawn_blocking};

/// A program as a runner; [the module](super) has the protocol that it speaks.
///
/// ```
/// use hermes_runners::Subprocess;
///
/// let writer = Subprocess::new("house-writer").arg("--quiet").env("MODE", "draft").name("house-writer");
/// ```
#[derive(Clone)]
pub struct Subprocess {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    identity: RunnerIdentity,
    limits: Limits,
}

impl Subprocess {
    /// The most bytes of a reply.
    pub const REPLY_LIMIT: usize = 64 << 20;

    /// A runner that starts `program` for every call: a name that is looked up in `PATH`, or a path. A relative path is
    /// one from the directory that this process is in now.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned();
        let is_path = Path::new(program).components().nth(1).is_some();
        let absolute = is_path.then(|| std::path::absolute(program).ok()).flatten();
        Self {
            program: absolute.map_or_else(|| program.to_owned(), PathBuf::into_os_string),
            args: Vec::new(),
            env: Vec::new(),
            identity: RunnerIdentity { name, version: None },
            limits: Limits { stdout: Self::REPLY_LIMIT, grace: Duration::from_secs(2) },
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment, which has little else in it.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// The name that receipts show; without it, the program's file name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.identity.name = name.into();
        self
    }

    /// The version that receipts show.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.identity.version = Some(version.into());
        self
    }

    /// How long a cancelled program may take to end after an interrupt, and again after a request to terminate, before it
    /// is killed. 2 seconds without it.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.limits.grace = grace;
        self
    }

    fn command(&self, workspace: &Path, cookie: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(environment(std::env::vars_os(), &self.env, cookie))
            .current_dir(workspace);
        command
    }

    async fn perform(&self, call: AgentCall, watch: CallWatch) -> Result<AgentReply, RunnerError> {
        let path = call.path.clone();
        if watch.is_cancelled() {
            return Err(cancelled(&path));
        }
        let who = format!("`{}` (step `{path}`)", self.program.to_string_lossy());
        let not_begun =
            |why: &dyn fmt::Display| RunnerError::new(RunnerErrorKind::NotBegun, format!("{who} {why}"));
        let cookie = call.cookie.clone();
        // Encoding and reading are work for long values; files may be slow. Neither belongs on the async threads.
        let (directory, input) = spawn_blocking(move || {
            let directory = workspace(&call.workspace)?;
            let input = request::encode(&call, &directory)?;
            Ok((directory, input))
        })
        .await
        .map_err(|error| not_begun(&error))?
        .map_err(|why: String| not_begun(&format!("was not started: {why}")))?;
        let child = start(self.command(&directory, &cookie), cookie)
            .map_err(|error| not_begun(&cannot_start(&error, &directory)))?;
        let ended = child.run(input, &watch, self.limits).await.map_err(|error| {
            RunnerError::new(RunnerErrorKind::Failed, format!("{who} could not be waited for: {error}"))
        })?;
        let limit = self.limits.stdout;
        spawn_blocking(move || judge(ended, &path, &who, limit)).await.unwrap_or_else(|error| {
            Err(RunnerError::new(RunnerErrorKind::Failed, format!("its reply could not be read: {error}")))
        })
    }
}

/// Makes the working directory, and gives its absolute path.
fn workspace(workspace: &Workspace) -> Result<PathBuf, String> {
    let directory =
        workspace.prepare().map_err(|error| format!("its working directory cannot be made: {error}"))?;
    std::path::absolute(directory).map_err(|error| format!("its working directory is not found: {error}"))
}

fn cannot_start(error: &io::Error, directory: &Path) -> String {
    let mend = match error.kind() {
        io::ErrorKind::NotFound if !directory.is_dir() => {
            format!("its working directory {} is not there", directory.display())
        }
        io::ErrorKind::NotFound => {
            "there is no such program; install it, or give `Subprocess::new` its full path".to_owned()
        }
        io::ErrorKind::PermissionDenied => "make it executable, or name another program".to_owned(),
        io::ErrorKind::ArgumentListTooLong => "pass less in arguments and environment".to_owned(),
        _ => "see what the system says, then retry".to_owned(),
    };
    format!("cannot be started: {error}; {mend}")
}

/// What the end of the program means for the call.
fn judge(ended: Ended, path: &str, who: &str, limit: usize) -> Result<AgentReply, RunnerError> {
    const KEPT: usize = 64 << 10;
    let Ended { end, stdout, stderr } = ended;
    match end {
        End::Cancelled => Err(cancelled(path)),
        End::TooLarge => {
            let message =
                format!("{who} wrote more than {limit} bytes, and was ended; let it answer with less");
            let raw = HeadTail::of(&stdout, KEPT).text();
            Err(RunnerError::new(RunnerErrorKind::TooLarge, message).with_raw(raw))
        }
        End::Exited(status) if status.success() => reply::read(&stdout, who),
        End::Exited(status) => Err(reply::reported(&stdout, who).unwrap_or_else(|| {
            let how = how(status);
            let last = stderr.last_lines();
            let message = if last.is_empty() {
                format!("{who} {how} and wrote nothing to its standard error")
            } else {
                format!("{who} {how}; its standard error ends:\n{last}")
            };
            let error = RunnerError::new(RunnerErrorKind::Failed, message);
            let raw = raw(&stdout, &stderr, KEPT);
            if raw.is_empty() { error } else { error.with_raw(raw) }
        })),
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(number)) => format!("was ended by kill -{number}"),
        (None, None) => "ended".to_owned(),
    }
}

fn raw(stdout: &[u8], stderr: &HeadTail, kept: usize) -> String {
    let (stdout, stderr) = (HeadTail::of(stdout, kept).text(), stderr.text());
    let parts = [("standard output", stdout), ("standard error", stderr)];
    let shown = parts.iter().filter(|(_, text)| !text.is_empty());
    shown.map(|(name, text)| format!("{name}:\n{text}")).collect::<Vec<_>>().join("\n")
}

impl Runner for Subprocess {
    fn identity(&self) -> RunnerIdentity {
        self.identity.clone()
    }

    fn run(&self, call: AgentCall, watch: CallWatch) -> BoxFuture<'_, Result<AgentReply, RunnerError>> {
        Box::pin(self.perform(call, watch))
    }
}

impl fmt::Debug for Subprocess {
    /// Without its environment: that may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subprocess")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}
