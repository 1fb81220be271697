//! Whom a question is for is made from its inputs: one reference for each.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |version: Step<String>| {
        ask("go").input("version", version).assign_with(|version, who| format!("{version} {who}")).returns::<bool>()
    });
}
