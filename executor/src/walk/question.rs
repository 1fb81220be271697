//! Questions: `ask` and the rounds of a `review`. Opening, staying open, asking anew, resting, expiring; and what an answer
//! means.

use super::{
    adopt::{Earlier, TakenOver},
    conflict::Conflict,
    emit::Then,
    frame::{At, Fault, Group, Phase, Slot},
    guard::guarded,
    met::Met,
    replay::{Now, Verdict, judge},
    request::{named, raw},
    review::answer_check,
    state::Walk,
    today::Today,
};
use hermes_core::{
    digest::Digest,
    effect::Effect,
    failure::{Failure, FailureClass},
    fingerprint::fingerprint,
    fold::{Cell, CellStatus},
    ids::{Address, Seq},
    journal::{Asked, Event, Expiry, Reassigned, Record, Superseded},
    path::StepPath,
    people::NeedKind,
    request::{AskRequest, Request},
    schema::Schema,
    timestamp::Timestamp,
    value::Val,
};
use hermes_plan::graph::{Assignee, ComputeFn, Expires, Kind, Location};
use std::sync::Arc;

/// What a person is shown beside a question that is asked again because the last answer cannot be read as its type.
const AGAIN: &str = "the last answer does not count";

/// Under which name a person is shown what was answered when the question was asked before.
const EARLIER: &str = "the earlier answer";

/// A question as the plan puts it today.
#[derive(Clone)]
pub(super) struct Question {
    pub(super) address: Address,
    pub(super) path: StepPath,
    pub(super) request: Request,
    pub(super) print: Digest,
    /// The schema of an answer.
    pub(super) answer: Schema,
    pub(super) shown: Vec<(String, Val)>,
    pub(super) choices: Option<Val>,
    pub(super) many: bool,
    pub(super) caused: bool,
    pub(super) expires: Option<Expires>,
    pub(super) check: ComputeFn,
    pub(super) place: Location,
}

impl Question {
    /// The same question, which also shows why the last answer to it does not count.
    fn again(&self, failure: &Failure) -> Self {
        let mut again = self.clone();
        again.shown.push((AGAIN.to_owned(), Val::from_json(failure.message.clone().into())));
        again
    }
}

impl Question {
    /// Whether anybody could answer it.
    fn answerable(&self) -> Result<(), Failure> {
        let none =
            self.choices.as_ref().is_some_and(|choices| choices.elements().is_ok_and(|all| all.is_empty()));
        if none && !self.many {
            let failure = Failure::new(FailureClass::NoChoices, "the list of choices is empty");
            return Err(failure.located(self.place));
        }
        Ok(())
    }
}

/// What became of looking at a question.
pub(super) enum Looked {
    Answered(Val),
    /// A conflict, in a check that goes on below it with what is stored.
    Beneath(Val),
    Open,
    /// It has failed: it expired, or nobody can be told whom it is for.
    Failed(Failure),
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
            answer: node.schema.clone(),
            shown: names().map(ToOwned::to_owned).zip(values).take(shown_count).collect(),
            choices,
            many: ask.choices.is_some_and(|choices| choices.many),
            caused,
            expires: ask.expires.clone(),
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
            Looked::Failed(failure) => self.question_failed(at, failure, caused),
            Looked::Skip => self.skip(at),
        }
    }

    pub(super) fn own_cause(&self, address: Address) -> bool {
        self.state.cell(address).is_some_and(|cell| self.state.below_own_cause(cell))
    }

    /// Compares a question with the journal, and opens it where it has to be opened.
    pub(super) fn look_at(&mut self, at: At, question: &Question) -> Looked {
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
                        self.meet(question.address, Met::Settled);
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
            Verdict::StayOpen => match self.assignee(at) {
                Ok(assignee) => {
                    self.reassign(question.address, cell.request, assignee);
                    self.keep_open(cell.request, at, cell.instant);
                    self.meet(question.address, Met::Open);
                    Looked::Open
                }
                Err(failure) => {
                    self.rest(question.address, &cell);
                    Looked::Failed(failure)
                }
            },
            Verdict::ReuseFailure => {
                self.counts.reused += 1;
                Looked::Failed(expired(cell.instant))
            }
            Verdict::Conflict => {
                let (at, path, print) = (question.address, question.path.clone(), question.print);
                self.keep_question(question);
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

    /// Keeps today's question where it differs.
    fn keep_question(&mut self, question: &Question) {
        self.keep_today(question.address, |_| Today::Asked {
            request: Box::new(question.request.clone()),
            schema: question.answer.clone(),
            values: question.shown.clone(),
            choices: question.choices.clone(),
        });
    }

    /// Asks for the record that opens a question, after the one that closes what it replaces.
    fn open_question(&mut self, at: At, question: &Question, replaces: Option<&Cell>) -> Looked {
        if self.stopped(at.frame) {
            return Looked::Skip;
        }
        // No record says why a question could not be asked: each walk finds that out for itself, a checking one too.
        let assignee = match question.answerable().and_then(|()| self.assignee(at)) {
            Ok(assignee) => assignee,
            Err(failure) => {
                if let Some(cell) = replaces.filter(|cell| cell.status == CellStatus::Asked) {
                    self.rest(question.address, cell);
                }
                return Looked::Failed(failure);
            }
        };
        if self.checking {
            self.meet(question.address, Met::Held(at));
            return Looked::Held;
        }
        if self.state.cell(question.address).is_none()
            && let Some(earlier) = self.earlier_answer_of_parent(question)
        {
            let (print, request) = (question.print, question.request.clone());
            let then = Then::Answer(at, earlier.value.clone());
            self.take_over(TakenOver { at, generation: 0, print, request }, earlier, then);
            return Looked::Opening;
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
        // Why the last answer does not count says what it was.
        let told = question.shown.iter().any(|(name, _)| name == AGAIN);
        let earlier = if told { None } else { self.earlier_answer(question.address) };
        let shown = question.shown.iter().chain(&earlier);
        let texts: Result<Vec<_>, _> = shown.map(|(name, value)| Ok((name.clone(), value.text()?))).collect();
        let choices = question.choices.as_ref().map(Val::text).transpose();
        let (texts, choices) = match (texts, choices) {
            (Ok(texts), Ok(choices)) => (texts, choices),
            (Err::<_, hermes_core::value::Unreadable>(error), _) | (_, Err(error)) => {
                self.break_off(error);
                return Looked::Blocked;
            }
        };
        let expires = question.expires.as_ref().map(|expires| self.expiry(expires)).transpose();
        let expires = match expires {
            Ok(expires) => expires,
            Err(why) => {
                self.break_off(why);
                return Looked::Blocked;
            }
        };
        let until = expires.as_ref().map(|expiry| expiry.at);
        let event = Event::Asked(Asked {
            request: question.request.clone(),
            path: question.path.to_string(),
            schema: store(question.answer.text()),
            choices: choices.map(|text| store(&text)),
            many: question.many,
            shown: texts.into_iter().map(|(name, text)| (name, store(&text))).collect(),
            assignee,
            expires,
        });
        let generation = self.state.cell(question.address).map_or(0, |cell| {
            let again = cell.rerun || cell.status == CellStatus::Answered;
            cell.generation + u32::from(again)
        });
        let (address, print) = (question.address, question.print);
        self.emit_with(address, generation, print, Digest::ZERO, &event, blobs, Then::Asked(at, until));
        Looked::Opening
    }

    /// What was answered to the same question in the run that this one was forked from, where today's type reads it.
    fn earlier_answer_of_parent(&self, question: &Question) -> Option<Earlier> {
        let earlier = self.of_parent(&question.path, &question.print).ok().flatten()?;
        let reads = guarded(question.place, || (question.check)(std::slice::from_ref(&earlier.value)));
        reads.is_ok().then_some(earlier)
    }

    /// What was answered to a question that is asked again.
    fn earlier_answer(&self, address: Address) -> Option<(String, Val)> {
        let cell = self.state.cell(address).filter(|cell| cell.status == CellStatus::Answered)?;
        let value = Val::stored(cell.output, Arc::clone(&self.fetch), cell.outcome.0);
        Some((EARLIER.to_owned(), value))
    }

    /// Whom today's plan says the question is for.
    fn assignee(&self, at: At) -> Result<Option<String>, Failure> {
        let Kind::Ask(ask) = &self.node(at.node).kind else { return Ok(None) };
        match &ask.assignee {
            None => Ok(None),
            Some(Assignee::Fixed(who)) => Ok(Some(who.clone())),
            Some(Assignee::Built { build, at: place }) => {
                let (values, _) = self.inputs(at);
                let who = guarded(*place, || build(&values)).map_err(|failure| failure.located(place))?;
                Ok(Some(who).filter(|who| !who.trim().is_empty()))
            }
        }
    }

    /// Records whom an open question is for, where that has changed.
    fn reassign(&mut self, address: Address, question: Seq, today: Option<String>) {
        let need = self.state.summary.needs().get(&(question, 0)).map(|need| &need.kind);
        let Some(NeedKind::Review { assignee: known, .. }) = need else { return };
        if *known != today {
            let event = Event::Reassigned(Reassigned { question, assignee: today });
            self.emit_at_go(address, 0, Digest::ZERO, &event);
        }
    }

    /// When a question that opens now expires, and what then.
    fn expiry(&self, expires: &Expires) -> Result<Expiry, String> {
        let stored =
            |value: &Val| value.text().map_err(|error| error.to_string()).and_then(|text| raw(&text));
        let value = expires.value.as_ref().map(stored).transpose()?;
        Ok(Expiry { at: self.time.after(expires.after), value })
    }

    fn keep_open(&mut self, question: Seq, at: At, expires: Option<Timestamp>) {
        self.questions.insert(question, (at, expires));
        self.expiring.extend(expires.map(|expires| (expires, question)));
    }

    fn no_longer_open(&mut self, question: Seq) -> Option<(At, Option<Timestamp>)> {
        let (at, expires) = self.questions.remove(&question)?;
        if let Some(expires) = expires {
            self.expiring.remove(&(expires, question));
        }
        Some((at, expires))
    }

    /// The step of a question has failed.
    pub(super) fn question_failed(&mut self, at: At, failure: Failure, caused: bool) {
        let failure = failure.at(|| self.path(at).to_string());
        self.counts.failed += 1;
        self.settle(at, Slot::Failed(Fault { failure: Arc::new(failure), caused }));
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
    pub(super) fn question_open(&mut self, at: At, seq: Seq, expires: Option<Timestamp>) {
        match self.slot_mut(at) {
            Slot::Group(group) => {
                if let Group::Review(turn) = &mut **group {
                    turn.phase = Phase::Asked;
                }
            }
            slot => *slot = Slot::Asked,
        }
        self.keep_open(seq, at, expires);
        if self.stopped(at.frame) {
            self.rest_questions();
        } else if let Some((closed, value)) = self.early.remove(&seq) {
            return self.closed(seq, closed, value);
        }
        self.turn();
        self.reclaim();
    }

    /// Whether the time of an open question is over.
    pub(crate) fn lapses(&self) -> bool {
        self.expiring.first().is_some_and(|(at, _)| *at <= self.time)
    }

    /// What lapsed is recorded, as far as nobody was faster: whoever was tells of it.
    pub(crate) fn lapsed(&mut self) {
        while let Some(first) = self.expiring.first().copied().filter(|(at, _)| *at <= self.time) {
            self.expiring.remove(&first);
        }
    }

    /// A question was closed at `seq`: with this value, by an answer or on expiry, or without one because it expired.
    pub(crate) fn closed(&mut self, question: Seq, seq: Seq, value: Option<Digest>) {
        let Some((at, expires)) = self.no_longer_open(question) else {
            // The question is durable, and the walk has not heard of it yet; or it was about to rest.
            self.emits.retain(|emit| !closes(&emit.record, question));
            self.early.insert(question, (seq, value));
            return;
        };
        let Some(answer) = value else {
            let caused = self.below_causes(at) || self.own_cause(self.address(at));
            self.question_failed(at, expired(expires), caused);
            self.turn();
            self.reclaim();
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

    /// Open questions of failed frames rest, and so do their waits: `retry` opens the questions again under the same ids.
    pub(super) fn rest_questions(&mut self) {
        self.rest_waits();
        let stopped: Vec<(Seq, At)> = self
            .questions
            .iter()
            .filter(|(_, (at, _))| self.stopped(at.frame))
            .map(|(seq, (at, _))| (*seq, *at))
            .collect();
        for (seq, at) in stopped {
            self.no_longer_open(seq);
            let address = self.question_address(at);
            self.rest_at(address, seq);
            self.skip(at);
        }
    }

    /// Where the cell of a question is: a review's is at its round.
    pub(super) fn question_address(&self, at: At) -> Address {
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
}

/// Whether a record is to close this question.
fn closes(record: &Record, question: Seq) -> bool {
    record.header.kind == hermes_core::journal::Kind::Superseded
        && matches!(record.event(), Ok(Event::Superseded(closed)) if closed.question == question)
}

/// The failure of a question that expired.
fn expired(at: Option<Timestamp>) -> Failure {
    let message = at.map_or_else(String::new, |at| format!("it was open until {at}"));
    Failure::new(FailureClass::Expired, message)
}
