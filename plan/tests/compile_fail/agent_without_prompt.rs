//! An agent cannot join the plan without a prompt.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |topic: Step<String>| agent("research").input("topic", topic).returns::<String>());
    let _ = Plan::new("plan", |topic: Step<String>| agent("research").input("topic", topic).text());
}
