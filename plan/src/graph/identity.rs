//! Which plan something belongs to, in this process.

use std::sync::atomic::{AtomicU64, Ordering};

/// A plan's identity in this process: what tells a handle of one plan from a handle of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanId(u64);

impl PlanId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
