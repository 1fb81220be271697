//! A fan-out without an ending is not a step.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |topics: Step<Vec<String>>| {
        let all = parallel_each("each", topics, |topic| topic).limit(2);
        agent("sum").input("all", all).prompt("Sum up.").text()
    });
}
