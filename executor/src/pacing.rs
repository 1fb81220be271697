//! How many calls each runner takes at once, learnt from its rate limits: shared by all runs of an executor, so that one
//! branch that hits a limit slows down all of them. [`Pace`] is the policy, and knows no clock; [`Pacing`] keeps one for each
//! runner.

use crate::walk::RunnerName;
use hermes_core::timestamp::Timestamp;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// The wait after a limit that names none, doubled with each that follows without a success between them.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// A call that goes ahead and has not been turned away after so long was taken, although it has not ended.
const TAKEN: Duration = Duration::from_secs(10);
/// How many times slower it grows where it met a limit the last time.
const CAREFUL: u32 = 8;

/// The pace of one runner. Until it meets a limit it takes everything.
#[derive(Clone, Debug, Default)]
struct Pace {
    /// Calls under way.
    running: u32,
    /// The most at once; `None` till a limit was met.
    most: Option<u32>,
    /// How many were under way when a limit was met last.
    worst: u32,
    /// Half of them.
    half: u32,
    /// No call till then; after that one, alone, to see.
    closed: Option<Timestamp>,
    /// When that one began, while it is under way.
    probing: Option<Timestamp>,
    /// Limits met since the last success.
    strikes: u32,
    /// Successes since the last change of `most`.
    successes: u32,
    /// Counts the limits that counted: calls that began before one say nothing new.
    epoch: u64,
}

/// Whether a call may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    Now { probe: bool },
    From(Timestamp),
    WhenOneEnds,
}

/// How a call ended, for the pace of its runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Answered,
    Failed,
}

impl Pace {
    fn admission(&self, now: Timestamp) -> Admission {
        match self.closed {
            Some(until) if now < until => return Admission::From(until),
            Some(_) => match self.probing.map(|began| began.after(TAKEN)) {
                None => return Admission::Now { probe: true },
                Some(taken) if now < taken => return Admission::From(taken),
                Some(_) => {}
            },
            None => {}
        }
        match self.most {
            Some(most) if self.running >= most => Admission::WhenOneEnds,
            _ => Admission::Now { probe: false },
        }
    }

    fn begin(&mut self, probe: bool, now: Timestamp) {
        self.running += 1;
        if probe {
            self.probing = Some(now);
        }
    }

    /// A call was turned away: from when on calls are taken again.
    fn limited(&mut self, (epoch, probe): (u64, bool), after: Option<Duration>, now: Timestamp) -> Timestamp {
        if epoch == self.epoch {
            // That one was turned away says only that the window goes on.
            if !probe {
                self.worst = self.running;
                self.half = (self.running / 2).max(1);
                self.most = Some(self.half);
            }
            self.strikes = self.strikes.saturating_add(1);
            self.successes = 0;
            self.epoch += 1;
        }
        let doubled = FIRST.saturating_mul(1 << self.strikes.saturating_sub(1).min(6));
        let until = now.after(after.unwrap_or(doubled.min(LONGEST)));
        let until = self.closed.map_or(until, |closed| closed.max(until));
        self.closed = Some(until);
        self.end(probe);
        if !probe && epoch + 1 == self.epoch {
            // Of those that came together, what still runs was taken; if nothing does, that says nothing.
            let half = self.half.max(1);
            self.most = Some(if self.running > 0 { half.min(self.running) } else { half });
        }
        until
    }

    fn ended(&mut self, (epoch, probe): (u64, bool), said: Said) {
        if epoch == self.epoch && said != Said::Nothing {
            if probe {
                self.closed = None;
            }
            if said == Said::Answered {
                self.answered();
            }
        }
        self.end(probe);
    }

    fn end(&mut self, probe: bool) {
        self.running = self.running.saturating_sub(1);
        if probe {
            self.probing = None;
        }
    }

    fn answered(&mut self) {
        self.strikes = 0;
        let Some(most) = self.most else { return };
        self.successes += 1;
        let enough = if most + 1 >= self.worst { most.saturating_mul(CAREFUL) } else { most };
        if self.successes >= enough {
            self.most = Some(most.saturating_add(1));
            self.successes = 0;
        }
    }

    /// A limit that another process has met.
    fn recall(&mut self, until: Timestamp) {
        if self.most.is_none() {
            (self.most, self.half) = (Some(1), 1);
            self.epoch += 1;
        }
        self.closed = Some(self.closed.map_or(until, |closed| closed.max(until)));
    }
}

/// The paces of all runners.
#[derive(Clone)]
pub(crate) struct Pacing(Arc<Shared>);

struct Shared {
    paces: Mutex<BTreeMap<RunnerName, Pace>>,
    changed: watch::Sender<()>,
}

impl Default for Pacing {
    fn default() -> Self {
        Self(Arc::new(Shared { paces: Mutex::default(), changed: watch::channel(()).0 }))
    }
}

impl Pacing {
    fn paces(&self) -> MutexGuard<'_, BTreeMap<RunnerName, Pace>> {
        self.0.paces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a call of `runner`, if it takes one now.
    pub(crate) fn admit(&self, runner: &RunnerName, now: Timestamp) -> Option<Lease> {
        let mut paces = self.paces();
        if !paces.contains_key(runner) {
            paces.insert(runner.clone(), Pace::default());
        }
        let pace = paces.get_mut(runner)?;
        let Admission::Now { probe } = pace.admission(now) else { return None };
        pace.begin(probe, now);
        Some(Lease { pacing: self.clone(), runner: runner.clone(), began: (pace.epoch, probe), over: false })
    }

    /// Whether `runner` takes a call now; if not, from when on it does where only time brings that.
    pub(crate) fn opens(&self, runner: &RunnerName, now: Timestamp) -> Result<(), Option<Timestamp>> {
        match self.paces().get(runner).map(|pace| pace.admission(now)) {
            None | Some(Admission::Now { .. }) => Ok(()),
            Some(Admission::From(until)) => Err(Some(until)),
            Some(Admission::WhenOneEnds) => Err(None),
        }
    }

    /// Takes in a limit that the journal knows of.
    pub(crate) fn recall(&self, runner: &RunnerName, until: Timestamp) {
        self.paces().entry(runner.clone()).or_default().recall(until);
    }

    /// Hears of each change that may let a call begin.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }
}

/// A call's place with its runner. Dropping it says nothing of how it ended.
pub(crate) struct Lease {
    pacing: Pacing,
    runner: RunnerName,
    began: (u64, bool),
    over: bool,
}

impl Lease {
    /// The call was turned away: from when on calls are taken again.
    pub(crate) fn limited(mut self, after: Option<Duration>, now: Timestamp) -> Timestamp {
        self.over = true;
        let until = match self.pacing.paces().get_mut(&self.runner) {
            Some(pace) => pace.limited(self.began, after, now),
            None => now,
        };
        self.pacing.0.changed.send_replace(());
        until
    }

    /// The call ended: with an answer, or in another way that shows that calls are taken.
    pub(crate) fn ended(mut self, answered: bool) {
        self.end(if answered { Said::Answered } else { Said::Failed });
    }

    fn end(&mut self, said: Said) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let paced = self.pacing.paces().get_mut(&self.runner).is_some_and(|pace| {
            pace.ended(self.began, said);
            pace.most.is_some()
        });
        if paced {
            self.pacing.0.changed.send_replace(());
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end(Said::Nothing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn begin(pace: &mut Pace, now: Timestamp) -> Option<(u64, bool)> {
        let Admission::Now { probe } = pace.admission(now) else { return None };
        pace.begin(probe, now);
        Some((pace.epoch, probe))
    }

    fn begin_all(pace: &mut Pace, now: Timestamp, most: usize) -> Vec<(u64, bool)> {
        std::iter::from_fn(|| begin(pace, now)).take(most).collect()
    }

    #[test]
    fn a_limit_halves_once_however_many_calls_it_turns_away_and_then_one_goes_ahead() {
        let mut pace = Pace::default();
        let calls = begin_all(&mut pace, at(0), 16);
        let taken = calls[12..].to_vec();
        assert_eq!(pace.limited(calls[0], Some(Duration::from_secs(5)), at(0)), at(5));
        assert_eq!(pace.most, Some(8));
        for call in &calls[1..12] {
            assert_eq!(pace.limited(*call, Some(Duration::from_secs(5)), at(0)), at(5));
        }
        assert_eq!((pace.most, pace.running), (Some(4), 4), "so many were taken");
        for call in taken {
            pace.ended(call, Said::Answered);
        }
        assert_eq!(pace.admission(at(4)), Admission::From(at(5)));
        let probe = begin_all(&mut pace, at(5), 16);
        assert_eq!(probe, [(1, true)]);
        assert_eq!(pace.admission(at(6)), Admission::From(at(15)));
        assert_eq!(pace.admission(at(15)), Admission::Now { probe: false }, "it was taken");
        pace.ended(probe[0], Said::Answered);
        assert_eq!(begin_all(&mut pace, at(6), 16).len(), 4);
    }

    #[test]
    fn without_a_word_from_the_limit_the_waits_double_and_a_success_begins_anew() {
        let mut pace = Pace::default();
        let mut now = at(0);
        let mut waits = Vec::new();
        for _ in 0..8 {
            let call = begin(&mut pace, now).unwrap();
            let until = pace.limited(call, None, now);
            waits.push((until.millis() - now.millis()) / 1000);
            now = until;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        let probe = begin(&mut pace, now).unwrap();
        pace.ended(probe, Said::Answered);
        let call = begin(&mut pace, now).unwrap();
        assert_eq!(pace.limited(call, None, now), now.after(FIRST));
    }

    #[test]
    fn it_grows_by_one_a_round_and_carefully_where_it_met_a_limit() {
        let mut pace = Pace::default();
        let calls = begin_all(&mut pace, at(0), 6);
        pace.limited(calls[0], Some(Duration::from_secs(1)), at(0));
        for call in &calls[1..] {
            pace.ended(*call, Said::Nothing);
        }
        let mut grew = Vec::new();
        for success in 1..=100 {
            let before = pace.most;
            let call = begin(&mut pace, at(1)).unwrap();
            pace.ended(call, Said::Answered);
            if pace.most != before {
                grew.push((success, pace.most.unwrap()));
            }
        }
        assert_eq!(grew, [(3, 4), (7, 5), (47, 6), (95, 7)], "from 3, the half of 6");
    }

    #[test]
    fn a_probe_that_says_nothing_is_followed_by_another() {
        let mut pace = Pace::default();
        pace.recall(at(1));
        assert_eq!(begin(&mut pace, at(0)), None);
        let probe = begin(&mut pace, at(1)).unwrap();
        pace.ended(probe, Said::Nothing);
        let probe = begin(&mut pace, at(1)).unwrap();
        assert!(probe.1);
        pace.ended(probe, Said::Failed);
        assert_eq!(pace.admission(at(1)), Admission::Now { probe: false });
    }

    proptest! {
        #[test]
        fn whatever_happens_it_never_locks_up_and_never_lets_two_in_at_the_end_of_a_window(
            happens in proptest::collection::vec((0_u8..5, 0_usize..8), 1..200),
        ) {
            let mut pace = Pace::default();
            let (mut running, mut now) = (Vec::new(), at(0));
            for (what, which) in happens {
                match what {
                    0 | 1 => {
                        let closed = pace.closed.is_some() && pace.probing.is_none();
                        let begun = begin_all(&mut pace, now, which);
                        prop_assert!(!closed || begun.len() <= 1);
                        running.extend(begun);
                    }
                    2 => now = now.after(Duration::from_secs(which as u64)),
                    _ if running.is_empty() => {}
                    3 => { pace.limited(running.swap_remove(which % running.len()), None, now); }
                    _ => pace.ended(running.swap_remove(which % running.len()), Said::Answered),
                }
                prop_assert_eq!(pace.running as usize, running.len());
                prop_assert!(pace.most.is_none_or(|most| most > 0));
            }
            // Once all have ended, there is a moment at which another may begin.
            for call in running {
                pace.ended(call, Said::Nothing);
            }
            let later = pace.closed.unwrap_or(now).max(now);
            let free = matches!(pace.admission(later), Admission::Now { .. });
            prop_assert!(free, "{:?}", pace);
        }
    }
}
