//! `.check(..)` says of which type the answer is; what the agent returns must be that.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |_: Step<()>| {
        agent("count").prompt("Count.").check(|count: &u32| if *count > 0 { Ok(()) } else { Err("none".into()) }).text()
    });
}
