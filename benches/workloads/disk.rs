//! How fast the disk is at this moment, and how much memory the process has used.

use std::{fs::File, io::Write as _, time::Instant};

/// Appends and syncs a little, and gives the rate.
pub(crate) fn syncs_per_second() -> f64 {
    const SYNCS: u32 = 200;
    let directory = tempfile::tempdir().expect("a directory");
    let mut file = File::create(directory.path().join("probe")).expect("a file");
    let began = Instant::now();
    for _ in 0..SYNCS {
        file.write_all(&[7; 4096]).expect("a write");
        file.sync_data().expect("a sync");
    }
    f64::from(SYNCS) / began.elapsed().as_secs_f64()
}

/// The peak resident memory of this process, in MiB; 0 where the system does not say.
pub(crate) fn peak_rss_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}
