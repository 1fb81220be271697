//! Only steps can be joined.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |topic: Step<String>| join((topic, "now")));
}
