//! The run as a tree of frames: one frame a copy of a body, one slot a node of it. Only data; the rules are elsewhere.

use hermes_core::{
    digest::Digest,
    failure::Failure,
    ids::{Place, ScopeNo},
    value::Val,
};
use hermes_plan::graph::{BodyId, NodeId};
use std::{collections::BTreeMap, sync::Arc};

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

/// A pool of places, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PoolId(pub(crate) u32);

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
    /// It waits for its moment.
    Timed,
    /// Its attempt failed, and it waits for the next.
    Delayed,
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
    Fan(Box<Fan>),
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
#[derive(Clone, Debug, Default)]
pub(crate) enum ItemKeys {
    #[default]
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
    /// The items that a quorum did without, as they entered.
    pub(crate) without: Vec<(u32, Val)>,
    pub(crate) results: Vec<Option<FrameResult>>,
    /// Items of the current stage that have not ended.
    pub(crate) open: u32,
    /// The current stage, from 0.
    pub(crate) stage: usize,
    /// Whether items go on to their next stage by themselves.
    pub(crate) ahead: bool,
    pub(crate) caused: bool,
    /// Where its items get their places.
    pub(crate) pool: Option<PoolId>,
    /// Its rank among the fan-outs that share a pool: the order in which they began.
    pub(crate) rank: u32,
    /// Whether its end is certain: nothing new starts in it.
    pub(crate) tripped: bool,
    /// Where the first items that succeed are enough.
    pub(crate) quorum: Option<Quorum>,
    /// Where items need each other.
    pub(crate) needs: Option<ItemNeeds>,
}

/// How many items succeed, where the first that do are enough.
#[derive(Debug)]
pub(crate) struct Quorum {
    pub(crate) enough: u32,
    /// What the decision is made from.
    pub(crate) from: Digest,
    /// Positions of items that succeeded, first come first.
    pub(crate) ok: Vec<u32>,
    pub(crate) failed: u32,
    pub(crate) members: Members,
}

/// Who the members of a quorum are.
#[derive(Debug)]
pub(crate) enum Members {
    /// Not enough have succeeded.
    Open,
    /// Enough have; it is being written down, or held back by a check.
    Deciding(Vec<u32>),
    /// These, for good.
    Decided(Vec<u32>),
}

/// What items wait for.
#[derive(Debug)]
pub(crate) struct ItemNeeds {
    /// By item: the items it needs.
    pub(crate) of: Vec<Vec<u32>>,
    /// By item: how many of them have not ended.
    pub(crate) missing: Vec<u32>,
    /// By item: who needs it.
    pub(crate) by: Vec<Vec<u32>>,
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
    /// The way that a decision opened.
    Deciding,
    Blocked,
}
