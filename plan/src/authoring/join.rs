//! `join`: several outputs as one value.

use super::{arity::for_each_arity, derived::derive, step::Step};
use crate::{
    build::Use,
    graph::{Compute, Location},
};
use hermes_core::{data::Data, value::Val};
use std::sync::Arc;

/// Several outputs as one: a tuple of 2 to 8 steps as a tuple, an array or `Vec` of steps as a list.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("both", |word: Step<String>| {
///     let length = word.map(|word| word.len());
///     join((word, length))
/// })?;
/// # let plan: Plan<String, (String, usize)> = plan;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn join<J: Joinable>(steps: J) -> Step<J::Output> {
    let at = Location::caller();
    let inputs: Vec<Use> = steps.uses(at);
    derive("join", inputs, at, |_| Compute::Value(Arc::new(|inputs| Ok(Val::list(inputs.to_vec())))))
}

/// What can be joined: a tuple of 2 to 8 steps, an array or a `Vec` of steps of one type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be joined",
    label = "not a tuple of steps, an array of steps or a `Vec` of steps",
    note = "`join` takes a tuple of 2 to 8 `Step`s, or an array or `Vec` of `Step`s of one type; join joins for more"
)]
pub trait Joinable: sealed::Sealed {
    /// The type of the joined value.
    type Output: Data;
    #[doc(hidden)]
    fn uses(self, at: Location) -> Vec<Use>;
}

mod sealed {
    pub trait Sealed {}
}

fn list<T>(steps: impl IntoIterator<Item = Step<T>>, at: Location) -> Vec<Use> {
    steps.into_iter().enumerate().map(|(index, step)| step.used(index.to_string(), at)).collect()
}

impl<T: Data> sealed::Sealed for Vec<Step<T>> {}
impl<T: Data> Joinable for Vec<Step<T>> {
    type Output = Vec<T>;
    fn uses(self, at: Location) -> Vec<Use> {
        list(self, at)
    }
}

impl<T: Data, const N: usize> sealed::Sealed for [Step<T>; N] {}
impl<T: Data, const N: usize> Joinable for [Step<T>; N] {
    type Output = Vec<T>;
    fn uses(self, at: Location) -> Vec<Use> {
        list(self, at)
    }
}

macro_rules! joinable {
    () => {};
    ($A:ident $a:ident $i:literal) => {};
    ($($T:ident $v:ident $i:literal),*) => {
        impl<$($T: Data),*> sealed::Sealed for ($(Step<$T>,)*) {}
        impl<$($T: Data),*> Joinable for ($(Step<$T>,)*) {
            type Output = ($($T,)*);
            fn uses(self, at: Location) -> Vec<Use> {
                let ($($v,)*) = self;
                vec![$($v.used(stringify!($i), at)),*]
            }
        }
    };
}
for_each_arity!(joinable);
