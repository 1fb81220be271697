//! The hunter: stands at the gate, kills the process at announcements it chooses, starts it again, and looks at what was
//! done twice.

use crate::{
    agent, child,
    gate::{self, Waiting},
    support::run_id,
};
use hermes_workflows::{
    core::{ids::Seq, journal::Kind},
    prelude::*,
};
use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{Read, Write},
    ops::Add,
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
};

/// How often the process was killed, by where it stood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kills {
    pub(crate) while_an_agent_runs: u64,
    pub(crate) between_two_commits: u64,
}

impl fmt::Display for Kills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (agent, commits) = (self.while_an_agent_runs, self.between_two_commits);
        write!(f, "{agent} kills while an agent ran, {commits} between two commits")
    }
}

impl Add for Kills {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            while_an_agent_runs: self.while_an_agent_runs + other.while_an_agent_runs,
            between_two_commits: self.between_two_commits + other.between_two_commits,
        }
    }
}

/// splitmix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    /// One of `1..=most`.
    fn up_to(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % most + 1
    }
}

/// Runs the plan again and again until the process was killed as often as `wanted`; each run is brought to its end, and
/// all must end the same. Says how often it was killed.
pub(crate) fn hunt(seed: u64, wanted: Kills) -> Result<Kills, String> {
    let mut hunter = Hunter { random: Random(seed), wanted: Kills::default(), made: Kills::default() };
    let undisturbed = Desk::new().to_the_end(&mut hunter)?;
    hunter.wanted = wanted;
    while hunter.made != wanted {
        let output = Desk::new().to_the_end(&mut hunter)?;
        if output != undisturbed {
            return Err(format!("it ends in {output}, and undisturbed in {undisturbed}"));
        }
    }
    Ok(hunter.made)
}

struct Hunter {
    random: Random,
    wanted: Kills,
    made: Kills,
}

impl Hunter {
    /// Where to kill the next process: at which of its announcements of which kind, if at all.
    fn aim(&mut self) -> Option<(&'static str, u64)> {
        let agents = self.wanted.while_an_agent_runs - self.made.while_an_agent_runs;
        let commits = self.wanted.between_two_commits - self.made.between_two_commits;
        if agents + commits == 0 {
            None
        } else if self.random.up_to(agents + commits) <= agents {
            Some((agent::ROLE, self.random.up_to(3)))
        } else {
            Some((child::COMMIT, self.random.up_to(9)))
        }
    }

    fn killed(&mut self, kind: &str) {
        let made = &mut self.made;
        *(if kind == agent::ROLE { &mut made.while_an_agent_runs } else { &mut made.between_two_commits }) +=
            1;
    }
}

/// The folder of one run, and the gate in it.
struct Desk {
    directory: tempfile::TempDir,
    gate: UnixListener,
}

/// How a process ended.
enum End {
    Output(String),
    /// With the agent that was running and knows nothing of it.
    Killed(Option<Waiting>),
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
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let gate = UnixListener::bind(gate::socket(directory.path())).unwrap();
        Self { directory, gate }
    }

    /// Starts the process until it comes to its end; it is killed as long as kills are wanted.
    fn to_the_end(&self, hunter: &mut Hunter) -> Result<String, String> {
        let (mut finished, mut orphans) = (BTreeMap::new(), Vec::new());
        loop {
            match self.start(hunter)? {
                End::Killed(orphan) => {
                    orphans.extend(orphan);
                    let calls = self.calls();
                    for path in self.finished() {
                        let begun = calls.get(&path).copied().unwrap_or(0);
                        let before = *finished.entry(path.clone()).or_insert(begun);
                        if begun != before {
                            return Err(format!("{path} was finished, and was called again"));
                        }
                    }
                }
                End::Output(output) => {
                    let calls = self.calls();
                    let again = finished
                        .iter()
                        .find(|(path, begun)| calls.get(*path).copied().unwrap_or(0) != **begun);
                    if let Some((path, _)) = again {
                        return Err(format!("{path} was finished, and was called again"));
                    }
                    // What was left running of an attempt is ended before the attempt is made again.
                    orphans.into_iter().try_for_each(Waiting::must_be_gone)?;
                    return Ok(output);
                }
            }
        }
    }

    /// Starts the process once, and lets it go on until it ends or is killed.
    fn start(&self, hunter: &mut Hunter) -> Result<End, String> {
        let mut aim = hunter.aim();
        let mut process = self.spawn();
        let own = process.0.id().to_string();
        loop {
            let (stream, _) = self.gate.accept().map_err(|error| error.to_string())?;
            // Whoever was killed while it announced itself says nothing.
            let Ok(waiting) = Waiting::new(stream) else { continue };
            let mut words = waiting.what.splitn(3, ' ');
            let (kind, whose) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            if whose != own {
                // An agent of a process that is no more.
                waiting.go_on();
                continue;
            }
            let rest = words.next().unwrap_or_default().to_owned();
            if kind == child::END {
                waiting.go_on();
                let status = process.0.wait().map_err(|error| error.to_string())?;
                return if status.success() { Ok(End::Output(rest)) } else { Err(status.to_string()) };
            }
            if ![agent::ROLE, child::COMMIT].contains(&kind) {
                return Err(format!("the process ended before its time: {kind}"));
            }
            match &mut aim {
                Some((aimed, 1)) if *aimed == kind => {
                    process.0.kill().and_then(|()| process.0.wait()).map_err(|error| error.to_string())?;
                    hunter.killed(kind);
                    return Ok(End::Killed((kind == agent::ROLE).then_some(waiting)));
                }
                Some((aimed, before)) if *aimed == kind => *before -= 1,
                _ => {}
            }
            waiting.go_on();
        }
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

    /// How often each agent has begun.
    fn calls(&self) -> BTreeMap<String, u32> {
        let notes = fs::read_to_string(self.directory.path().join(agent::NOTES)).unwrap_or_default();
        let mut calls = BTreeMap::new();
        for path in notes.lines().filter_map(|line| line.strip_prefix("begin ")) {
            *calls.entry(path.to_owned()).or_insert(0) += 1;
        }
        calls
    }

    /// The paths that have an outcome in the ledger.
    fn finished(&self) -> Vec<String> {
        outcomes(&self.directory.path().join(child::LEDGER))
    }
}

fn outcomes(ledger: &Path) -> Vec<String> {
    let ledger = Ledger::open(ledger).unwrap();
    let Some(run) = ledger.find(&run_id()).unwrap() else { return Vec::new() };
    let state = ledger.state(run).unwrap();
    let records = (1..=ledger.records(run).unwrap()).map(|seq| ledger.record(run, Seq(seq)).unwrap());
    let outcomes = records.filter(|record| matches!(record.header.kind, Kind::Succeeded | Kind::Failed));
    outcomes.map(|record| state.path(record.header.at).to_string()).collect()
}
