//! `map_reduce`: each item by itself, then a tree of bounded width.

use crate::prelude::*;
use std::num::NonZeroU8;

/// More levels than any list in memory needs: each at least halves the list.
const LEVELS: u32 = 64;

/// Maps every item, then reduces what came out in groups of neighbours, level by level, until one is left. A group has
/// `width` members, and never fewer than 2; a group of one goes to the next level as it is, so a list of one item is never
/// reduced. `None` where there are no items. A member that fails fails the whole. What is mapped may not be `null` in JSON.
///
/// ```
/// use hermes_plan::{patterns::map_reduce, prelude::*};
/// use std::num::NonZeroU8;
///
/// let width = NonZeroU8::MIN.saturating_add(7);
/// let plan = Plan::new("digest", move |pages: Step<Vec<String>>| {
///     map_reduce(
///         "digest",
///         pages,
///         width,
///         |page| agent("summarize").input("page", page).prompt("Summarize it.").text(),
///         |parts| agent("merge").input("parts", parts).prompt("Merge them.").text(),
///     )
/// })?;
/// # let plan: Plan<Vec<String>, Option<String>> = plan;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn map_reduce<T: Data, U: Data>(
    name: impl Into<String>,
    items: Step<Vec<T>>,
    width: NonZeroU8,
    map: impl FnOnce(Step<T>) -> Step<U>,
    reduce: impl FnOnce(Step<Vec<U>>) -> Step<U>,
) -> Step<Option<U>> {
    let width = usize::from(width.get()).max(2);
    scope(name, || {
        let mapped = parallel_each("map", items, map).all();
        repeat("reduce", mapped, LEVELS, |parts| {
            let groups = parts.map(move |parts| parts.chunks(width).map(<[U]>::to_vec).collect::<Vec<_>>());
            let reduced = parallel_each("groups", groups, |group| {
                branch("size", group)
                    .case(
                        "one",
                        |group| if let [one] = &group[..] { Some(one.clone()) } else { None },
                        |one| one,
                    )
                    .otherwise(reduce)
            })
            .all();
            branch("left", reduced)
                .when("one", |left| left.len() < 2, |left| left.first().done())
                .otherwise(|left| left.again())
        })
        .or_fail()
    })
}
