//! The walk of a run: pure decisions. What is ready, what a body unrolls to, what the journal says to it, and what is to
//! be written. It starts nothing, awaits nothing and knows no clock (the time is handed in); `drive` acts on what it asks for.

mod adopt;
mod branch;
mod call;
mod catch;
mod causes;
mod changes;
mod command;
mod conflict;
mod dag;
mod decide;
mod derived;
mod emit;
mod fan;
mod frame;
mod freeze;
mod grow;
mod guard;
mod met;
mod places;
mod pools;
mod programs;
mod prompt;
mod question;
mod quorum;
mod ready;
mod renames;
mod repeat;
mod replay;
mod request;
mod review;
mod state;
mod unroll;
mod wait;
mod wording;

pub(crate) use adopt::Earlier;
pub(crate) use call::{CallEnd, Sent};
pub(crate) use command::Invocation;
pub(crate) use conflict::unfit;
pub(crate) use emit::Then;
pub(crate) use frame::At;
pub(crate) use guard::{guarded, panic_message};
pub(crate) use met::{Met, Reason};
pub(crate) use renames::renamed;
pub use state::Counts;
pub(crate) use state::{Lookup, Noted, ROOT, Settings, Walk};
