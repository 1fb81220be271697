//! `parallel_dag`: a fan-out over items that need each other.

use super::{
    fan::{FanOut, Items, fan_ends},
    step::Step,
};
use crate::{
    build::{Group, Inside, decode},
    graph::{BodyId, FanMode, Kind, Location, Needs, Placeholder, Role},
};
use hermes_core::{
    data::{Data, Keyed},
    path::Mark,
};
use std::{fmt::Display, marker::PhantomData, sync::Arc};

/// A fan-out over items that need each other, known at run time. `build` is called once, now, with placeholders for an item
/// and for the outputs, each with its key, of the items it needs.
///
/// An item starts when those it needs are done. If one of them has failed, it is skipped, and its failure says which. A key
/// that no item has, and items that need each other in a circle, fail the whole before anything starts.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// #[derive(Clone, Serialize, Deserialize, JsonSchema)]
/// struct Issue { id: String, after: Vec<String>, text: String }
///
/// let plan = Plan::new("fix-all", |issues: Step<Vec<Issue>>| {
///     parallel_dag("issues", issues, |issue, needed: Step<Vec<Keyed<String>>>| {
///         agent("fix").input("issue", issue).input("fixed_before", needed).prompt("Fix it.").text()
///     })
///     .key_by(|issue| issue.id.clone())
///     .needs(|issue| issue.after.clone())
///     .results()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn parallel_dag<T: Data, U: Data>(
    name: impl Into<String>,
    items: Step<Vec<T>>,
    build: impl FnOnce(Step<T>, Step<Vec<Keyed<U>>>) -> Step<U>,
) -> DagBuilder<T, U> {
    let at = Location::caller();
    let ends = "`.needs(|item| keys)` and then `.all()`, `.results()` or `.options()`";
    let group = Group::new("parallel_dag", name.into(), ends);
    let items = Items::new(&group, items.used("items", at));
    let inside = Inside::open(&group, Role::Item, Mark::Any);
    let item = Step::new(inside.param::<T>(Placeholder::Item));
    let needed = Step::new(inside.param::<Vec<Keyed<U>>>(Placeholder::Needed));
    let result = build(item, needed);
    let body = inside.close(result.handle());
    DagBuilder { fan: FanOut::new(group), items, body, types: PhantomData }
}

/// A fan-out over items that need each other, without a word yet about which need which.
#[must_use = "it joins the plan at `.needs(|item| keys)` and then `.all()`, `.results()` or `.options()`"]
pub struct DagBuilder<T, U> {
    fan: FanOut,
    items: Items,
    body: BodyId,
    types: PhantomData<fn(T) -> U>,
}

impl<T: Data, U: Data> DagBuilder<T, U> {
    crate::authoring::leaf::renamed_from!(fan.group);

    /// The key of an item: its stable identity across runs, and what others need it by. Without it, an item's key is its
    /// position in the list.
    #[track_caller]
    pub fn key_by<K: Display>(mut self, key: impl Fn(&T) -> K + Send + Sync + 'static) -> Self {
        self.items.key_by(self.fan.group.begun(), key, Location::caller());
        self
    }

    /// The keys of the items that an item needs.
    #[track_caller]
    pub fn needs<Keys>(self, needs: impl Fn(&T) -> Keys + Send + Sync + 'static) -> DagItems<T, U>
    where
        Keys: IntoIterator<Item: Display>,
    {
        let at = Location::caller();
        let of = Arc::new(move |item: &_| {
            let item = decode::<T>(std::slice::from_ref(item), 0, at)?;
            Ok(needs(&item).into_iter().map(|key| key.to_string()).collect())
        });
        let Self { fan, items, body, types } = self;
        DagItems { fan, items, body, needs: Needs { of, at }, types }
    }
}

/// A fan-out over items that need each other, under construction.
#[must_use = "a fan-out joins the plan at `.all()`, `.results()` or `.options()`"]
pub struct DagItems<T, U> {
    fan: FanOut,
    items: Items,
    body: BodyId,
    needs: Needs,
    types: PhantomData<fn(T) -> U>,
}

fan_ends!(DagItems<T, U>, U);

impl<T: Data, U: Data> DagItems<T, U> {
    #[track_caller]
    fn end<Out: Data>(self, mode: FanMode, keyed: bool) -> Step<Out> {
        let fan = self.fan.fan(mode, keyed, None, Location::caller());
        let begun = self.fan.group.begun();
        let schema = begun.schema::<Out>(begun.at());
        let kind = Kind::Each { body: self.body, keys: self.items.keys, needs: Some(self.needs), fan };
        Step::new(self.fan.group.finish(self.items.list, kind, schema))
    }
}
