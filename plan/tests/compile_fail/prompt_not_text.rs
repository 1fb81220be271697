//! A fixed prompt is a text.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |topic: Step<String>| agent("research").prompt(topic).text());
}
