//! `loop_until_dry`: rounds that look for new things until one finds nothing new.

use crate::prelude::*;
use std::collections::BTreeSet;

/// What [`loop_until_dry`] found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Found<T> {
    /// What was found, in the order in which it was found, each key once.
    pub items: Vec<T>,
    /// Whether the last round found nothing new; `false` where the rounds were used up before.
    pub dry: bool,
}

/// Looks, at most `max` times, until a round finds nothing new. `find` gets what was found before; what it finds again, by
/// `key`, is dropped, and so is the second of two with one key in one round.
///
/// ```
/// use hermes_plan::{patterns::{Found, loop_until_dry}, prelude::*};
///
/// let plan = Plan::new("bugs", |code: Step<String>| {
///     loop_until_dry(
///         "hunt",
///         10,
///         |seen| {
///             agent("look").input("code", code).input("seen", seen).prompt("Find more bugs.").returns()
///         },
///         String::clone,
///     )
/// })?;
/// # let plan: Plan<String, Found<String>> = plan;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn loop_until_dry<T: Data, K: Ord>(
    name: impl Into<String>,
    max: u32,
    find: impl FnOnce(Step<Vec<T>>) -> Step<Vec<T>>,
    key: impl Fn(&T) -> K + Send + Sync + 'static,
) -> Step<Found<T>> {
    repeat(name, value(Vec::<T>::new()), max, |seen| {
        let fresh = join((seen, find(seen))).map(move |(seen, found)| {
            let mut keys: BTreeSet<K> = seen.iter().map(&key).collect();
            found.iter().filter(|item| keys.insert(key(item))).cloned().collect::<Vec<_>>()
        });
        branch("fresh", fresh)
            .when("none", Vec::is_empty, |_| {
                seen.map(|items| Found { items: items.clone(), dry: true }).done()
            })
            .otherwise(|fresh| join([seen, fresh]).flatten().again())
    })
    .or_else(|items| items.map(|items| Found { items: items.clone(), dry: false }))
}
