//! One child process from start to its last descendant's end: its pipes, its signals, and what it leaves behind.

use super::capture::HeadTail;
use crate::{
    redact::{Redacting, Secrets},
    runner::{BoxFuture, CallWatch},
    sweep::sweep,
};
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use rustix::process::Signal;
use std::{
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    process::Command,
};

/// How long the outputs may stay open after the program has exited, because a descendant holds them.
const DRAIN: Duration = Duration::from_secs(2);
/// The longest live line.
const LINE: usize = 1 << 10;

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Exited(ExitStatus),
    /// Because the call was cancelled.
    Cancelled,
    /// Because it wrote more than is taken.
    TooLarge,
}

/// What came of a child. Nothing of it is alive any more.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub end: End,
    /// What was kept of its standard output.
    pub stdout: HeadTail,
    /// What was kept of its standard error.
    pub stderr: HeadTail,
}

/// What is kept of a child's outputs, and how long it may take to end.
#[derive(Debug)]
pub struct Keep<'a> {
    /// What is kept of its standard output, empty.
    pub stdout: HeadTail,
    /// What is kept of its standard error, empty.
    pub stderr: HeadTail,
    /// What must not be seen of either.
    pub secrets: &'a Secrets,
    /// How long a cancelled child may take after an interrupt, and again after a request to terminate.
    pub grace: Duration,
}

/// Starts the program.
///
/// # Errors
/// When it cannot be started; nothing was done then.
pub fn start(mut command: Command, cookie: String) -> io::Result<Child> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessGroup::leader());
    Ok(Child { leader: command.spawn()?, cookie, over: false })
}

/// A child and everything that descends from it. Dropping it ends them all.
pub struct Child {
    leader: Box<dyn ChildWrapper>,
    cookie: String,
    /// Whether nothing can be left of it.
    over: bool,
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.over {
            self.kill();
            sweep(&self.cookie);
        }
    }
}

impl Child {
    /// Sends it its input, takes its outputs, and waits for its end; then makes sure that nothing of it is left.
    ///
    /// # Errors
    /// When it cannot be waited for. It is ended then too.
    pub async fn run(mut self, input: Vec<u8>, watch: &CallWatch, keep: Keep<'_>) -> io::Result<Ended> {
        let (stdin, stdout, stderr) = self.pipes()?;
        let mut out = Taking::new(keep.stdout, keep.secrets, watch, Lines::Kept);
        let mut err = Taking::new(keep.stderr, keep.secrets, watch, Lines::Passed(Vec::new()));
        let end = {
            let mut pipes = Pipes(Some(Box::pin(async {
                let sent = async {
                    write(stdin, input).await;
                    Ok(())
                };
                tokio::try_join!(sent, out.all(stdout), err.all(stderr)).map(|_| ())
            })));
            tokio::select! {
                biased;
                () = watch.cancelled() => {
                    self.end_in_order(&mut pipes, keep.grace).await;
                    End::Cancelled
                }
                TooLarge = pipes.overflow() => End::TooLarge,
                status = self.leader.wait() => {
                    let status = status?;
                    match tokio::time::timeout(DRAIN, pipes.closed()).await {
                        Ok(Err(TooLarge)) => End::TooLarge,
                        // What still holds them is ended below.
                        Ok(Ok(())) | Err(_) => End::Exited(status),
                    }
                }
            }
        };
        self.finish().await;
        Ok(Ended { end, stdout: out.kept(), stderr: err.kept() })
    }

    fn pipes(
        &mut self,
    ) -> io::Result<(impl AsyncWrite + use<>, impl AsyncRead + use<>, impl AsyncRead + use<>)> {
        let missing = || io::Error::other("a pipe to the program is missing");
        let stdin = self.leader.stdin().take().ok_or_else(missing)?;
        let stdout = self.leader.stdout().take().ok_or_else(missing)?;
        let stderr = self.leader.stderr().take().ok_or_else(missing)?;
        Ok((stdin, stdout, stderr))
    }

    /// An interrupt, then a request to terminate; the kill is [`Child::finish`]'s. Its outputs are still taken, so that it cannot hang on a full pipe.
    async fn end_in_order(&mut self, pipes: &mut Pipes<'_>, grace: Duration) {
        for signal in [Signal::INT, Signal::TERM] {
            // It may have ended already.
            let _ = self.leader.signal(signal.as_raw());
            tokio::select! {
                biased;
                _ = self.leader.wait() => return,
                () = tokio::time::sleep(grace) => {}
                TooLarge = pipes.overflow() => {}
            }
        }
    }

    fn kill(&mut self) {
        // An error says that nobody is left in the group.
        let _ = self.leader.start_kill();
    }

    /// Nothing is left when this returns: neither of the group nor with the cookie.
    async fn finish(&mut self) {
        self.kill();
        // A killed process ends, unless the kernel holds it; that is not ours to wait out.
        let _ = tokio::time::timeout(DRAIN, self.leader.wait()).await;
        let cookie = self.cookie.clone();
        // Should the runtime be ending, dropping sweeps once more.
        self.over = tokio::task::spawn_blocking(move || sweep(&cookie)).await.is_ok();
    }
}

/// More came than is taken.
struct TooLarge;

/// The traffic with a child, until all three pipes are closed.
struct Pipes<'a>(Option<BoxFuture<'a, Result<(), TooLarge>>>);

impl Pipes<'_> {
    /// Completes when they are closed, or at the overflow. Can be cut off and called again.
    async fn closed(&mut self) -> Result<(), TooLarge> {
        let Some(traffic) = &mut self.0 else { return Ok(()) };
        let result = traffic.await;
        self.0 = None;
        result
    }

    /// Completes only at an overflow.
    async fn overflow(&mut self) -> TooLarge {
        match self.closed().await {
            Err(TooLarge) => TooLarge,
            Ok(()) => std::future::pending().await,
        }
    }
}

/// Writes the input. A program need not read it.
async fn write(mut stdin: impl AsyncWrite + Unpin, input: Vec<u8>) {
    // A program that has read enough closes its end: no error.
    if stdin.write_all(&input).await.is_ok() {
        let _ = stdin.shutdown().await;
    }
}

/// An output being taken: redacted, kept, and its lines passed on while they come, where somebody wants them.
struct Taking<'a> {
    kept: HeadTail,
    redacting: Redacting<'a>,
    watch: &'a CallWatch,
    lines: Lines,
}

impl<'a> Taking<'a> {
    fn new(kept: HeadTail, secrets: &'a Secrets, watch: &'a CallWatch, lines: Lines) -> Self {
        Self { kept, redacting: secrets.stream(), watch, lines }
    }

    async fn all(&mut self, mut pipe: impl AsyncRead + Unpin) -> Result<(), TooLarge> {
        let mut chunk = vec![0; 64 << 10];
        loop {
            match pipe.read(&mut chunk).await {
                Ok(0) | Err(_) => {
                    self.push(&[], true);
                    return if self.kept.overflowed() { Err(TooLarge) } else { Ok(()) };
                }
                Ok(count) => {
                    // Whatever it writes says that it is alive.
                    self.watch.heartbeat();
                    self.push(&chunk[..count], false);
                }
            }
            if self.kept.overflowed() {
                return Err(TooLarge);
            }
        }
    }

    fn push(&mut self, bytes: &[u8], last: bool) {
        let Self { kept, redacting, watch, lines } = self;
        redacting.feed(bytes, last, |clean| {
            kept.push(clean);
            lines.push(watch, clean);
        });
    }

    /// What was kept of all that came, also where its end was not waited for.
    fn kept(mut self) -> HeadTail {
        self.push(&[], true);
        self.kept
    }
}

/// What becomes of lines while they come: they are only kept, or passed on too, each when it is whole.
enum Lines {
    Kept,
    Passed(Vec<u8>),
}

impl Lines {
    fn push(&mut self, watch: &CallWatch, bytes: &[u8]) {
        let Self::Passed(line) = self else { return };
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE.saturating_sub(line.len()).min(part.len());
            line.extend_from_slice(&part[..room]);
            if part.ends_with(b"\n") {
                watch.log(String::from_utf8_lossy(line).trim_end());
                line.clear();
            }
        }
    }
}
