//! Questions: `ask` and the rounds of a `review`. Opening, staying open, asking anew, resting; and what an answer means.

use super::{
    conflict::Conflict,
    emit::Then,
    frame::{At, Group, Phase, Slot, Turn},
    guard::guarded,
    replay::{Now, Verdict, judge},
    request::named,
    state::Walk,
};
use hermes_core::{
    digest::Digest,
    effect::Effect,
    failure::{Failure, FailureClass},
    fingerprint::fingerprint,
    fold::{Cell, CellStatus},
    ids::{Address, Seq},
    journal::{Asked, Event, Superseded},
    path::StepPath,
    request::{AskRequest, Request},
    value::Val,
};
use hermes_plan::graph::{ComputeFn, Kind, Location, Review};
use std::sync::Arc;

/// What a person is shown beside a question that is asked again because the last answer cannot be read as its type.
const AGAIN: &str = "the last answer does not count";

/// A question as the plan puts it today.
#[derive(Clone)]
struct Question {
    address: Address,
    path: StepPath,
    request: Request,
    print: Digest,
    schema: String,
    shown: Vec<(String, Val)>,
    choices: Option<Val>,
    many: bool,
    caused: bool,
    check: ComputeFn,
    place: Location,
}

impl Question {
    /// The same question, which also shows why the last answer to it does not count.
    fn again(&self, failure: &Failure) -> Self {
        let mut again = self.clone();
        again.shown.push((AGAIN.to_owned(), Val::from_json(failure.message.clone().into())));
        again
    }
}

/// What became of looking at a question.
enum Looked {
    Answered(Val),
    /// A conflict, in a check that goes on below it with what is stored.
    Beneath(Val),
    Open,
    Held,
    Opening,
    Blocked,
    Skip,
}

impl Walk {
    pub(super) fn look_at_question(&mut self, at: At) {
        let program = self.program_of(at.node);
        let node = program.graph.node(at.node);
        let Kind::Ask(ask) = &node.kind else { return };
        let (values, caused) = self.inputs(at);
        let names = || node.inputs.iter().map(|input| input.name.as_str());
        let choices = ask.choices.and_then(|choices| values.get(choices.input).cloned());
        let shown_count = ask.choices.map_or(values.len(), |choices| choices.input);
        let request = Request::Ask(AskRequest {
            title: ask.title.clone(),
            inputs: named(names().take(shown_count), &values),
            schema: node.schema.bare_id(),
            choices: choices.as_ref().map(Val::digest),
        });
        let question = Question {
            address: self.address(at),
            path: self.path(at),
            print: fingerprint(&request),
            request,
            schema: node.schema.text().to_owned(),
            shown: names().map(ToOwned::to_owned).zip(values).take(shown_count).collect(),
            choices,
            many: ask.choices.is_some_and(|choices| choices.many),
            caused,
            check: Arc::clone(&ask.check),
            place: node.at,
        };
        let caused = caused || self.own_cause(question.address);
        match self.look_at(at, &question) {
            Looked::Answered(value) | Looked::Beneath(value) => self.settle(at, Slot::Done(value, caused)),
            Looked::Open => *self.slot_mut(at) = Slot::Asked,
            Looked::Held => {
                self.hold_back(at);
            }
            Looked::Opening => *self.slot_mut(at) = Slot::Committing,
            Looked::Blocked => *self.slot_mut(at) = Slot::Blocked,
            Looked::Skip => self.skip(at),
        }
    }

    fn own_cause(&self, address: Address) -> bool {
        self.state.cell(address).is_some_and(|cell| self.state.below_own_cause(cell))
    }

    /// Compares a question with the journal, and opens it where it has to be opened.
    fn look_at(&mut self, at: At, question: &Question) -> Looked {
        let Some(cell) = self.state.cell(question.address).cloned() else {
            return self.open_question(at, question, None);
        };
        let compared = self.compare(&cell, &question.request, &question.print);
        let now = Now {
            same: compared.same,
            caused: question.caused || self.state.below_own_cause(&cell),
            version_changed: false,
            effect: Effect::Pure,
            crash_limit: None,
        };
        match judge(&cell, now) {
            Verdict::Reuse => {
                let value = Val::stored(cell.output, Arc::clone(&self.fetch), cell.outcome.0);
                match guarded(question.place, || (question.check)(std::slice::from_ref(&value))) {
                    Ok(_) => {
                        self.counts.reused += 1;
                        self.counts.ok += 1;
                        Looked::Answered(value)
                    }
                    // Valid for its schema, but not what today's type reads: asked again, with the reason.
                    Err(failure) => self.open_question(at, &question.again(&failure), None),
                }
            }
            Verdict::StayOpen if self.stopped(at.frame) => {
                self.rest(question.address, &cell);
                Looked::Skip
            }
            // It rested, and its frame goes on after all: nobody can answer it under its old id.
            Verdict::StayOpen if cell.suspended => self.open_question(at, question, Some(&cell)),
            Verdict::StayOpen => {
                self.questions.insert(cell.request, at);
                Looked::Open
            }
            Verdict::Conflict => {
                let (at, path, print) = (question.address, question.path.clone(), question.print);
                self.conflict(Conflict { at, path, print, changed: compared.changed, not_kept: None });
                if self.checking {
                    Looked::Beneath(Val::stored(cell.output, Arc::clone(&self.fetch), cell.outcome.0))
                } else {
                    Looked::Blocked
                }
            }
            Verdict::AskAnew => self.open_question(at, question, Some(&cell)),
            _ => self.open_question(at, question, None),
        }
    }

    /// Asks for the record that opens a question, after the one that closes what it replaces.
    fn open_question(&mut self, at: At, question: &Question, replaces: Option<&Cell>) -> Looked {
        if self.stopped(at.frame) {
            return Looked::Skip;
        }
        if self.checking {
            return Looked::Held;
        }
        if let Some(cell) = replaces.filter(|cell| cell.status == CellStatus::Asked) {
            let event = Event::Superseded(Superseded {
                question: cell.request,
                suspended: false,
                why: "what it asks has changed".to_owned(),
            });
            self.emit(
                question.address,
                cell.generation,
                cell.fingerprint,
                Digest::ZERO,
                &event,
                Then::Nothing,
            );
        }
        let mut blobs = Vec::new();
        let mut store = |text: &str| {
            let bytes = text.as_bytes().to_vec();
            let address = Digest::of_bytes(&bytes);
            blobs.push(bytes);
            address
        };
        let texts: Result<Vec<_>, _> =
            question.shown.iter().map(|(name, value)| Ok((name.clone(), value.text()?))).collect();
        let choices = question.choices.as_ref().map(Val::text).transpose();
        let (texts, choices) = match (texts, choices) {
            (Ok(texts), Ok(choices)) => (texts, choices),
            (Err::<_, hermes_core::value::Unreadable>(error), _) | (_, Err(error)) => {
                self.break_off(error);
                return Looked::Blocked;
            }
        };
        let event = Event::Asked(Asked {
            request: question.request.clone(),
            path: question.path.to_string(),
            schema: store(&question.schema),
            choices: choices.map(|text| store(&text)),
            many: question.many,
            shown: texts.into_iter().map(|(name, text)| (name, store(&text))).collect(),
        });
        let generation = self.state.cell(question.address).map_or(0, |cell| {
            let again = cell.rerun || cell.status == CellStatus::Answered;
            cell.generation + u32::from(again)
        });
        let (address, print) = (question.address, question.print);
        self.emit_with(address, generation, print, Digest::ZERO, &event, blobs, Then::Asked(at));
        Looked::Opening
    }

    /// The path of a question that is being opened: a review's has its round.
    pub(crate) fn asked_path(&self, at: At) -> Option<StepPath> {
        match self.slot(at) {
            Slot::Group(group) => match &**group {
                Group::Review(turn) => Some(self.round_path(at, turn.round)),
                _ => None,
            },
            _ => None,
        }
    }

    /// A question is durable.
    pub(super) fn question_open(&mut self, at: At, seq: Seq) {
        match self.slot_mut(at) {
            Slot::Group(group) => {
                if let Group::Review(turn) = &mut **group {
                    turn.phase = Phase::Asked;
                }
            }
            slot => *slot = Slot::Asked,
        }
        self.questions.insert(seq, at);
        if self.stopped(at.frame) {
            self.rest_questions();
        } else if let Some((answered, answer)) = self.early.remove(&seq) {
            return self.answered(seq, answered, answer);
        }
        self.turn();
        self.reclaim();
    }

    /// A question was answered, at `seq`.
    pub(crate) fn answered(&mut self, question: Seq, seq: Seq, answer: Digest) {
        let Some(at) = self.questions.remove(&question) else {
            // The question is durable, and the walk has not heard of it yet.
            self.early.insert(question, (seq, answer));
            return;
        };
        let value = Val::stored(answer, Arc::clone(&self.fetch), seq.0);
        let program = self.program_of(at.node);
        let node = program.graph.node(at.node);
        let check = match &node.kind {
            Kind::Ask(ask) => Arc::clone(&ask.check),
            Kind::Review(review) => answer_check(review),
            _ => return,
        };
        if guarded(node.at, || check(std::slice::from_ref(&value))).is_err() {
            // The journal has the answer, and the question is asked again: by a walk that has read that.
            self.outdated = true;
            return;
        }
        self.counts.ok += 1;
        if matches!(node.kind, Kind::Review(_)) {
            self.take_review(at, value);
        } else {
            let caused = self.below_causes(at) || self.own_cause(self.address(at));
            self.settle(at, Slot::Done(value, caused));
        }
        self.turn();
        self.reclaim();
    }

    /// Open questions of failed frames rest: `retry` opens them again under the same ids.
    pub(super) fn rest_questions(&mut self) {
        let stopped: Vec<(Seq, At)> = self
            .questions
            .iter()
            .filter(|(_, at)| self.stopped(at.frame))
            .map(|(seq, at)| (*seq, *at))
            .collect();
        for (seq, at) in stopped {
            self.questions.remove(&seq);
            let address = self.question_address(at);
            self.rest_at(address, seq);
            self.skip(at);
        }
    }

    /// Where the cell of a question is: a review's is at its round.
    fn question_address(&self, at: At) -> Address {
        match self.slot(at) {
            Slot::Group(group) => match &**group {
                Group::Review(turn) => {
                    Address { place: Self::scope_place(turn.scope, turn.round), step: self.number(at.node) }
                }
                _ => self.address(at),
            },
            _ => self.address(at),
        }
    }

    fn rest(&mut self, address: Address, cell: &Cell) {
        if !cell.suspended {
            self.rest_at(address, cell.request);
        }
    }

    fn rest_at(&mut self, address: Address, question: Seq) {
        let event = Event::Superseded(Superseded {
            question,
            suspended: true,
            why: "what it belongs to has failed".to_owned(),
        });
        self.emit_at_go(address, 0, Digest::ZERO, &event);
    }

    // ---- reviews

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
            schema: review.answer.text().to_owned(),
            shown: vec![("value".to_owned(), value)],
            choices: None,
            many: false,
            caused,
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
            Looked::Skip => return self.skip(at),
        };
        if let Some(turn) = self.turn_mut(at) {
            turn.phase = phase;
        }
    }

    /// Goes on as a review's answer says.
    fn take_review(&mut self, at: At, answer: Val) {
        let program = self.program_of(at.node);
        let node = program.graph.node(at.node);
        let Kind::Review(review) = &node.kind else { return };
        let address = self.question_address(at);
        let own = self.own_cause(address);
        let Some(turn) = self.turn_mut(at) else { return };
        turn.caused |= own;
        let (scope, round, value, caused) = (turn.scope, turn.round, turn.value.clone(), turn.caused);
        let parts = (answer.field("decision"), answer.field("value"), answer.field("feedback"));
        let (Ok(Some(decision)), Ok(edited), Ok(feedback)) = parts else {
            return self.break_off("the answer of a review has no decision");
        };
        let decision = decision.text().unwrap_or_default();
        match (&*decision, edited, feedback, review.revise) {
            ("\"approve\"", ..) => self.settle(at, Slot::Done(value, caused)),
            ("\"edit\"", Some(edited), ..) => {
                self.settle(at, Slot::Done(edited, caused));
            }
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
fn answer_check(review: &Review) -> ComputeFn {
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
