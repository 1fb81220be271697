//! Both ways of a decision yield one type.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |draft: Step<String>| {
        review("draft", draft).decide(|draft| draft, |_, reason| reason.map(|reason| reason.len()))
    });
}
