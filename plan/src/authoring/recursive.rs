//! `recursive`: a part of the plan that may stand in itself again, and can be drawn.

use super::step::Step;
use crate::{
    build::{Group, Inside, PlanError, PlanErrorKind},
    graph::{Kind, Location, NodeId, Placeholder, Recursive, Role},
};
use hermes_core::{data::Data, path::Mark};
use std::{fmt, marker::PhantomData, num::NonZeroU32};

/// A part of the plan that may stand in itself again, at most `max_depth` levels deep. `build` is called once, now, with
/// what stands for one level more and with a placeholder for its input. The first level is `name[1]` in paths, what stands
/// in it again `name[2]`, and so on; a level too deep fails.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("research", |question: Step<String>| {
///     recursive("answer", question, 4, |again, question| {
///         let parts = agent("split").input("question", question).prompt("Split it, if you must.")
///             .returns::<Vec<String>>();
///         branch("simple", parts)
///             .when("yes", |parts| parts.is_empty(), |_| {
///                 agent("look_up").input("question", question).prompt("Answer it.").text()
///             })
///             .otherwise(|parts| {
///                 let answers = parallel_each("parts", parts, |part| again.call(part)).all();
///                 agent("merge").input("answers", answers).prompt("Merge them.").text()
///             })
///     })
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn recursive<I: Data, O: Data>(
    name: impl Into<String>,
    input: Step<I>,
    max_depth: u32,
    build: impl FnOnce(Again<I, O>, Step<I>) -> Step<O>,
) -> Step<O> {
    let at = Location::caller();
    let name = name.into();
    let group = Group::new("recursive", name.clone(), "");
    if max_depth == 0 {
        let message = format!("the recursion `{name}` has no level");
        let error = PlanError::new(PlanErrorKind::ZeroRounds, at, message, "allow at least 1 level");
        group.begun().mistake(error);
    }
    let input = group.input(input.used("input", at));
    let inside = Inside::open(&group, Role::Level(1), Mark::Key("1".to_owned()));
    let again = Again { of: group.node(), name, types: PhantomData };
    let result = build(again, Step::new(inside.param::<I>(Placeholder::Input)));
    let body = inside.close(result.handle());
    let schema = group.begun().schema::<O>(at);
    let max_depth = NonZeroU32::new(max_depth).unwrap_or(NonZeroU32::MIN);
    Step::new(group.finish(input, Kind::Recursive(Recursive { body, max_depth }), schema))
}

/// Stands for one level more of a [`recursive`] part, inside that part.
pub struct Again<I, O> {
    of: NodeId,
    name: String,
    types: PhantomData<fn(I) -> O>,
}

impl<I: Data, O: Data> Again<I, O> {
    /// The part once more, one level deeper, with this input. Two of them in one scope want a `scope(..)` each.
    #[track_caller]
    pub fn call(&self, input: Step<I>) -> Step<O> {
        let at = Location::caller();
        let group = Group::new("again", self.name.clone(), "");
        let input = group.input(input.used("input", at));
        if !group.begun().stands_in(self.of) {
            let message = format!("`{}` is called again outside of itself", self.name);
            let mend = "call it inside the closure that was given to `recursive(..)`";
            group.begun().mistake(PlanError::new(PlanErrorKind::LeakedHandle, at, message, mend));
        }
        let schema = group.begun().schema::<O>(at);
        Step::new(group.finish(input, Kind::Again { of: self.of }, schema))
    }
}

impl<I, O> fmt::Debug for Again<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Again").field(&self.name).finish()
    }
}
