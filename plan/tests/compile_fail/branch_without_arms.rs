//! A branch without an arm has no ending.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |n: Step<u8>| branch("which", n).otherwise(|n| n));
}
