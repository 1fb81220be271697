//! A wait ends at a moment, not at a text.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |when: Step<String>| wait("then").until(when));
}
