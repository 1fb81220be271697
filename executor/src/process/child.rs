//! One child process from start to its last descendant's end: its pipes, its signals, and what it leaves behind.

use super::capture::HeadTail;
use hermes_executor::{BoxFuture, CallWatch, sweep};
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
/// How much of standard error is kept, at either end.
const STDERR_KEPT: usize = 64 << 10;
/// The longest live line.
const LINE: usize = 1 << 10;

/// How a child ended.
pub(super) enum End {
    /// By itself.
    Exited(ExitStatus),
    /// Because the call was cancelled.
    Cancelled,
    /// Because it wrote more than is taken.
    TooLarge,
}

/// What came of a child. Nothing of it is alive any more.
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: HeadTail,
}

/// What a child may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The most bytes of standard output.
    pub(super) stdout: usize,
    /// How long a cancelled child may take after an interrupt, and again after a request to terminate.
    pub(super) grace: Duration,
}

/// Starts the program.
///
/// # Errors
/// When it cannot be started; nothing was done then.
pub(super) fn start(mut command: Command, cookie: String) -> io::Result<Child> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessGroup::leader());
    Ok(Child { leader: command.spawn()?, cookie, over: false })
}

/// A child and everything that descends from it. Dropping it ends them all.
pub(super) struct Child {
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
    pub(super) async fn run(
        mut self,
        input: Vec<u8>,
        watch: &CallWatch,
        limits: Limits,
    ) -> io::Result<Ended> {
        let (stdin, stdout, stderr) = self.pipes()?;
        let mut out = Vec::new();
        let mut err = HeadTail::new(STDERR_KEPT);
        let end = {
            let mut pipes = Pipes(Some(Box::pin(async {
                tokio::try_join!(
                    async {
                        write(stdin, input).await;
                        Ok(())
                    },
                    take(stdout, &mut out, limits.stdout),
                    async {
                        listen(stderr, &mut err, watch).await;
                        Ok(())
                    },
                )
                .map(|_| ())
            })));
            tokio::select! {
                biased;
                () = watch.cancelled() => {
                    self.end_in_order(&mut pipes, limits.grace).await;
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
        Ok(Ended { end, stdout: out, stderr: err })
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

/// Takes all of an output, up to `limit` bytes.
async fn take(mut stdout: impl AsyncRead + Unpin, out: &mut Vec<u8>, limit: usize) -> Result<(), TooLarge> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        match stdout.read(&mut chunk).await {
            Ok(0) | Err(_) => return Ok(()),
            Ok(count) => out.extend_from_slice(&chunk[..count]),
        }
        if out.len() > limit {
            return Err(TooLarge);
        }
    }
}

/// Keeps the ends of an output, and passes its lines on while they come.
async fn listen(mut stderr: impl AsyncRead + Unpin, kept: &mut HeadTail, watch: &CallWatch) {
    let mut chunk = vec![0; 16 << 10];
    let mut line = Vec::new();
    loop {
        match stderr.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                kept.push(&chunk[..count]);
                for part in chunk[..count].split_inclusive(|byte| *byte == b'\n') {
                    let room = LINE.saturating_sub(line.len()).min(part.len());
                    line.extend_from_slice(&part[..room]);
                    if part.ends_with(b"\n") {
                        watch.log(String::from_utf8_lossy(&line).trim_end());
                        line.clear();
                    }
                }
            }
        }
    }
}
