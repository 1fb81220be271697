//! `.check(..)` comes after the prompt.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |_: Step<()>| {
        agent("count").check(|count: &u32| if *count > 0 { Ok(()) } else { Err("none".into()) }).prompt("Count.").returns()
    });
}
