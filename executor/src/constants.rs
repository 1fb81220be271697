//! The constants of a plan that requests name by their digests: kept in the journal, so that it can be told later how one
//! changed. Those of parts that are built at run time are not: there may be one for each item.

use hermes_core::{digest::Digest, journal::KeptValue};
use hermes_plan::graph::{Graph, Kind};
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// A constant with a longer text is not kept.
const LONGEST: usize = 16 * 1024;

/// The constants that are inputs of steps of a graph and not among those `seen`, each once; they are seen from then on.
pub(crate) fn unseen(graph: &Graph, seen: &mut BTreeSet<Digest>) -> Vec<KeptValue> {
    let mut unseen = Vec::new();
    for input in graph.nodes().flat_map(|node| &node.inputs).filter(|input| graph.contains(input.node)) {
        let Kind::Constant(value) = &graph.node(input.node).kind else { continue };
        let digest = value.digest();
        if seen.contains(&digest) {
            continue;
        }
        if let Ok(text) = value.text()
            && text.len() <= LONGEST
            && let Ok(value) = RawValue::from_string(text.to_string())
        {
            seen.insert(digest);
            unseen.push(KeptValue { digest, value });
        }
    }
    unseen
}
