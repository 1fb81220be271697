//! The driver and the pace of runners: calls begin only as their runners take them, and what a rate limit says is passed on.

use super::driver::Driver;
use crate::{
    pacing::Lease,
    walk::{At, CallEnd, Limit},
};
use hermes_core::{failure::FailureClass, timestamp::Timestamp};

impl Driver {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.services.clock.now().max(self.walk.time()))
    }

    /// Whether a call could be dispatched now, given a permit.
    pub(super) fn wants_dispatch(&self) -> bool {
        if self.walk.wants_dispatch() {
            return true;
        }
        let now = self.now();
        self.walk.paced().any(|runner| self.services.pacing.opens(runner, now).is_ok())
    }

    /// The next moment at which a runner takes calls again that some wait for.
    pub(super) fn next_opening(&self) -> Option<Timestamp> {
        let now = self.now();
        self.walk.paced().filter_map(|runner| self.services.pacing.opens(runner, now).err().flatten()).min()
    }

    /// The next call to dispatch. Its place with its runner is taken.
    pub(super) fn next_call(&mut self) -> Option<At> {
        let (now, pacing) = (self.now(), &self.services.pacing);
        let mut lease: Option<Lease> = None;
        let at = self.walk.next_call(&mut |runner| {
            // One that was taken for a call that came to nothing is given back first.
            lease = None;
            lease = pacing.admit(runner, now);
            lease.is_some()
        })?;
        if self.walk.is_agent(at)
            && let Some(lease) = lease
        {
            self.leases.insert(at, lease);
        }
        Some(at)
    }

    /// Takes in what the end of a call says of its runner.
    pub(super) fn paced(&mut self, at: At, end: CallEnd) -> CallEnd {
        let lease = self.leases.remove(&at);
        match end {
            CallEnd::Limited { failure, may_have_acted, limit: Limit::Said(after), receipt } => {
                let now = self.now();
                let until = lease.map_or(now, |lease| lease.limited(after, now));
                CallEnd::Limited { failure, may_have_acted, limit: Limit::Till(until), receipt }
            }
            CallEnd::Failed { failure, may_have_acted } => {
                let says_nothing = matches!(
                    failure.class,
                    FailureClass::Cancelled
                        | FailureClass::TimedOut
                        | FailureClass::Stalled
                        | FailureClass::NotBegun
                );
                if let Some(lease) = lease.filter(|_| !says_nothing) {
                    lease.ended(false);
                }
                CallEnd::Failed { failure, may_have_acted }
            }
            end => {
                if let Some(lease) = lease {
                    lease.ended(true);
                }
                end
            }
        }
    }

    /// A run that waited out a limit when its process ended does not begin with a rush.
    pub(super) fn recall_limits(&mut self) {
        if !std::mem::replace(&mut self.recalled, true) {
            for (runner, until) in self.walk.known_limits() {
                self.services.pacing.recall(&runner, until);
            }
        }
    }
}
