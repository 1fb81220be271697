//! Budgets: each call reserves what it may cost at most in every budget around it, in the moment in which it is decided that
//! it starts; and settles with its outcome. One that has no room waits; when nothing else can move, people are asked.

use super::{
    accounts::{AccountId, Demand, History, Reservation},
    call::CallEnd,
    emit::Then,
    frame::At,
    state::{ROOT, Walk},
};
use hermes_core::{
    budget::{Asking, Budget, Spent, Unit},
    digest::{Digest, DigestWriter},
    failure::{Failure, FailureClass},
    fold::begun,
    ids::StepNo,
    journal::{Driven, Event, Group},
    path::StepPath,
    receipt::Receipt,
    timestamp::Timestamp,
};
use hermes_plan::graph::{Bounds, Kind};
use std::sync::Arc;

/// A budget around a call.
struct Around {
    /// The path of what it bounds.
    path: String,
    budget: Budget,
    shared: Option<Arc<str>>,
    own: bool,
}

impl Around {
    fn new(path: String, bounds: &Bounds) -> Self {
        Self { path, budget: bounds.budget, shared: bounds.shared.clone(), own: false }
    }

    /// The name of its account.
    fn account(&self) -> String {
        self.shared.as_ref().map_or_else(|| self.path.clone(), |name| format!("#{name}"))
    }
}

impl Walk {
    /// Nothing is paid for: budgets do not count.
    pub(crate) fn without_budgets(&mut self) {
        self.accounts.off = true;
    }

    /// The budgets around a call, innermost first.
    fn budgets_around(&self, at: At) -> Vec<Around> {
        let mut found: Vec<Around> = Vec::new();
        let node = self.node(at.node);
        if let Kind::Agent(agent) = &node.kind
            && let Some(budget) = agent.budget
        {
            found.push(Around { path: node.pattern.to_string(), budget, shared: None, own: true });
        }
        let mut here = at;
        loop {
            let frame = self.frame(here.frame);
            let body = self.tables_of(frame.body).graph.body(frame.body);
            if !body.bounds.is_empty() {
                let scopes = &self.node(here.node).scopes;
                let path = self.path(here);
                let mut inside: Vec<_> = body.bounds.iter().filter(|bounded| bounded.holds(scopes)).collect();
                inside.sort_by_key(|bounded| std::cmp::Reverse(bounded.scopes.len()));
                for bounded in inside {
                    // The path of the step has one segment for each scope inside this one, and one for the step.
                    let inner = scopes.len() - bounded.scopes.len() + 1;
                    let outer = path.segments().len().saturating_sub(inner);
                    let around = StepPath::new(path.segments()[..outer].to_vec()).to_string();
                    found.push(Around::new(around, &bounded.bounds));
                }
            }
            let Some((group, _)) = frame.parent else { break };
            if let Kind::Parallel { fan, .. } | Kind::Each { fan, .. } | Kind::Pipeline { fan, .. } =
                &self.node(group.node).kind
                && let Some(bounds) = &fan.bounds
            {
                found.push(Around::new(self.path(group).to_string(), bounds));
            }
            here = group;
        }
        if let Some(budget) = self.state.budget {
            found.push(Around { path: String::new(), budget, shared: None, own: false });
        }
        found
    }

    /// The accounts around a call, outermost first; of a step's own calls last.
    fn accounts_around(&mut self, at: At) -> Vec<AccountId> {
        let mut around: Vec<Around> = Vec::new();
        for next in self.budgets_around(at).into_iter().rev() {
            match around.iter_mut().find(|known| known.account() == next.account()) {
                // The plan's own budget, and the run's.
                Some(known) => known.budget = known.budget.within(next.budget),
                None => around.push(next),
            }
        }
        around.into_iter().map(|around| self.account(at, &around)).collect()
    }

    fn account(&mut self, at: At, around: &Around) -> AccountId {
        let name = around.account();
        if let Some(id) = self.accounts.id(&name)
            && around.shared.is_none()
        {
            return id;
        }
        let step = self.number(at.node);
        let (known, group) = {
            let history = self.history();
            let known = if around.own { history.worst.get(&step) } else { history.by_path.get(&name) };
            (
                known.copied().unwrap_or_default(),
                history.by_path.get(&around.path).copied().unwrap_or_default(),
            )
        };
        let id = self.accounts.id(&name).unwrap_or_else(|| {
            let raised = self.state.raised.get(&name).copied().unwrap_or_default();
            self.accounts.open(name, around.budget.raised(raised), known, around.own)
        });
        if around.shared.is_some() {
            self.accounts.count_group(id, &around.path, group);
        }
        id
    }

    /// What was spent before this walk: read when the first account is opened.
    fn history(&mut self) -> &History {
        if self.accounts.history.is_none() {
            let history = match self.lookup.spending() {
                Ok(spending) => {
                    let bound = |step| self.bound_of(step);
                    History { by_path: spending.by_path(&self.state, &bound), worst: spending.worst() }
                }
                Err(why) => {
                    self.break_off(why);
                    History::default()
                }
            };
            self.accounts.history = Some(history);
        }
        self.accounts.history.get_or_insert_default()
    }

    /// Opens the accounts around a call that is looked at, so that what was overspent in them is known.
    pub(super) fn note_budgets(&mut self, at: At) {
        if !self.accounts.off {
            self.accounts_around(at);
        }
    }

    /// Reserves in every budget around a call what it may cost at most. False when it is not to start: it has no room and is
    /// held, or it has failed because it says nothing of its cost.
    pub(super) fn reserve(&mut self, at: At) -> bool {
        if self.accounts.off {
            return true;
        }
        let accounts = self.accounts_around(at);
        if accounts.is_empty() {
            return true;
        }
        let (demand, bound) = self.asks(at);
        if demand.agent
            && let Some((unit, path)) = self.unbounded(&accounts, &bound)
        {
            let of = if path.is_empty() { "the run".to_owned() } else { format!("`{path}`") };
            let message = format!("the budget of {of} is one of {unit}");
            let failure = Failure::new(FailureClass::Budget, message).located(self.node(at.node).at);
            self.call_dropped(at);
            self.fail_unrecorded(at, failure);
            return false;
        }
        let full = accounts
            .iter()
            .find(|id| self.accounts.get(**id).is_some_and(|account| account.lacks(&demand).is_some()));
        if let Some(full) = full.copied() {
            self.accounts.hold(full, at);
            return false;
        }
        self.accounts.reserve(at, Reservation { accounts, demand, bound, turns: Spent::default() });
        true
    }

    /// What one call of a plan step may cost at most today.
    fn bound_of(&self, step: StepNo) -> Budget {
        match self.programs.node_of(step).map(|node| &node.kind) {
            Some(Kind::Agent(agent)) => agent.budget.unwrap_or_default(),
            _ => Budget::default(),
        }
    }

    /// What a call asks for, and its bound as it was raised.
    fn asks(&self, at: At) -> (Demand, Budget) {
        let node = self.node(at.node);
        let Kind::Agent(agent) = &node.kind else {
            return (Demand { agent: false, most: Spent::default() }, Budget::default());
        };
        let raised = self.state.raised.get(&node.pattern.to_string()).copied().unwrap_or_default();
        let bound = agent.budget.unwrap_or_default().raised(raised);
        (Demand { agent: true, most: Spent::most(&bound) }, bound)
    }

    /// A unit that is bounded around a call and that its own bound lacks, and where: only what is built at run time can.
    fn unbounded(&self, accounts: &[AccountId], bound: &Budget) -> Option<(Unit, String)> {
        accounts.iter().filter_map(|id| self.accounts.get(*id)).find_map(|account| {
            let mut units = account.limit.limits().map(|(unit, _)| unit);
            let unit = units.find(|unit| unit.wants_bounds() && bound.limit(*unit).is_none())?;
            Some((unit, account.path.clone()))
        })
    }

    /// The bound that a call has reserved; `None` where it has none.
    pub(crate) fn reserved_bound(&self, at: At) -> Option<Budget> {
        self.accounts.reserved.get(&at).map(|reserved| reserved.bound).filter(|bound| !bound.is_empty())
    }

    /// Settles what a call has reserved, with its outcome.
    pub(super) fn settle_budgets(&mut self, at: At, end: &CallEnd) {
        let (receipt, begun): (Option<&Receipt>, bool) = match end {
            // What it said too late does not count any more; what it cost does.
            CallEnd::Done(_, receipt) | CallEnd::Late { receipt, .. } => (receipt.as_ref(), true),
            CallEnd::Refused { receipt, .. } | CallEnd::Limited { receipt: Some(receipt), .. } => {
                (Some(receipt), true)
            }
            CallEnd::Failed { failure, may_have_acted, .. }
            | CallEnd::Limited { failure, may_have_acted, .. } => {
                (None, begun(failure.class, *may_have_acted))
            }
            CallEnd::Taken(..) => (None, true),
        };
        let spent = |reserved: &Reservation| {
            if begun { Spent::settled(&reserved.bound, reserved.turns, receipt) } else { reserved.turns }
        };
        let accounts = self.accounts.settle(at, spent);
        self.room_in(&accounts);
    }

    /// Takes in what a turn of a call has spent.
    pub(super) fn turn_spent(&mut self, at: At, receipt: &Receipt) {
        if let Some(reserved) = self.accounts.reserved.get_mut(&at) {
            reserved.turns = reserved.turns.plus(Spent::known(receipt));
        }
    }

    /// Calls that were held for want of room in these accounts may have some now.
    fn room_in(&mut self, accounts: &[AccountId]) {
        if !self.accounts.any_held() {
            return;
        }
        let mut gone = Vec::new();
        let mut all = std::mem::take(&mut self.accounts);
        for id in accounts {
            gone.extend(all.let_go(*id, |at| self.asks(at).0));
        }
        self.accounts = all;
        self.want_again(gone);
    }

    /// Something has failed: what is held may be among what will not start.
    pub(super) fn look_at_held_calls(&mut self) {
        if self.accounts.any_held() {
            let gone = self.accounts.let_all_go();
            self.want_again(gone);
        }
    }

    fn want_again(&mut self, calls: Vec<At>) {
        for at in calls {
            if self.accounts.without_place.remove(&at) {
                self.want_call(at);
            } else {
                self.ready.push_back(at);
            }
        }
    }

    /// Takes a call out of those that are held.
    pub(super) fn leave_held(&mut self, at: At) {
        self.accounts.forget(at);
        if self.accounts.without_place.remove(&at) {
            // As busy as it was when it was held: whoever takes it out says that it is over.
            self.decision_wanted(at);
        }
    }

    /// Nothing else can move: items whose calls are held wait only for people now, and give their places to others. True if
    /// that lets a call go.
    pub(crate) fn give_places_away(&mut self) -> bool {
        for at in self.accounts.with_place() {
            self.accounts.without_place.insert(at);
            self.call_dropped(at);
        }
        self.wants_dispatch()
    }

    /// Takes in how late it is, before something begins or ends.
    pub(crate) fn measure(&mut self, now: i64) {
        self.accounts.measure(self.time.max(Timestamp::from_millis(now)));
    }

    /// Writes down the time that has passed in budgets of time, with whatever else is written.
    pub(super) fn write_time(&mut self) {
        let scopes = self.accounts.unrecorded();
        if !scopes.is_empty() {
            let event = Event::Driven(Driven { scopes });
            self.emit(ROOT, 0, Digest::ZERO, Digest::ZERO, &event, Then::Nothing);
        }
    }

    /// Whether a call is held for want of room.
    pub(crate) fn short_of_budget(&self) -> bool {
        self.accounts.any_held()
    }

    /// Whether more was spent somewhere than a budget allows.
    pub(crate) fn overspent(&self) -> bool {
        self.accounts.all().iter().any(|account| account.overspent().next().is_some())
    }

    /// What people have to decide about budgets.
    pub(super) fn budget_groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut seen: Vec<(String, Unit)> = Vec::new();
        let mut add = |account: &super::accounts::Account, unit: Unit, asked: Option<Asking>| {
            let place = (account.path.clone(), unit);
            if seen.contains(&place) {
                return;
            }
            seen.push(place);
            let (limit, spent) = (account.limit.limit(unit).unwrap_or_default(), account.spent.amount(unit));
            groups.push(Group::Budget {
                path: account.path.clone(),
                unit,
                limit,
                spent,
                reserved: account.reserved.amount(unit),
                asked,
                about: about(&account.path, unit, limit, spent),
            });
        };
        for (id, at) in self.accounts.short() {
            let (demand, _) = self.asks(at);
            let Some(account) = self.accounts.get(id) else { continue };
            // A step whose calls cost too much was overspent: nothing has to be asked for that.
            if let Some(unit) = account.lacks(&demand).filter(|_| !account.own) {
                let asked = Asking { path: self.path(at).to_string(), amount: demand.most.amount(unit) };
                add(account, unit, Some(asked));
            }
        }
        for account in self.accounts.all() {
            for unit in account.overspent() {
                add(account, unit, None);
            }
        }
        groups
    }
}

/// The id of the need of a budget.
fn about(path: &str, unit: Unit, limit: u64, spent: u64) -> Digest {
    let mut writer = DigestWriter::new("hermes budget");
    writer.text(path);
    writer.text(unit.word());
    writer.u64(limit);
    writer.u64(spent);
    writer.finish()
}
