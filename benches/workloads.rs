//! The workloads of the project's numbers, each measured beside its raw limit in the same run.
//!
//! `cargo bench --bench workloads -- W1 W2 W3 W6` prints a line each: `W1 ours=… raw=… ratio=… rss=…`. Rates (W1, W2) are
//! per second, W3 and W6 are milliseconds; rss is the peak in MiB of a process that ran only this workload. `raw` is redb
//! committing the same bytes to the same number of tables in the same mode, with nothing above it; for W3 it is reading
//! the same rows and hashing as many bytes as the prompts have.

#[path = "workloads/disk.rs"]
mod disk;
#[path = "workloads/ours.rs"]
mod ours;
#[path = "workloads/raw.rs"]
mod raw;

use std::{env, process::Command};

const ALL: [&str; 6] = ["W1", "W1b", "W2a", "W2b", "W3", "W6"];
/// The variable that names the one workload a child process measures.
const ONLY: &str = "HERMES_WORKLOAD";
/// How often a workload is measured again when the disk changed its speed meanwhile.
const TRIES: usize = 3;

fn main() {
    if let Ok(workload) = env::var(ONLY) {
        return measure(&workload);
    }
    let wanted: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for workload in ALL {
        let asked = |name: &String| workload == name || workload.trim_end_matches(['a', 'b']) == name;
        if wanted.is_empty() || wanted.iter().any(asked) {
            let this = env::current_exe().expect("the path of this benchmark");
            let status = Command::new(this).env(ONLY, workload).status().expect("a process for the workload");
            assert!(status.success(), "{workload} failed");
        }
    }
}

/// What a workload came to.
pub(crate) struct Measured {
    pub(crate) ours: f64,
    pub(crate) raw: Option<f64>,
    /// Whether less is better (a time) rather than more (a rate).
    pub(crate) time: bool,
    pub(crate) note: String,
}

fn measure(workload: &str) {
    for attempt in 1..=TRIES {
        let before = disk::syncs_per_second();
        let measured = match workload {
            "W1" => ours::chain(false),
            "W1b" => ours::chain(true),
            "W2a" => ours::fan_out(false),
            "W2b" => ours::fan_out(true),
            "W3" => ours::resume(),
            "W6" => ours::plan(),
            other => panic!("there is no workload {other}"),
        };
        let after = disk::syncs_per_second();
        let steady = before.max(after) / before.min(after) <= 2.0;
        let on_disk = workload != "W6" && workload != "W3";
        let rss = disk::peak_rss_mib();
        let (raw, ratio) = match measured.raw {
            Some(raw) => {
                let ratio = if measured.time { raw / measured.ours } else { measured.ours / raw };
                (format!("{raw:.1}"), format!("{ratio:.2}"))
            }
            None => ("-".to_owned(), "-".to_owned()),
        };
        println!(
            "{workload} ours={:.1} raw={raw} ratio={ratio} rss={rss:.0} {}",
            measured.ours, measured.note
        );
        if steady || !on_disk {
            return;
        }
        let again = if attempt < TRIES { "; measured again" } else { "; take no ratio from this" };
        println!("{workload} the disk went from {before:.0} to {after:.0} syncs a second meanwhile{again}");
    }
}
