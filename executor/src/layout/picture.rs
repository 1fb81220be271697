//! A run as a picture: its plan's boxes, unrolled, each with its state. An arrow leads from the copy of a step that another
//! copy sees; through a placeholder, from what its group is given.

use super::{
    draw,
    group::{Built, Frame, Inside, Line},
    standing::Standing,
    unroll::Unroll,
};
use hermes_plan::{
    graph::{Kind, Node, NodeId},
    layout::{Arrow, BoxId, End, GroupId, Item, Picture, Shape, State},
};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn paint(run: &Unroll<'_>, plan: &Frame) -> Picture {
    let mut painter = Painter { run, boxes: 0, groups: 0, seen: Vec::new(), arrows: BTreeSet::new() };
    let items = painter.frame(plan);
    let title = format!("run of {}: {}", run.graph.name(), draw::whole(run, plan));
    Picture { title, items, arrows: painter.arrows.into_iter().collect() }
}

struct Painter<'a> {
    run: &'a Unroll<'a>,
    boxes: u32,
    groups: u32,
    /// The boxes of the steps in the frames around, innermost last.
    seen: Vec<BTreeMap<NodeId, BoxId>>,
    arrows: BTreeSet<Arrow>,
}

fn colour(standing: Standing) -> State {
    match standing {
        Standing::Done => State::Done,
        Standing::Failed | Standing::Cancelled | Standing::Interrupted => State::Failed,
        Standing::Running | Standing::Begun => State::Running,
        Standing::Waiting => State::Waiting,
        _ => State::Idle,
    }
}

impl Painter<'_> {
    fn frame(&mut self, frame: &Frame) -> Vec<Item> {
        self.seen.push(BTreeMap::new());
        let items = frame.lines.iter().map(|line| self.line(line)).collect();
        self.seen.pop();
        items
    }

    fn line(&mut self, line: &Line) -> Item {
        let node = self.run.graph.node(line.node);
        let state = self.run.state_of(node, line);
        let title = vec![node.name.clone(), self.run.lines.head(node), state];
        let members = self.run.members(node, &line.inside);
        let built = if let Inside::Grown(steps) = &line.inside { steps.as_slice() } else { &[] };
        let id = self.number();
        if let Some(frame) = self.seen.last_mut() {
            frame.insert(node.id, id);
        }
        if members.is_empty() && built.is_empty() {
            self.arrows_to(node, End::Box(id));
            let person = matches!(node.kind, Kind::Ask(_) | Kind::Review(_));
            let shape = if person { Shape::Person } else { Shape::Step };
            return Item::Box { id, shape, lines: title, state: Some(colour(line.state.standing)) };
        }
        self.groups += 1;
        let group = GroupId(self.groups);
        self.arrows_to(node, End::Group(group, id));
        let mut items: Vec<Item> = self.built(built, None);
        for member in members {
            let inside: Vec<_> = member.frames.iter().flat_map(|frame| self.frame(frame)).collect();
            if member.label.is_empty() {
                items.extend(inside);
            } else if inside.is_empty() {
                let (id, lines) = (self.number(), vec![member.label, member.state.to_string()]);
                let state = Some(colour(member.state.standing));
                items.push(Item::Box { id, shape: Shape::Step, lines, state });
            } else {
                self.groups += 1;
                let lines = vec![member.label, member.state.to_string()];
                items.push(Item::Group { id: GroupId(self.groups), lines, items: inside });
            }
        }
        // What the group yields leaves from a box of its own.
        let lines = vec![format!("-> {}", node.schema.label())];
        items.push(Item::Box { id, shape: Shape::Value, lines, state: Some(colour(line.state.standing)) });
        Item::Group { id: group, lines: title, items }
    }

    fn built(&mut self, steps: &[Built], inside: Option<usize>) -> Vec<Item> {
        let mut items = Vec::new();
        for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.inside == inside) {
            let counts = Standing::counts(step.copies.iter().map(|state| state.standing));
            let standing = Standing::of(step.copies.iter().map(|state| state.standing));
            let lines = vec![step.line.clone(), counts];
            let below = self.built(steps, Some(index));
            if below.is_empty() {
                let (id, state) = (self.number(), Some(colour(standing.unwrap_or(Standing::NotStarted))));
                items.push(Item::Box { id, shape: Shape::Step, lines, state });
            } else {
                self.groups += 1;
                items.push(Item::Group { id: GroupId(self.groups), lines, items: below });
            }
        }
        items
    }

    fn number(&mut self) -> BoxId {
        self.boxes += 1;
        BoxId(self.boxes)
    }

    fn arrows_to(&mut self, node: &Node, to: End) {
        for (from, dashed) in self.before(node) {
            self.arrows.insert(Arrow { from, to, label: String::new(), dashed });
        }
    }

    /// The boxes that lead to a node, and whether only order does.
    fn before(&self, node: &Node) -> BTreeSet<(BoxId, bool)> {
        let data = node.inputs.iter().map(|input| (input.node, false));
        let order = node.after.iter().map(|id| (*id, true));
        let mut found = BTreeSet::new();
        let mut open: Vec<(NodeId, bool)> = data.chain(order).collect();
        let mut met = BTreeSet::new();
        while let Some((id, dashed)) = open.pop() {
            for source in self.run.lines.sources(id) {
                if !met.insert((source, dashed)) {
                    continue;
                }
                let source = self.run.graph.node(source);
                if let Some(from) = self.seen.iter().rev().find_map(|frame| frame.get(&source.id)) {
                    found.insert((*from, dashed));
                } else if matches!(source.kind, Kind::Placeholder(_)) {
                    let owner =
                        self.run.graph.body(source.body).owner.map(|owner| self.run.graph.node(owner));
                    open.extend(
                        owner.into_iter().flat_map(|owner| &owner.inputs).map(|input| (input.node, dashed)),
                    );
                }
            }
        }
        found
    }
}
