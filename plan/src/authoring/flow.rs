//! `Flow`: what a round of a loop says, and how a step says it.

use super::{derived::derive, step::Step};
use crate::{
    build::missing,
    graph::{Compute, Location},
};
use hermes_core::{data::Data, value::Val};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a round of a [`repeat`](crate::repeat) says: once more with this state, or done with this output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Flow<S, O> {
    /// Once more, with this state.
    Again(S),
    /// Done, with this output.
    Done(O),
}

impl<T: Data> Step<T> {
    /// In a [`repeat`](crate::repeat): once more, with this output as the state.
    #[track_caller]
    pub fn again<O: Data>(self) -> Step<Flow<T, O>> {
        let at = Location::caller();
        derive("again", vec![self.used("value", at)], at, |_| variant("Again", at))
    }

    /// In a [`repeat`](crate::repeat): done, with this output.
    #[track_caller]
    pub fn done<S: Data>(self) -> Step<Flow<S, T>> {
        let at = Location::caller();
        derive("done", vec![self.used("value", at)], at, |_| variant("Done", at))
    }
}

/// The value itself does not change, so nothing is decoded.
fn variant(name: &'static str, at: Location) -> Compute {
    Compute::Value(Arc::new(move |inputs| {
        let inner = inputs.first().cloned().ok_or_else(|| missing(0, at))?;
        Ok(Val::variant(name, inner))
    }))
}
