//! The other forms of a drawing: JSON from which the text can be made again, pictures that a strict reader of DOT takes, and
//! runs with as many items as are asked for.

use super::{assert_drawing, blog_post, plans};
use crate::support::*;
use hermes_workflows::{
    executor::{DriveError, RunLayout},
    plan::layout::Drawing,
    prelude::*,
};
use serde_json::Value;
use std::collections::BTreeSet;

fn all() -> Vec<AnyPlan> {
    let mut all = plans::plans().unwrap();
    all.push(Plan::new("blog-post", blog_post::blog_post).unwrap().into());
    all
}

/// The text tree, made of nothing but the JSON.
fn rebuilt(json: &Value) -> Drawing {
    let mut lines = steps(json);
    lines.extend(json["yields"].as_str().map(Drawing::leaf));
    Drawing::with(json["line"].as_str().unwrap(), lines)
}

fn steps(body: &Value) -> Vec<Drawing> {
    body["steps"].as_array().unwrap().iter().map(drawn).collect()
}

fn drawn(step: &Value) -> Drawing {
    if let Some(scope) = step["scope"].as_str() {
        return Drawing::with(format!("{scope}: scope"), steps(step));
    }
    let bodies = step["bodies"].as_array().into_iter().flatten();
    let inside = bodies.flat_map(|one| body(step["kind"].as_str().unwrap(), one)).collect();
    Drawing::with(step["line"].as_str().unwrap(), inside)
}

fn body(owner: &str, body: &Value) -> Vec<Drawing> {
    let mut lines = steps(body);
    lines.extend(body["yields"].as_str().map(Drawing::leaf));
    let Some(role) = body["role"].as_str() else { return lines };
    let short = owner == "parallel" || body["steps"].as_array().unwrap().is_empty();
    match lines.pop() {
        Some(only) if short && lines.is_empty() => {
            vec![Drawing::with(format!("{role} {}", only.line), only.children)]
        }
        last => {
            lines.extend(last);
            vec![Drawing::with(role, lines)]
        }
    }
}

#[test]
fn the_text_can_be_made_again_from_the_json() {
    for plan in all() {
        let json = plan.layout().json();
        assert_eq!(json["format"], 1);
        assert_eq!(rebuilt(&json).to_string(), plan.layout().text(), "{}", plan.name());
    }
    let plan = Plan::new("nested", plans::pipelines_in_parallel).unwrap();
    assert_drawing("topology-nested-json", &serde_json::to_string_pretty(&plan.layout().json()).unwrap());
}

#[test]
fn every_picture_is_dot_that_a_strict_reader_takes() {
    for plan in all() {
        let dot = plan.layout().dot();
        let read = Dot::read(&dot).unwrap_or_else(|why| panic!("{}: {why}\n{dot}", plan.name()));
        assert!(!read.boxes.is_empty());
    }
}

async fn a_run(count: u32) -> (Executor, Plan<Vec<u32>, usize>) {
    let plan = Plan::new("forms", |items: Step<Vec<u32>>| {
        let told = parallel_each("items", items, |item| {
            let said = agent("say").input("item", item).prompt("Say it.").text();
            let checked = step("check")
                .input("said", said)
                .after(said)
                .try_run(|said| if said.contains("[1]") { Err("no luck") } else { Ok(said.clone()) });
            branch("long", checked).when("yes", |said| said.len() > 90, |said| said).otherwise(|said| said)
        })
        .results();
        let go = ask("go").input("told", told).returns::<bool>();
        told.then("count", move |told| value(told.len())).then("wait_for_it", move |count| {
            let count = *count;
            go.map(move |_| count)
        })
    })
    .unwrap();
    let (runner, _) = echo();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    start(&executor, &plan, (0..count).collect()).await.waiting();
    (executor, plan)
}

#[tokio::test]
async fn a_run_in_all_forms() {
    let (executor, plan) = a_run(3).await;
    let layout = RunLayout::read(&executor, &plan, &run_id()).unwrap();
    assert_drawing("run-forms", &layout.text().unwrap());
    assert_drawing("run-forms-mermaid", &layout.mermaid().unwrap());
    let dot = layout.dot().unwrap();
    let read = Dot::read(&dot).unwrap_or_else(|why| panic!("{why}\n{dot}"));
    assert!(read.arrows > 3 && read.groups > 3, "{dot}");
    assert_drawing("run-forms-dot", &dot);
    assert_drawing("run-forms-json", &serde_json::to_string_pretty(&layout.json().unwrap()).unwrap());
}

#[tokio::test]
async fn many_items_are_one_box_with_counts_until_they_are_asked_for() {
    let (executor, plan) = a_run(30).await;
    let layout = RunLayout::read(&executor, &plan, &run_id()).unwrap();
    for drawn in [layout.text().unwrap(), layout.mermaid().unwrap(), layout.json().unwrap().to_string()] {
        assert!(drawn.contains("30 items") || drawn.contains("#51;0 items"), "{drawn}");
        assert!(!drawn.contains("say: agent"), "{drawn}");
    }
    assert_eq!(layout.json().unwrap()["steps"][0]["items"], 30);
    let items = layout.clone().items("items").unwrap();
    assert_eq!(items.text().unwrap().matches("say: agent(item) -> string · done").count(), 30);
    Dot::read(&items.dot().unwrap()).unwrap();
    assert_eq!(items.json().unwrap()["steps"][0]["inside"].as_array().unwrap().len(), 30);
    match layout.items("item") {
        Err(DriveError::NoSuchGroup { path, groups }) => {
            assert_eq!((path.as_str(), groups.as_slice()), ("item", ["items".to_owned()].as_slice()));
        }
        other => panic!("{other:?}"),
    }
}

/// What a strict reader of the part of DOT that is written finds in a graph.
#[derive(Default)]
struct Dot {
    boxes: BTreeSet<String>,
    clusters: BTreeSet<String>,
    arrows: usize,
    groups: usize,
}

impl Dot {
    fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate();
        let (_, first) = lines.next().ok_or("nothing")?;
        let title = first.strip_prefix("digraph ").and_then(|rest| rest.strip_suffix(" {"));
        quoted(title.ok_or("no digraph")?)?;
        let (mut dot, mut depth, mut arrows) = (Self::default(), 1, Vec::new());
        for (number, line) in lines {
            let line = line.trim();
            let at = |why: &str| format!("line {}: {why}: {line}", number + 1);
            if depth == 0 {
                return Err(at("something after the end"));
            } else if line == "}" {
                depth -= 1;
            } else if let Some(cluster) = line.strip_prefix("subgraph ") {
                let name = cluster.strip_suffix(" {").ok_or_else(|| at("a subgraph without a brace"))?;
                if !name.starts_with("cluster_") || !dot.clusters.insert(name.to_owned()) {
                    return Err(at("a name that is none, or twice"));
                }
                dot.groups += 1;
                depth += 1;
            } else {
                let statement = line.strip_suffix(';').ok_or_else(|| at("no semicolon"))?;
                let (head, options) = match statement.split_once(" [") {
                    Some((head, rest)) => (head, rest.strip_suffix(']').ok_or_else(|| at("no bracket"))?),
                    None => (statement, ""),
                };
                let options = attributes(options).map_err(|why| at(&why))?;
                if let Some((from, to)) = head.split_once(" -> ") {
                    arrows.push((from.to_owned(), to.to_owned()));
                    arrows.extend(
                        options
                            .iter()
                            .filter(|(key, _)| key == "lhead")
                            .map(|(_, cluster)| (cluster.clone(), cluster.clone())),
                    );
                } else if head == "compound=true" || head == "node" {
                } else if let Some(label) = head.strip_prefix("label=") {
                    quoted(label).map_err(|why| at(&why))?;
                } else if !head.starts_with('n') || !dot.boxes.insert(head.to_owned()) {
                    return Err(at("a box that is none, or twice"));
                }
            }
        }
        let known = |name: &String| dot.boxes.contains(name) || dot.clusters.contains(name);
        match arrows.iter().find(|(from, to)| !known(from) || !known(to)) {
            Some(lost) => Err(format!("an arrow between what is not there: {lost:?}")),
            None if depth != 0 => Err("no end".to_owned()),
            None => Ok(Self { arrows: arrows.len(), ..dot }),
        }
    }
}

/// `key=value, key="value"`.
fn attributes(mut text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    while !text.is_empty() {
        let (key, rest) = text.split_once('=').ok_or("an option without a value")?;
        let end = if let Some(inner) = rest.strip_prefix('"') {
            let mut escaped = false;
            let close = inner.char_indices().find(|(_, c)| {
                let closes = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                closes
            });
            close.map(|(at, _)| at + 2).ok_or("a quote that does not end")?
        } else {
            rest.find(", ").unwrap_or(rest.len())
        };
        let (value, after) = rest.split_at(end);
        if value.starts_with('"') {
            quoted(value)?;
        }
        found.push((key.to_owned(), value.to_owned()));
        text = after.strip_prefix(", ").unwrap_or(after);
        if text == after && !text.is_empty() {
            return Err(format!("something behind a value: {text}"));
        }
    }
    Ok(found)
}

fn quoted(text: &str) -> Result<(), String> {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or("no quotes")?;
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Err("a bare quote".to_owned()),
            '\\' if !matches!(chars.next(), Some('\\' | '"' | 'n')) => {
                return Err("a bare backslash".to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}
