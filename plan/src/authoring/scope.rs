//! `scope`: a name for a group of steps.

use crate::build::Scoped;

/// A name for a group of steps: the paths of what `build` makes begin with it. Gives back what `build` returns.
///
/// A helper that makes steps can be used twice in one plan by giving each use a scope.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// fn shout(word: Step<String>) -> Step<String> {
///     step("shout").input("word", word).run(|word| word.to_uppercase())
/// }
///
/// let plan = Plan::new("twice", |word: Step<String>| {
///     let once = scope("once", || shout(word));
///     scope("again", || shout(once))
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn scope<R>(name: impl Into<String>, build: impl FnOnce() -> R) -> R {
    let _scoped = Scoped::enter(&name.into());
    build()
}
