//! Accounts: one for each budget of a run, with what is spent and reserved in it. Only numbers; who reserves when is in
//! `budget`.

use super::frame::At;
use hermes_core::{
    budget::{Budget, Spent, Unit},
    ids::StepNo,
    timestamp::Timestamp,
};
use hermes_plan::graph::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// An account's number in its walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AccountId(usize);

/// A budget, and what became of it.
#[derive(Debug)]
pub(super) struct Account {
    /// The path of what it bounds: empty for the run, `#name` where it is shared; of the calls of a step, its pattern.
    pub(super) path: String,
    pub(super) limit: Budget,
    /// Of the calls of a step, by the one that spent most.
    pub(super) spent: Spent,
    pub(super) reserved: Spent,
    /// Whether it bounds single calls of a step.
    pub(super) own: bool,
    under_way: u32,
    /// Driven milliseconds that the journal does not have.
    unrecorded: u64,
}

/// What a call asks of the accounts around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) agent: bool,
    pub(super) most: Spent,
}

impl Account {
    /// The first unit in which it has no room for such a call.
    pub(super) fn lacks(&self, demand: &Demand) -> Option<Unit> {
        let full = |unit: Unit, limit: u64| {
            let spent = self.spent.amount(unit);
            match unit {
                Unit::Time => spent >= limit,
                _ if !demand.agent => false,
                _ if self.own => spent > limit,
                _ => {
                    let taken = spent.saturating_add(self.reserved.amount(unit));
                    taken.saturating_add(demand.most.amount(unit)) > limit
                }
            }
        };
        self.limit.limits().find(|(unit, limit)| full(*unit, *limit)).map(|(unit, _)| unit)
    }

    /// The units in which more was spent than it allows.
    pub(super) fn overspent(&self) -> impl Iterator<Item = Unit> + '_ {
        self.limit.limits().filter(|(unit, limit)| self.spent.amount(*unit) > *limit).map(|(unit, _)| unit)
    }

    fn timed(&self) -> bool {
        self.limit.limit(Unit::Time).is_some()
    }
}

/// What a call has reserved.
#[derive(Debug)]
pub(super) struct Reservation {
    pub(super) accounts: Vec<AccountId>,
    pub(super) demand: Demand,
    pub(super) bound: Budget,
    /// What its earlier turns are known to have spent.
    pub(super) turns: Spent,
}

/// What the journal says was spent before this walk.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) by_path: BTreeMap<String, Spent>,
    pub(super) worst: BTreeMap<StepNo, Spent>,
}

/// All accounts of a run.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    /// Nothing is paid for: in a rehearsal.
    pub(super) off: bool,
    pub(super) history: Option<History>,
    ids: BTreeMap<String, AccountId>,
    all: Vec<Account>,
    /// The groups whose spending is in a shared account.
    counted: BTreeSet<String>,
    /// Calls that have no room, by the account that has none.
    held: BTreeMap<(AccountId, NodeId), BTreeSet<At>>,
    /// Held calls whose items have given their places away.
    pub(super) without_place: BTreeSet<At>,
    pub(super) reserved: BTreeMap<At, Reservation>,
    measured: Option<Timestamp>,
}

impl Accounts {
    pub(super) fn id(&self, path: &str) -> Option<AccountId> {
        self.ids.get(path).copied()
    }

    pub(super) fn get(&self, id: AccountId) -> Option<&Account> {
        self.all.get(id.0)
    }

    pub(super) fn open(&mut self, path: String, limit: Budget, spent: Spent, own: bool) -> AccountId {
        let id = AccountId(self.all.len());
        self.ids.insert(path.clone(), id);
        let reserved = Spent::default();
        self.all.push(Account { path, limit, spent, reserved, own, under_way: 0, unrecorded: 0 });
        id
    }

    /// Counts what was spent in a group towards the account that it shares, once.
    pub(super) fn count_group(&mut self, id: AccountId, group: &str, spent: Spent) {
        if self.counted.insert(group.to_owned())
            && let Some(account) = self.all.get_mut(id.0)
        {
            account.spent = account.spent.plus(spent);
        }
    }

    /// Reserves in all of them.
    pub(super) fn reserve(&mut self, at: At, reservation: Reservation) {
        for id in &reservation.accounts {
            let Some(account) = self.all.get_mut(id.0) else { continue };
            account.under_way += 1;
            if reservation.demand.agent && !account.own {
                account.reserved = account.reserved.plus(reservation.demand.most);
            }
        }
        self.reserved.insert(at, reservation);
    }

    /// Turns what a call has reserved into what it has spent. Gives the accounts that may have room now.
    pub(super) fn settle(&mut self, at: At, spent: impl FnOnce(&Reservation) -> Spent) -> Vec<AccountId> {
        let Some(reservation) = self.reserved.remove(&at) else { return Vec::new() };
        let spent = if reservation.demand.agent { spent(&reservation) } else { Spent::default() };
        for id in &reservation.accounts {
            let Some(account) = self.all.get_mut(id.0) else { continue };
            account.under_way = account.under_way.saturating_sub(1);
            if account.own {
                account.spent = account.spent.greater(spent);
            } else if reservation.demand.agent {
                account.reserved = account.reserved.minus(reservation.demand.most);
                account.spent = account.spent.plus(spent);
            }
        }
        reservation.accounts
    }

    pub(super) fn hold(&mut self, id: AccountId, at: At) {
        self.held.entry((id, at.node)).or_default().insert(at);
    }

    /// Lets calls go that were held for want of room in this account, as many as have room now. `demand`: what a call asks.
    pub(super) fn let_go(&mut self, id: AccountId, demand: impl Fn(At) -> Demand) -> Vec<At> {
        let Some(account) = self.all.get(id.0) else { return Vec::new() };
        let nodes: Vec<_> = self
            .held
            .range((id, NodeId(0))..=(id, NodeId(u32::MAX)))
            .filter_map(|(key, calls)| Some((*key, *calls.first()?)))
            .collect();
        let mut gone = Vec::new();
        let mut promised = Spent::default();
        for (key, first) in nodes {
            // All calls of one node ask for the same.
            let demand = demand(first);
            let Some(calls) = self.held.get_mut(&key) else { continue };
            loop {
                let most = demand.most.plus(promised);
                if account.lacks(&Demand { most, ..demand }).is_some() {
                    break;
                }
                let Some(at) = calls.pop_first() else { break };
                promised = most;
                gone.push(at);
            }
            if calls.is_empty() {
                self.held.remove(&key);
            }
        }
        gone
    }

    /// Lets all held calls go.
    pub(super) fn let_all_go(&mut self) -> Vec<At> {
        std::mem::take(&mut self.held).into_values().flatten().collect()
    }

    /// The accounts that have no room for the next call, and the first such call of each.
    pub(super) fn short(&self) -> Vec<(AccountId, At)> {
        let mut short: BTreeMap<AccountId, At> = BTreeMap::new();
        for ((id, _), calls) in &self.held {
            if let Some(first) = calls.first() {
                short.entry(*id).or_insert(*first);
            }
        }
        short.into_iter().collect()
    }

    /// The held calls whose items may still have their places.
    pub(super) fn with_place(&self) -> Vec<At> {
        let held = self.held.values().flatten();
        held.copied().filter(|at| !self.without_place.contains(at)).collect()
    }

    pub(super) fn any_held(&self) -> bool {
        !self.held.is_empty()
    }

    pub(super) fn all(&self) -> &[Account] {
        &self.all
    }

    /// Takes in how late it is: time has passed in the accounts in which something is being called.
    pub(super) fn measure(&mut self, now: Timestamp) {
        let since = self.measured.replace(self.measured.map_or(now, |before| before.max(now)));
        let passed = since.map_or(0, |since| now.millis().saturating_sub(since.millis()));
        let passed = u64::try_from(passed).unwrap_or(0);
        for account in self.all.iter_mut().filter(|account| account.timed() && account.under_way > 0) {
            account.spent.millis = account.spent.millis.saturating_add(passed);
            account.unrecorded = account.unrecorded.saturating_add(passed);
        }
    }

    /// The time that the journal does not have, by account.
    pub(super) fn unrecorded(&mut self) -> Vec<(String, u64)> {
        let mut times = Vec::new();
        for account in self.all.iter_mut().filter(|account| account.unrecorded > 0) {
            times.push((account.path.clone(), std::mem::take(&mut account.unrecorded)));
        }
        times
    }
}
