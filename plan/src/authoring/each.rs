//! `parallel_each`: a fan-out over a list known at run time.

use super::{
    fan::{FanOut, Items, fan_ends},
    step::Step,
};
use crate::{
    build::{Group, Inside},
    graph::{BodyId, FanMode, Kind, Location, Placeholder, Role},
};
use hermes_core::{data::Data, path::Mark};
use std::{fmt::Display, marker::PhantomData};

/// A fan-out over a list known at run time. `build` is called once, now, with a placeholder for an item; at run time its
/// steps are copied for every item.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("translate", |pages: Step<Vec<String>>| {
///     parallel_each("pages", pages, |page| agent("page").input("page", page).prompt("Translate.").text())
///         .limit(4)
///         .all()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn parallel_each<T: Data, U: Data>(
    name: impl Into<String>,
    items: Step<Vec<T>>,
    build: impl FnOnce(Step<T>) -> Step<U>,
) -> EachBuilder<T, U> {
    let at = Location::caller();
    let group = Group::new("parallel_each", name.into(), "`.all()`, `.results()` or `.options()`");
    let items = Items::new(&group, items.used("items", at));
    let inside = Inside::open(&group, Role::Item, Mark::Any);
    let result = build(Step::new(inside.param::<T>(Placeholder::Item)));
    let body = inside.close(result.handle());
    EachBuilder { fan: FanOut::new(group), items, body, types: PhantomData }
}

/// A fan-out over a list known at run time, under construction.
#[must_use = "a fan-out joins the plan at `.all()`, `.results()` or `.options()`"]
pub struct EachBuilder<T, U> {
    fan: FanOut,
    items: Items,
    body: BodyId,
    types: PhantomData<fn(T) -> U>,
}

fan_ends!(EachBuilder<T, U>, U);

impl<T: Data, U: Data> EachBuilder<T, U> {
    crate::authoring::leaf::renamed_from!(fan.group);

    /// The key of an item: its stable identity across runs. Without it, an item's key is its position in the list.
    #[track_caller]
    pub fn key_by<K: Display>(mut self, key: impl Fn(&T) -> K + Send + Sync + 'static) -> Self {
        self.items.key_by(self.fan.group.begun(), key, Location::caller());
        self
    }

    #[track_caller]
    fn end<Out: Data>(self, mode: FanMode, keyed: bool) -> Step<Out> {
        let fan = self.fan.fan(mode, keyed, None, Location::caller());
        let begun = self.fan.group.begun();
        let schema = begun.schema::<Out>(begun.at());
        let kind = Kind::Each { body: self.body, keys: self.items.keys, needs: None, fan };
        Step::new(self.fan.group.finish(self.items.list, kind, schema))
    }
}
