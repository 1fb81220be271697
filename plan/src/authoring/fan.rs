//! What the three fan-outs have in common: a limit, and endings that fix how failures are handled and the type.

use super::{bounded::FanBudget, step::Step};
use crate::{
    build::{Begun, Group, PlanError, PlanErrorKind, Use, decode, empty},
    graph::{Bounds, Fan, FanMode, KeyFn, Keys, Location, NodeInput},
};
use hermes_core::{
    data::{Data, Keyed},
    failure::Failure,
};
use std::{fmt::Display, num::NonZeroU32, sync::Arc};

/// A fan-out under construction, without its bodies.
pub(super) struct FanOut {
    pub(super) group: Group,
    limit: Option<NonZeroU32>,
    shared: Option<Arc<str>>,
    bounds: Option<Bounds>,
    pub(super) streaming: bool,
}

impl FanOut {
    pub(super) fn new(group: Group) -> Self {
        Self { group, limit: None, shared: None, bounds: None, streaming: false }
    }

    /// The fan-out's bounds. `known`: how many items there are, where that is known.
    pub(super) fn fan(&self, mode: FanMode, keyed: bool, known: Option<usize>, at: Location) -> Fan {
        let begun = self.group.begun();
        if let (Some(quorum), Some(known)) = (mode.quorum(), known)
            && quorum as usize > known
        {
            let message = format!("`{}` asks for {quorum} of {known}", begun.name());
            let mend = "ask for at most as many as there are";
            begun.mistake(PlanError::new(PlanErrorKind::ImpossibleQuorum, at, message, mend));
        }
        let (shared, bounds) = (self.shared.clone(), self.bounds.clone());
        Fan { limit: self.limit, shared, bounds, streaming: self.streaming, mode, keyed }
    }

    pub(super) fn budget(&mut self, budget: &FanBudget, at: Location) {
        let bounds = budget.bounds(at);
        let begun = self.group.begun();
        if let Some(error) = empty(&format!("`{}`", begun.name()), &bounds.budget, at) {
            begun.mistake(error);
        }
        self.bounds = Some(bounds);
    }

    pub(super) fn limit(&mut self, limit: Limit, at: Location) {
        self.limit = NonZeroU32::new(limit.most);
        self.shared = limit.shared;
        if self.limit.is_none() {
            let begun = self.group.begun();
            let message = format!("the limit of `{}` is 0, so nothing in it could ever start", begun.name());
            let mend = "give at least 1, or leave `.limit(..)` out";
            begun.mistake(PlanError::new(PlanErrorKind::ZeroLimit, at, message, mend));
        }
    }

    /// A quorum, which must be of somebody.
    pub(super) fn quorum(&self, count: u32, at: Location) -> FanMode {
        if count == 0 {
            let begun = self.group.begun();
            let message = format!("a quorum of nobody says nothing, and `{}` asks for it", begun.name());
            let mend = "ask for at least 1";
            begun.mistake(PlanError::new(PlanErrorKind::ImpossibleQuorum, at, message, mend));
        }
        FanMode::AtLeast(NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN))
    }
}

/// How many items of a fan-out may be in progress at once: a number, or a bound that several fan-outs share.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("check", |claims: Step<Vec<String>>| {
///     let verifiers = Limit::shared("verifiers", 4);
///     let checked = |name, claims| {
///         parallel_each(name, claims, |claim| agent("check").input("claim", claim).prompt("Is it so?").text())
///             .limit(&verifiers)
///             .all()
///     };
///     join((checked("first", claims), checked("second", claims)))
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    most: u32,
    shared: Option<Arc<str>>,
}

impl Limit {
    /// One bound for all fan-outs of a run that are given it, known by its name. They may not stand in one another.
    pub fn shared(name: impl Into<String>, most: u32) -> Self {
        Self { most, shared: Some(name.into().into()) }
    }
}

impl From<u32> for Limit {
    fn from(most: u32) -> Self {
        Self { most, shared: None }
    }
}

impl From<&Limit> for Limit {
    fn from(limit: &Limit) -> Self {
        limit.clone()
    }
}

/// The list of a run-time fan-out, and how its items get their keys.
pub(super) struct Items {
    pub(super) list: Vec<NodeInput>,
    inherited: Option<Location>,
    pub(super) keys: Keys,
}

impl Items {
    pub(super) fn new(group: &Group, list: Use) -> Self {
        let inherited = group.begun().keys_of(list.handle);
        let keys = inherited.map_or(Keys::Position, |(fan, _)| Keys::Inherited(fan));
        Self { list: group.input(list), inherited: inherited.map(|(_, at)| at), keys }
    }

    /// Sets the key builder, unless the keys are inherited.
    pub(super) fn key_by<T: Data, K: Display>(
        &mut self,
        begun: &Begun,
        key: impl Fn(&T) -> K + Send + Sync + 'static,
        at: Location,
    ) {
        if let Some(fan) = self.inherited {
            let message =
                format!("`{}` is over the result of another fan-out and has its keys", begun.name());
            let mend = "leave `.key_by(..)` out";
            begun.mistake(PlanError::new(PlanErrorKind::KeysInherited, at, message, mend).also(fan));
            return;
        }
        let key: KeyFn = Arc::new(move |item| {
            let item = decode::<T>(std::slice::from_ref(item), 0, at)?;
            Ok(key(&item).to_string())
        });
        self.keys = Keys::By { key, at };
    }
}

/// A fan-out that can be ended: what `.keyed()` needs to know of it.
pub trait Ends: sealed::Sealed + Sized {
    /// What an item yields.
    type Item: Data;
    #[doc(hidden)]
    fn quorum(&self, count: u32) -> FanMode;
    #[doc(hidden)]
    fn end_with<Out: Data>(self, mode: FanMode, keyed: bool) -> Step<Out>;
}

pub(super) mod sealed {
    pub trait Sealed {}
}

/// An item's result with its key.
type KeyedResult<T> = Keyed<Result<T, Failure>>;

/// A fan-out each of whose elements will have its item's key with it; only the ending is missing.
#[must_use = "a fan-out joins the plan at `.all()`, `.results()` or `.options()`"]
pub struct KeyedFan<F>(pub(super) F);

impl<F: Ends> KeyedFan<F> {
    /// Ends it: all outputs with their keys, in input order. The first failure fails the whole.
    #[track_caller]
    pub fn all(self) -> Step<Vec<Keyed<F::Item>>> {
        self.0.end_with(FanMode::FailFast, true)
    }

    /// Ends it: a result with its key for each item, in input order; a failure is a value.
    #[track_caller]
    pub fn results(self) -> Step<Vec<KeyedResult<F::Item>>> {
        self.0.end_with(FanMode::Collect, true)
    }

    /// Ends it: an output or nothing, with its key, for each item, in input order.
    #[track_caller]
    pub fn options(self) -> Step<Vec<Keyed<Option<F::Item>>>> {
        self.0.end_with(FanMode::Null, true)
    }

    /// Ends it: the first `count` outputs that there are, with their keys, in input order.
    #[track_caller]
    pub fn at_least(self, count: u32) -> Step<Vec<Keyed<F::Item>>> {
        let mode = self.0.quorum(count);
        self.0.end_with(mode, true)
    }

    /// Ends it: the first output that there is, with its key.
    #[track_caller]
    pub fn first(self) -> Step<Keyed<F::Item>> {
        self.0.end_with(FanMode::First, true)
    }
}

/// The limit and the endings of the fan-out `$Fan`, whose items yield `$T`; it has a function
/// `end<Out>(self, FanMode, keyed: bool) -> Step<Out>`.
macro_rules! fan_ends {
    ($Fan:ident<$($P:ident),*>, $T:ident) => {
        impl<$($P: Data),*> $Fan<$($P),*> {
            /// How many items may be in progress at once: a number, or a bound that several fan-outs share. Without it, all.
            #[track_caller]
            pub fn limit(mut self, limit: impl Into<super::fan::Limit>) -> Self {
                self.fan.limit(limit.into(), crate::graph::Location::caller());
                self
            }

            /// What may be spent in all its items together: a budget, or one that several parts of the plan share. A call that
            /// has no room in it waits; when nothing else can move, the run parks until a person raises it.
            #[track_caller]
            pub fn budget(mut self, budget: impl Into<super::bounded::FanBudget>) -> Self {
                self.fan.budget(&budget.into(), crate::graph::Location::caller());
                self
            }

            /// Gives each element of the result its item's key: a [`Keyed`](hermes_core::data::Keyed). Then comes the
            /// ending.
            pub fn keyed(self) -> super::fan::KeyedFan<Self> {
                super::fan::KeyedFan(self)
            }

            /// Ends it: the list of all outputs, in input order. The first failure fails the whole.
            #[track_caller]
            pub fn all(self) -> Step<Vec<$T>> {
                self.end(crate::graph::FanMode::FailFast, false)
            }

            /// Ends it: a result for each item, in input order; a failure is a value.
            #[track_caller]
            pub fn results(self) -> Step<Vec<Result<$T, hermes_core::failure::Failure>>> {
                self.end(crate::graph::FanMode::Collect, false)
            }

            /// Ends it: an output or nothing for each item, in input order.
            #[track_caller]
            pub fn options(self) -> Step<Vec<Option<$T>>> {
                self.end(crate::graph::FanMode::Null, false)
            }

            /// Ends it: exactly the first `count` outputs that there are, in input order. Which they were is recorded; the
            /// others are cancelled, but for a running `Unsafe` step, whose end is waited for. It fails once too many items
            /// have failed.
            #[track_caller]
            pub fn at_least(self, count: u32) -> Step<Vec<$T>> {
                let mode = self.fan.quorum(count, crate::graph::Location::caller());
                self.end(mode, false)
            }

            /// Ends it: the first output that there is. Which it was is recorded; the others are cancelled, as with
            /// `.at_least(1)`.
            #[track_caller]
            pub fn first(self) -> Step<$T> {
                self.end(crate::graph::FanMode::First, false)
            }
        }

        impl<$($P: Data),*> super::fan::sealed::Sealed for $Fan<$($P),*> {}
        impl<$($P: Data),*> super::fan::Ends for $Fan<$($P),*> {
            type Item = $T;
            #[track_caller]
            fn quorum(&self, count: u32) -> crate::graph::FanMode {
                self.fan.quorum(count, crate::graph::Location::caller())
            }
            #[track_caller]
            fn end_with<Out: Data>(self, mode: crate::graph::FanMode, keyed: bool) -> Step<Out> {
                self.end(mode, keyed)
            }
        }
    };
}
pub(super) use fan_ends;
