//! `Subprocess` itself: how the program is started, and what its end means.

use super::{reply, request};
use crate::fn_runner::cancelled;
use hermes_executor::{
    AgentCall, AgentReply, BoxFuture, CallWatch, Runner, RunnerError, RunnerErrorKind, RunnerIdentity,
    Secrets, Workspace,
    process::{End, Ended, HeadTail, KEPT, Keep, both, cannot_start, environment, exit, failed, start},
};
use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{process::Command, task::spawn_blocking};

/// What to do where there is no such program.
const MISSING: &str = "install it, or give `Subprocess::new` its full path";

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
    grace: Duration,
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
            grace: Duration::from_secs(2),
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
        self.grace = grace;
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
            .map_err(|error| not_begun(&cannot_start(&error, &directory, MISSING)))?;
        let keep = Keep {
            stdout: HeadTail::whole(Self::REPLY_LIMIT),
            stderr: HeadTail::new(KEPT),
            secrets: &Secrets::default(),
            grace: self.grace,
        };
        let ended = child.run(input, &watch, keep).await.map_err(|error| {
            RunnerError::new(RunnerErrorKind::Failed, format!("{who} could not be waited for: {error}"))
        })?;
        spawn_blocking(move || judge(ended, &path, &who)).await.unwrap_or_else(|error| {
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

/// What the end of the program means for the call.
fn judge(ended: Ended, path: &str, who: &str) -> Result<AgentReply, RunnerError> {
    const LIMIT: usize = Subprocess::REPLY_LIMIT;
    let Ended { end, stdout, stderr } = ended;
    match end {
        End::Cancelled => Err(cancelled(path)),
        End::TooLarge => {
            let message =
                format!("{who} wrote more than {LIMIT} bytes, and was ended; let it answer with less");
            let raw = HeadTail::of(&stdout.into_bytes(), KEPT).text();
            Err(RunnerError::new(RunnerErrorKind::TooLarge, message).with_raw(raw))
        }
        End::Exited(status) if status.success() => reply::read(&stdout.into_bytes(), who),
        End::Exited(status) => {
            let stdout = stdout.into_bytes();
            Err(reply::reported(&stdout, who).unwrap_or_else(|| {
                let message = failed(who, exit(status), &stderr);
                let error = RunnerError::new(RunnerErrorKind::Failed, message);
                let raw = both(&HeadTail::of(&stdout, KEPT), &stderr);
                if raw.is_empty() { error } else { error.with_raw(raw) }
            }))
        }
    }
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
