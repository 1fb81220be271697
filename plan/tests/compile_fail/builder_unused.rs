//! An unfinished builder must be used.

#![deny(unused_must_use)]

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |topic: Step<String>| {
        agent("research").input("topic", topic).prompt("Go.");
        step("count").input("topic", topic);
        command("list").argv(["ls"]);
        ask("which");
        parallel("lenses", ["a"], |_| topic);
        review("look", topic);
        wait("later");
        topic
    });
}
