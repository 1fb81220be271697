//! A body returns a step, not a value.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |topics: Step<Vec<String>>| {
        parallel_each("each", topics, |topic| format!("{topic:?}")).all()
    });
}
