//! Where inputs come from, and what to call it: derived nodes are seen through, and a source is named relative to the
//! step that uses it. Every form of drawing reads its edges here.

use crate::graph::{BodyId, Derived, Graph, Kind, Node, NodeId, NodeInput, Placeholder};
use std::{collections::BTreeSet, iter};

/// A chain of verbs longer than this is drawn with an ellipsis.
const LONGEST: usize = 4;
/// Verbs that are not shown behind a source: a join is its sources, and a flow is told where the body's result is.
const SILENT: [&str; 3] = ["join", "again", "done"];
/// Words that stand for something else than a step of that name.
const RESERVED: [&str; 8] = ["input", "item", "needed", "value", "feedback", "state", "failure", "constant"];

/// Where in the plan a name is read.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    body: BodyId,
    scopes: &'a [String],
}

impl<'a> Place<'a> {
    /// Where this node stands.
    pub(super) fn of(node: &'a Node) -> Self {
        Self { body: node.body, scopes: &node.scopes }
    }

    /// The end of this body, outside its scopes.
    pub(super) fn end_of(body: BodyId) -> Self {
        Self { body, scopes: &[] }
    }
}

/// A node that is no derived one, and the verbs its output goes through.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source {
    pub(super) node: NodeId,
    pub(super) verbs: Vec<&'static str>,
}

impl Source {
    fn plain(node: NodeId) -> Self {
        Self { node, verbs: Vec::new() }
    }

    fn through(&mut self, verb: &'static str) {
        if self.verbs.len() < LONGEST {
            self.verbs.push(verb);
        } else if self.verbs.len() == LONGEST {
            self.verbs.push("…");
        }
    }
}

/// The sources of one graph.
pub(super) struct Sources<'a> {
    graph: &'a Graph,
    /// For each node, what its chain of one-input verbs starts from: no derived node, or one with many inputs.
    chains: Vec<Source>,
    /// Every name with the scopes before it, by body.
    names: BTreeSet<(BodyId, String)>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let mut chains: Vec<Source> = Vec::with_capacity(graph.len());
        let mut names = BTreeSet::new();
        for node in graph.nodes() {
            let chain = if let Kind::Derived(Derived { verb, .. }) = &node.kind {
                // A derived node is made after its inputs.
                let start =
                    if let [one] = node.inputs.as_slice() { chains.get(index(one.node)) } else { None };
                let mut chain = start.cloned().unwrap_or(Source::plain(node.id));
                if !SILENT.contains(verb) {
                    chain.through(verb);
                }
                chain
            } else {
                Source::plain(node.id)
            };
            chains.push(chain);
            if !node.name.is_empty() {
                names.insert((node.body, path(&node.scopes, &node.name)));
            }
        }
        Self { graph, chains, names }
    }

    fn chain(&self, id: NodeId) -> Source {
        self.chains.get(index(id)).cloned().unwrap_or(Source::plain(id))
    }

    /// The verb of a loop's flow, where this node is one.
    pub(super) fn flow(&self, id: NodeId) -> Option<&'static str> {
        match &self.graph.node(id).kind {
            Kind::Derived(Derived { verb: verb @ ("again" | "done"), .. }) => Some(verb),
            _ => None,
        }
    }

    /// What the output of this node is made of, each source with its verbs once, in the author's order.
    pub(super) fn of(&self, id: NodeId) -> Vec<Source> {
        self.flatten(vec![Source::plain(id)])
    }

    /// Sees through joins. `open` is a stack: the verbs in it come behind those found below.
    fn flatten(&self, mut open: Vec<Source>) -> Vec<Source> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        while let Some(next) = open.pop() {
            let mut source = self.chain(next.node);
            next.verbs.iter().for_each(|verb| source.through(verb));
            if !seen.insert(source.clone()) {
                continue;
            }
            let node = self.graph.node(source.node);
            if matches!(node.kind, Kind::Derived(_)) {
                let inputs = node.inputs.iter().rev();
                open.extend(inputs.map(|input| Source { node: input.node, verbs: source.verbs.clone() }));
            } else {
                found.push(source);
            }
        }
        found
    }

    /// The inputs as a list: `research, (drafts, notes).map`.
    pub(super) fn list(&self, inputs: &[NodeInput], place: Place<'a>) -> String {
        inputs.iter().flat_map(|input| self.labels(input.node, place)).collect::<Vec<_>>().join(", ")
    }

    /// The inputs as one thing: as [`Sources::list`], in brackets unless it is one.
    pub(super) fn one(&self, inputs: &[NodeInput], place: Place<'a>) -> String {
        let labels: Vec<_> = inputs.iter().flat_map(|input| self.labels(input.node, place)).collect();
        if let [one] = labels.as_slice() { one.clone() } else { format!("({})", labels.join(", ")) }
    }

    /// What to call the output of a node: one label, or those of what it joins.
    pub(super) fn labels(&self, id: NodeId, place: Place<'a>) -> Vec<String> {
        let chain = self.chain(id);
        let node = self.graph.node(chain.node);
        if !matches!(node.kind, Kind::Derived(_)) {
            return vec![self.label(&chain, place)];
        }
        let inputs = node.inputs.iter().rev().map(|input| Source::plain(input.node)).collect();
        let labels: Vec<_> = self.flatten(inputs).iter().map(|source| self.label(source, place)).collect();
        match (labels.as_slice(), chain.verbs.as_slice()) {
            (_, []) => labels,
            ([one], verbs) => vec![format!("{one}.{}", verbs.join("."))],
            (several, verbs) => vec![format!("({}).{}", several.join(", "), verbs.join("."))],
        }
    }

    fn label(&self, source: &Source, place: Place<'a>) -> String {
        let node = self.graph.node(source.node);
        let mut label = match node.kind {
            Kind::Placeholder(placeholder) => self.placeholder(node, placeholder, place),
            // Not to be taken for the placeholder of that name.
            Kind::Constant(_) if self.sees_value(place) => "constant".to_owned(),
            Kind::Constant(_) => "value".to_owned(),
            _ => self.step(node, place),
        };
        for verb in &source.verbs {
            label.push('.');
            label.push_str(verb);
        }
        label
    }

    /// A step's name as it reads at `place`; its whole path, from a slash on, where a nearer step would be meant.
    fn step(&self, node: &Node, place: Place<'a>) -> String {
        let Some(around) = self.around(place).find(|around| around.body == node.body) else {
            return format!("/{}", node.pattern);
        };
        let shared = around.scopes.iter().zip(&node.scopes).take_while(|(one, other)| one == other).count();
        let relative = path(&node.scopes[shared..], &node.name);
        if RESERVED.contains(&relative.as_str()) || self.is_hidden(node, &relative, shared, place) {
            format!("/{}", node.pattern)
        } else {
            relative
        }
    }

    /// Whether a step nearer to `place` has the name by which `node` would be called.
    fn is_hidden(&self, node: &Node, relative: &str, shared: usize, place: Place<'a>) -> bool {
        for near in self.around(place) {
            let outermost = if near.body == node.body { shared + 1 } else { 0 };
            let taken =
                |depth: usize| self.names.contains(&(near.body, path(&near.scopes[..depth], relative)));
            if (outermost..=near.scopes.len()).any(taken) {
                return true;
            }
            if near.body == node.body {
                break;
            }
        }
        false
    }

    fn placeholder(&self, node: &Node, placeholder: Placeholder, place: Place<'a>) -> String {
        let word = self.word(node, placeholder);
        let mut inside = self.around(place).take_while(|near| near.body != node.body);
        let is_nearer = inside.any(|near| self.param(near.body, placeholder).is_some());
        match self.graph.body(node.body).owner {
            Some(owner) if is_nearer => format!("{word} of {}", self.step(self.graph.node(owner), place)),
            _ => word,
        }
    }

    /// The word for a placeholder in its own body. A later stage may see the item as it entered beside the item as it is.
    pub(super) fn word(&self, node: &Node, placeholder: Placeholder) -> String {
        match self.param(node.body, placeholder) {
            Some(first) if first != node.id => format!("original {}", placeholder.word()),
            _ => placeholder.word().to_owned(),
        }
    }

    fn param(&self, body: BodyId, like: Placeholder) -> Option<NodeId> {
        let is_like =
            |id: &NodeId| matches!(self.graph.node(*id).kind, Kind::Placeholder(word) if word == like);
        self.graph.body(body).params.iter().copied().find(is_like)
    }

    fn sees_value(&self, place: Place<'a>) -> bool {
        self.around(place).any(|around| self.param(around.body, Placeholder::Value).is_some())
    }

    /// This place and those around it, innermost first.
    fn around(&self, place: Place<'a>) -> impl Iterator<Item = Place<'a>> {
        iter::successors(Some(place), |place| {
            self.graph.body(place.body).owner.map(|owner| Place::of(self.graph.node(owner)))
        })
    }
}

fn index(id: NodeId) -> usize {
    id.0 as usize
}

fn path(scopes: &[String], name: &str) -> String {
    let mut path = String::new();
    for scope in scopes {
        path.push_str(scope);
        path.push('/');
    }
    path.push_str(name);
    path
}
