//! How a plan comes about while the author's closure runs: the drafts under construction, the checks, the mistakes.
//!
//! Must not hold: anything that an author calls by name; that is `authoring`.

mod ambient;
mod begun;
mod draft;
mod erase;
mod errors;
mod inside;
mod limits;
mod names;

pub(crate) use ambient::{current, open};
pub(crate) use begun::{Begun, Group, Join, schema_here};
pub(crate) use draft::{Draft, Handle, PlanId, Use};
pub(crate) use erase::{checker, decode, encode, missing};
pub use errors::{PlanError, PlanErrorKind, PlanErrors};
pub(crate) use inside::{Inside, Scoped, param};
pub(crate) use names::{ELSE, Space, check_key, check_label};
