//! `tournament`: pairs, round after round, until one is left.

use crate::prelude::*;

/// More rounds than any list in memory needs: each halves the list.
const ROUNDS: u32 = 64;

/// Which of two wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Winner {
    /// The first of the two.
    First,
    /// The second of the two.
    Second,
}

/// Pairs neighbours, keeps the winners in their order, and pairs those again until one is left. The last of an odd number
/// goes into the next round without a match. `None` where nobody entered. `n` entrants make `n - 1` matches; a match that
/// fails fails the whole. An entrant may not be `null` in JSON.
///
/// ```
/// use hermes_plan::{patterns::{Winner, tournament}, prelude::*};
///
/// let plan = Plan::new("best-draft", |drafts: Step<Vec<String>>| {
///     tournament("drafts", drafts, |a, b| {
///         agent("compare").input("first", a).input("second", b).prompt("Which is better?").returns::<Winner>()
///     })
/// })?;
/// # let plan: Plan<Vec<String>, Option<String>> = plan;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn tournament<T: Data>(
    name: impl Into<String>,
    entrants: Step<Vec<T>>,
    play: impl FnOnce(Step<T>, Step<T>) -> Step<Winner>,
) -> Step<Option<T>> {
    repeat(name, entrants, ROUNDS, |left| {
        let pairs = left.map(|left| {
            left.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect::<Vec<_>>()
        });
        let wins = parallel_each("matches", pairs, |pair| {
            let (first, second) = pair.split();
            play(first, second)
        })
        .all();
        let next = join((left, wins)).map(|(left, wins)| {
            let won = left.chunks_exact(2).zip(wins).map(|(pair, winner)| match winner {
                Winner::First => pair[0].clone(),
                Winner::Second => pair[1].clone(),
            });
            won.chain(left.chunks_exact(2).remainder().iter().cloned()).collect::<Vec<_>>()
        });
        branch("left", next)
            .when("one", |next| next.len() < 2, |next| next.first().done())
            .otherwise(|next| next.again())
    })
    .or_fail()
}
