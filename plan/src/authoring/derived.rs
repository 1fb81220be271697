//! Derived values: computed whenever they are needed, never recorded; a label on an edge of the drawing.

use super::step::Step;
use crate::{
    build::{Handle, Use, current, decode, encode, schema_here},
    graph::{Compute, Derived, Kind, Location},
};
use hermes_core::{data::Data, schema::Schema};
use std::sync::Arc;

/// Adds a derived value to the innermost plan.
#[track_caller]
pub(super) fn derive<T: Data>(
    verb: &'static str,
    inputs: Vec<Use>,
    at: Location,
    compute: impl FnOnce(Schema) -> Compute,
) -> Step<T> {
    let what = || format!("`{verb}`");
    let schema = schema_here::<T>(what, at);
    let kind = Kind::Derived(Derived { verb, compute: compute(schema.clone()) });
    let (plan, node) = current(what, |draft| (draft.id(), draft.derived(kind, inputs, schema, at)));
    Step::new(Handle { plan, node, made: at })
}

impl<T: Data> Step<T> {
    /// A value made from this step's output. It is computed anew whenever it is needed, so the closure must be a pure
    /// function of its argument; what costs something belongs into a [`step`](crate::step).
    ///
    /// A constant is better made with [`value`](crate::value): `map(|_| "literal")` would need an owned
    /// `"literal".to_owned()`, and would wait for this step.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("count", |words: Step<Vec<String>>| words.map(|words| words.len()))?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn map<U: Data>(self, map: impl Fn(&T) -> U + Send + Sync + 'static) -> Step<U> {
        let at = Location::caller();
        derive("map", vec![self.used("value", at)], at, |schema| {
            Compute::Value(Arc::new(move |inputs| encode(&map(&*decode::<T>(inputs, 0, at)?), &schema, at)))
        })
    }

    /// A part of this step's output.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("first", |pair: Step<(String, u32)>| pair.get(|pair| &pair.0))?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn get<U: Data>(self, get: impl Fn(&T) -> &U + Send + Sync + 'static) -> Step<U> {
        let at = Location::caller();
        derive("get", vec![self.used("value", at)], at, |schema| {
            Compute::Value(Arc::new(move |inputs| encode(get(&*decode::<T>(inputs, 0, at)?), &schema, at)))
        })
    }
}
