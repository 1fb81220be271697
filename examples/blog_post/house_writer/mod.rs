//! The house writer: a small, deterministic program that does what the plan asks of its agents, with no key and no
//! network. It is this executable started again; it speaks the protocol of the `Subprocess` runner.
//!
//! It invents nothing: what it writes is what the notes say, word for word, in another order and form.

mod angles;
mod assemble;
mod draft;
mod evidence;
mod humanize;
mod markdown;
mod notes;
mod outline;
mod protocol;
mod research;
mod revise;
mod slug;
mod units;

pub(crate) use protocol::serve;
