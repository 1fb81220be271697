//! Paints a graph as a picture. Bodies are groups; a group's placeholders are fed from its inputs, its bodies' results
//! lead to a small box from which its own output goes on. All arrows are read from the graph.

use super::{
    picture::{Arrow, BoxId, End, GroupId, Item, Picture, Shape},
    sources::{Source, Sources},
    text::has_line,
    words,
};
use crate::graph::{Body, BodyId, Graph, Kind, Node, NodeId, Placeholder};
use std::collections::{BTreeMap, BTreeSet};

/// Paints a plan.
pub(super) fn paint(graph: &Graph) -> Picture {
    let sources = Sources::new(graph);
    let mut boxes = Boxes {
        graph,
        sources: &sources,
        made: 0,
        groups: 0,
        out: BTreeMap::new(),
        ends: BTreeMap::new(),
        people: BTreeMap::new(),
    };
    let plan = graph.body(BodyId::PLAN);
    let mut items = boxes.body(plan);
    let output = boxes.number();
    items.push(value_box(output, vec!["output".to_owned(), graph.output().label().to_owned()]));
    let mut arrows = Arrows { graph, sources: &sources, boxes, drawn: BTreeSet::new(), made: Vec::new() };
    graph.nodes().for_each(|node| arrows.node(node));
    arrows.draw(plan.result, End::Box(output), "");
    Picture { title: graph.name().to_owned(), items, arrows: arrows.made }
}

fn value_box(id: BoxId, lines: Vec<String>) -> Item {
    Item::Box { id, shape: Shape::Value, lines, state: None }
}

fn is_seen_through(node: &Node) -> bool {
    matches!(node.kind, Kind::Derived(_))
}

/// Whether a body has no box of its own.
fn is_bare(graph: &Graph, body: &Body) -> bool {
    body.nodes.iter().all(|id| is_seen_through(graph.node(*id)))
}

/// The first pass: a box or group a node.
struct Boxes<'a> {
    graph: &'a Graph,
    sources: &'a Sources<'a>,
    made: u32,
    groups: u32,
    /// By node: the box its output leaves from.
    out: BTreeMap<NodeId, BoxId>,
    /// By node: where what comes before it points to.
    ends: BTreeMap<NodeId, End>,
    /// By node, for reviews with bodies: the box of the person.
    people: BTreeMap<NodeId, BoxId>,
}

impl<'a> Boxes<'a> {
    fn number(&mut self) -> BoxId {
        self.made += 1;
        BoxId(self.made)
    }

    fn group(&mut self) -> GroupId {
        self.groups += 1;
        GroupId(self.groups)
    }

    fn body(&mut self, body: &'a Body) -> Vec<Item> {
        let nodes: Vec<_> = body.nodes.iter().map(|id| self.graph.node(*id)).collect();
        let drawn: Vec<_> = nodes.into_iter().filter(|node| !is_seen_through(node)).collect();
        self.grouped(&drawn, 0)
    }

    fn grouped(&mut self, nodes: &[&'a Node], depth: usize) -> Vec<Item> {
        let mut items = Vec::new();
        for run in nodes.chunk_by(|one, other| one.scopes.get(depth) == other.scopes.get(depth)) {
            match run.first().and_then(|node| node.scopes.get(depth)) {
                // A scope of values alone is not drawn as one.
                Some(scope) if run.iter().any(|node| has_line(node)) => {
                    let id = self.group();
                    let items_inside = self.grouped(run, depth + 1);
                    items.push(Item::Group {
                        id,
                        lines: vec![scope.clone(), "scope".to_owned()],
                        items: items_inside,
                    });
                }
                Some(_) => items.extend(self.grouped(run, depth + 1)),
                None => items.extend(run.iter().map(|node| self.node(node))),
            }
        }
        items
    }

    fn node(&mut self, node: &'a Node) -> Item {
        let head = words::head(&node.kind, None);
        let label = node.schema.label();
        let bodies = self.graph.bodies_of(node.id);
        if bodies.is_empty() {
            let id = self.number();
            self.out.insert(node.id, id);
            self.ends.insert(node.id, End::Box(id));
            return match &node.kind {
                Kind::Placeholder(placeholder) => {
                    value_box(id, vec![self.sources.word(node, *placeholder), label.to_owned()])
                }
                Kind::Constant(_) => value_box(id, vec![head, label.to_owned()]),
                kind => {
                    let person = matches!(kind, Kind::Ask(_) | Kind::Review(_));
                    let shape = if person { Shape::Person } else { Shape::Step };
                    Item::Box {
                        id,
                        shape,
                        lines: vec![node.name.clone(), format!("{head} -> {label}")],
                        state: None,
                    }
                }
            };
        }
        let id = self.group();
        let mut items = Vec::new();
        let asks = matches!(node.kind, Kind::Review(_)).then(|| self.number());
        let decides = matches!(&node.kind, Kind::Review(review) if review.end.decides());
        items.extend(asks.map(|id| {
            let mut lines = vec!["review".to_owned()];
            // What a person decides on goes two ways; the output comes from there.
            lines.extend((!decides).then(|| format!("-> {label}")));
            Item::Box { id, shape: Shape::Person, lines, state: None }
        }));
        self.people.extend(asks.map(|person| (node.id, person)));
        for body in bodies.into_iter().map(|body| self.graph.body(body)) {
            items.extend(self.inside(node, body));
        }
        let out = asks.filter(|_| !decides).unwrap_or_else(|| {
            let gathers = self.number();
            items.push(value_box(gathers, vec![format!("-> {label}")]));
            gathers
        });
        self.out.insert(node.id, out);
        self.ends.insert(node.id, asks.map_or(End::Group(id, out), End::Box));
        Item::Group { id, lines: vec![node.name.clone(), head], items }
    }

    fn inside(&mut self, owner: &Node, body: &'a Body) -> Vec<Item> {
        let Some(role) = words::role(owner, body) else { return self.body(body) };
        if is_bare(self.graph, body) {
            return Vec::new();
        }
        let id = self.group();
        vec![Item::Group { id, lines: vec![role], items: self.body(body) }]
    }
}

/// The second pass: the arrows.
struct Arrows<'a> {
    graph: &'a Graph,
    sources: &'a Sources<'a>,
    boxes: Boxes<'a>,
    drawn: BTreeSet<Arrow>,
    made: Vec<Arrow>,
}

impl<'a> Arrows<'a> {
    fn node(&mut self, node: &'a Node) {
        let Some(end) = self.boxes.ends.get(&node.id).copied() else { return };
        let Some(out) = self.boxes.out.get(&node.id).copied() else { return };
        let bodies: Vec<_> =
            self.graph.bodies_of(node.id).into_iter().map(|body| self.graph.body(body)).collect();
        match &node.kind {
            Kind::Placeholder(_) | Kind::Constant(_) | Kind::Derived(_) => return,
            Kind::Agent(_)
            | Kind::Ask(_)
            | Kind::Step(_)
            | Kind::Command(_)
            | Kind::Wait(_)
            | Kind::Files(_)
            | Kind::Again { .. }
            | Kind::Then(_) => self.inputs(node, end),
            Kind::Parallel { .. } => {
                self.inputs(node, end);
                for body in bodies {
                    // A child without a box of its own would not show otherwise.
                    let key = is_bare(self.graph, body).then(|| words::role(node, body)).flatten();
                    self.draw(body.result, End::Box(out), &key.unwrap_or_default());
                }
            }
            Kind::Each { .. } | Kind::Branch { .. } | Kind::Call(_) | Kind::Recursive(_) => {
                for body in bodies {
                    self.feed(node, body, end);
                    for needed in self.needed(body) {
                        self.draw(body.result, self.end(needed, end), "needed");
                    }
                    self.draw(body.result, End::Box(out), self.sources.flow(body.result).unwrap_or_default());
                }
            }
            Kind::Pipeline { .. } => self.stages(node, &bodies, end, out),
            Kind::Repeat(_) => self.rounds(node, &bodies, end, out),
            Kind::Catch(_) => self.attempt(&bodies, end, out),
            Kind::Review(review) => {
                self.inputs(node, end);
                let person = self.boxes.people.get(&node.id).copied().unwrap_or(out);
                for body in bodies {
                    let revises = review.revise == Some(body.id);
                    let words = if revises { ["", "request changes"] } else { ["", "reject"] };
                    for (param, label) in body.params.iter().zip(words) {
                        self.arrow(person, self.end(*param, end), label);
                    }
                    let (to, word) = if revises { (end, "revised") } else { (End::Box(out), "") };
                    self.draw(body.result, to, word);
                }
            }
        }
        for before in &node.after {
            for source in self.sources.of(*before) {
                self.join(&source, end, "", true);
            }
        }
    }

    fn stages(&mut self, node: &Node, bodies: &[&'a Body], end: End, out: BoxId) {
        for (stage, body) in bodies.iter().enumerate() {
            match (stage.checked_sub(1).and_then(|before| bodies.get(before)), body.params.split_first()) {
                (Some(before), Some((item, original))) => {
                    self.draw(before.result, self.end(*item, end), "");
                    for param in original {
                        self.inputs(node, self.end(*param, end));
                    }
                }
                _ => self.feed(node, body, end),
            }
        }
        if let Some(last) = bodies.last() {
            self.draw(last.result, End::Box(out), "");
        }
    }

    fn rounds(&mut self, node: &Node, bodies: &[&'a Body], end: End, out: BoxId) {
        let Some((body, or_else)) = bodies.split_first() else { return };
        self.feed(node, body, end);
        let flow = self.sources.flow(body.result);
        if flow != Some("done") {
            for param in &body.params {
                self.draw(body.result, self.end(*param, end), "again");
            }
        }
        if flow != Some("again") {
            self.draw(body.result, End::Box(out), "done");
        }
        for other in or_else {
            for param in &other.params {
                self.draw(body.result, self.end(*param, end), "rounds used up");
            }
            self.draw(other.result, End::Box(out), "");
        }
    }

    /// What a catch watches over leads to its output, or fails into its else.
    fn attempt(&mut self, bodies: &[&'a Body], end: End, out: BoxId) {
        let Some((body, or_else)) = bodies.split_first() else { return };
        self.draw(body.result, End::Box(out), "");
        for other in or_else {
            for param in &other.params {
                self.draw(body.result, self.end(*param, end), "failed");
            }
            self.draw(other.result, End::Box(out), "");
        }
    }

    /// A body gets its owner's inputs through its placeholders; without any, the owner itself is drawn as getting them.
    fn feed(&mut self, owner: &Node, body: &Body, end: End) {
        if body.params.is_empty() {
            self.inputs(owner, end);
        }
        let needed = self.needed(body);
        for param in body.params.iter().filter(|param| !needed.contains(param)) {
            self.inputs(owner, self.end(*param, end));
        }
    }

    /// The placeholder for what items need of each other.
    fn needed(&self, body: &Body) -> Vec<NodeId> {
        let is = |id: &&NodeId| matches!(self.graph.node(**id).kind, Kind::Placeholder(Placeholder::Needed));
        body.params.iter().filter(is).copied().collect()
    }

    fn end(&self, node: NodeId, otherwise: End) -> End {
        self.boxes.ends.get(&node).copied().unwrap_or(otherwise)
    }

    fn inputs(&mut self, node: &Node, end: End) {
        for input in &node.inputs {
            self.draw(input.node, end, "");
        }
    }

    /// Arrows from whatever the output of `from` is made of.
    fn draw(&mut self, from: NodeId, to: End, word: &str) {
        for source in self.sources.of(from) {
            self.join(&source, to, word, false);
        }
    }

    fn join(&mut self, source: &Source, to: End, word: &str, dashed: bool) {
        let Some(from) = self.boxes.out.get(&source.node).copied() else { return };
        let verbs = source.verbs.join(".");
        let label =
            if verbs.is_empty() || word.is_empty() { verbs + word } else { format!("{verbs}, {word}") };
        self.add(Arrow { from, to, label, dashed });
    }

    fn arrow(&mut self, from: BoxId, to: End, label: &str) {
        self.add(Arrow { from, to, label: label.to_owned(), dashed: false });
    }

    /// Two inputs from one source are one arrow.
    fn add(&mut self, arrow: Arrow) {
        if self.drawn.insert(arrow.clone()) {
            self.made.push(arrow);
        }
    }
}
