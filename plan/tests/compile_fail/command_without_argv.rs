//! A command cannot join the plan without something to start, and takes its inputs before that.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |topic: Step<String>| command("list").input("topic", topic).output());
    let _ = Plan::new("plan", |topic: Step<String>| command("list").argv(["ls"]).input("topic", topic).stdout());
}
