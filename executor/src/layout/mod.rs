//! The drawing of a run: its plan's drawing, unrolled, each line with the state that the journal gives it. A function of
//! the graph and the run's state, and of the bodies of a few records. Nothing here walks, compares or writes; times, ids
//! and costs are not drawn.

mod draw;
mod group;
mod grown;
mod json;
mod leftover;
mod members;
mod picture;
mod standing;
mod unroll;

use crate::error::DriveError;
use hermes_core::{ids::Seq, journal::Event};
use hermes_plan::layout::Picture;

pub(crate) use group::Frame;
pub(crate) use unroll::Unroll;

/// Reads the event of one record of the run.
pub(crate) type Read<'a> = dyn Fn(Seq) -> Result<Event, DriveError> + 'a;

/// The text tree of a run.
pub(crate) fn text(run: &Unroll<'_>, plan: &Frame) -> Result<String, DriveError> {
    let mut text = draw::tree(run, plan).to_string();
    for section in leftover::sections(run)? {
        text.push('\n');
        text.push_str(&section.to_string());
    }
    Ok(text)
}

/// The picture of a run.
pub(crate) fn picture(run: &Unroll<'_>, plan: &Frame) -> Picture {
    picture::paint(run, plan)
}

/// A run as JSON.
pub(crate) fn json(run: &Unroll<'_>, plan: &Frame) -> serde_json::Value {
    json::write(run, plan)
}
