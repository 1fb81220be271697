//! A step takes at most 8 inputs.

use hermes_plan::prelude::*;

fn main() {
    let _ = Plan::new("plan", |n: Step<u8>| {
        let four = agent("many").input("a", n).input("b", n).input("c", n).input("d", n);
        let eight = four.input("e", n).input("f", n).input("g", n).input("h", n);
        eight.input("i", n).prompt("Go.").text()
    });
}
