//! The policy of automatic retries: how often a call that failed is tried again, and how long it waits before that.

use crate::digest::{Digest, DigestWriter};
use std::time::Duration;

/// How often a call that failed in a way that may pass is tried again by itself, and how long it waits before that: each
/// time longer, up to a bound, and each time a little shorter by chance, so that calls that failed together do not come back
/// together. The chance is drawn from the call's idempotency key, so that it is the same whenever it is computed.
///
/// Without `.retry(..)` a step has [`Retry::default`]: one attempt, and 20 more that a rate limit may turn away.
///
/// ```
/// use hermes_core::retry::Retry;
/// use std::time::Duration;
///
/// let patient = Retry::attempts(4).first_delay(Duration::from_secs(2)).longest_delay(Duration::from_secs(30));
/// assert_eq!(patient.most(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a policy is given to a step with `.retry(..)`"]
pub struct Retry {
    attempts: u32,
    first: Duration,
    factor: f64,
    longest: Duration,
    jitter: f64,
    rate_limits: u32,
}

// Its numbers are always finite.
impl Eq for Retry {}

impl Default for Retry {
    /// One attempt; a rate limit is waited out up to 20 times.
    fn default() -> Self {
        Self {
            attempts: 1,
            first: Duration::from_secs(1),
            factor: 2.0,
            longest: Duration::from_secs(60),
            jitter: 0.25,
            rate_limits: 20,
        }
    }
}

impl Retry {
    /// So many attempts in all, the first included; 0 counts as 1. The first wait is a second, each further one twice as
    /// long, up to a minute, and by chance up to a quarter shorter.
    pub fn attempts(attempts: u32) -> Self {
        Self { attempts: attempts.max(1), ..Self::default() }
    }

    /// No automatic retry at all: a rate limit fails the step too.
    pub fn never() -> Self {
        Self { rate_limits: 0, ..Self::default() }
    }

    /// How long it waits after the first failure.
    pub fn first_delay(mut self, delay: Duration) -> Self {
        self.first = delay;
        self
    }

    /// How many times longer each wait is than the one before. What is less than 1, or no number, counts as 1.
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = if factor.is_finite() { factor.max(1.0) } else { 1.0 };
        self
    }

    /// The longest wait.
    pub fn longest_delay(mut self, delay: Duration) -> Self {
        self.longest = delay;
        self
    }

    /// By how much a wait may be shorter by chance: 0 is not at all, 1 down to nothing.
    pub fn jitter(mut self, part: f64) -> Self {
        self.jitter = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
        self
    }

    /// How often one call is tried again after a rate limit turned it away. Those attempts are not counted among the others:
    /// a limit says nothing about the call.
    pub fn rate_limits(mut self, times: u32) -> Self {
        self.rate_limits = times;
        self
    }

    /// The most attempts, the first included.
    pub fn most(&self) -> u32 {
        self.attempts
    }

    /// The most rate limits that are waited out.
    pub fn most_rate_limits(&self) -> u32 {
        self.rate_limits
    }

    /// How long the call with this idempotency key waits after so many failed attempts.
    pub fn delay(&self, key: &Digest, failed: u32) -> Duration {
        let times = i32::try_from(failed.saturating_sub(1)).unwrap_or(i32::MAX);
        let longest = self.longest.as_secs_f64();
        let whole = (self.first.as_secs_f64() * self.factor.powi(times)).min(longest);
        let mut writer = DigestWriter::new("hermes retry jitter");
        writer.digest(key);
        writer.u64(failed.into());
        let drawn = writer.finish();
        // 32 bits of the digest, as a number from 0 to just below 1.
        let bytes = drawn.as_bytes();
        let chance =
            f64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) / 4_294_967_296.0;
        Duration::try_from_secs_f64(whole * (1.0 - self.jitter * chance)).unwrap_or(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(of: &str) -> Digest {
        Digest::of_bytes(of.as_bytes())
    }

    #[test]
    fn waits_double_up_to_the_longest_where_there_is_no_chance() {
        let retry = Retry::attempts(9).longest_delay(Duration::from_secs(10)).jitter(0.0);
        let waits: Vec<_> = (1..=6).map(|failed| retry.delay(&key("a"), failed).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
    }

    #[test]
    fn what_is_no_sensible_number_changes_nothing() {
        let retry = Retry::attempts(0).factor(f64::NAN).jitter(f64::INFINITY);
        assert_eq!(retry.most(), 1);
        assert_eq!(retry.delay(&key("a"), u32::MAX), Duration::from_secs(1));
        let huge = Retry::attempts(2).first_delay(Duration::MAX).longest_delay(Duration::MAX).factor(1e300);
        assert!(huge.delay(&key("a"), 50) > Duration::from_secs(1));
    }

    proptest! {
        #[test]
        fn a_wait_repeats_is_never_longer_than_said_and_never_shorter_than_the_chance_allows(
            name in "[a-z]{1,8}", failed in 1_u32..40, jitter in 0.0..1.0_f64,
        ) {
            let retry = Retry::attempts(50).jitter(jitter);
            let whole = retry.jitter(0.0).delay(&key(&name), failed);
            let wait = retry.delay(&key(&name), failed);
            prop_assert_eq!(wait, retry.delay(&key(&name), failed));
            prop_assert!(wait <= whole && whole <= Duration::from_secs(60));
            prop_assert!(wait.as_secs_f64() >= whole.as_secs_f64() * (1.0 - jitter) - 1e-6);
        }
    }

    #[test]
    fn calls_that_failed_together_come_back_apart() {
        let retry = Retry::attempts(2);
        let waits: std::collections::BTreeSet<_> =
            (0..100).map(|call| retry.delay(&key(&call.to_string()), 1)).collect();
        assert!(waits.len() > 90, "{} different waits of 100", waits.len());
    }
}
