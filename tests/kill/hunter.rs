//! The hunter: chooses at which announcements the process is killed, and counts.

use crate::{agent, child, desk::Desk};
use std::{fmt, ops::Add};

/// How often the process was killed, by where it stood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kills {
    pub(crate) while_an_agent_runs: u64,
    pub(crate) between_two_commits: u64,
    /// Calls made again, each because it was under way at a kill.
    pub(crate) calls_made_again: u64,
}

impl fmt::Display for Kills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (agent, commits) = (self.while_an_agent_runs, self.between_two_commits);
        write!(f, "{agent} kills while an agent ran, {commits} between two commits; ")?;
        write!(f, "{} calls that were under way were made again", self.calls_made_again)
    }
}

impl Add for Kills {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            while_an_agent_runs: self.while_an_agent_runs + other.while_an_agent_runs,
            between_two_commits: self.between_two_commits + other.between_two_commits,
            calls_made_again: self.calls_made_again + other.calls_made_again,
        }
    }
}

/// Where to kill a process: at which of its announcements of which kind.
pub(crate) type Aim = (&'static str, u64);

/// Runs the plan again and again until the process was killed as often as is `wanted`; each run is brought to its end, and
/// all must end the same. Says how often it was killed.
pub(crate) fn hunt(seed: u64, wanted: Kills) -> Result<Kills, String> {
    let mut hunter = Hunter::new(seed);
    let undisturbed = Desk::new().bring_to_its_end(&mut hunter)?;
    hunter.wanted = wanted;
    while hunter.wants() != (0, 0) {
        let output = Desk::new().bring_to_its_end(&mut hunter)?;
        if output != undisturbed {
            return Err(format!("it ends in {output}, and undisturbed in {undisturbed}"));
        }
    }
    Ok(hunter.made)
}

/// Runs the plan, killed where it is `planned`, one process after the other. Says how often it was killed.
pub(crate) fn kill_at(planned: &[Aim]) -> Result<Kills, String> {
    let mut hunter = Hunter { planned: planned.iter().rev().copied().collect(), ..Hunter::new(0) };
    Desk::new().bring_to_its_end(&mut hunter)?;
    Ok(hunter.made)
}

pub(crate) struct Hunter {
    random: fastrand::Rng,
    /// The next kills, the last one first: before those that are chosen.
    planned: Vec<Aim>,
    wanted: Kills,
    made: Kills,
}

impl Hunter {
    fn new(seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            planned: Vec::new(),
            wanted: Kills::default(),
            made: Kills::default(),
        }
    }

    /// How many kills are still to be made: while an agent runs, and between two commits.
    fn wants(&self) -> (u64, u64) {
        let Kills { while_an_agent_runs, between_two_commits, .. } = self.made;
        let agents = self.wanted.while_an_agent_runs.saturating_sub(while_an_agent_runs);
        (agents, self.wanted.between_two_commits.saturating_sub(between_two_commits))
    }

    /// Where to kill the next process, if at all.
    pub(crate) fn aim(&mut self) -> Option<Aim> {
        let (agents, commits) = self.wants();
        if let Some(planned) = self.planned.pop() {
            Some(planned)
        } else if agents + commits == 0 {
            None
        } else if self.random.u64(1..=agents + commits) <= agents {
            Some((agent::ROLE, self.random.u64(1..=3)))
        } else {
            Some((child::COMMIT, self.random.u64(1..=18)))
        }
    }

    pub(crate) fn killed(&mut self, kind: &str) {
        let made = &mut self.made;
        if kind == agent::ROLE {
            made.while_an_agent_runs += 1;
        } else {
            made.between_two_commits += 1;
        }
    }

    pub(crate) fn called_again(&mut self, calls: u64) {
        self.made.calls_made_again += calls;
    }
}
