//! A real process killed with SIGKILL at random points: while an agent runs, and between two commits. This program is all
//! three: the test, the process that is killed, and its agents. That is why it has a `main` of its own.

mod agent;
mod child;
mod gate;
mod hunter;
#[path = "../support/store.rs"]
mod store;
#[path = "../support/mod.rs"]
mod support;

use hunter::{Kills, hunt};
use libtest_mimic::{Arguments, Failed, Trial};
use std::{path::Path, process::ExitCode};

/// Each hunt kills this often while an agent runs, and this often between two commits.
const EACH: Kills = Kills { while_an_agent_runs: 7, between_two_commits: 3 };

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, agent::ROLE, desk] => agent::serve(Path::new(desk)),
        [_, child::ROLE, desk] => child::run(Path::new(desk)),
        _ => {
            let trial = Trial::test("killed_50_times_anywhere_every_run_ends_the_same", hunts);
            libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
        }
    }
}

fn hunts() -> Result<(), Failed> {
    let hunts: Vec<_> = (1..=5).map(|seed| std::thread::spawn(move || hunt(seed, EACH))).collect();
    let mut kills = Kills::default();
    for hunt in hunts {
        kills = kills + hunt.join().map_err(|_| "a hunt panicked")??;
    }
    println!("{kills}");
    let enough = kills.while_an_agent_runs >= 30 && kills.between_two_commits >= 5;
    if enough && kills.while_an_agent_runs + kills.between_two_commits >= 50 {
        Ok(())
    } else {
        Err(format!("only {kills}").into())
    }
}
