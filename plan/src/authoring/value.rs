//! `value`: a constant of the plan.

use super::step::Step;
use crate::{
    build::{Handle, PlanError, PlanErrorKind, current, schema_here},
    graph::{Kind, Location},
};
use hermes_core::{data::Data, value::Val};

/// A constant as a step.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plan = Plan::new("constant", |_: Step<()>| value(vec![1, 2, 3]))?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[track_caller]
pub fn value<T: Data>(constant: T) -> Step<T> {
    let at = Location::caller();
    let what = || "`value(..)`".to_owned();
    let schema = schema_here::<T>(what, at);
    let encoded = Val::encode_as(&constant, &schema)
        .map_err(|why| why.to_string())
        .and_then(|val| val.decode::<T>().map(|_| val).map_err(|why| why.to_string()));
    let (val, error) = match encoded {
        Ok(val) => (val, None),
        Err(why) => {
            let message = format!("a constant does not survive JSON: {why}");
            let mend = "use a value that JSON can hold: finite numbers, no `Some(None)`, integers of 64 bits";
            (Val::null(), Some(PlanError::new(PlanErrorKind::Unencodable, at, message, mend)))
        }
    };
    let (plan, node) = current(what, |draft| {
        if let Some(error) = error {
            draft.mistake(error);
        }
        (draft.id(), draft.derived(Kind::Constant(val), Vec::new(), schema, at))
    });
    Step::new(Handle { plan, node, made: at })
}
