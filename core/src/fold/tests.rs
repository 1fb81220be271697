//! The fold takes what can follow and refuses what cannot.

use super::*;
use crate::{
    digest::Digest,
    failure::{Failure, FailureClass},
    ids::{Address, Place, RunId, ScopeNo, StepNo},
    journal::{
        Answered, Asked, CauseKind, Caused, CausesClosed, Decided, EndKind, Ended, Event, Expired, Expiry,
        Failed, Frozen, FrozenKeys, Named, Opened, Parked, Reassigned, RunStarted, Started, Succeeded,
        Superseded, Timed,
    },
    people::{Actor, NeedKind},
    request::{Request, StepRequest, WaitRequest},
    timestamp::Timestamp,
};
use serde_json::value::RawValue;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn at(scope: u32, ordinal: u32, step: u32) -> Address {
    Address { place: Place { scope: ScopeNo(scope), ordinal }, step: StepNo(step) }
}

fn digest(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

fn request() -> Request {
    Request::Step(StepRequest { inputs: vec![], schema: Digest::ZERO, version: None })
}

/// A journal under construction.
struct Journal(Vec<(Seq, Record)>);

impl Journal {
    fn new() -> Self {
        let mut journal = Self(Vec::new());
        journal.push(
            at(0, 0, 0),
            &Event::RunStarted(RunStarted {
                forked: None,
                id: RunId::new("r").unwrap(),
                plan: "p".to_owned(),
                input: raw("1"),
                input_schema: Digest::ZERO,
                output_schema: Digest::ZERO,
                layout: String::new(),
            }),
        );
        let steps =
            ["a", "fan", "fan[*]/x", "review"].map(|step| (step.to_owned(), "step".to_owned())).to_vec();
        journal.push(
            at(0, 0, 0),
            &Event::Named(Named { first: StepNo(1), steps, schemas: vec![], constants: vec![] }),
        );
        journal
    }

    fn push(&mut self, at: Address, event: &Event) -> Seq {
        self.push_with(at, digest("print"), digest("out"), event)
    }

    fn push_with(&mut self, at: Address, print: Digest, out: Digest, event: &Event) -> Seq {
        let seq = Seq(self.0.len() as u64 + 1);
        self.0.push((seq, Record::new(at, 0, print, out, event)));
        seq
    }

    fn fold(&self) -> Result<RunState, IllegalEvent> {
        fold(self.0.iter().map(|(seq, record)| (*seq, record)))
    }

    fn refused(mut self, at: Address, event: &Event) -> String {
        self.fold().expect("so far it is legal");
        self.push(at, event);
        self.fold().expect_err("it must be refused").to_string()
    }
}

fn succeeded() -> Event {
    Event::Succeeded(Succeeded { output: raw("1"), request: Some(request()), receipt: None })
}

fn started() -> Event {
    Event::Started(Started {
        request: request(),
        effect: crate::effect::Effect::Idempotent,
        key: digest("key"),
        cookie: "c".to_owned(),
        attempt: 1,
        runner: None,
        title: None,
        bound: None,
    })
}

fn failed() -> Event {
    Event::Failed(Failed {
        failure: Failure::new(FailureClass::Rejected, "no"),
        may_have_acted: false,
        request: Some(request()),
        receipt: None,
    })
}

fn caused(kind: CauseKind) -> Event {
    Event::Caused(Caused { kind, by: Actor::default(), why: None })
}

fn asked() -> Event {
    Event::Asked(Asked {
        request: request(),
        path: "review[1]".to_owned(),
        schema: digest("schema"),
        choices: None,
        many: false,
        shown: vec![],
        assignee: None,
        expires: None,
    })
}

#[test]
fn finished_is_finished_until_a_cause_is_open() {
    let mut journal = Journal::new();
    journal.push(at(0, 0, 1), &succeeded());
    assert!(journal.refused(at(0, 0, 1), &succeeded()).contains("no cause is open"));

    let mut journal = Journal::new();
    journal.push(at(0, 0, 1), &succeeded());
    let cause = journal.push(at(0, 0, 1), &caused(CauseKind::Rerun));
    assert!(journal.fold().unwrap().cell(at(0, 0, 1)).unwrap().rerun);
    journal.push(at(0, 0, 1), &succeeded());
    let state = journal.fold().unwrap();
    let cell = state.cell(at(0, 0, 1)).unwrap();
    assert!(!cell.rerun && state.below_own_cause(cell));
    journal.push(at(0, 0, 0), &Event::CausesClosed(CausesClosed { causes: vec![cause] }));
    let state = journal.fold().unwrap();
    assert!(!state.below_own_cause(state.cell(at(0, 0, 1)).unwrap()));
}

#[test]
fn one_retry_is_a_cause_for_every_failure() {
    let mut journal = Journal::new();
    journal.push(at(0, 0, 1), &failed());
    journal.push(at(0, 0, 4), &succeeded());
    journal.push(
        at(0, 0, 0),
        &Event::Ended(Ended { end: EndKind::Failed { failure: Failure::new(FailureClass::Rejected, "no") } }),
    );
    assert!(journal.fold().unwrap().ended.is_some());
    journal.push(at(0, 0, 0), &caused(CauseKind::Retry));
    let state = journal.fold().unwrap();
    assert!(state.ended.is_none());
    assert!(state.cell(at(0, 0, 1)).unwrap().rerun);
    assert!(!state.cell(at(0, 0, 4)).unwrap().rerun);
    assert_eq!(state.summary.head().unwrap().status, RunStatus::Open);
}

#[test]
fn attempts_that_ended_with_the_process_are_counted() {
    let mut journal = Journal::new();
    for _ in 0..3 {
        journal.push(at(0, 0, 1), &started());
    }
    let state = journal.fold().unwrap();
    let cell = state.cell(at(0, 0, 1)).unwrap();
    assert_eq!((cell.lost, cell.attempts, cell.status), (2, 3, CellStatus::Started));
    journal.push(at(0, 0, 1), &succeeded());
    assert_eq!(journal.fold().unwrap().cell(at(0, 0, 1)).unwrap().lost, 0);
}

fn frozen(scope: u32, keys: &[&str]) -> Event {
    Event::Frozen(Frozen {
        scope: ScopeNo(scope),
        offset: 0,
        keys: FrozenKeys::Named { keys: keys.iter().map(|key| (*key).to_owned()).collect() },
        items: keys.iter().map(|key| digest(key)).collect(),
        last: true,
    })
}

#[test]
fn keys_keep_their_ordinals_for_ever() {
    let mut journal = Journal::new();
    journal.push(at(0, 0, 2), &frozen(1, &["a", "b", "c"]));
    journal.push(at(1, 1, 3), &succeeded());
    journal.push(at(0, 0, 2), &frozen(1, &["c", "new", "a"]));
    let state = journal.fold().unwrap();
    assert_eq!(state.scopes[1].order, [2, 3, 0]);
    assert_eq!(state.path(at(1, 1, 3)).to_string(), "fan[b]/x");
    assert_eq!(state.path(at(1, 3, 3)).to_string(), "fan[new]/x");
    assert_eq!(state.find(&"fan[b]/x".parse().unwrap()), Some(at(1, 1, 3)));
}

#[test]
fn a_scope_is_the_next_one_and_belongs_to_one_group() {
    let opened = |scope| Event::Opened(Opened { scope: ScopeNo(scope) });
    assert!(Journal::new().refused(at(0, 0, 4), &opened(2)).contains("not the next one"));
    let mut journal = Journal::new();
    journal.push(at(0, 0, 4), &opened(1));
    assert!(journal.refused(at(0, 0, 4), &opened(2)).contains("not the next one"));
    let mut journal = Journal::new();
    journal.push(at(0, 0, 4), &opened(1));
    assert!(journal.refused(at(0, 0, 2), &frozen(1, &["a"])).contains("another group"));
}

#[test]
fn a_question_is_answered_once() {
    let answer = |question| {
        Event::Answered(Answered { question, answer: raw("true"), by: Actor::default(), key: None })
    };
    let mut journal = Journal::new();
    journal.push(at(0, 0, 4), &Event::Opened(Opened { scope: ScopeNo(1) }));
    let question = journal.push(at(1, 1, 4), &asked());
    let state = journal.fold().unwrap();
    assert_eq!(state.summary.needs().len(), 1);
    assert_eq!(state.path(at(1, 1, 4)).to_string(), "review[1]");
    journal.push(at(1, 1, 4), &answer(question));
    let state = journal.fold().unwrap();
    assert!(state.summary.needs().is_empty());
    assert_eq!(state.summary.head().unwrap().needs, 0);
    assert!(journal.refused(at(1, 1, 4), &answer(question)).contains("not open"));
}

#[test]
fn what_was_parked_is_replaced_and_emptied() {
    let group = |name: &str| crate::journal::Group::Dropped {
        step: StepNo(1),
        path: name.to_owned(),
        difference: digest(name),
        count: 1,
        proposed: None,
    };
    let mut journal = Journal::new();
    journal.push(at(0, 0, 0), &Event::Parked(Parked { groups: vec![group("a"), group("b")] }));
    journal.push(at(0, 0, 0), &Event::Parked(Parked { groups: vec![group("b")] }));
    let state = journal.fold().unwrap();
    assert_eq!(state.summary.needs().len(), 1);
    assert_eq!(state.summary.head().unwrap().status, RunStatus::Parked);
    journal.push(at(0, 0, 0), &Event::Parked(Parked { groups: vec![] }));
    assert_eq!(journal.fold().unwrap().summary.head().unwrap().status, RunStatus::Open);
}

#[test]
fn steps_and_scopes_must_be_known() {
    assert!(Journal::new().refused(at(0, 0, 77), &succeeded()).contains("no name"));
    assert!(Journal::new().refused(at(9, 0, 1), &succeeded()).contains("never opened"));
    let gap = Event::Named(Named { first: StepNo(9), steps: vec![], schemas: vec![], constants: vec![] });
    assert!(Journal::new().refused(at(0, 0, 0), &gap).contains("do not follow"));
}

#[test]
fn a_decision_replaces_the_one_before() {
    let decided = |decision: &str| Event::Decided(Decided { decision: decision.to_owned() });
    let mut journal = Journal::new();
    journal.push_with(at(0, 0, 1), digest("v1"), digest("yes"), &decided("yes"));
    journal.push_with(at(0, 0, 1), digest("v2"), digest("no"), &decided("no"));
    let state = journal.fold().unwrap();
    let cell = state.cell(at(0, 0, 1)).unwrap();
    assert_eq!((cell.fingerprint, cell.output), (digest("v2"), digest("no")));
}

#[test]
fn time_never_goes_back() {
    let mut journal = Journal::new();
    journal.push(at(0, 0, 1), &succeeded());
    journal.0[1].1.header.time = 10;
    journal.0[2].1.header.time = 9;
    assert!(journal.fold().unwrap_err().to_string().contains("time"));
}

fn asked_till(millis: i64) -> Event {
    let Event::Asked(asked) = asked() else { unreachable!() };
    let at = Timestamp::from_millis(millis);
    Event::Asked(Asked { expires: Some(Expiry { at, value: None }), ..asked })
}

fn expired(question: Seq, value: Option<&str>) -> Event {
    Event::Expired(Expired { question, value: value.map(raw) })
}

#[test]
fn a_question_expires_once_and_takes_no_answer_then() {
    for (value, status) in [(None, CellStatus::Expired), (Some("true"), CellStatus::Answered)] {
        let mut journal = Journal::new();
        journal.push(at(0, 0, 4), &Event::Opened(Opened { scope: ScopeNo(1) }));
        let question = journal.push(at(1, 1, 4), &asked_till(7));
        let summary = journal.fold().unwrap().summary;
        assert!(summary.lapsed(Timestamp::from_millis(6)).is_empty());
        assert_eq!(summary.lapsed(Timestamp::from_millis(7)), [question]);
        journal.push(at(1, 1, 4), &expired(question, value));
        let state = journal.fold().unwrap();
        let cell = state.cell(at(1, 1, 4)).unwrap();
        assert_eq!((cell.status, cell.finished()), (status, true));
        let head = state.summary.head().unwrap();
        assert_eq!((head.needs, head.succeeded + head.failed), (0, 1));
        assert!(journal.refused(at(1, 1, 4), &expired(question, value)).contains("not open"));
    }
}

#[test]
fn an_expired_question_is_asked_anew_after_retry_and_so_is_one_that_rested_past_its_time() {
    let mut journal = Journal::new();
    journal.push(at(0, 0, 4), &Event::Opened(Opened { scope: ScopeNo(1) }));
    let first = journal.push(at(1, 1, 4), &asked_till(7));
    let rests = journal.push(at(1, 2, 4), &asked_till(50));
    let goes_on = journal.push(at(1, 3, 4), &asked_till(500));
    journal.push(at(1, 1, 4), &expired(first, None));
    for (ordinal, question) in [(2, rests), (3, goes_on)] {
        let why = String::new();
        journal.push(at(1, ordinal, 4), &Event::Superseded(Superseded { question, suspended: true, why }));
    }
    journal.push(at(0, 0, 0), &caused(CauseKind::Retry));
    journal.0.last_mut().unwrap().1.header.time = 100;
    let state = journal.fold().unwrap();
    assert!(state.cell(at(1, 1, 4)).unwrap().rerun);
    let status = |ordinal| state.cell(at(1, ordinal, 4)).unwrap().status;
    assert_eq!((status(2), status(3)), (CellStatus::Superseded, CellStatus::Asked));
    assert_eq!(state.summary.needs().keys().map(|(seq, _)| *seq).collect::<Vec<_>>(), [goes_on]);
}

#[test]
fn whom_a_question_is_for_changes_while_it_is_open() {
    let to = |question, who: &str| Event::Reassigned(Reassigned { question, assignee: Some(who.to_owned()) });
    let mut journal = Journal::new();
    journal.push(at(0, 0, 4), &Event::Opened(Opened { scope: ScopeNo(1) }));
    let question = journal.push(at(1, 1, 4), &asked());
    journal.push(at(1, 1, 4), &to(question, "ada"));
    let state = journal.fold().unwrap();
    let need = &state.summary.needs()[&(question, 0)];
    assert!(matches!(&need.kind, NeedKind::Review { assignee: Some(who), .. } if who == "ada"));
    // Answered at the same moment: nobody has it any more.
    journal.push(at(1, 1, 4), &expired(question, None));
    journal.push(at(1, 1, 4), &to(question, "bob"));
    assert!(journal.fold().unwrap().summary.needs().is_empty());
}

#[test]
fn a_wait_keeps_its_moment_till_it_is_over_and_is_over_once() {
    let timed = |until| {
        let request = Request::Wait(WaitRequest {});
        Event::Timed(Timed { request, until: Timestamp::from_millis(until) })
    };
    let mut journal = Journal::new();
    let begun = journal.push(at(0, 0, 1), &timed(7));
    let state = journal.fold().unwrap();
    let cell = state.cell(at(0, 0, 1)).unwrap();
    assert_eq!((cell.status, cell.instant), (CellStatus::Timed, Some(Timestamp::from_millis(7))));
    assert!(!cell.finished());
    let over = journal
        .push(at(0, 0, 1), &Event::Succeeded(Succeeded { output: raw("1"), request: None, receipt: None }));
    let state = journal.fold().unwrap();
    let cell = state.cell(at(0, 0, 1)).unwrap();
    assert_eq!((cell.status, cell.request, cell.outcome), (CellStatus::Succeeded, begun, over));
    assert!(journal.refused(at(0, 0, 1), &timed(9)).contains("no cause is open"));
}

#[test]
fn refused_answers_are_kept_at_their_step_and_belong_to_an_open_attempt() {
    let refused = |turn| {
        Event::Refused(crate::journal::Refused {
            attempt: 1,
            turn,
            raw: "{}".to_owned(),
            violations: vec!["no".to_owned()],
            receipt: crate::receipt::Receipt::default(),
        })
    };
    assert!(Journal::new().refused(at(0, 0, 1), &refused(1)).contains("no attempt"));
    let mut journal = Journal::new();
    journal.push(at(0, 0, 1), &started());
    let first = journal.push(at(0, 0, 1), &refused(1));
    assert_eq!(journal.fold().unwrap().cell(at(0, 0, 1)).unwrap().status, CellStatus::Started);
    // The process ended; the next attempt keeps what the first was paid for.
    journal.push(at(0, 0, 1), &started());
    let second = journal.push(at(0, 0, 1), &refused(1));
    journal.push(at(0, 0, 1), &succeeded());
    let state = journal.fold().unwrap();
    assert_eq!(state.cell(at(0, 0, 1)).unwrap().refused, [first, second]);
    assert!(journal.refused(at(0, 0, 1), &refused(2)).contains("no attempt"));
}
