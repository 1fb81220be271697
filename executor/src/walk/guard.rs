//! Author closures on the run's own task: a panic in one becomes a failure that names the closure's place.

use hermes_core::failure::{Failure, FailureClass};
use hermes_plan::graph::Location;
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Calls `call`; a panic becomes a failure located at `at`.
pub(crate) fn guarded<T>(at: Location, call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result,
        Err(panic) => Err(Failure::new(FailureClass::Panicked, panic_message(&*panic)).located(at)),
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
