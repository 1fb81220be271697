//! An output must be able to travel.

use hermes_plan::prelude::*;

struct Opaque;

fn main() {
    let _ = Plan::new("plan", |topic: Step<String>| {
        agent("research").input("topic", topic).prompt("Go.").returns::<Opaque>()
    });
    let _ = Plan::new("plan", |topic: Step<String>| step("make").input("topic", topic).run(|_| Opaque));
}
