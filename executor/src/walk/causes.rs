//! Closing causes: one stays open until everything downstream of it was reused or run again.

use super::{
    frame::{FrameId, Slot},
    state::Walk,
};
use hermes_core::ids::Seq;
use hermes_plan::graph::NodeId;
use std::collections::{BTreeMap, BTreeSet};

impl Walk {
    /// The open causes below which nothing is left to do, when nothing more can move. By plan step, not by copy: a
    /// cause closes a little later than it might, never sooner.
    pub(crate) fn closable_causes(&self) -> Vec<Seq> {
        let open: BTreeSet<Seq> = self.state.causes.clone();
        if open.is_empty() || matches!(self.end, Some(Ok(_))) {
            return open.into_iter().collect();
        }
        let mut steps: BTreeMap<Seq, BTreeSet<NodeId>> = BTreeMap::new();
        for (at, cell) in self.state.cells() {
            if let Some(cause) = cell.cause.filter(|cause| open.contains(cause)) {
                // What was built at run time stands for what it was built by.
                let node = self.programs.planned(at.step).or_else(|| {
                    let (pattern, _) = self.state.steps.get(at.step.0 as usize)?;
                    self.programs.grown_from(pattern)
                });
                steps.entry(cause).or_default().extend(node);
            }
        }
        let graph = &self.plan().graph;
        let unsettled: BTreeSet<NodeId> = self
            .frames()
            .filter(|(_, frame)| graph.contains_body(frame.body))
            .flat_map(|(_, frame)| {
                let nodes = &graph.body(frame.body).nodes;
                nodes.iter().zip(&frame.slots).filter(|(_, slot)| !slot.settled()).map(|(node, _)| *node)
            })
            .collect();
        open.into_iter()
            .filter(|cause| {
                let below = steps.get(cause).into_iter().flatten().flat_map(|node| graph.downstream(*node));
                !below.into_iter().any(|node| unsettled.contains(&node))
            })
            .collect()
    }

    /// Below an accepted input lies what is made from it, and nothing else.
    pub(super) fn input_caused(&mut self, plan: FrameId) {
        for slot in &mut self.frame_mut(plan).slots {
            if let Slot::Done(_, caused) = slot {
                *caused = true;
                break;
            }
        }
    }

    /// Whether the walk asks for nothing at this moment.
    pub(crate) fn nothing_asked(&self) -> bool {
        self.emits.is_empty() && self.cancels.is_empty()
    }

    /// Up to five paths of steps that a check would have to run: what today's plan has and the journal has not.
    pub(crate) fn unrecorded(&self) -> Vec<String> {
        self.held.iter().take(5).map(|at| self.path(*at).to_string()).collect()
    }
}
