//! `prompt_with` takes one reference for each input.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |topic: Step<String>| {
        agent("research").input("topic", topic).prompt_with(|topic, tone| format!("{topic} {tone}")).text()
    });
}
