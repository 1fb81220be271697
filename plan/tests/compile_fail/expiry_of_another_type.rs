//! What a question has on expiry is what an answer to it is.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |_: Step<()>| {
        ask("go").expires_in(Duration::from_secs(1), OnExpiry::Value("no".to_owned())).returns::<bool>()
    });
}
