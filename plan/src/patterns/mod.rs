//! Shapes of agent work that come up again and again, each a few lines over the primitives of the
//! [`prelude`](crate::prelude): nothing here can do what a plan of your own cannot.

mod goal;
mod judge;
mod loop_until_dry;
mod map_reduce;
mod tournament;
mod verify;

pub use goal::{Goal, goal};
pub use judge::{Scored, judge};
pub use loop_until_dry::{Found, loop_until_dry};
pub use map_reduce::map_reduce;
pub use tournament::{Winner, tournament};
pub use verify::{Refutation, Verified, verify};
