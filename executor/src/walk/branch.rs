//! Branches: which arm takes the value, recorded before anything below it begins.

use super::{
    conflict::Conflict,
    emit::Then,
    frame::{At, Group, Slot},
    freeze::decision_text,
    guard::guarded,
    replay::decision_digest,
    state::{Decision as Decided, Walk},
    today::Today,
    unroll::Decision,
};
use hermes_core::{
    digest::Digest,
    failure::{Failure, FailureClass},
    journal::{self, Event},
    request::Field,
    value::Val,
};
use hermes_plan::graph::{Arm, BodyId, Kind, Location};

impl Walk {
    pub(super) fn begin_branch(&mut self, at: At) {
        let program = self.program_of(at.node);
        let Kind::Branch { arms, otherwise } = &program.graph.node(at.node).kind else { return };
        let address = self.address(at);
        let cell = self.state.cell(address).cloned();
        let caused = self.caused_at(at, cell.as_ref());
        let (values, _) = self.inputs(at);
        let Some(on) = values.into_iter().next() else { return };
        let taken = match take(arms, *otherwise, &on) {
            Ok(taken) => taken,
            Err((failure, place)) => return self.fail_unrecorded(at, failure.located(place)),
        };
        let Some(taken) = taken else {
            let labels: Vec<_> = arms.iter().map(|arm| arm.label.as_str()).collect();
            let message = format!("none of {} took it", labels.join(", "));
            let shown = on.text().map(|text| text.to_string()).unwrap_or_default();
            return self.fail_unrecorded(at, Failure::new(FailureClass::NoArm, message).with_raw(shown));
        };
        let (from, digest) = (on.digest(), decision_text(&taken.decision));
        match Self::compare_decision(cell.as_ref(), &from, &digest, caused, (Field::Arm, "on")) {
            Decision::Stands => {
                // An accepted difference keeps the recorded arm.
                let recorded = cell.filter(|cell| cell.output != digest).map(|cell| cell.output);
                match recorded.map_or(Ok(taken), |recorded| take_as(recorded, arms, *otherwise, &on)) {
                    Ok(taken) => self.open_arm(at, taken, caused),
                    Err(why) => self.fail_unrecorded(at, Failure::new(FailureClass::NoArm, why)),
                }
            }
            _ if self.stopped(at.frame) => self.skip(at),
            Decision::Make => {
                if !self.hold_back(at) {
                    let event = Event::Decided(journal::Decided { decision: taken.decision.clone() });
                    self.emit(address, 0, from, digest, &event, Then::Decided(at));
                    self.decided.insert(at, Decided::Arm(taken, caused));
                    *self.slot_mut(at) = Slot::Committing;
                }
            }
            Decision::Differs(changed) => {
                let print = decision_digest(&from, &digest);
                let path = self.path(at);
                let recorded = cell.map_or(digest, |cell| cell.output);
                let not_kept = take_as(recorded, arms, *otherwise, &on).err();
                self.keep_today(address, |_| Today::word(&on, &taken.decision));
                self.conflict(Conflict { at: address, path, print, changed, not_kept });
                *self.slot_mut(at) = Slot::Blocked;
            }
        }
    }

    pub(super) fn open_arm(&mut self, at: At, taken: Taken, caused: bool) {
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Arm));
        let place = self.frame(at.frame).place;
        self.open_frame(taken.body, place, Some((at, taken.index)), vec![taken.value], caused);
    }
}

/// The arm that is taken.
pub(crate) struct Taken {
    /// Its position; the last of all for the else.
    index: u32,
    body: BodyId,
    /// What it is handed.
    value: Val,
    decision: String,
}

fn decision_of(arm: &Arm) -> String {
    format!("arm {}", arm.label)
}

fn otherwise_taken(body: BodyId, on: &Val) -> Taken {
    Taken { index: u32::MAX, body, value: on.clone(), decision: "else".to_owned() }
}

fn pick(index: usize, arm: &Arm, on: &Val) -> Result<Option<Taken>, (Failure, Location)> {
    let value = guarded(arm.at, || (arm.pick)(on)).map_err(|failure| (failure, arm.at))?;
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    Ok(value.map(|value| Taken { index, body: arm.body, value, decision: decision_of(arm) }))
}

/// The first arm that takes the value.
fn take(arms: &[Arm], otherwise: Option<BodyId>, on: &Val) -> Result<Option<Taken>, (Failure, Location)> {
    for (index, arm) in arms.iter().enumerate() {
        if let Some(taken) = pick(index, arm, on)? {
            return Ok(Some(taken));
        }
    }
    Ok(otherwise.map(|body| otherwise_taken(body, on)))
}

/// The arm with this recorded decision, whether or not it is the one that takes the value today; or why it cannot be taken.
fn take_as(recorded: Digest, arms: &[Arm], otherwise: Option<BodyId>, on: &Val) -> Result<Taken, String> {
    if recorded == decision_text("else") {
        return otherwise
            .map(|body| otherwise_taken(body, on))
            .ok_or_else(|| "it has no `.otherwise(..)` today".to_owned());
    }
    let arms = arms.iter().enumerate();
    let found = arms.into_iter().find(|(_, arm)| decision_text(&decision_of(arm)) == recorded);
    let (index, arm) = found.ok_or_else(|| "the arm that was taken is not there today".to_owned())?;
    if !arm.case {
        let (index, value) = (u32::try_from(index).unwrap_or(u32::MAX), on.clone());
        return Ok(Taken { index, body: arm.body, value, decision: decision_of(arm) });
    }
    match pick(index, arm, on) {
        Ok(taken) => {
            taken.ok_or_else(|| format!("the case `{}` finds nothing in the value today", arm.label))
        }
        Err((failure, _)) => Err(failure.to_string()),
    }
}
