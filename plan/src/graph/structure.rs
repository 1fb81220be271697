//! The shape of a part of a plan: what is compared when it is built again, and what a journal keeps of it.

use super::{Around, Graph, Grown, Kind, Node, NodeId};
use hermes_core::{
    digest::{Digest, DigestWriter},
    journal::{PlannedStep, Structure},
    path::StepPath,
};
use std::{collections::BTreeMap, sync::Arc};

/// Derived values are seen through this far when an input from around the part is told.
const DEEPEST: usize = 8;

impl Grown {
    /// A part with its shape.
    pub(crate) fn new(graph: Graph, around: &Around) -> Self {
        let (shape, structure) = (shape(&graph, around), structure(&graph));
        Self { graph: Arc::new(graph), shape, structure }
    }
}

/// What the shape depends on: names, kinds, types, and where inputs come from. Not prompts and options: those are compared
/// step by step.
fn shape(graph: &Graph, around: &Around) -> Digest {
    let first = graph.part().first_node;
    let above = around.node(around.owner).map_or(0, |owner| owner.pattern.segments().len());
    let mut writer = DigestWriter::new("hermes structure");
    writer.list(graph.len());
    for node in graph.nodes() {
        // As it is called below what it was built by: that may have another name some day.
        let inside = node.pattern.segments().get(above..).unwrap_or_default();
        writer.text(&StepPath::new(inside.to_vec()).to_string());
        writer.text(word(node));
        writer.digest(&node.schema.bare_id());
        writer.list(node.inputs.len());
        for input in &node.inputs {
            writer.text(&input.name);
            writer.text(&source(graph, around, first, input.node, 0));
        }
        writer.list(node.after.len());
        for before in &node.after {
            writer.text(&source(graph, around, first, *before, 0));
        }
    }
    writer.text(&source(graph, around, first, graph.body(graph.root()).result, 0));
    writer.finish()
}

fn word(node: &Node) -> &str {
    match &node.kind {
        Kind::Derived(derived) => derived.verb,
        Kind::Placeholder(placeholder) => placeholder.word(),
        kind => kind.word(),
    }
}

/// Where an input comes from. Around the part neither ids nor names last: which step it was, the values say, by which every
/// step is compared.
fn source(graph: &Graph, around: &Around, first: u32, id: NodeId, depth: usize) -> String {
    if graph.contains(id) {
        return format!("{}", id.0 - first);
    }
    let Some(node) = around.node(id) else { return String::new() };
    if !node.pattern.is_empty() || depth == DEEPEST {
        return word(node).to_owned();
    }
    let inputs: Vec<_> =
        node.inputs.iter().map(|input| source(graph, around, first, input.node, depth + 1)).collect();
    format!("{}({})", word(node), inputs.join(","))
}

/// Its steps in order, each with the group it stands in.
fn structure(graph: &Graph) -> Structure {
    let mut steps = Vec::new();
    let mut numbers: BTreeMap<NodeId, u32> = BTreeMap::new();
    for node in graph.nodes().filter(|node| !node.pattern.is_empty()) {
        numbers.insert(node.id, u32::try_from(steps.len()).unwrap_or(u32::MAX));
        let owner = graph.body(node.body).owner;
        steps.push(PlannedStep {
            path: node.pattern.clone(),
            kind: node.kind.word().to_owned(),
            yields: node.schema.label().to_owned(),
            inside: owner.and_then(|owner| numbers.get(&owner).copied()),
        });
    }
    Structure { steps }
}
