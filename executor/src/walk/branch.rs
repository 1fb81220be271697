//! Branches: which arm takes the value, recorded before anything below it begins.

use super::{
    conflict::Conflict,
    emit::Then,
    frame::{At, Group, Slot},
    freeze::decision_text,
    guard::guarded,
    replay::decision_digest,
    state::Walk,
    unroll::Decision,
};
use hermes_core::{
    failure::{Failure, FailureClass},
    journal::{Decided, Event},
    request::Field,
    value::Val,
};
use hermes_plan::graph::{BodyId, Kind};
use std::sync::Arc;

impl Walk {
    pub(super) fn begin_branch(&mut self, at: At) {
        let program = Arc::clone(&self.program);
        let Kind::Branch { arms, otherwise } = &program.graph.node(at.node).kind else { return };
        let address = self.address(at);
        let cell = self.state.cell(address).cloned();
        let caused = self.caused_at(at, cell.as_ref());
        let (values, _) = self.inputs(at);
        let Some(on) = values.into_iter().next() else { return };
        let mut taken = None;
        for (index, arm) in (0_u32..).zip(arms) {
            match guarded(arm.at, || (arm.test)(&on)) {
                Ok(true) => {
                    taken = Some((index, format!("arm {}", arm.label), arm.body));
                    break;
                }
                Ok(false) => {}
                Err(failure) => return self.fail_unrecorded(at, failure.located(arm.at)),
            }
        }
        let taken = taken.or_else(|| Some((u32::MAX, "else".to_owned(), (*otherwise)?)));
        let Some((index, decision, body)) = taken else {
            let labels: Vec<_> = arms.iter().map(|arm| arm.label.as_str()).collect();
            let message = format!("none of {} took it", labels.join(", "));
            let shown = on.text().map(|text| text.to_string()).unwrap_or_default();
            return self.fail_unrecorded(at, Failure::new(FailureClass::NoArm, message).with_raw(shown));
        };
        let digest = decision_text(&decision);
        match Self::compare_decision(cell.as_ref(), &on.digest(), &digest, caused, (Field::Arm, "on")) {
            Decision::Stands => {
                // An accepted difference keeps the recorded arm.
                let kept = cell.as_ref().and_then(|cell| {
                    let recorded = (cell.output != digest).then_some(cell.output)?;
                    let index =
                        arms.iter().position(|arm| decision_text(&format!("arm {}", arm.label)) == recorded);
                    Some(match index {
                        Some(index) => (u32::try_from(index).unwrap_or(u32::MAX), arms[index].body),
                        None => (u32::MAX, (*otherwise)?),
                    })
                });
                let (index, body) = kept.unwrap_or((index, body));
                self.open_arm(at, index, body, on, caused);
            }
            _ if self.stopped(at.frame) => self.skip(at),
            Decision::Make => {
                if !self.hold_back(at) {
                    let event = Event::Decided(Decided { decision });
                    self.emit(address, 0, on.digest(), digest, &event, Then::Decided(at));
                    self.decided.insert(at, (index, body, on, caused));
                    *self.slot_mut(at) = Slot::Committing;
                }
            }
            Decision::Differs(changed) => {
                let print = decision_digest(&on.digest(), &digest);
                let path = self.path(at);
                self.conflict(Conflict { at: address, path, print, changed, not_kept: None });
                *self.slot_mut(at) = Slot::Blocked;
            }
        }
    }

    pub(super) fn open_arm(&mut self, at: At, index: u32, body: BodyId, on: Val, caused: bool) {
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Arm));
        let place = self.frame(at.frame).place;
        self.open_frame(body, place, Some((at, index)), vec![on], caused);
    }
}
