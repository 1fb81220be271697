//! The patterns of paths.

use super::{pattern, patterns};
use crate::{graph::BodyId, prelude::*};
use hermes_core::path::StepPath;

fn echo(name: &str, text: Step<String>) -> Step<String> {
    step(name).input("text", text).run(String::clone)
}

#[test]
fn every_primitive_has_its_place_in_a_path() -> Result<(), PlanErrors> {
    let plan = Plan::new("all", |input: Step<String>| {
        let list = parallel("fan", ["security", "a/b"], |key| {
            scope("look", || echo(key.trim_start_matches("a/"), input))
        });
        let list = parallel_each("each", list.all(), |item| echo("item", item)).all();
        let list =
            pipeline("pipe", list).stage(|item| echo("one", item)).stage(|item| echo("two", item)).all();
        let text = list.map(|list| list.join(" "));
        let text =
            repeat("loop", text, 3, |text| echo("round", text).again()).or_else(|text| echo("last", text));
        let text = branch("kind", text)
            .when("the short one", |text| text.len() < 3, |text| echo("short", text))
            .otherwise(|text| echo("long", text));
        let text = review("approve", text).revise(|text, _| echo("revise", text)).approved();
        scope("outer", || scope("inner", || echo("scoped", text)))
    })?;
    let expected = [
        "fan",
        "fan[security]/look/security",
        "fan[a%2Fb]/look/b",
        "each",
        "each[*]/item",
        "pipe",
        "pipe[*]/one",
        "pipe[*]/two",
        "loop",
        "loop[*]/round",
        "loop:else/last",
        "kind",
        "kind:the short one/short",
        "kind:else/long",
        "approve",
        "approve[*]/revise",
        "outer/inner/scoped",
    ];
    assert_eq!(patterns(&plan), expected);
    for pattern in patterns(&plan) {
        assert_eq!(pattern.parse::<StepPath>().map(|path| path.to_string()), Ok(pattern));
    }
    Ok(())
}

#[test]
fn a_static_key_is_part_of_the_name() -> Result<(), PlanErrors> {
    let plan = Plan::new("keys", |input: Step<String>| {
        let linted: Vec<_> = ["core", "a/b"]
            .into_iter()
            .map(|folder| agent("lint").key(folder).input("text", input).prompt("Lint.").text())
            .collect();
        join(linted)
    })?;
    assert_eq!(patterns(&plan), ["lint[core]", "lint[a%2Fb]"]);
    assert_eq!(pattern(&plan, "lint[core]"), "lint[core]");
    Ok(())
}

#[test]
fn a_scope_ends_and_keeps_its_names_to_itself() -> Result<(), PlanErrors> {
    let plan = Plan::new("scopes", |input: Step<String>| {
        let one = scope("one", || echo("same", input));
        let two = scope("two", || echo("same", one));
        parallel_each("each", join([two]), |item| echo("same", item)).all();
        echo("same", two)
    })?;
    assert_eq!(patterns(&plan), ["one/same", "two/same", "each", "each[*]/same", "same"]);
    let scopes: Vec<_> =
        plan.graph().nodes().filter(|node| node.name == "same").map(|node| node.scopes.clone()).collect();
    assert_eq!(scopes, [vec!["one".to_owned()], vec!["two".to_owned()], vec![], vec![]]);
    Ok(())
}

#[test]
fn everything_nests_in_everything() -> Result<(), PlanErrors> {
    let plan = Plan::new("nested", |input: Step<String>| {
        parallel("fan", ["k"], |_| {
            let list = parallel_each("each", join([input]), |item| {
                repeat("loop", item, 2, |state| {
                    branch("arm", state)
                        .when(
                            "go",
                            |_| true,
                            |text| {
                                scope("in", || {
                                    review("ok", text).revise(|text, _| echo("fix", text)).approved()
                                })
                                .done()
                            },
                        )
                        .otherwise(|text| text.again())
                })
                .or_fail()
            })
            .results();
            pipeline("pipe", list).stage(|result| result.map(Result::is_ok)).options()
        })
        .all()
    })?;
    let expected = [
        "fan",
        "fan[k]/each",
        "fan[k]/each[*]/loop",
        "fan[k]/each[*]/loop[*]/arm",
        "fan[k]/each[*]/loop[*]/arm:go/in/ok",
        "fan[k]/each[*]/loop[*]/arm:go/in/ok[*]/fix",
        "fan[k]/pipe",
    ];
    assert_eq!(patterns(&plan), expected);
    Ok(())
}

#[test]
fn what_is_derived_has_no_path() -> Result<(), PlanErrors> {
    let plan = Plan::new("derived", |input: Step<(String, u32)>| {
        join([input.get(|pair| &pair.0), input.map(|pair| pair.1.to_string()), value("x".to_owned())])
    })?;
    assert_eq!(patterns(&plan), Vec::<String>::new());
    assert_eq!(plan.graph().len(), 5);
    Ok(())
}

#[test]
fn every_node_is_in_its_body_and_every_body_has_its_owner() -> Result<(), PlanErrors> {
    let plan = Plan::new("bodies", |input: Step<String>| {
        let list = pipeline("pipe", join([input])).stage(|item| echo("one", item)).stage(|item| item).all();
        parallel("fan", ["a", "b"], |_| parallel_each("each", list, |item| echo("two", item)).all()).all()
    })?;
    let graph = plan.graph();
    for body in graph.bodies() {
        assert_eq!(body.owner.is_none(), body.id == BodyId::PLAN);
        assert!(body.owner.is_none_or(|owner| graph.bodies_of(owner).contains(&body.id)));
        assert!(body.nodes.iter().all(|node| graph.node(*node).body == body.id));
        assert!(body.params.iter().all(|param| body.nodes.contains(param)));
    }
    let listed: usize = graph.bodies().iter().map(|body| body.nodes.len()).sum();
    assert_eq!(listed, graph.len());
    Ok(())
}
