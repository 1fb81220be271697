//! The whole state of a run: its step table, its scopes and their cells, its open causes.

use super::{Cell, CellStatus, Summary};
use crate::{
    budget::Budget,
    digest::Digest,
    ids::{Address, Place, ScopeNo, Seq, StepNo},
    journal::{DecisionMade, Directed, Kind, RunStarted, WireError},
    path::StepPath,
    people::Actor,
};
use std::collections::{BTreeMap, BTreeSet};

/// A record that cannot follow what stands before it: the journal is damaged, or was written by something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {seq} ({kind:?}) cannot stand there: {why}")]
pub struct IllegalEvent {
    /// Its position.
    pub seq: Seq,
    /// Its kind.
    pub kind: Kind,
    /// Why.
    pub why: String,
    /// Whether it is only too new for this version.
    pub newer: bool,
}

impl IllegalEvent {
    pub(super) fn new(seq: Seq, kind: Kind, why: impl Into<String>) -> Self {
        Self { seq, kind, why: why.into(), newer: false }
    }
}

impl From<WireError> for IllegalEvent {
    fn from(error: WireError) -> Self {
        let newer = matches!(error, WireError::Newer { .. });
        let kind = match error {
            WireError::Body { kind, .. } => kind,
            _ => Kind::RunStarted,
        };
        Self { seq: Seq(0), kind, why: error.to_string(), newer }
    }
}

/// The keys of a scope by ordinal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Rounds of a loop: the ordinal is the round.
    Rounds,
    /// The ordinal is the position.
    Positions(u32),
    /// Keys by ordinal.
    Named(Vec<String>),
}

impl Keys {
    /// The key at `ordinal`, as it stands in a path.
    pub fn get(&self, ordinal: u32) -> Option<String> {
        match self {
            Self::Rounds => Some(ordinal.to_string()),
            Self::Positions(count) => (ordinal < *count).then(|| ordinal.to_string()),
            Self::Named(keys) => keys.get(ordinal as usize).cloned(),
        }
    }
}

/// One unrolled group.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The group it unrolls; `None` for the plan itself.
    pub group: Option<Address>,
    /// Its keys. They only grow: a key keeps its ordinal for ever.
    pub keys: Keys,
    /// The ordinals of today's items, in input order.
    pub order: Vec<u32>,
    /// The digests of today's items, in input order.
    pub items: Vec<Digest>,
    /// Whether its last freeze is complete.
    pub frozen: bool,
    /// Its concrete steps.
    pub cells: BTreeMap<(u32, StepNo), Cell>,
}

impl Scope {
    pub(super) fn new(group: Option<Address>, keys: Keys) -> Self {
        Self { group, keys, order: Vec::new(), items: Vec::new(), frozen: false, cells: BTreeMap::new() }
    }
}

/// The state of a run, folded from its journal.
#[derive(Clone, Debug)]
pub struct RunState {
    /// How it began; `None` before the first record.
    pub start: Option<RunStarted>,
    /// The digest of its input.
    pub input: Digest,
    /// The record that has its input.
    pub input_at: Seq,
    /// The plan steps it knows, by number: pattern and kind.
    pub steps: Vec<(StepPath, String)>,
    pub(super) numbers: BTreeMap<StepPath, StepNo>,
    /// Its scopes, by number. The first is the plan itself.
    pub scopes: Vec<Scope>,
    /// Which scope a group was given.
    pub opened: BTreeMap<Address, ScopeNo>,
    /// The records that hold the schemas which requests name, by the schemas' ids.
    pub schemas: BTreeMap<Digest, Seq>,
    /// The records that hold constants of the plan, by their digests.
    pub constants: BTreeMap<Digest, Seq>,
    /// The causes that are open.
    pub causes: BTreeSet<Seq>,
    /// Decisions that no walk has applied yet.
    pub decisions: Vec<DecisionMade>,
    /// What people asked for and no walk has done yet.
    pub directed: Vec<Directed>,
    /// Plan steps that were forgotten.
    pub dropped: BTreeSet<StepNo>,
    /// The run's own budget.
    pub budget: Option<Budget>,
    /// The budgets that people raised, by path.
    pub raised: BTreeMap<String, Budget>,
    /// Head and needs.
    pub summary: Summary,
    /// The record that ended the run last, while it is ended.
    pub ended: Option<Seq>,
    /// Who has cancelled the run, while that is not recorded as its end.
    pub cancelled: Option<Actor>,
}

impl Default for RunState {
    fn default() -> Self {
        Self {
            start: None,
            input: Digest::ZERO,
            input_at: Seq(1),
            steps: Vec::new(),
            numbers: BTreeMap::new(),
            scopes: vec![Scope::new(None, Keys::Rounds)],
            opened: BTreeMap::new(),
            schemas: BTreeMap::new(),
            constants: BTreeMap::new(),
            causes: BTreeSet::new(),
            decisions: Vec::new(),
            directed: Vec::new(),
            dropped: BTreeSet::new(),
            budget: None,
            raised: BTreeMap::new(),
            summary: Summary::default(),
            ended: None,
            cancelled: None,
        }
    }
}

impl RunState {
    /// The number of a plan step.
    pub fn number(&self, pattern: &StepPath) -> Option<StepNo> {
        self.numbers.get(pattern).copied()
    }

    /// What is recorded of a concrete step.
    pub fn cell(&self, at: Address) -> Option<&Cell> {
        self.scopes.get(at.place.scope.0 as usize)?.cells.get(&(at.place.ordinal, at.step))
    }

    /// The scope of the group at `at`.
    pub fn scope(&self, at: Address) -> Option<(ScopeNo, &Scope)> {
        let number = *self.opened.get(&at)?;
        Some((number, self.scopes.get(number.0 as usize)?))
    }

    /// The path of the concrete step at `at`. For display: built from the step's pattern and the keys around it.
    pub fn path(&self, at: Address) -> StepPath {
        let pattern = self.steps.get(at.step.0 as usize).map(|(pattern, _)| pattern.clone());
        pattern.unwrap_or_default().fill(self.keys_around(at.place))
    }

    /// The keys of the items and rounds around a place, outermost first.
    pub fn keys_around(&self, mut place: Place) -> Vec<String> {
        let mut keys = Vec::new();
        while let Some(scope) = self.scopes.get(place.scope.0 as usize)
            && let Some(group) = scope.group
        {
            keys.push(scope.keys.get(place.ordinal).unwrap_or_else(|| match place.ordinal {
                u32::MAX => "members".to_owned(),
                ordinal => ordinal.to_string(),
            }));
            place = group.place;
        }
        keys.reverse();
        keys
    }

    /// Where the concrete step with this path is, if the run has it.
    pub fn find(&self, path: &StepPath) -> Option<Address> {
        self.cells().map(|(at, _)| at).find(|at| self.path(*at) == *path)
    }

    /// All concrete steps, by scope and ordinal.
    pub fn cells(&self) -> impl Iterator<Item = (Address, &Cell)> {
        (0..).zip(&self.scopes).flat_map(|(number, scope)| {
            scope.cells.iter().map(move |(&(ordinal, step), cell)| {
                (Address { place: Place { scope: ScopeNo(number), ordinal }, step }, cell)
            })
        })
    }

    /// Whether the last cause at this step is still open.
    pub fn below_own_cause(&self, cell: &Cell) -> bool {
        cell.cause.is_some_and(|cause| self.causes.contains(&cause))
    }

    /// Steps whose call began and has no outcome.
    pub fn begun(&self) -> impl Iterator<Item = (Address, &Cell)> {
        self.cells().filter(|(_, cell)| cell.status == CellStatus::Started)
    }
}
