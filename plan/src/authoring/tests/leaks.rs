//! Handles used where they may not be: outside their body, or in another plan.

use super::{Expected, mistakes};
use crate::{build::PlanErrorKind::*, prelude::*};
use std::cell::Cell;

fn only(kind: PlanErrorKind, at: &str, also: &str, says: &str, errors: &PlanErrors) {
    Expected { source: include_str!("leaks.rs"), kind, at, also: Some(also), says }.is_the_only_one(errors);
}

#[test]
fn a_step_of_a_fan_out_used_after_it() {
    let errors = mistakes(|input| {
        let leaked = Cell::new(None);
        let list = parallel_each("each", join([input]), |item| {
            let made = step("made").input("item", item).run(String::clone); // made
            leaked.set(Some(made));
            made
        })
        .all();
        let leaked = leaked.get().unwrap();
        agent("user")
            .input("list", list)
            .input("leaked", leaked) // used
            .prompt("Go.")
            .text()
    });
    only(LeakedHandle, "used", "made", "`made` was made inside the body of `each`", &errors);
}

#[test]
fn an_item_used_in_a_sibling_body() {
    let errors = mistakes(|input| {
        let leaked = Cell::new(None);
        let leak = |item| {
            leaked.set(Some(item));
            item
        };
        pipeline("polish", join([input]))
            .stage(leak) // item
            .stage(|_| leaked.get().unwrap()) // sibling
            .all()
    });
    only(LeakedHandle, "sibling", "item", "the `item` was made inside the body of `polish`", &errors);
}

#[test]
fn leaked_by_map_by_order_and_as_the_output() {
    let leak = |input: Step<String>| {
        let leaked = Cell::new(input);
        let all = parallel("fan", ["a"], |key| {
            leaked.set(step("made").input("text", input).run(move |text| format!("{key}{text}"))); // child
            leaked.get()
        });
        let _all = all.all();
        leaked.get()
    };
    let errors = mistakes(|input| leak(input).map(String::len)); // mapped
    only(LeakedHandle, "mapped", "child", "`fan`", &errors);
    let errors = mistakes(|input| {
        let leaked = leak(input);
        step("after")
            .after(leaked) // ordered
            .run(|| 1)
    });
    only(LeakedHandle, "ordered", "child", "`fan`", &errors);
    let errors = mistakes(leak); // output
    only(LeakedHandle, "output", "child", "`fan`", &errors);
}

#[test]
fn a_builder_carried_out_of_its_body() {
    let errors = mistakes(|input| {
        let carried = Cell::new(None);
        let carry = |item: Step<String>| {
            carried.set(Some(agent("late").input("item", item).prompt("Go."))); // carried
            item
        };
        let list = parallel_each("each", join([input]), carry); // carried item
        let late = carried.take().unwrap();
        join((list.all(), late.text()))
    });
    only(LeakedHandle, "carried", "carried item", "`item`", &errors);
}

#[test]
fn handles_of_outer_bodies_are_no_leak() -> Result<(), PlanErrors> {
    Plan::new("outer", |input: Step<String>| {
        parallel_each("outer", join([input]), |item| {
            parallel("inner", ["a", "b"], |_| {
                branch("deep", item).when("any", |_| true, |_| join((input, item))).or_fail()
            })
            .all()
        })
        .all()
    })?;
    Ok(())
}

#[test]
fn a_handle_of_a_finished_plan() {
    let foreign = Cell::new(None);
    let finished = Plan::new("finished", |input: Step<String>| {
        foreign.set(Some(step("theirs").input("text", input).run(String::clone))); // theirs
        input
    });
    assert!(finished.is_ok());
    let errors = mistakes(|input| {
        agent("ours")
            .input("text", input)
            .input("foreign", foreign.get().unwrap()) // ours
            .prompt("Go.")
            .text()
    });
    only(ForeignHandle, "ours", "theirs", "a step of another plan", &errors);
}

#[test]
fn a_handle_of_a_plan_around_this_one() -> Result<(), PlanErrors> {
    let around = |outer: Step<String>| {
        let errors = mistakes(|_| outer.map(String::len)); // inside
        only(ForeignHandle, "inside", "around", "a step of another plan", &errors);
        outer
    };
    Plan::new("around", around)?; // around
    Ok(())
}

#[test]
fn a_foreign_list_gives_no_keys() {
    let foreign = Cell::new(None);
    let around = Plan::new("around", |input: Step<String>| {
        foreign.set(Some(parallel("fan", ["a"], |_| input).all())); // foreign list
        input
    });
    assert!(around.is_ok());
    let errors = mistakes(|_| {
        let list = foreign.get().unwrap();
        parallel_each("each", list, |item| item).key_by(String::clone).all() // foreign fan
    });
    only(ForeignHandle, "foreign fan", "foreign list", "a step of another plan", &errors);
}
