//! The drawing of a run: its plan's drawing, unrolled, each line with the state that the journal gives it. A function of
//! the graph and the run's state, and of the bodies of a few records. Nothing here walks, compares or writes; times, ids
//! and costs are not drawn.

mod draw;
mod group;
mod grown;
mod leftover;
mod standing;
mod unroll;

use crate::error::DriveError;
use hermes_core::{fold::RunState, ids::Seq, journal::Event};
use hermes_plan::graph::Graph;

/// Reads the event of one record of the run.
pub(crate) type Read<'a> = dyn Fn(Seq) -> Result<Event, DriveError> + 'a;

/// Draws a run of `graph`. `live` says whether somebody drives it: a call that began is then running.
pub(crate) fn draw(
    graph: &Graph,
    state: &RunState,
    live: bool,
    read: &Read<'_>,
) -> Result<String, DriveError> {
    let run = unroll::Unroll::new(graph, state, live, read)?;
    let mut text = draw::tree(&run, &run.plan()?).to_string();
    for section in leftover::sections(&run)? {
        text.push('\n');
        text.push_str(&section.to_string());
    }
    Ok(text)
}
