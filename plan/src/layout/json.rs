//! A plan as JSON, for programs that draw it themselves.
//!
//! Format 1: `{"format": 1, "plan", "input", "output", "steps": [..], "yields"}`. A step is `{"step", "path", "kind", "line",
//! "from": [..], "after": [..], "type", "bodies": [{"role", "steps", "yields"}]}`: its name, the pattern of its path, what it
//! is, its line in the text tree, what its inputs and its order come from, what drawings call its type, and the bodies of a
//! group. A scope is `{"scope", "steps"}`. `role` and `yields` are null where the text tree says nothing. Fields may be added
//! to the format; a field that changes its meaning makes a new one.

use super::Lines;
use crate::graph::{Body, BodyId, Graph, Node};
use serde_json::{Value, json};

/// Writes a plan.
pub(super) fn write(graph: &Graph) -> Value {
    let lines = Lines::new(graph);
    let plan = graph.body(BodyId::PLAN);
    let json = Json { graph, lines: &lines };
    json!({
        "format": 1,
        "plan": graph.name(),
        "input": graph.input().label(),
        "output": graph.output().label(),
        "line": lines.plan(),
        "steps": json.steps(plan),
        "yields": lines.result(plan),
    })
}

struct Json<'a> {
    graph: &'a Graph,
    lines: &'a Lines<'a>,
}

impl<'a> Json<'a> {
    fn steps(&self, body: &'a Body) -> Vec<Value> {
        let steps = self.lines.nodes(body).map(|node| (node, self.node(node)));
        let scope = |name: &str, inside: Vec<(&'a Node, Value)>| {
            let first = inside[0].0;
            let steps: Vec<_> = inside.into_iter().map(|(_, step)| step).collect();
            (first, json!({ "scope": name, "steps": steps }))
        };
        self.lines.scoped(steps, |(node, _)| node, scope).into_iter().map(|(_, step)| step).collect()
    }

    fn node(&self, node: &'a Node) -> Value {
        let mut step = self.lines.json(node);
        let bodies = self.graph.bodies_of(node.id).into_iter().map(|body| self.graph.body(body));
        let bodies: Vec<_> = bodies.map(|body| self.body(node, body)).collect();
        if let (Value::Object(step), false) = (&mut step, bodies.is_empty()) {
            step.insert("bodies".to_owned(), bodies.into());
        }
        step
    }

    fn body(&self, owner: &Node, body: &'a Body) -> Value {
        json!({
            "role": self.lines.role(owner, body),
            "steps": self.steps(body),
            "yields": self.lines.result(body),
        })
    }
}
