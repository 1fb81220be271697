//! A `Step<A>` is not a `Step<B>`.

use hermes_plan::prelude::*;

fn shout(word: Step<String>) -> Step<String> {
    step("shout").input("word", word).run(|word| word.to_uppercase())
}

fn main() {
    let _ = Plan::new("plan", |count: Step<u32>| shout(count));
}
