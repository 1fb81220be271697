//! Every attempt counts once: what it cost, or its bound; and what was taken over counts nothing.

use super::*;
use crate::{
    budget::Unit,
    digest::Digest,
    effect::Effect,
    failure::Failure,
    ids::{Place, RunId, Seq},
    journal::{Adopted, Driven, Failed, Interrupted, Named, Refused, Started, Succeeded},
    receipt::Cost,
    request::{Request, StepRequest},
};
use serde_json::value::RawValue;

const STEP: Address = Address { place: Place::ROOT, step: StepNo(1) };

fn raw() -> Box<RawValue> {
    RawValue::from_string("1".to_owned()).unwrap()
}

fn request() -> Request {
    Request::Step(StepRequest { inputs: vec![], schema: Digest::ZERO, version: None })
}

fn cost(usd: f64) -> Receipt {
    Receipt { cost: Some(Cost::Known { usd }), ..Receipt::default() }
}

fn started() -> Event {
    Event::Started(Started {
        request: request(),
        effect: Effect::Idempotent,
        key: Digest::ZERO,
        cookie: String::new(),
        attempt: 1,
        runner: None,
        title: None,
        bound: Some(Budget::usd(0.5)),
    })
}

fn succeeded(receipt: Option<Receipt>) -> Event {
    Event::Succeeded(Succeeded { output: raw(), request: None, receipt })
}

fn failed(class: FailureClass, may_have_acted: bool) -> Event {
    let failure = Failure::new(class, "no");
    Event::Failed(Failed { failure, may_have_acted, request: None, receipt: None })
}

fn refused(usd: f64) -> Event {
    let receipt = cost(usd);
    Event::Refused(Refused { attempt: 1, turn: 1, raw: String::new(), violations: vec![], receipt })
}

/// Money in cents, calls, and calls whose money is not known.
fn spent(events: &[Event]) -> (u64, u64, u64) {
    let mut spending = Spending::default();
    let steps = vec![("a".to_owned(), "agent".to_owned()), ("s".to_owned(), "step".to_owned())];
    let named = Event::Named(Named { first: StepNo(1), steps, schemas: vec![], constants: vec![] });
    for event in std::iter::once(&named).chain(events) {
        spending.apply(&Record::new(STEP, 0, Digest::ZERO, Digest::ZERO, event)).unwrap();
    }
    let total = spending.total(&|_| Budget::default());
    (total.usd.as_nanos() / 10_000_000, total.calls, total.unknown_usd)
}

#[test]
fn an_attempt_counts_as_what_it_cost_or_as_its_bound() {
    assert_eq!(spent(&[started()]), (50, 1, 1), "under way");
    assert_eq!(spent(&[started(), succeeded(Some(cost(0.2)))]), (20, 1, 0));
    assert_eq!(spent(&[started(), succeeded(None)]), (50, 1, 1));
    assert_eq!(spent(&[started(), refused(0.1), refused(0.2), succeeded(Some(cost(0.4)))]), (40, 1, 0));
    assert_eq!(spent(&[started(), refused(0.4), refused(0.4)]), (80, 1, 1), "more than the bound, for sure");
    assert_eq!(spent(&[started(), failed(FailureClass::RunnerError, true)]), (50, 1, 1));
    assert_eq!(spent(&[started(), failed(FailureClass::NotBegun, false)]), (0, 0, 0));
    assert_eq!(spent(&[started(), failed(FailureClass::Interrupted, false)]), (50, 1, 1), "a person's word");
    let interrupted = Event::Interrupted(Interrupted { why: String::new() });
    assert_eq!(spent(&[started(), interrupted]), (50, 1, 1));
}

#[test]
fn attempts_that_were_lost_or_superseded_count_and_what_was_taken_over_does_not() {
    let twice = [started(), started(), succeeded(Some(cost(0.1)))];
    assert_eq!(spent(&twice), (60, 2, 1));
    let again = [started(), succeeded(Some(cost(0.1))), started(), succeeded(Some(cost(0.3)))];
    assert_eq!(spent(&again), (40, 2, 0));
    let adopted = Event::Adopted(Adopted {
        output: raw(),
        request: request(),
        run: RunId::new("other").unwrap(),
        path: "a".to_owned(),
        outcome: Seq(9),
        receipt: Some(cost(7.0)),
    });
    assert_eq!(spent(&[adopted]), (0, 0, 0));
    // What no attempt has begun costs nothing: a prompt that could not be made.
    assert_eq!(spent(&[failed(FailureClass::BlankPrompt, false)]), (0, 0, 0));
}

#[test]
fn what_had_no_bound_counts_as_todays() {
    let mut spending = Spending::default();
    let steps = vec![("a".to_owned(), "agent".to_owned())];
    let Event::Started(unbounded) = started() else { unreachable!() };
    let unbounded = Event::Started(Started { bound: None, ..unbounded });
    for event in [
        Event::Named(Named { first: StepNo(1), steps, schemas: vec![], constants: vec![] }),
        unbounded.clone(),
        succeeded(None),
        unbounded.clone(),
        succeeded(Some(cost(0.1))),
        unbounded,
    ] {
        spending.apply(&Record::new(STEP, 0, Digest::ZERO, Digest::ZERO, &event)).unwrap();
    }
    assert_eq!(spending.total(&|_| Budget::default()).usd.as_nanos(), 100_000_000);
    let total = spending.total(&|_| Budget::usd(0.5));
    assert_eq!((total.usd.as_nanos(), total.calls, total.unknown_usd), (1_100_000_000, 3, 2));
}

#[test]
fn time_adds_up_by_scope() {
    let mut spending = Spending::default();
    for millis in [5, 7] {
        let scopes = vec![(String::new(), millis), ("part".to_owned(), 1)];
        let event = Event::Driven(Driven { scopes });
        spending.apply(&Record::new(STEP, 0, Digest::ZERO, Digest::ZERO, &event)).unwrap();
    }
    let none = |_| Budget::default();
    let by_path = spending.by_path(&RunState::default(), &none);
    assert_eq!(spending.total(&none).amount(Unit::Time), 12);
    assert_eq!((by_path[""].millis, by_path["part"].millis), (12, 2));
}

#[test]
fn a_path_is_in_each_item_and_group_around_it() {
    let path: StepPath = "a/b[x]/c:d/e".parse().unwrap();
    assert_eq!(around(&path), ["a", "a/b[x]", "a/b", "a/b[x]/c:d", "a/b[x]/c", "a/b[x]/c:d/e"]);
}
