//! A real process killed with SIGKILL at random points: while an agent runs, and between two commits. This program is all
//! three: the test, the process that is killed, and its agents. That is why it has a `main` of its own.

#[path = "../crash/account.rs"]
mod account;
mod agent;
mod child;
mod desk;
mod findings;
mod gate;
mod hunter;
#[path = "../support/store.rs"]
mod store;
#[path = "../support/mod.rs"]
mod support;

use hunter::{Kills, hunt, kill_at};
use libtest_mimic::{Arguments, Failed, Trial};
use std::{path::Path, process::ExitCode};

/// Each hunt kills this often while an agent runs, and this often between two commits.
const EACH: Kills = Kills { while_an_agent_runs: 7, between_two_commits: 3, calls_made_again: 0 };

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, agent::ROLE, desk] => agent::serve(Path::new(desk)),
        [_, child::ROLE, desk] => child::run(Path::new(desk)),
        _ => {
            let trials = vec![
                Trial::test("killed_50_times_anywhere_every_run_ends_the_same", hunts),
                Trial::test("an_agent_that_several_kills_left_running_is_ended", left_running),
            ];
            libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
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

/// One kill leaves an agent running; the next, around the commits that begin its second attempt, must not make it forgotten.
fn left_running() -> Result<(), Failed> {
    for commit in 1..=4 {
        let kills = kill_at(&[(agent::ROLE, 1), (child::COMMIT, commit)])?;
        if (kills.while_an_agent_runs, kills.between_two_commits) != (1, 1) {
            return Err(format!("only {kills}").into());
        }
    }
    Ok(())
}
