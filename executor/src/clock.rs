//! Wall-clock time, from one place that a program can replace.

use hermes_core::timestamp::Timestamp;
use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::sync::watch;

/// The longest that is slept without a look at the clock: it may have been set, or the machine may have been asleep.
const LOOK: Duration = Duration::from_secs(60);

/// Gives the time of journal records, of waits and of expiries: milliseconds since 1970, UTC.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// Says when it was moved, if it moves by hand.
    moved: Option<watch::Receiver<i64>>,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self::from_fn(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        })
    }

    /// A clock of one's own. It should go about as fast as the runtime's, which matters where that is paused: who waits for a moment sleeps as long as it seems to
    /// be away, at most a minute at a time.
    pub fn from_fn(now: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self { now: Arc::new(now), moved: None }
    }

    /// A clock that stands at `start` until the hand moves it: for tests of plans that wait.
    ///
    /// ```
    /// use hermes_executor::Clock;
    /// use hermes_core::timestamp::Timestamp;
    /// use std::time::Duration;
    ///
    /// let (clock, hand) = Clock::by_hand(Timestamp::from_millis(0));
    /// hand.advance(Duration::from_secs(60));
    /// assert_eq!(clock.now(), 60_000);
    /// ```
    pub fn by_hand(start: Timestamp) -> (Self, ClockHand) {
        let (hand, moved) = watch::channel(start.millis());
        let shown = moved.clone();
        (Self { now: Arc::new(move || *shown.borrow()), moved: Some(moved) }, ClockHand(Arc::new(hand)))
    }

    /// The time now.
    pub fn now(&self) -> i64 {
        (self.now)()
    }

    /// Waits until the clock shows `moment`.
    pub(crate) async fn reaches(&self, moment: Timestamp) {
        let mut moved = self.moved.clone();
        loop {
            let left = moment.millis().saturating_sub(self.now());
            let Ok(left @ 1..) = u64::try_from(left) else { return };
            match &mut moved {
                None => tokio::time::sleep(Duration::from_millis(left).min(LOOK)).await,
                Some(moved) => {
                    if moved.wait_for(|now| *now >= moment.millis()).await.is_err() {
                        // Nobody will move it any more.
                        std::future::pending::<()>().await;
                    }
                }
            }
        }
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// Moves the clock that [`Clock::by_hand`] made with it. Clones move the same clock.
#[derive(Clone, Debug)]
pub struct ClockHand(Arc<watch::Sender<i64>>);

impl ClockHand {
    /// Sets it, also back.
    pub fn set(&self, to: Timestamp) {
        self.0.send_replace(to.millis());
    }

    /// Sets it this much later.
    pub fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now = Timestamp::from_millis(*now).after(by).millis());
    }

    /// What it shows.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(*self.0.borrow())
    }
}
