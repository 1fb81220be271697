//! `verify`: independent refuters of one claim, and the majority.

use crate::prelude::*;
use std::fmt::Display;

/// What one refuter says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refutation {
    /// Whether the claim is refuted.
    pub refuted: bool,
    /// Why.
    pub reason: String,
}

/// A claim after its refuters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified<T> {
    /// The claim, as it came in.
    pub claim: T,
    /// What each refuter said, in the order of the refuters.
    pub verdicts: Vec<Refutation>,
    /// How many refuted it.
    pub refuted: usize,
    /// Whether more than half of the refuters did not refute it; a tie does not stand.
    pub stands: bool,
}

/// Gives one claim to several refuters, who do not see one another. The claim stands if more than half of them do not
/// refute it; without any refuter it does not. A refuter that fails fails the whole: no majority is made of those that are
/// left.
///
/// ```
/// use hermes_plan::{patterns::{Verified, verify}, prelude::*};
///
/// let plan = Plan::new("checked", |claim: Step<String>| {
///     verify("refute", claim, ["facts", "logic", "sources"], |claim, refuter| {
///         agent("refuter").input("claim", claim).prompt(format!("Try to refute its {refuter}.")).returns()
///     })
/// })?;
/// # let plan: Plan<String, Verified<String>> = plan;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn verify<T: Data, R: Display>(
    name: impl Into<String>,
    claim: Step<T>,
    refuters: impl IntoIterator<Item = R>,
    mut refute: impl FnMut(Step<T>, R) -> Step<Refutation>,
) -> Step<Verified<T>> {
    let verdicts = parallel(name, refuters, |refuter| refute(claim, refuter)).all();
    join((claim, verdicts)).map(|(claim, verdicts)| {
        let refuted = verdicts.iter().filter(|verdict| verdict.refuted).count();
        let stands = (verdicts.len() - refuted) * 2 > verdicts.len();
        Verified { claim: claim.clone(), verdicts: verdicts.clone(), refuted, stands }
    })
}
