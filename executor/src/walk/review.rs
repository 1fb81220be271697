//! Reviews: round after round of one question, and what an answer makes of the value. All of it is derived from recorded
//! answers: a review makes no decision of its own.

use super::{
    frame::{At, Group, Phase, Slot, Turn},
    question::{Looked, Question},
    request::named,
    state::Walk,
};
use hermes_core::{
    failure::{Failure, FailureClass},
    fingerprint::fingerprint,
    ids::Address,
    request::{AskRequest, Request},
    value::Val,
};
use hermes_plan::graph::{BodyId, ComputeFn, Kind, Review, ReviewEnd};
use std::sync::Arc;

impl Walk {
    pub(super) fn look_at_review(&mut self, at: At) {
        let Some(scope) = self.open_scope(at) else { return };
        let (values, caused) = self.inputs(at);
        let Some(value) = values.into_iter().next() else { return };
        let turn = Turn { scope, round: 1, value, caused, phase: Phase::Opening };
        *self.slot_mut(at) = Slot::Group(Box::new(Group::Review(turn)));
        self.look_at_turn(at);
    }

    fn turn_mut(&mut self, at: At) -> Option<&mut Turn> {
        match self.slot_mut(at) {
            Slot::Group(group) => match &mut **group {
                Group::Review(turn) => Some(turn),
                _ => None,
            },
            _ => None,
        }
    }

    /// Looks at the question of a review's current round.
    pub(super) fn look_at_turn(&mut self, at: At) {
        let program = self.program_of(at.node);
        let node = program.graph.node(at.node);
        let Kind::Review(review) = &node.kind else { return };
        let number = self.number(at.node);
        let Some(turn) = self.turn_mut(at) else { return };
        let (scope, round, value, caused) = (turn.scope, turn.round, turn.value.clone(), turn.caused);
        let request = Request::Ask(AskRequest {
            title: review.title.clone(),
            inputs: named(["value"].into_iter(), std::slice::from_ref(&value)),
            schema: review.answer.bare_id(),
            choices: None,
        });
        let question = Question {
            address: Address { place: Self::scope_place(scope, round), step: number },
            path: self.round_path(at, round),
            print: fingerprint(&request),
            request,
            answer: review.answer.clone(),
            shown: vec![("value".to_owned(), value)],
            choices: None,
            many: false,
            caused,
            expires: None,
            check: answer_check(review),
            place: node.at,
        };
        let phase = match self.look_at(at, &question) {
            Looked::Answered(answer) | Looked::Beneath(answer) => return self.take_review(at, answer),
            Looked::Open => Phase::Asked,
            Looked::Held => {
                self.held.push(at);
                Phase::Opening
            }
            Looked::Opening => Phase::Opening,
            Looked::Blocked => Phase::Blocked,
            Looked::Failed(failure) => return self.question_failed(at, failure, caused),
            Looked::Skip => return self.skip(at),
        };
        if let Some(turn) = self.turn_mut(at) {
            turn.phase = phase;
        }
    }

    /// Goes on as a review's answer says.
    pub(super) fn take_review(&mut self, at: At, answer: Val) {
        let program = self.program_of(at.node);
        let node = program.graph.node(at.node);
        let Kind::Review(review) = &node.kind else { return };
        let address = self.question_address(at);
        let own = self.own_cause(address);
        let Some(turn) = self.turn_mut(at) else { return };
        turn.caused |= own;
        let (scope, round, value, caused) = (turn.scope, turn.round, turn.value.clone(), turn.caused);
        let field = |name| answer.field(name);
        let (Ok(Some(decision)), Ok(edited), Ok(feedback), Ok(reason)) =
            (field("decision"), field("value"), field("feedback"), field("reason"))
        else {
            return self.break_off("the answer of a review has no decision");
        };
        let decision = decision.text().unwrap_or_default();
        match (&*decision, edited, feedback.or(reason), review.revise) {
            ("\"approve\"", ..) => self.approved(at, review.end, value, caused),
            ("\"edit\"", Some(edited), ..) => self.approved(at, review.end, edited, caused),
            ("\"reject\"", _, Some(reason), _) => self.rejected(at, review.end, value, reason, caused),
            ("\"request_changes\"", _, Some(feedback), Some(body)) if round < review.max_rounds.get() => {
                if let Some(turn) = self.turn_mut(at) {
                    turn.phase = Phase::Revising;
                }
                let place = Self::scope_place(scope, round);
                self.open_frame(body, place, Some((at, round)), vec![value, feedback], caused);
            }
            ("\"request_changes\"", ..) => {
                let raw = value.text().map(|text| text.to_string()).unwrap_or_default();
                let message = format!("changes were requested in round {round} of {}", review.max_rounds);
                self.fail_unrecorded(at, Failure::new(FailureClass::NotApproved, message).with_raw(raw));
            }
            _ => self.break_off("the answer of a review is none of its decisions"),
        }
    }

    fn approved(&mut self, at: At, end: ReviewEnd, value: Val, caused: bool) {
        match end {
            ReviewEnd::Approved => self.settle(at, Slot::Done(value, caused)),
            ReviewEnd::Decision => self.settle(at, Slot::Done(Val::variant("Approved", value), caused)),
            ReviewEnd::Decide { approved, .. } => self.open_way(at, approved, vec![value], caused),
        }
    }

    fn rejected(&mut self, at: At, end: ReviewEnd, value: Val, reason: Val, caused: bool) {
        match end {
            ReviewEnd::Decision => {
                let parts = Val::object(vec![("value".into(), value), ("reason".into(), reason)]);
                self.settle(at, Slot::Done(Val::variant("Rejected", parts), caused));
            }
            ReviewEnd::Decide { rejected, .. } => self.open_way(at, rejected, vec![value, reason], caused),
            ReviewEnd::Approved => self.break_off("a review was rejected that offers no rejection"),
        }
    }

    /// Goes on one of a decision's two ways.
    fn open_way(&mut self, at: At, body: BodyId, values: Vec<Val>, caused: bool) {
        if let Some(turn) = self.turn_mut(at) {
            turn.phase = Phase::Deciding;
        }
        let place = self.frame(at.frame).place;
        self.open_frame(body, place, Some((at, 0)), values, caused);
    }

    /// A revision has ended: the next round asks about it.
    pub(super) fn revised(&mut self, at: At, (value, caused): (Val, bool)) {
        if let Some(turn) = self.turn_mut(at) {
            turn.round += 1;
            turn.value = value;
            turn.caused = caused;
            turn.phase = Phase::Opening;
        }
        self.look_at_turn(at);
    }
}

/// Checks the answer of a review: the decision has a type of ours, an edited value is to be read as the author's.
pub(super) fn answer_check(review: &Review) -> ComputeFn {
    let check = Arc::clone(&review.check);
    Arc::new(move |values| {
        let unreadable = |why: String| Failure::new(FailureClass::Undecodable, why);
        let answer = values.first().ok_or_else(|| unreadable("there is no answer".to_owned()))?;
        let field = |name| answer.field(name).map_err(|error| unreadable(error.to_string()));
        let edits = field("decision")?.is_some_and(|decision| decision == Val::from_json("edit".into()));
        if let Some(edited) = field("value")?.filter(|_| edits) {
            check(&[edited])?;
        }
        Ok(answer.clone())
    })
}
