//! `judge`: candidates by their scores.

use crate::prelude::*;

/// A candidate and what the judge gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scored<T> {
    /// The candidate, as it came in.
    pub candidate: T,
    /// Its score; more is better.
    pub score: f64,
}

/// Scores every candidate by itself and yields them best first; of equal scores the earlier candidate stands first. No
/// candidates make an empty list. A judge that fails fails the whole.
///
/// ```
/// use hermes_plan::{patterns::{Scored, judge}, prelude::*};
///
/// let plan = Plan::new("best-title", |titles: Step<Vec<String>>| {
///     judge("titles", titles, |title| {
///         agent("score").input("title", title).prompt("Score it from 0 to 10.").returns::<f64>()
///     })
/// })?;
/// # let plan: Plan<Vec<String>, Vec<Scored<String>>> = plan;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn judge<T: Data>(
    name: impl Into<String>,
    candidates: Step<Vec<T>>,
    score: impl FnOnce(Step<T>) -> Step<f64>,
) -> Step<Vec<Scored<T>>> {
    let given = parallel_each(name, candidates, score).all();
    candidates.zip(given).map(|pairs| {
        let judged = |(candidate, score): &(T, f64)| Scored { candidate: candidate.clone(), score: *score };
        let mut all: Vec<_> = pairs.iter().map(judged).collect();
        // Adding zero makes one of the two zeros.
        let order = |one: &Scored<T>| one.score + 0.0;
        all.sort_by(|a, b| order(b).total_cmp(&order(a)));
        all
    })
}
