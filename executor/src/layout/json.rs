//! A run as JSON: its plan's steps, unrolled, with their states.

use super::{
    draw,
    group::{Built, Frame, Inside, Line},
    standing::State,
    unroll::Unroll,
};
use hermes_plan::graph::{Graph, Node};
use serde_json::{Value, json};

pub(super) fn write(run: &Unroll<'_>, plan: &Frame) -> Value {
    json!({
        "format": 1,
        "plan": run.graph.name(),
        "line": run.lines.plan(),
        "state": draw::whole(run, plan),
        "steps": steps(run, plan),
    })
}

fn state(state: &State) -> Value {
    json!({ "is": state.standing.word(), "says": state.to_string() })
}

fn steps<'a>(run: &Unroll<'a>, frame: &Frame) -> Vec<Value> {
    let graph: &'a Graph = run.graph;
    let lines = frame.lines.iter().map(|line| (graph.node(line.node), step(run, line)));
    let scope = |name: &str, inside: Vec<(&'a Node, Value)>| {
        let first = inside[0].0;
        let steps: Vec<_> = inside.into_iter().map(|(_, step)| step).collect();
        (first, json!({ "scope": name, "steps": steps }))
    };
    run.lines.scoped(lines, |(node, _)| node, scope).into_iter().map(|(_, step)| step).collect()
}

fn step(run: &Unroll<'_>, line: &Line) -> Value {
    let node = run.graph.node(line.node);
    let mut json = run.lines.json(node);
    let says = run.state_of(node, line);
    let inside = match &line.inside {
        Inside::Grown(steps) => built(steps, None),
        inside => {
            let members = run.members(node, inside).into_iter();
            let json = members.map(|member| {
                let steps: Vec<_> = member.frames.iter().flat_map(|frame| steps(run, frame)).collect();
                json!({ "member": member.label, "state": state(&member.state), "steps": steps })
            });
            json.collect()
        }
    };
    if let Value::Object(json) = &mut json {
        json.insert("state".to_owned(), json!({ "is": line.state.standing.word(), "says": says }));
        if let Inside::Fan(fan) = &line.inside {
            json.insert("items".to_owned(), fan.items.len().into());
        }
        if !inside.is_empty() {
            json.insert("inside".to_owned(), inside.into());
        }
    }
    json
}

/// What was built at run time: lines with the states of their copies.
fn built(steps: &[Built], inside: Option<usize>) -> Vec<Value> {
    let here = steps.iter().enumerate().filter(|(_, step)| step.inside == inside);
    let json = here.map(|(index, step)| {
        let copies: Vec<_> = step.copies.iter().map(state).collect();
        json!({ "line": step.line, "copies": copies, "inside": built(steps, Some(index)) })
    });
    json.collect()
}
