//! Finding and killing what is left of calls: every process on this host that carries the cookie of one of them.
//!
//! On Linux by reading `/proc/*/environ`. Elsewhere nothing is found, and nothing is claimed.

use crate::runner::COOKIE_VARIABLE;
use std::{collections::BTreeSet, fs};

/// The ids of the living processes whose environment carries `cookie`, ourselves never among them.
pub fn carriers(cookie: &str) -> Vec<i32> {
    Look::at(&BTreeSet::from([entry(cookie)])).carriers
}

/// Kills every process that carries `cookie`, until none is left (new ones may appear while it looks), and gives the
/// number of kills. Gives up after a bounded number of looks.
pub fn sweep(cookie: &str) -> usize {
    sweep_all([cookie])
}

/// The same for many cookies, with one look at all processes for all of them.
pub(crate) fn sweep_all<'a>(cookies: impl IntoIterator<Item = &'a str>) -> usize {
    const LOOKS: usize = 40;
    /// A process may have begun behind the back of one look, while the one that began it ended before its face.
    const CLEAN: usize = 2;
    let wanted: BTreeSet<Vec<u8>> = cookies.into_iter().map(entry).collect();
    if wanted.is_empty() {
        return 0;
    }
    let (mut killed, mut clean, mut unclear) = (0, 0, 0);
    for _ in 0..LOOKS {
        let look = Look::at(&wanted);
        if look.carriers.is_empty() {
            clean += 1;
            if clean >= CLEAN && (!look.unclear || unclear >= PATIENCE) {
                break;
            }
            unclear += usize::from(look.unclear);
            if look.unclear {
                std::thread::sleep(MOMENT);
            }
            continue;
        }
        clean = 0;
        for pid in look.carriers {
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

/// How often a process is looked at again that does not show its environment: for a moment none does, while it becomes
/// another program. Some never have one.
const PATIENCE: usize = 5;
const MOMENT: std::time::Duration = std::time::Duration::from_millis(1);

/// How a cookie stands in an environment.
fn entry(cookie: &str) -> Vec<u8> {
    format!("{COOKIE_VARIABLE}={cookie}").into_bytes()
}

/// One look at all processes.
struct Look {
    carriers: Vec<i32>,
    /// Whether a living process of somebody's does not show its environment.
    unclear: bool,
}

impl Look {
    fn at(wanted: &BTreeSet<Vec<u8>>) -> Self {
        let mut look = Self { carriers: Vec::new(), unclear: false };
        let own = std::process::id();
        let Ok(entries) = fs::read_dir("/proc") else { return look };
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        for pid in pids.filter(|pid| u32::try_from(*pid).is_ok_and(|pid| pid != own)) {
            let Ok(environ) = fs::read(format!("/proc/{pid}/environ")) else { continue };
            if environ.is_empty() {
                look.unclear |= becomes_another(pid);
            } else if environ.split(|byte| *byte == 0).any(|entry| wanted.contains(entry)) {
                look.carriers.push(pid);
            }
        }
        look
    }
}

/// Whether a process without an environment may be about to have one: it is neither dead nor the kernel's own.
fn becomes_another(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // `pid (name) state parent ..`, where the name may hold anything.
    let Some((_, rest)) = stat.rsplit_once(')') else { return false };
    let mut fields = rest.split_ascii_whitespace();
    let (state, parent) = (fields.next().unwrap_or("X"), fields.next().unwrap_or("0"));
    !matches!(state, "Z" | "X" | "x") && !matches!(parent, "0" | "2")
}
