//! How building works: bodies run once, mistakes outside panic, nothing is left behind, and it stays linear.

use super::patterns;
use crate::prelude::*;
use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering},
};

#[test]
fn a_body_runs_once() -> Result<(), PlanErrors> {
    let mut n = 0;
    let mut children = Vec::new();
    Plan::new("once", |input: Step<Vec<String>>| {
        parallel("children", [1, 2, 3], |key| {
            children.push(key);
            input
        })
        .all();
        parallel_each("each", input, |item| {
            n += 1;
            item
        })
        .all()
    })?;
    assert_eq!((n, children), (1, vec![1, 2, 3]));
    Ok(())
}

fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    panic.downcast::<String>().map_or_else(|_| "no text".to_owned(), |text| *text)
}

#[test]
fn outside_any_plan_a_primitive_panics_and_says_what_to_do() {
    let panic = catch_unwind(|| drop(agent("lonely"))).expect_err("no plan");
    let message = message(panic);
    assert!(message.contains("`agent(\"lonely\", ..)` was called outside any plan"), "{message}");
    assert!(message.contains("Plan::new(name, f)"), "{message}");
    assert!(catch_unwind(|| value(1)).is_err());
    assert!(catch_unwind(|| scope("lonely", || 1)).is_err());
    assert!(catch_unwind(|| join(Vec::<Step<u8>>::new())).is_err());
}

#[test]
fn a_builder_ended_after_its_plan_panics() {
    let mut away = None;
    let finished = Plan::new("finished", |input: Step<String>| {
        away = Some(step("late").input("text", input));
        input
    });
    assert!(finished.is_err());
    let panic =
        catch_unwind(AssertUnwindSafe(|| away.take().map(|away| away.run(String::len)))).err().map(message);
    assert!(
        panic.is_some_and(|panic| panic.contains("`late` was begun in a plan that is no longer being built"))
    );
}

#[test]
fn a_panic_in_a_body_leaves_no_plan_behind() -> Result<(), PlanErrors> {
    let build = |input: Step<String>| {
        let unfinished = agent("unfinished").input("text", input);
        parallel_each("each", join([input]), |item: Step<String>| -> Step<String> {
            let _inner = step("inner").input("item", item);
            scope("deep", || panic!("in the body"))
        })
        .all();
        unfinished.prompt("Go.").text()
    };
    assert!(catch_unwind(|| Plan::new("panics", build)).is_err());
    assert!(catch_unwind(|| value(1)).is_err(), "the stack is empty again");

    let outer = Plan::new("outer", |input: Step<String>| {
        assert!(catch_unwind(|| Plan::new("panics", build)).is_err());
        step("after").input("text", input).run(String::clone)
    })?;
    assert_eq!(patterns(&outer), ["after"]);
    Ok(())
}

#[test]
fn a_panic_caught_inside_a_plan_leaves_its_body_but_is_told() {
    let errors = super::mistakes(|input| {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            parallel_each("each", join([input]), |_| -> Step<String> {
                scope("deep", || panic!("in the body"))
            })
            .all()
        }));
        assert!(caught.is_err());
        step("after").input("text", input).run(String::clone)
    });
    let kinds: Vec<_> = errors.iter().map(|error| error.kind).collect();
    assert_eq!(kinds, [PlanErrorKind::Unfinished], "{errors}");
}

#[test]
fn a_panic_caught_in_a_scope_leaves_the_scope() -> Result<(), PlanErrors> {
    let plan = Plan::new("scope", |input: Step<String>| {
        assert!(catch_unwind(|| scope("left", || panic!("in the scope"))).is_err());
        step("after").input("text", input).run(String::clone)
    })?;
    assert_eq!(patterns(&plan), ["after"]);
    Ok(())
}

#[test]
fn plans_nest_without_meeting() -> Result<(), PlanErrors> {
    let outer = Plan::new("outer", |input: Step<String>| {
        let before = step("before").input("text", input).run(String::clone);
        let inner = Plan::new("inner", |input: Step<u32>| step("inside").input("n", input).run(|n| n + 1));
        assert_eq!(inner.as_ref().map(patterns).ok(), Some(vec!["inside".to_owned()]));
        step("behind").input("text", before).run(String::clone)
    })?;
    assert_eq!(patterns(&outer), ["before", "behind"]);
    Ok(())
}

static SCHEMAS: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Serialize, Deserialize)]
struct Counted;

impl JsonSchema for Counted {
    fn schema_name() -> Cow<'static, str> {
        "Counted".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        SCHEMAS.fetch_add(1, Ordering::Relaxed);
        schemars::Schema::default()
    }
}

#[test]
fn five_thousand_steps_are_five_thousand_nodes_and_one_schema() -> Result<(), PlanErrors> {
    let plan = Plan::new("long", |first: Step<Counted>| {
        (0..5_000).fold(first, |last, number| {
            step("next").key(number.to_string()).input("last", last).run(Counted::clone)
        })
    })?;
    assert_eq!(plan.graph().len(), 5_001);
    assert_eq!(plan.graph().nodes().map(|node| node.inputs.len()).sum::<usize>(), 5_000);
    assert_eq!(SCHEMAS.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn sixty_four_levels_nest() -> Result<(), PlanErrors> {
    fn nest(level: u32, text: Step<String>) -> Step<String> {
        if level == 0 {
            return step("deepest").input("text", text).run(String::clone);
        }
        branch(format!("level{level}"), text).when("in", |_| true, |text| nest(level - 1, text)).or_fail()
    }
    let plan = Plan::new("deep", |input: Step<String>| nest(64, input))?;
    let deepest = plan.graph().nodes().find(|node| node.name == "deepest").unwrap();
    assert_eq!(deepest.pattern.segments().len(), 65);
    Ok(())
}
