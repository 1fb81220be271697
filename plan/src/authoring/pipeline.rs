//! `pipeline`: a fan-out whose items go through stages.

use super::{
    fan::{FanOut, Items, fan_ends},
    step::Step,
};
use crate::{
    build::{Group, Inside, PlanError, PlanErrorKind, Space},
    graph::{BodyId, FanMode, Kind, Location, Placeholder, Role},
};
use hermes_core::{data::Data, path::Mark};
use std::{fmt::Display, marker::PhantomData};

/// A fan-out whose items go through stages: all items end one stage before the next begins, or, with `.streaming()`, each
/// item goes on by itself. It needs a stage at least.
///
/// Stages add no segment to a path, so a name may be used in one stage only.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("polish", |drafts: Step<Vec<String>>| {
///     pipeline("polish", drafts)
///         .stage(|draft| agent("humanize").input("draft", draft).prompt("Make it sound human.").text())
///         .stage(|draft| agent("proofread").input("draft", draft).prompt("Proofread it.").text())
///         .all()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn pipeline<T: Data>(name: impl Into<String>, items: Step<Vec<T>>) -> PipelineBuilder<T, T> {
    let at = Location::caller();
    let ends = "`.stage(..)` and then `.all()`, `.results()` or `.options()`";
    let group = Group::new("pipeline", name.into(), ends);
    let items = Items::new(&group, items.used("items", at));
    PipelineBuilder { fan: FanOut::new(group), items, stages: Vec::new(), space: None, types: PhantomData }
}

/// A pipeline under construction: items of type `T` have become `U` so far.
#[must_use = "a pipeline joins the plan at `.all()`, `.results()` or `.options()`"]
pub struct PipelineBuilder<T, U> {
    fan: FanOut,
    items: Items,
    stages: Vec<BodyId>,
    space: Option<Space>,
    types: PhantomData<fn(T) -> U>,
}

fan_ends!(PipelineBuilder<T, U>, U);

impl<T: Data, U: Data> PipelineBuilder<T, U> {
    crate::authoring::leaf::renamed_from!(fan.group);

    /// Adds a stage: what the one before it made goes in. `build` is called once, now, with a placeholder.
    #[track_caller]
    pub fn stage<V: Data>(self, build: impl FnOnce(Step<U>) -> Step<V>) -> PipelineBuilder<T, V> {
        self.add(|inside| build(Step::new(inside.param::<U>(Placeholder::Item))))
    }

    /// The same, with the item as it entered the pipeline beside what the stage before made of it.
    #[track_caller]
    pub fn stage_with<V: Data>(
        self,
        build: impl FnOnce(Step<U>, Step<T>) -> Step<V>,
    ) -> PipelineBuilder<T, V> {
        self.add(|inside| {
            let item = Step::new(inside.param::<U>(Placeholder::Item));
            build(item, Step::new(inside.param::<T>(Placeholder::Item)))
        })
    }

    #[track_caller]
    fn add<V: Data>(self, build: impl FnOnce(&Inside) -> Step<V>) -> PipelineBuilder<T, V> {
        let Self { fan, items, mut stages, space, .. } = self;
        let number = u32::try_from(stages.len() + 1).unwrap_or(u32::MAX);
        let inside = Inside::open_in(&fan.group, Role::Stage(number), Mark::Any, space);
        let space = Some(inside.space());
        let result = build(&inside);
        stages.push(inside.close(result.handle()));
        PipelineBuilder { fan, items, stages, space, types: PhantomData }
    }

    /// Lets each item go on to its next stage as soon as it has ended one, whatever the others do.
    pub fn streaming(mut self) -> Self {
        self.fan.streaming = true;
        self
    }

    /// The key of an item as it enters: its stable identity across runs. Without it, its position in the list.
    #[track_caller]
    pub fn key_by<K: Display>(mut self, key: impl Fn(&T) -> K + Send + Sync + 'static) -> Self {
        self.items.key_by(self.fan.group.begun(), key, Location::caller());
        self
    }

    #[track_caller]
    fn end<Out: Data>(self, mode: FanMode, keyed: bool) -> Step<Out> {
        let fan = self.fan.fan(mode, keyed, None, Location::caller());
        let begun = self.fan.group.begun();
        if self.stages.is_empty() {
            let message = format!("the pipeline `{}` has no stage", begun.name());
            let mend = "give it one with `.stage(|item| ..)`, or use the list itself";
            begun.mistake(PlanError::new(PlanErrorKind::NoStages, begun.at(), message, mend));
        }
        let schema = begun.schema::<Out>(begun.at());
        let kind = Kind::Pipeline { stages: self.stages, keys: self.items.keys, fan };
        Step::new(self.fan.group.finish(self.items.list, kind, schema))
    }
}
