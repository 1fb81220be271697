//! Heads and needs are what the journal says, whatever happens to them.

use super::*;
use hermes_core::{
    fold::RunStatus,
    journal::{CauseKind, Caused, DecisionMade, EndKind, Ended, Group, Kind, Parked, Superseded},
    people::Decision,
    timestamp::Timestamp,
};

fn superseded(ordinal: u32, question: Seq, suspended: bool) -> Record {
    let superseded = Superseded { question, suspended, why: "it changed".to_owned() };
    record(at(ordinal, 2), &Event::Superseded(superseded))
}

fn parked(groups: &[&str]) -> Record {
    let group = |path: &&str| Group::InDoubt {
        at: at(0, 1),
        path: (*path).to_owned(),
        key: digest(path),
        why: "it may have acted".to_owned(),
        title: None,
        schema: None,
    };
    record(at(0, 0), &Event::Parked(Parked { groups: groups.iter().map(group).collect() }))
}

fn decided(about: &str) -> Record {
    let made = DecisionMade {
        about: digest(about),
        decision: Decision::Retry,
        by: Actor::default(),
        why: None,
        input: None,
    };
    record(at(0, 0), &Event::DecisionMade(made))
}

fn retried() -> Record {
    let caused = Caused { kind: CauseKind::Retry, by: Actor::default(), why: None };
    record(at(0, 0), &Event::Caused(caused))
}

fn ended() -> Record {
    let failure = Failure::new(FailureClass::Cancelled, "no");
    record(at(0, 0), &Event::Ended(Ended { end: EndKind::Failed { failure } }))
}

fn paths(ledger: &Ledger) -> Vec<String> {
    ledger.needs(None).unwrap().into_iter().map(|(_, need)| need.path).collect()
}

#[test]
fn heads_and_needs_follow_the_journal() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    let other = begin(&ledger, "s");
    ledger.commit(other, append(vec![asked(0, "elsewhere")])).unwrap();
    let expect = |records: Vec<Record>, needs: &[&str], status: RunStatus| {
        let first = ledger.commit(run, append(records)).unwrap();
        assert_sound(&ledger);
        let mut all = needs.to_vec();
        all.push("elsewhere");
        assert_eq!(paths(&ledger), all);
        assert_eq!(ledger.needs(Some(&id("r"))).unwrap().len(), needs.len());
        assert_eq!(ledger.head(&id("r")).unwrap().unwrap().status, status);
        first
    };
    let (open, park) = (RunStatus::Open, RunStatus::Parked);
    let first = expect(vec![asked(0, "a"), asked(1, "b"), asked(2, "c")], &["a", "b", "c"], open);
    expect(vec![answered(1, Seq(first.0 + 1), "yes")], &["a", "c"], open);
    expect(vec![superseded(0, first, false), asked(0, "a again")], &["c", "a again"], open);
    let suspended = Seq(first.0 + 2);
    expect(vec![superseded(2, suspended, true)], &["a again"], open);
    expect(vec![parked(&["x", "y", "z"])], &["a again", "x", "y", "z"], park);
    expect(vec![decided("y")], &["a again", "x", "z"], park);
    expect(vec![parked(&["x"])], &["a again", "x"], park);
    // Opened and settled by one append: never stored.
    expect(vec![parked(&["w"]), decided("w")], &["a again"], open);
    expect(vec![ended()], &[], RunStatus::Failed);
    expect(vec![retried()], &["c", "a again"], open);
    expect(vec![parked(&[])], &["c", "a again"], open);
}

#[test]
fn an_answer_sees_whether_its_question_is_open() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    let question = ledger.commit(run, append(vec![asked(0, "a")])).unwrap();
    let answer = |text: &str| {
        ledger
            .transact(run, |summary| {
                if !summary.needs().contains_key(&(question, 0)) {
                    return Err("late");
                }
                Ok((append(vec![answered(0, question, text)]), text.to_owned()))
            })
            .unwrap()
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            ["a", "b", "c", "d"].map(|text| scope.spawn(move || answer(text))).into_iter().collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let won: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
    assert_eq!(won.len(), 1);
    assert_eq!(&*ledger.fetcher(run).fetch(won[0].0.0).unwrap(), format!("\"{}\"", won[0].1));
    assert_eq!(ledger.records(run).unwrap(), 4);
    let late = ledger.transact(run, |_| Err::<(Append, ()), _>("no")).unwrap();
    assert_eq!((late, ledger.records(run).unwrap()), (Err("no"), 4));
    assert_sound(&ledger);
}

/// Threads answer, each by its own clock, and one only writes: the answer counts, or the expiry does, never both.
#[test]
fn whoever_comes_with_an_answer_at_the_time_of_an_expiry_finds_one_of_the_two() {
    let mut answers = 0;
    for round in 0..20 {
        let ledger = Ledger::in_memory().unwrap();
        let run = begin(&ledger, "r");
        let value = (round % 2 == 0).then(|| raw("true"));
        let expires = Some(Expiry { at: Timestamp::from_millis(2000), value: value.clone() });
        let question = ledger.commit(run, append(vec![asked_till(0, "a", expires)])).unwrap();
        let answer = |now: i64| {
            let given = ledger.transact_at(run, now, |summary| {
                if !summary.needs().contains_key(&(question, 0)) {
                    return Err("late");
                }
                Ok((Append { now, ..append(vec![answered(0, question, "x")]) }, ()))
            });
            let (lapsed, given) = given.unwrap();
            (lapsed.len(), usize::from(given.is_ok()))
        };
        let looks = |now| (ledger.lapse(run, now).unwrap().len(), 0);
        let outcomes: Vec<(usize, usize)> = std::thread::scope(|scope| {
            let answering = [2000, 1999, 2001].map(|now| scope.spawn(move || answer(now)));
            let threads = answering.into_iter().chain([scope.spawn(move || looks(2000))]);
            threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (lapsed, given) = outcomes.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        assert_eq!(lapsed + given, 1, "{outcomes:?}");
        answers += given;
        assert!(ledger.lapse(run, i64::MAX).unwrap().is_empty());
        let record = ledger.record(run, Seq(question.0 + 1)).unwrap();
        assert_eq!(record.header.kind, if given == 1 { Kind::Answered } else { Kind::Expired });
        assert_eq!(record.header.time < 2000, given == 1);
        if given == 0 && value.is_some() {
            assert_eq!(&*ledger.fetcher(run).fetch(question.0 + 1).unwrap(), "true");
        }
        assert_sound(&ledger);
    }
    println!("the answer came first {answers} times of 20");
}

#[test]
fn verify_names_what_does_not_hold() {
    let store = Arc::new(RedbStore::in_memory().unwrap());
    let ledger = Ledger::on(Arc::clone(&store) as Arc<dyn Store>);
    let run = begin(&ledger, "r");
    ledger.commit(run, append(vec![asked(0, "a")])).unwrap();
    let mut head = ledger.head(&id("r")).unwrap().unwrap();
    head.calls += 1;
    let mut text = succeeded(0, "x");
    text.header.time = 2000;
    text.body = b"not JSON".to_vec();
    let batch = CommitBatch {
        memos: Vec::new(),
        runs: vec![(id("ghost"), RunNo(9))],
        rows: vec![(run, Seq(4), text)],
        blobs: vec![(digest("this"), b"that".to_vec())],
        heads: vec![(run, head)],
        needs: vec![(run, Seq(3), 0, None)],
    };
    store.commit(&batch).unwrap();
    let wrong = ledger.verify().unwrap().join("\n");
    for part in ["`ghost` has no head", "record 4", "the head of run `r`", "the needs of run `r`", "blob "] {
        assert!(wrong.contains(part), "{part} is missing in:\n{wrong}");
    }
}

#[test]
fn a_value_that_is_not_the_one_its_header_names_is_refused_and_found() {
    let ledger = Ledger::in_memory().unwrap();
    let run = begin(&ledger, "r");
    // A short body and a long one, each damaged in a way that still reads.
    for (ordinal, text) in [(0, "right".to_owned()), (1, "right".repeat(1000))] {
        let mut damaged = succeeded(ordinal, &text);
        let place = damaged.body.windows(5).position(|bytes| bytes == b"right").unwrap();
        damaged.body[place] = b'f';
        ledger.commit(run, append(vec![damaged])).unwrap();
    }
    ledger.commit(run, append(vec![succeeded(2, "right")])).unwrap();
    let fetcher = ledger.fetcher(run);
    for at in [3, 4] {
        let error = fetcher.fetch(at).unwrap_err().to_string();
        assert!(error.contains(&format!("record {at}")) && error.contains("damaged"), "{error}");
    }
    assert_eq!(&*fetcher.fetch(5).unwrap(), "\"right\"");
    let wrong = ledger.verify().unwrap();
    assert_eq!(wrong.len(), 2, "{wrong:?}");
}
