//! The schemas that requests name by their ids: kept in the journal, so that it can be told later how one changed.

use hermes_core::{digest::Digest, journal::KeptSchema, schema::Schema};
use hermes_plan::graph::{CommandEnd, Graph, Kind, Node};
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// The schema that the request of a node names, with the id it has there; `None` where a request names none.
fn named_by(node: &Node) -> Option<(Digest, &Schema)> {
    match &node.kind {
        // Descriptions reach the model.
        Kind::Agent(agent) if !agent.text => Some((node.schema.id(), &node.schema)),
        Kind::Ask(_) | Kind::Step(_) | Kind::Files(_) => Some((node.schema.bare_id(), &node.schema)),
        Kind::Command(command) if command.output == CommandEnd::Json => {
            Some((node.schema.bare_id(), &node.schema))
        }
        Kind::Review(review) => Some((review.answer.bare_id(), &review.answer)),
        _ => None,
    }
}

/// The schemas of a graph whose ids are not among those `seen`, each once; they are seen from then on.
pub(crate) fn unseen(graph: &Graph, seen: &mut BTreeSet<Digest>) -> Vec<KeptSchema> {
    let mut unseen = Vec::new();
    for (id, schema) in graph.nodes().filter_map(named_by) {
        if !seen.contains(&id)
            && let Ok(schema) = RawValue::from_string(schema.text().to_owned())
        {
            seen.insert(id);
            unseen.push(KeptSchema { id, schema });
        }
    }
    unseen
}
