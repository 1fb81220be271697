//! A template is compiled in, so its path is written out.

use hermes_plan::prelude::*;

fn main() {
    let path = "tests/prompts/draft.md";
    let _ = Plan::new("plan", |topic: Step<String>| {
        agent("draft").input("topic", topic).prompt(template!(path)).text()
    });
}
