//! Inputs come before the prompt.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |topic: Step<String>| agent("research").prompt("Go.").input("topic", topic).text());
}
