//! A prompt builder takes the types of the inputs.

use hermes_plan::prelude::*;

fn prompt(topic: &String, count: &u32) -> String {
    format!("{topic} {count}")
}

fn main() {
    let _ = Plan::new("plan", |topic: Step<String>| {
        agent("research").input("topic", topic).input("count", topic).prompt_with(prompt).text()
    });
}
