//! `step`: local, deterministic Rust.

use super::{
    arity::for_each_arity,
    inputs::{Inputs, Room},
    leaf::{Leaf, leaf_options},
    step::Step,
    value::value,
};
use crate::{
    build::{Begun, checker, encode},
    graph::{Call, ComputeFn, Kind, LocalStep, Location},
};
use hermes_core::{
    data::Data,
    effect::Effect,
    failure::{Failure, FailureClass},
};
use std::{fmt::Display, future::Future, marker::PhantomData, sync::Arc};

/// Local Rust whose output is recorded. It joins the plan with `.run(..)`, `.try_run(..)`, `.run_async(..)` or
/// `.try_run_async(..)`.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("shout", |word: Step<String>| {
///     step("shout").input("word", word).run(|word| word.to_uppercase())
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn step(name: impl Into<String>) -> StepBuilder<()> {
    let ends = "`.run(..)`, `.try_run(..)`, `.run_async(..)` or `.try_run_async(..)`";
    StepBuilder { leaf: Leaf::new(Begun::new("step", name.into(), ends)), inputs: PhantomData }
}

/// A local step under construction: `I` are the types of its inputs.
#[must_use = "a step joins the plan at `.run(..)`, `.try_run(..)`, `.run_async(..)` or `.try_run_async(..)`"]
pub struct StepBuilder<I> {
    leaf: Leaf,
    inputs: PhantomData<fn(I)>,
}

impl<I: Inputs> StepBuilder<I> {
    leaf_options!();

    /// Gives it the output of a step, under a name; up to 8.
    #[track_caller]
    pub fn input<T: Data>(mut self, name: impl Into<String>, step: Step<T>) -> StepBuilder<I::With<T>>
    where
        I: Room,
    {
        self.leaf.input(name.into(), step, Location::caller());
        StepBuilder { leaf: self.leaf, inputs: PhantomData }
    }

    /// Gives it a constant, under a name: the same as `.input(name, value(constant))`.
    #[track_caller]
    pub fn input_value<T: Data>(self, name: impl Into<String>, constant: &T) -> StepBuilder<I::With<T>>
    where
        I: Room,
    {
        self.input(name, value(constant.clone()))
    }

    #[track_caller]
    fn join<T: Data>(self, call: impl FnOnce(hermes_core::schema::Schema) -> Call) -> Step<T> {
        let Self { leaf, .. } = self;
        let schema = leaf.schema::<T>();
        let local = LocalStep {
            call: call(schema.clone()),
            at: Location::caller(),
            timeout: leaf.timeout,
            retry: leaf.retry.unwrap_or_default(),
            effect: leaf.effect.unwrap_or(Effect::Pure),
            version: leaf.version,
            check: checker::<T>(leaf.begun.at()),
        };
        leaf.join(Kind::Step(Box::new(local)), schema)
    }
}

/// The author's own error.
fn rejected(error: impl Display, at: Location) -> Failure {
    Failure::new(FailureClass::Rejected, error.to_string()).located(at)
}

macro_rules! runs {
    ($($T:ident $v:ident $i:literal),*) => {
        impl<$($T: Data),*> StepBuilder<($($T,)*)> {
            /// Joins the plan: computes the output from the inputs, one reference for each.
            #[track_caller]
            pub fn run<Out: Data>(self, run: impl Fn($(&$T),*) -> Out + Send + Sync + 'static) -> Step<Out> {
                let at = Location::caller();
                self.join(|schema| {
                    let compute: ComputeFn = Arc::new(move |inputs| {
                        let ($($v,)*) = <($($T,)*)>::decode(inputs, at)?;
                        encode(&run($(&$v),*), &schema, at)
                    });
                    Call::Blocking(compute)
                })
            }

            /// The same, where the closure may fail: the step then fails with the error's text.
            #[track_caller]
            pub fn try_run<Out: Data, Error: Display>(
                self,
                run: impl Fn($(&$T),*) -> Result<Out, Error> + Send + Sync + 'static,
            ) -> Step<Out> {
                let at = Location::caller();
                self.join(|schema| {
                    let compute: ComputeFn = Arc::new(move |inputs| {
                        let ($($v,)*) = <($($T,)*)>::decode(inputs, at)?;
                        encode(&run($(&$v),*).map_err(|error| rejected(error, at))?, &schema, at)
                    });
                    Call::Blocking(compute)
                })
            }

            /// Joins the plan: computes the output on the async runtime, from one `Arc` for each input.
            #[track_caller]
            pub fn run_async<Out: Data, Running>(
                self,
                run: impl Fn($(Arc<$T>),*) -> Running + Send + Sync + 'static,
            ) -> Step<Out>
            where
                Running: Future<Output = Out> + Send + 'static,
            {
                let (at, run) = (Location::caller(), Arc::new(run));
                self.join(|schema| {
                    Call::Async(Arc::new(move |inputs| {
                        let (run, schema) = (run.clone(), schema.clone());
                        Box::pin(async move {
                            let ($($v,)*) = <($($T,)*)>::decode(&inputs, at)?;
                            encode(&run($($v),*).await, &schema, at)
                        })
                    }))
                })
            }

            /// The same, where the future may fail: the step then fails with the error's text.
            #[track_caller]
            pub fn try_run_async<Out: Data, Error: Display + Send, Running>(
                self,
                run: impl Fn($(Arc<$T>),*) -> Running + Send + Sync + 'static,
            ) -> Step<Out>
            where
                Running: Future<Output = Result<Out, Error>> + Send + 'static,
            {
                let (at, run) = (Location::caller(), Arc::new(run));
                self.join(|schema| {
                    Call::Async(Arc::new(move |inputs| {
                        let (run, schema) = (run.clone(), schema.clone());
                        Box::pin(async move {
                            let ($($v,)*) = <($($T,)*)>::decode(&inputs, at)?;
                            encode(&run($($v),*).await.map_err(|error| rejected(error, at))?, &schema, at)
                        })
                    }))
                })
            }
        }
    };
}
for_each_arity!(runs);
