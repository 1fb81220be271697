//! The run as a tree of frames: one frame a copy of a body, one slot a node of it. Only data; the rules are elsewhere.

use hermes_core::{
    failure::Failure,
    ids::{Place, ScopeNo},
    value::Val,
};
use hermes_plan::graph::{BodyId, NodeId};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A frame's index in the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FrameId(pub(crate) u32);

/// A concrete step: which copy of which node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct At {
    pub(crate) frame: FrameId,
    pub(crate) node: NodeId,
}

/// One copy of a body.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) body: BodyId,
    /// Where its cells live.
    pub(crate) place: Place,
    /// The group it belongs to, and its position there (item, child, arm).
    pub(crate) parent: Option<(At, u32)>,
    pub(crate) slots: Vec<Slot>,
    /// Slots that have not settled, and the result if that is made outside.
    pub(crate) unsettled: u32,
    /// Whether one of its own steps has failed: nothing new starts in it.
    pub(crate) failed: bool,
    /// Whether an open cause lies above everything in it.
    pub(crate) caused: bool,
    /// Inner frames' nodes that wait for one of this frame's nodes.
    pub(crate) waiters: BTreeMap<NodeId, Vec<At>>,
    /// The keys of its ended fan-outs that others inherit.
    pub(crate) keys: Vec<(NodeId, ItemKeys)>,
    /// Calls wanted or under way in it, at any depth.
    pub(crate) active: u32,
    pub(crate) hold: Hold,
    /// Whether it ever had a place.
    pub(crate) begun: bool,
    /// Its calls that wait for its place.
    pub(crate) parked: Vec<At>,
}

/// An item's place in its limited fan-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    None,
    Queued,
    Held,
}

/// Where a copy of a node stands.
#[derive(Debug)]
pub(crate) enum Slot {
    /// So many of what it needs have not settled.
    Waiting(u32),
    /// Would have to write or call, and the walk only checks.
    Held,
    /// Wants a call.
    Ready,
    /// Its call, or the commit of its outcome, is under way.
    Running,
    /// Its decision or question is not durable yet.
    Committing,
    /// Its question is open.
    Asked,
    /// A group that has not ended.
    Group(Box<Group>),
    /// Waits for a person's decision.
    Blocked,
    /// Has a value; whether an open cause lies at or above it.
    Done(Val, bool),
    /// Failed.
    Failed(Fault),
    /// Will not start: something it needs, or its frame, has failed.
    Skipped,
}

impl Slot {
    pub(crate) fn settled(&self) -> bool {
        matches!(self, Self::Done(..) | Self::Failed(_) | Self::Skipped)
    }
}

/// Why a copy failed, and whether an open cause lies at or above it: what is made of the failure may then change too.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) failure: Arc<Failure>,
    pub(crate) caused: bool,
}

/// A group that has begun.
#[derive(Debug)]
pub(crate) enum Group {
    Fan(Fan),
    Loop(Loop),
    Review(Turn),
    /// A branch: its one frame.
    Arm,
    /// A catch: the frame it watches over, or its else.
    Catch {
        in_else: bool,
    },
}

/// How the items of a fan-out are named in paths.
#[derive(Clone, Debug)]
pub(crate) enum ItemKeys {
    Positions,
    Named(Arc<[Arc<str>]>),
}

impl ItemKeys {
    pub(crate) fn get(&self, index: u32) -> Arc<str> {
        match self {
            Self::Positions => index.to_string().into(),
            Self::Named(keys) => {
                keys.get(index as usize).map_or_else(|| index.to_string().into(), Arc::clone)
            }
        }
    }
}

/// A fan-out, of any kind.
#[derive(Debug)]
pub(crate) struct Fan {
    pub(crate) scope: Option<ScopeNo>,
    /// The ordinals of its items, in input order; `None` where ordinal and position are the same.
    pub(crate) ordinals: Option<Vec<u32>>,
    pub(crate) keys: ItemKeys,
    /// The items of the current stage, until they are opened.
    pub(crate) items: Vec<Val>,
    /// The items as they entered, where a later stage wants them.
    pub(crate) originals: Vec<Val>,
    pub(crate) results: Vec<Option<FrameResult>>,
    /// Items of the current stage that have not ended.
    pub(crate) open: u32,
    /// The current stage, from 0.
    pub(crate) stage: usize,
    pub(crate) caused: bool,
    pub(crate) limit: Option<u32>,
    /// Places taken.
    pub(crate) used: u32,
    /// Items that want a place: those that had one before come first, then input order.
    pub(crate) queue: BTreeSet<(bool, u32, FrameId)>,
    /// Whether it fails fast and has failed: nothing new starts in it.
    pub(crate) tripped: bool,
}

/// What came of a frame: its value and whether an open cause lies at or above it, or why it failed.
pub(crate) type FrameResult = Result<(Val, bool), Fault>;

/// A loop.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) scope: ScopeNo,
    pub(crate) round: u32,
    pub(crate) in_else: bool,
    pub(crate) state: Val,
    pub(crate) caused: bool,
    /// What the round yielded, while its decision is being made durable.
    pub(crate) flow: Option<(Val, bool)>,
}

/// A review's current round.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) scope: ScopeNo,
    pub(crate) round: u32,
    pub(crate) value: Val,
    pub(crate) caused: bool,
    pub(crate) phase: Phase,
}

/// What a review waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its question is to be looked at, or held, or being made durable.
    Opening,
    Asked,
    Revising,
    Blocked,
}
