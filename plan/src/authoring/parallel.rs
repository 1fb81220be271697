//! `parallel`: a fan-out known at build time.

use super::{
    fan::{FanOut, fan_ends},
    step::Step,
};
use crate::{
    build::{Group, Inside, PlanError, PlanErrorKind, check_key},
    graph::{BodyId, FanMode, Kind, Location, Role},
};
use hermes_core::{data::Data, path::Mark};
use std::{collections::BTreeMap, fmt::Display, marker::PhantomData};

/// A fan-out known at build time: `build` is called once for each key, at once, and makes that child's steps.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("review", |code: Step<String>| {
///     parallel("lenses", ["security", "style"], |lens| {
///         agent("look").input("code", code).prompt(format!("Review for {lens}.")).text()
///     })
///     .all()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn parallel<K: Display, T: Data>(
    name: impl Into<String>,
    keys: impl IntoIterator<Item = K>,
    mut build: impl FnMut(K) -> Step<T>,
) -> ParallelBuilder<T> {
    let at = Location::caller();
    let group = Group::new("parallel", name.into(), "`.all()`, `.results()` or `.options()`");
    let mut seen = BTreeMap::new();
    let mut children: Vec<(String, BodyId)> = Vec::new();
    for item in keys {
        let key = item.to_string();
        if let Err(error) = check_key(&key, at) {
            group.begun().mistake(error);
        }
        if let Some(first) = seen.insert(key.clone(), children.len()) {
            let (name, second) = (group.begun().name(), children.len());
            let message = format!(
                "two children of `{name}` have the key `{}`: items {first} and {second}",
                key.escape_debug()
            );
            let error = PlanError::new(PlanErrorKind::DuplicateKey, at, message, "give each its own key");
            group.begun().mistake(error.also(at));
        }
        let inside = Inside::open(&group, Role::Child(key.clone()), Mark::Key(key.clone()));
        let result = build(item);
        children.push((key, inside.close(result.handle())));
    }
    ParallelBuilder { fan: FanOut::new(group), children, output: PhantomData }
}

/// A fan-out known at build time, under construction.
#[must_use = "a fan-out joins the plan at `.all()`, `.results()` or `.options()`"]
pub struct ParallelBuilder<T> {
    fan: FanOut,
    children: Vec<(String, BodyId)>,
    output: PhantomData<fn() -> T>,
}

fan_ends!(ParallelBuilder<T>, T);

impl<T: Data> ParallelBuilder<T> {
    crate::authoring::leaf::renamed_from!(fan.group);

    #[track_caller]
    fn end<Out: Data>(self, mode: FanMode, keyed: bool) -> Step<Out> {
        let fan = self.fan.fan(mode, keyed, Some(self.children.len()), Location::caller());
        let begun = self.fan.group.begun();
        let schema = begun.schema::<Out>(begun.at());
        let kind = Kind::Parallel { children: self.children, fan };
        Step::new(self.fan.group.finish(Vec::new(), kind, schema))
    }
}
