//! `Step<T>`: the typed handle on a step. It holds no value.

use crate::{
    build::{Handle, Use},
    graph::Location,
};
use std::{fmt, marker::PhantomData};

/// A handle on a step of the plan under construction: it stands for the step's future output of type `T`.
///
/// It is `Copy` and holds no value; data flows by naming it as an input of another step.
pub struct Step<T> {
    handle: Handle,
    output: PhantomData<fn() -> T>,
}

impl<T> Step<T> {
    pub(crate) fn new(handle: Handle) -> Self {
        Self { handle, output: PhantomData }
    }

    pub(crate) fn handle(self) -> Handle {
        self.handle
    }

    /// Its use as the input `name`, at `at`.
    pub(crate) fn used(self, name: impl Into<String>, at: Location) -> Use {
        Use { name: name.into(), handle: self.handle, at }
    }
}

impl<T> Clone for Step<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Step<T> {}

impl<T> fmt::Debug for Step<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Step({})", self.handle.made)
    }
}
