//! Finding and killing what is left of calls: every process on this host that carries the cookie of one of them.
//!
//! On Linux by reading `/proc/*/environ`. Elsewhere nothing is found, and nothing is claimed.

use crate::runner::COOKIE_VARIABLE;
use std::{collections::BTreeSet, fs};

/// The ids of the living processes whose environment carries `cookie`, ourselves never among them.
pub fn carriers(cookie: &str) -> Vec<i32> {
    carriers_of(&BTreeSet::from([entry(cookie)]))
}

/// Kills every process that carries `cookie`, until none is left (new ones may appear while it looks), and gives the
/// number of kills. Gives up after a bounded number of looks.
pub fn sweep(cookie: &str) -> usize {
    sweep_all([cookie])
}

/// The same for many cookies, with one look at all processes for all of them.
pub(crate) fn sweep_all<'a>(cookies: impl IntoIterator<Item = &'a str>) -> usize {
    const LOOKS: usize = 20;
    let wanted: BTreeSet<Vec<u8>> = cookies.into_iter().map(entry).collect();
    if wanted.is_empty() {
        return 0;
    }
    let mut killed = 0;
    for _ in 0..LOOKS {
        let carriers = carriers_of(&wanted);
        if carriers.is_empty() {
            break;
        }
        for pid in carriers {
            if let Some(pid) = rustix::process::Pid::from_raw(pid)
                && rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok()
            {
                killed += 1;
            }
        }
        std::thread::yield_now();
    }
    killed
}

/// How a cookie stands in an environment.
fn entry(cookie: &str) -> Vec<u8> {
    format!("{COOKIE_VARIABLE}={cookie}").into_bytes()
}

fn carriers_of(wanted: &BTreeSet<Vec<u8>>) -> Vec<i32> {
    let own = std::process::id();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| u32::try_from(*pid).is_ok_and(|pid| pid != own))
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| wanted.contains(entry)))
        })
        .collect()
}
