//! The endings that a plan has: every way in which its steps and groups can end, as its graph tells it.

use hermes_plan::graph::{Graph, Kind, Node, NodeId, Placeholder, ReviewEnd};
use std::{collections::BTreeSet, fmt};

/// One way in which a step or group of a plan can end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ending {
    /// The pattern of its path: `drafts[*]/write`.
    pub path: String,
    pub(super) what: What,
}

impl Ending {
    /// The ending in words: `fails`, `takes arm critical`, `uses up its rounds`.
    pub fn what(&self) -> String {
        self.what.to_string()
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Done,
    Fails,
    Arm(String),
    Otherwise,
    NoArm,
    FirstRound,
    LaterRound,
    UsedUp,
    Approved,
    Edited,
    Changes,
    Rejected,
    NotApproved,
    Answered,
    Expires,
    NoItems,
    OneItem,
    Items,
    ItemFails,
    TooFew,
    Caught,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "succeeds",
            Self::Fails => "fails",
            Self::Arm(label) => return write!(f, "takes arm {label}"),
            Self::Otherwise => "takes no arm, and its otherwise",
            Self::NoArm => "takes no arm, and fails",
            Self::FirstRound => "is done in its first round",
            Self::LaterRound => "is done in a later round",
            Self::UsedUp => "uses up its rounds",
            Self::Approved => "is approved",
            Self::Edited => "is edited",
            Self::Changes => "has changes requested",
            Self::Rejected => "is rejected",
            Self::NotApproved => "is not approved in its last round",
            Self::Answered => "is answered",
            Self::Expires => "expires",
            Self::NoItems => "has no items",
            Self::OneItem => "has one item",
            Self::Items => "has several items",
            Self::ItemFails => "has an item that fails",
            Self::TooFew => "has too few items that succeed",
            Self::Caught => "catches a failure",
        })
    }
}

/// All endings of a plan, in the order in which its steps joined.
pub(super) fn endings(graph: &Graph) -> Vec<(NodeId, Ending)> {
    let of = |node: &Node| {
        let path = node.pattern.to_string();
        let id = node.id;
        ways(&node.kind)
            .into_iter()
            .map(move |what| (id, Ending { path: path.clone(), what }))
            .collect::<Vec<_>>()
    };
    graph.nodes().filter(|node| !node.pattern.is_empty()).flat_map(of).collect()
}

fn ways(kind: &Kind) -> Vec<What> {
    let fan = |mode: &hermes_plan::graph::FanMode| match mode.quorum() {
        Some(_) => vec![What::Done, What::ItemFails, What::TooFew],
        None => vec![What::Done, What::ItemFails],
    };
    match kind {
        Kind::Agent(_) | Kind::Step(_) | Kind::Command(_) | Kind::Files(_) => vec![What::Done, What::Fails],
        Kind::Ask(ask) => {
            let expires = ask.expires.is_some().then_some(What::Expires);
            [Some(What::Answered), expires].into_iter().flatten().collect()
        }
        Kind::Wait(_) | Kind::Then(_) | Kind::Again { .. } => vec![What::Done],
        Kind::Parallel { fan: options, .. } => fan(&options.mode),
        Kind::Each { fan: options, .. } | Kind::Pipeline { fan: options, .. } => {
            let mut ways = vec![What::NoItems, What::OneItem, What::Items];
            ways.extend(fan(&options.mode));
            ways
        }
        Kind::Repeat(repeat) => {
            let later = (repeat.max.get() > 1).then_some(What::LaterRound);
            [Some(What::FirstRound), later, Some(What::UsedUp)].into_iter().flatten().collect()
        }
        Kind::Branch { arms, otherwise } => {
            let last = if otherwise.is_some() { What::Otherwise } else { What::NoArm };
            arms.iter().map(|arm| What::Arm(arm.label.clone())).chain([last]).collect()
        }
        Kind::Catch(_) => vec![What::Done, What::Caught],
        Kind::Review(review) => {
            let mut ways = vec![What::Approved, What::Edited];
            if review.revise.is_some() {
                if review.max_rounds.get() > 1 {
                    ways.push(What::Changes);
                }
                ways.push(What::NotApproved);
            }
            if review.end != ReviewEnd::Approved {
                ways.push(What::Rejected);
            }
            ways
        }
        Kind::Placeholder(_) | Kind::Constant(_) | Kind::Derived(_) | Kind::Call(_) | Kind::Recursive(_) => {
            Vec::new()
        }
    }
}

/// Whether a call of this node is one that a rehearsal makes up.
pub(super) fn made_up(kind: &Kind) -> bool {
    match kind {
        Kind::Agent(_) | Kind::Command(_) | Kind::Files(_) | Kind::Ask(_) => true,
        Kind::Step(step) => step.effect != hermes_core::effect::Effect::Pure,
        _ => false,
    }
}

/// The patterns of what `node`'s values are made from and a rehearsal makes up; the plan's input is the empty one.
pub(super) fn made_from(graph: &Graph, node: NodeId) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![node];
    while let Some(id) = open.pop() {
        if !graph.contains(id) || !seen.insert(id) {
            continue;
        }
        let here = graph.node(id);
        if id != node && made_up(&here.kind) {
            found.insert(here.pattern.to_string());
            continue;
        }
        if matches!(here.kind, Kind::Placeholder(Placeholder::Input)) && graph.body(here.body).owner.is_none()
        {
            found.insert(String::new());
        }
        open.extend(here.inputs.iter().map(|input| input.node));
        // What a branch chooses and what a fan-out goes through is settled before its bodies begin.
        if id == node && !matches!(here.kind, Kind::Repeat(_) | Kind::Review(_)) {
            continue;
        }
        let owner = match here.kind {
            Kind::Placeholder(_) => graph.body(here.body).owner,
            _ => Some(id),
        };
        if let Some(owner) = owner {
            open.extend(graph.node(owner).inputs.iter().map(|input| input.node));
            open.extend(graph.bodies_of(owner).into_iter().map(|body| graph.body(body).result));
        }
    }
    found
}

/// The calls inside the bodies of `node` that can be made to fail: their patterns.
pub(super) fn can_fail_inside(graph: &Graph, node: NodeId, only: Option<usize>) -> Vec<String> {
    let mut found = Vec::new();
    let bodies = graph.bodies_of(node);
    let mut open: Vec<_> = bodies.into_iter().take(only.unwrap_or(usize::MAX)).collect();
    while let Some(body) = open.pop() {
        for id in &graph.body(body).nodes {
            let inner = graph.node(*id);
            if ways(&inner.kind).contains(&What::Fails) {
                found.push(inner.pattern.to_string());
            }
            open.extend(graph.bodies_of(*id));
        }
    }
    found
}
