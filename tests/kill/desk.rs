//! The desk: the folder of one run, and the gate in it, where the process is let go on or killed, and started again.

use crate::{
    agent, child,
    findings::Findings,
    gate::{self, Waiting},
    hunter::Hunter,
    support::every_primitive::furnish,
};
use std::{
    io::{Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    process::{Child, Command, Stdio},
};

/// The folder of one run, and the gate in it.
pub(crate) struct Desk {
    directory: tempfile::TempDir,
    gate: UnixListener,
    /// Agents of processes that are no more, and their paths. They have been told nothing.
    orphans: Vec<(String, Waiting)>,
}

/// How a process ended.
enum End {
    Output(String),
    Killed { kind: &'static str },
}

/// The process; it does not outlive whoever looks after it.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

impl Desk {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        furnish(directory.path());
        let gate = UnixListener::bind(gate::socket(directory.path())).unwrap();
        Self { directory, gate, orphans: Vec::new() }
    }

    /// Starts the process until it comes to its end; it is killed as long as kills are wanted.
    pub(crate) fn bring_to_its_end(mut self, hunter: &mut Hunter) -> Result<String, String> {
        let mut findings = Findings::default();
        loop {
            match self.start(hunter)? {
                End::Killed { kind } => {
                    findings.look(self.directory.path())?;
                    // Before the first commit there is nothing to stand between.
                    if kind == agent::ROLE || findings.any() {
                        hunter.killed(kind);
                    }
                }
                End::Output(output) => {
                    hunter.called_again(findings.at_the_end(self.directory.path())?);
                    self.orphans.into_iter().try_for_each(|(_, orphan)| orphan.must_be_gone())?;
                    return Ok(output);
                }
            }
        }
    }

    /// Starts the process once, and lets it go on until it ends or is killed.
    fn start(&mut self, hunter: &mut Hunter) -> Result<End, String> {
        let mut aim = hunter.aim();
        let mut process = self.spawn();
        let own = process.0.id().to_string();
        loop {
            let (stream, _) = self.gate.accept().map_err(|error| error.to_string())?;
            // Whoever was killed while it announced itself says nothing.
            let Ok(waiting) = Waiting::new(stream) else { continue };
            let (kind, whose, rest) = waiting.words();
            if whose != own {
                // An agent of a process that is no more.
                waiting.go_on();
                continue;
            }
            if kind == child::END {
                waiting.go_on();
                let status = process.0.wait().map_err(|error| error.to_string())?;
                return if status.success() { Ok(End::Output(rest)) } else { Err(status.to_string()) };
            }
            if ![agent::ROLE, child::COMMIT].contains(&kind.as_str()) {
                return Err(format!("the process ended before its time: {kind}"));
            }
            if kind == agent::ROLE {
                self.is_alone(&rest)?;
            }
            match &mut aim {
                Some((aimed, 1)) if *aimed == kind => {
                    process.0.kill().and_then(|()| process.0.wait()).map_err(|error| error.to_string())?;
                    if kind == agent::ROLE {
                        self.orphans.push((rest, waiting));
                    }
                    return Ok(End::Killed { kind: aimed });
                }
                Some((aimed, before)) if *aimed == kind => *before -= 1,
                _ => {}
            }
            waiting.go_on();
        }
    }

    /// What was left running of a call is ended before it is made again.
    fn is_alone(&mut self, path: &str) -> Result<(), String> {
        self.orphans
            .extract_if(.., |(left, _)| left == path)
            .try_for_each(|(_, orphan)| orphan.must_be_gone())
    }

    fn spawn(&self) -> Process {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg(child::ROLE)
            .arg(self.directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Should it end without saying so, somebody must say it: the hunter would wait for ever.
        let (id, socket) = (process.id(), gate::socket(self.directory.path()));
        let mut out = process.stdout.take().unwrap();
        std::thread::spawn(move || {
            let _ = out.read_to_end(&mut Vec::new());
            let _ =
                UnixStream::connect(socket).map(|mut gate| gate.write_all(format!("gone {id}\n").as_bytes()));
        });
        Process(process)
    }
}
