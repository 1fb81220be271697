//! A question expires once.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |_: Step<()>| {
        ask("go")
            .expires_in(Duration::from_secs(1), OnExpiry::Value(true))
            .expires_in(Duration::from_secs(2), OnExpiry::Fail)
            .returns::<bool>()
    });
}
