//! The author's closures, called as the executor calls them.

use crate::{
    graph::{Call, Compute, ComputeFn, Keys, Kind, Node, Prompt},
    prelude::*,
};
use hermes_core::value::Val;
use serde_json::json;
use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

fn node<I, O>(plan: &Plan<I, O>, name: &str) -> Node {
    plan.graph().nodes().find(|node| node.name == name).cloned().unwrap()
}

fn result<I, O>(plan: &Plan<I, O>) -> Node {
    plan.graph().node(plan.graph().bodies()[0].result).clone()
}

fn derived(node: &Node) -> ComputeFn {
    let Kind::Derived(derived) = &node.kind else { panic!("{node:?}") };
    let Compute::Value(compute) = &derived.compute else { panic!("{node:?}") };
    compute.clone()
}

fn blocking(node: &Node) -> ComputeFn {
    let Kind::Step(step) = &node.kind else { panic!("{node:?}") };
    let Call::Blocking(run) = &step.call else { panic!("{node:?}") };
    run.clone()
}

fn val(json: serde_json::Value) -> Val {
    Val::from_json(json)
}

#[test]
fn a_prompt_is_built_from_the_inputs_in_order() -> Result<(), PlanErrors> {
    let plan = Plan::new("prompt", |input: Step<String>| {
        agent("a")
            .input("text", input)
            .input_value("count", &3_u8)
            .prompt_with(|text, count| format!("{text} × {count}"))
            .text()
    })?;
    let node = node(&plan, "a");
    let Kind::Agent(agent) = &node.kind else { panic!("{node:?}") };
    let Prompt::Built { build, at } = &agent.prompt else { panic!("{node:?}") };
    assert_eq!(build(&[val(json!("tea")), val(json!(3))]), Ok("tea × 3".to_owned()));
    let failure = build(&[val(json!("tea")), val(json!("three"))]).unwrap_err();
    assert_eq!(failure.class, FailureClass::Undecodable);
    assert_eq!(failure.location, Some(at.to_string()));
    Ok(())
}

#[test]
fn a_step_decodes_runs_and_encodes() -> Result<(), PlanErrors> {
    let plan = Plan::new("run", |input: Step<f64>| {
        let one = step("one").input("n", input).run(|n| 1.0 / n);
        step("two").input("n", one).try_run(|n| if *n > 0.0 { Ok(*n) } else { Err("not above zero") })
    })?;
    let one = blocking(&node(&plan, "one"));
    assert_eq!(one(&[val(json!(2.0))]), Ok(val(json!(0.5))));
    let failure = one(&[val(json!(0.0))]).unwrap_err();
    assert_eq!(failure.class, FailureClass::Unencodable);
    assert!(failure.message.contains("at `.`"), "{failure}");
    assert!(failure.location.is_some_and(|at| at.contains("closures.rs:")));
    assert_eq!(one(&[]).unwrap_err().class, FailureClass::Undecodable);
    let failure = blocking(&node(&plan, "two"))(&[val(json!(-1.0))]).unwrap_err();
    assert_eq!((failure.class, &*failure.message), (FailureClass::Rejected, "not above zero"));
    Ok(())
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits for something"),
    }
}

#[test]
fn an_async_step_gets_shared_inputs() -> Result<(), PlanErrors> {
    async fn shout(word: Arc<String>, count: Arc<usize>) -> String {
        word.to_uppercase().repeat(*count)
    }
    let plan = Plan::new("async", |input: Step<String>| {
        let loud = step("loud").input("word", input).input_value("count", &2).run_async(shout);
        let length = step("length")
            .input("word", loud)
            .try_run_async(|word| async move { word.parse::<u32>().map(|number| number + 1) });
        join((loud, length))
    })?;
    let call = |name: &str, inputs: Vec<Val>| {
        let Kind::Step(step) = node(&plan, name).kind else { panic!("{name}") };
        let Call::Async(run) = step.call else { panic!("{name}") };
        ready(run(inputs))
    };
    assert_eq!(call("loud", vec![val(json!("a")), val(json!(2))]), Ok(val(json!("AA"))));
    assert_eq!(call("length", vec![val(json!("41"))]), Ok(val(json!(42))));
    assert_eq!(call("length", vec![val(json!("x"))]).unwrap_err().class, FailureClass::Rejected);
    assert_eq!(call("length", vec![val(json!(1))]).unwrap_err().class, FailureClass::Undecodable);
    Ok(())
}

#[test]
fn derived_values_compute() -> Result<(), PlanErrors> {
    let plan = Plan::new("map", |input: Step<Vec<String>>| input.map(Vec::len))?;
    assert_eq!(derived(&result(&plan))(&[val(json!(["a", "b"]))]), Ok(val(json!(2))));
    let plan = Plan::new("get", |input: Step<(String, bool)>| input.get(|pair| &pair.1))?;
    assert_eq!(derived(&result(&plan))(&[val(json!(["a", true]))]), Ok(val(json!(true))));
    let plan = Plan::new("join", |input: Step<u8>| join((input, input, value("x".to_owned()))))?;
    let joined = derived(&result(&plan))(&[val(json!(1)), val(json!(1)), val(json!("x"))]);
    assert_eq!(joined, Ok(val(json!([1, 1, "x"]))));
    let decoded = joined.unwrap().decode::<(u8, u8, String)>().unwrap();
    assert_eq!(*decoded, (1, 1, "x".to_owned()));
    Ok(())
}

#[test]
fn a_flow_is_what_serde_writes() -> Result<(), PlanErrors> {
    let again = Plan::new("again", |input: Step<u8>| input.again::<String>())?;
    let computed = derived(&result(&again))(&[val(json!(7))]);
    assert_eq!(computed, Ok(Val::encode(&Flow::<u8, String>::Again(7)).unwrap()));
    assert_eq!(*computed.unwrap().decode::<Flow<u8, String>>().unwrap(), Flow::Again(7));
    let done = Plan::new("done", |input: Step<u8>| input.done::<String>())?;
    assert_eq!(derived(&result(&done))(&[val(json!(7))]), Ok(val(json!({"Done": 7}))));
    Ok(())
}

#[test]
fn keys_tests_and_checks_answer() -> Result<(), PlanErrors> {
    let plan = Plan::new("each", |input: Step<Vec<(String, u32)>>| {
        let numbers =
            parallel_each("each", input, |item| item.get(|item| &item.1)).key_by(|item| item.1).all();
        let one = ask("one").choose_from(numbers).one();
        let odd = branch("odd", one).when("odd", |n| n % 2 == 1, |n| n).or_fail();
        review("review", odd).approved()
    })?;
    let Kind::Each { keys: Keys::By { key, .. }, .. } = node(&plan, "each").kind else { panic!() };
    assert_eq!(key(&val(json!(["a", 17]))), Ok("17".to_owned()));
    assert_eq!(key(&val(json!("a"))).unwrap_err().class, FailureClass::Undecodable);
    let Kind::Branch { arms, .. } = node(&plan, "odd").kind else { panic!() };
    assert_eq!((arms[0].pick)(&val(json!(3))), Ok(Some(val(json!(3)))));
    assert_eq!((arms[0].pick)(&val(json!(4))), Ok(None));
    let Kind::Ask(ask) = node(&plan, "one").kind else { panic!() };
    assert_eq!((ask.check)(&[val(json!(3))]), Ok(val(json!(3))));
    assert_eq!((ask.check)(&[val(json!(-3))]).unwrap_err().class, FailureClass::Undecodable);
    let Kind::Review(review) = node(&plan, "review").kind else { panic!() };
    assert!((review.check)(&[val(json!("x"))]).is_err());
    Ok(())
}
