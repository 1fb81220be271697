//! How a plan comes about while the author's closure runs: the drafts under construction, the checks, the mistakes.
//!
//! Must not hold: anything that an author calls by name; that is `authoring`.

mod ambient;
mod begun;
mod budgets;
mod draft;
mod erase;
mod errors;
mod inside;
mod limits;
mod names;
mod templates;

pub(crate) use ambient::{current, open};
pub(crate) use begun::{Begun, Group, Join, schema_here};
pub(crate) use budgets::{bound_plan, empty};
pub(crate) use draft::{Draft, Handle, Use};
pub(crate) use erase::{checker, decode, encode, missing};
pub use errors::{PlanError, PlanErrorKind, PlanErrors};
pub(crate) use inside::{Inside, Scoped, param};
pub(crate) use names::{ELSE, Space, check_key, check_label};
pub use templates::{ReadyTemplates, load_templates};
