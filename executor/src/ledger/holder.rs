//! The note beside a ledger file that says who has it: `<ledger>.holder`. It only informs: the lock is on the file itself.

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
    system::uname,
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fmt, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Which process has a ledger file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// The host it runs on.
    pub host: String,
    /// Since when: milliseconds since 1970, UTC.
    pub since: i64,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}, since {}", self.pid, self.host, utc(self.since))
    }
}

impl Holder {
    /// This process, from `now` on.
    pub(super) fn this(now: i64) -> Self {
        Self { pid: std::process::id(), host: this_host(), since: now }
    }

    /// Whether it was a process of this host and is no more. A number that another process has by now looks alive.
    pub(super) fn is_gone(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        self.host == this_host() && pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
    }

    /// What the note beside `ledger` says, if there is one that reads.
    pub(super) fn read(ledger: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(beside(ledger, ".holder")).ok()?).ok()
    }
}

fn this_host() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

/// The note of this process; taken away when dropped.
#[derive(Debug)]
pub(super) struct Note(PathBuf);

impl Note {
    /// Writes the note. To be called with the file's lock held, which makes any note that is there a stale one.
    pub(super) fn write(ledger: &Path, holder: &Holder) -> io::Result<Self> {
        let path = beside(ledger, ".holder");
        // Away with the old one first: a new file is sure to be ours, with our permissions.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = owner_only().write(true).create_new(true).open(&path)?;
        file.write_all(&serde_json::to_vec(holder)?)?;
        Ok(Self(path))
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        // A note left behind misleads nobody who can take the lock.
        let _ = fs::remove_file(&self.0);
    }
}

/// The path of `ledger` with `ending` after it.
pub(super) fn beside(ledger: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(ledger);
    path.push(ending);
    path.into()
}

/// Options for a file that nobody but its owner may read or write.
fn owner_only() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A time as people read it: `2026-01-31 23:59:07 UTC`.
fn utc(millis: i64) -> String {
    let seconds = millis.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Howard Hinnant's days-to-civil, with years that begin in March so that a leap day comes last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second % 3600 / 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02} UTC", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_dates() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_827_696_000), "2000-02-29 12:34:56 UTC");
        assert_eq!(utc(1_772_323_199_999), "2026-02-28 23:59:59 UTC");
        assert_eq!(utc(-1), "1969-12-31 23:59:59 UTC");
    }
}
