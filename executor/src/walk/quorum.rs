//! Quorums: the first items that succeed are enough. Which they were is recorded before it has any effect; the others are
//! then cancelled, but for running unsafe calls, whose end is waited for.

use super::{
    conflict::Conflict,
    emit::Then,
    frame::{At, FrameId, Members, Quorum},
    ready::telling,
    replay::decision_digest,
    state::{Decision as Decided, Walk},
    today::Today,
    unroll::Decision,
};
use hermes_core::{
    digest::{Digest, DigestWriter},
    failure::{Failure, FailureClass},
    ids::Address,
    journal::{self, Event},
    request::Field,
};

/// The ordinal at which the members of a run-time fan-out are recorded: no item has it.
const MEMBERS: u32 = u32::MAX;

/// What a quorum is decided from.
pub(super) fn from_items(items: &Digest, enough: u32) -> Digest {
    let mut writer = DigestWriter::new("hermes quorum");
    writer.digest(items);
    writer.u64(u64::from(enough));
    writer.finish()
}

fn digest_of(members: &[u32]) -> Digest {
    let mut writer = DigestWriter::new("hermes members");
    writer.list(members.len());
    for member in members {
        writer.u64(u64::from(*member));
    }
    writer.finish()
}

impl Quorum {
    pub(super) fn new(enough: u32, from: Digest) -> Self {
        Self { enough, from, ok: Vec::new(), failed: 0, members: Members::Open }
    }
}

impl Walk {
    fn members_at(&self, at: At) -> Address {
        let step = self.number(at.node);
        match self.fan(at).and_then(|fan| fan.scope) {
            Some(scope) => Address { place: Self::scope_place(scope, MEMBERS), step },
            None => self.address(at),
        }
    }

    /// Takes the recorded members of a quorum, if there are some. False where they are no longer what would be decided from:
    /// a person then has to say what is to be done.
    pub(super) fn take_members(&mut self, at: At) -> bool {
        let Some(fan) = self.fan(at) else { return true };
        let Some(quorum) = &fan.quorum else { return true };
        let (from, caused) = (quorum.from, fan.caused);
        let address = self.members_at(at);
        let Some(cell) = self.state.cell(address).cloned() else { return true };
        let caused = caused || self.state.below_own_cause(&cell);
        match Self::compare_decision(Some(&cell), &from, &cell.output, caused, (Field::Members, "items")) {
            Decision::Stands => {}
            Decision::Make => return true,
            Decision::Differs(mut changed) => {
                for changed in &mut changed {
                    changed.field = Field::Members;
                }
                let print = decision_digest(&from, &cell.output);
                let path = self.path(at);
                let not_kept =
                    Some("the members were chosen among other items, or were fewer or more".to_owned());
                self.keep_today(address, |_| Today::MEMBERS);
                self.conflict(Conflict { at: address, path, print, changed, not_kept });
                return false;
            }
        }
        let recorded = self.lookup.record(cell.outcome).and_then(|record| {
            match record.event().map_err(|error| error.to_string())? {
                Event::Decided(decided) => {
                    serde_json::from_str(&decided.decision).map_err(|error| error.to_string())
                }
                _ => Err(format!("record {} is not a decision", cell.outcome)),
            }
        });
        match recorded {
            Ok(members) => {
                if let Some(quorum) = self.fan_mut(at).and_then(|fan| fan.quorum.as_mut()) {
                    quorum.members = Members::Decided(members);
                }
            }
            Err(why) => self.break_off(why),
        }
        true
    }

    /// The items that are to be opened: all, or the recorded members.
    pub(super) fn wanted_items(&self, at: At) -> Option<Vec<u32>> {
        match &self.fan(at)?.quorum.as_ref()?.members {
            Members::Decided(members) => Some(members.clone()),
            Members::Open | Members::Deciding(_) => None,
        }
    }

    /// An item has ended for good. True where that ended the fan-out or opened more of it, so that nothing is left to do.
    pub(super) fn count_member(&mut self, at: At, index: u32, ok: bool) {
        let Some(fan) = self.fan_mut(at) else { return };
        let count = u32::try_from(fan.results.len()).unwrap_or(u32::MAX);
        let Some(quorum) = &mut fan.quorum else { return };
        if ok {
            quorum.ok.push(index);
        } else {
            quorum.failed += 1;
        }
        match &quorum.members {
            Members::Open if quorum.ok.len() >= quorum.enough as usize => {
                let mut members = quorum.ok.clone();
                members.truncate(quorum.enough as usize);
                members.sort_unstable();
                quorum.members = Members::Deciding(members);
                // Nothing new starts in it from here on; what runs is let run until that is durable.
                fan.tripped = true;
                self.failed = true;
                self.decide_members(at);
            }
            Members::Open if count - quorum.failed < quorum.enough => {
                fan.tripped = true;
                self.failed = true;
                self.rest_questions();
                self.cancel_inside(at);
            }
            // A recorded member, run again, has failed: the others are asked after all.
            Members::Decided(members) if !ok && members.contains(&index) => {
                quorum.members = Members::Open;
                self.open_the_rest(at);
            }
            Members::Open | Members::Deciding(_) | Members::Decided(_) => {}
        }
    }

    /// Has the members written down.
    pub(super) fn decide_members(&mut self, at: At) {
        let Some(quorum) = self.fan(at).and_then(|fan| fan.quorum.as_ref()) else { return };
        let Members::Deciding(members) = &quorum.members else { return };
        let (from, digest) = (quorum.from, digest_of(members));
        let decision = match serde_json::to_string(members) {
            Ok(decision) => decision,
            Err(error) => return self.break_off(error),
        };
        if self.checking {
            self.held.push(at);
            return;
        }
        let address = self.members_at(at);
        let event = Event::Decided(journal::Decided { decision });
        self.emit(address, 0, from, digest, &event, Then::Decided(at));
        self.decided.insert(at, Decided::Members);
    }

    /// The members are durable: nobody else is needed.
    pub(super) fn members_stand(&mut self, at: At) {
        let Some(fan) = self.fan_mut(at) else { return };
        fan.tripped = true;
        let open = fan.open;
        if let Some(quorum) = &mut fan.quorum
            && let Members::Deciding(members) = &mut quorum.members
        {
            quorum.members = Members::Decided(std::mem::take(members));
        }
        self.rest_questions();
        self.cancel_inside(at);
        if open == 0 {
            self.fan_ended(at);
        }
    }

    /// Whether all that has to be written about a fan-out that has ended is.
    pub(super) fn may_end(&self, at: At) -> bool {
        let quorum = self.fan(at).and_then(|fan| fan.quorum.as_ref());
        !quorum.is_some_and(|quorum| matches!(quorum.members, Members::Deciding(_)))
    }

    /// Whether a step belongs to an item that a quorum did without.
    pub(super) fn done_without(&self, frame: FrameId) -> bool {
        let mut id = frame;
        while let Some((group, index)) = self.frame(id).parent {
            let quorum = self.fan(group).and_then(|fan| fan.quorum.as_ref());
            if let Some(Members::Decided(members)) = quorum.map(|quorum| &quorum.members)
                && !members.contains(&index)
            {
                return true;
            }
            id = group.frame;
        }
        false
    }

    /// Why too few items succeeded.
    pub(super) fn too_few(&self, at: At) -> Option<super::frame::Fault> {
        let fan = self.fan(at)?;
        let quorum = fan.quorum.as_ref()?;
        let faults = fan.results.iter().flatten().filter_map(|result| result.as_ref().err());
        let first = faults.fold(None, |first, fault| Some(telling(first, fault.clone())));
        let mut message =
            format!("{} of {} succeeded, and {} have to", quorum.ok.len(), fan.results.len(), quorum.enough);
        if let Some(fault) = &first {
            let failure = &fault.failure;
            message = format!("{message}; {}: {}", failure.path, failure.class.sentence());
        }
        let failure = Failure::new(FailureClass::TooFew, message).at(|| self.path(at).to_string());
        let caused = fan.caused || first.is_some_and(|fault| fault.caused);
        Some(super::frame::Fault { failure: std::sync::Arc::new(failure), caused })
    }
}
