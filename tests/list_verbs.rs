//! Verbs on lists, keys beside values, and items beside what became of them: what they yield, which keys they keep, and
//! that a child run again to the same output runs nothing again below them.

mod support;

use hermes_workflows::{core::request::Field, prelude::*};
use serde_json::json;
use support::*;

fn numbers() -> Vec<u32> {
    vec![3, 1, 4, 1, 5]
}

/// Runs a plan that calls nobody.
async fn yields<I: Data, O: Data + std::fmt::Debug>(plan: Plan<I, O>, input: I) -> O {
    let store = Store::new();
    let (value, counts) = start(&store.replayer(), &plan, input).await.completed();
    assert_eq!(counts.calls, 0);
    value
}

#[tokio::test]
async fn each_verb_yields_what_its_name_says() {
    let plan = Plan::new("filter", |list: Step<Vec<u32>>| list.filter(|number| *number > 2)).unwrap();
    assert_eq!(yields(plan, numbers()).await, [3, 4, 5]);
    let plan = Plan::new("first", |list: Step<Vec<u32>>| list.first()).unwrap();
    assert_eq!(yields(plan.clone(), numbers()).await, Some(3));
    assert_eq!(yields(plan, Vec::new()).await, None);
    let plan = Plan::new("flatten", |list: Step<Vec<Vec<u32>>>| list.flatten()).unwrap();
    assert_eq!(yields(plan, vec![vec![1], vec![], vec![2, 3]]).await, [1, 2, 3]);
    let plan = Plan::new("flatten", |list: Step<Vec<Option<u32>>>| list.flatten()).unwrap();
    assert_eq!(yields(plan, vec![Some(1), None, Some(3)]).await, [1, 3]);
    let plan = Plan::new("zip", |list: Step<Vec<u32>>| {
        let squares = list.map(|list| list.iter().map(|number| number * number).collect::<Vec<_>>());
        list.zip(squares)
    });
    assert_eq!(yields(plan.unwrap(), vec![1, 2]).await, [(1, 1), (2, 4)]);
    let plan = Plan::new("group_by", |list: Step<Vec<u32>>| list.group_by(|number| number % 2 == 0));
    assert_eq!(yields(plan.unwrap(), numbers()).await, [(false, vec![3, 1, 1, 5]), (true, vec![4])]);
    let plan = Plan::new("split", |pair: Step<(u32, String)>| {
        let (number, text) = pair.split();
        join((text, number))
    });
    assert_eq!(yields(plan.unwrap(), (1, "one".to_owned())).await, ("one".to_owned(), 1));
}

#[tokio::test]
async fn successes_and_failures_are_told_apart() {
    let plan = Plan::new("both", |list: Step<Vec<u32>>| {
        let halves = parallel_each("halves", list, |number| {
            step("halve").input("number", number).try_run(|number| match number % 2 {
                0 => Ok(number / 2),
                _ => Err(format!("{number} is odd")),
            })
        })
        .results();
        let told = halves
            .failures()
            .map(|failures| failures.iter().map(|failure| failure.message.clone()).collect::<Vec<_>>());
        join((halves.successes(), told))
    })
    .unwrap();
    let (halves, told) = yields(plan, vec![4, 7, 8]).await;
    assert_eq!((halves, told), (vec![2, 4], vec!["7 is odd".to_owned()]));
}

#[tokio::test]
async fn what_cannot_be_done_fails_the_step_that_needs_it_with_the_line() {
    let store = Store::new();
    let plan = Plan::new("zip", |list: Step<Vec<u32>>| {
        let longer = list.zip(value(vec![1_u32]));
        step("sum").input("pairs", longer).run(Vec::len)
    })
    .unwrap();
    let failure = start(&store.replayer(), &plan, numbers()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::UnequalLists, "sum"));
    assert!(failure.message.contains("one has 5 elements, the other 1"), "{failure}");
    assert!(failure.location.unwrap().starts_with("tests/list_verbs.rs:"));

    let store = Store::new();
    let plan = Plan::new("first", |list: Step<Vec<()>>| list.first()).unwrap();
    let failure = start(&store.replayer(), &plan, vec![()]).await.failed();
    assert_eq!(failure.class, FailureClass::Unencodable);
}

type Verb = fn(Step<Vec<Option<String>>>) -> Step<Vec<String>>;

/// A fan-out, a verb, and a second fan-out over what stays.
fn twice(verb: Verb) -> Plan<Vec<String>, Vec<String>> {
    Plan::new("twice", move |words: Step<Vec<String>>| {
        let longer = parallel_each("first", words, |word| {
            step("longer")
                .input("word", word)
                .try_run(|word| if word == "b" { Err("not b") } else { Ok(format!("{word}{word}")) })
        })
        .key_by(String::clone)
        .options();
        parallel_each("second", verb(longer), |word| {
            agent("say").input("word", word).prompt("Say it.").text()
        })
        .all()
    })
    .unwrap()
}

#[tokio::test]
async fn what_stays_keeps_the_keys_of_the_fan_out_it_comes_from() {
    let words = || ["a", "b", "c"].map(str::to_owned).to_vec();
    let store = Store::new();
    let (runner, _) = echo();
    let plan = twice(|longer| longer.flatten().filter(|word| word != "aa"));
    assert_eq!(
        start(&store.executor(runner), &plan, words()).await.completed().0,
        ["<second[c]/say>".to_owned()]
    );
    // A verb that makes other elements drops them.
    let store = Store::new();
    let (runner, _) = echo();
    let plan = twice(|longer| longer.flatten().map(Clone::clone));
    assert_eq!(
        start(&store.executor(runner), &plan, words()).await.completed().0,
        ["<second[0]/say>".to_owned(), "<second[1]/say>".to_owned()]
    );
}

#[test]
fn a_key_of_its_own_is_refused_where_the_keys_are_inherited_through_a_verb() {
    let mistakes = Plan::new("twice", |words: Step<Vec<String>>| {
        let first = parallel_each("first", words, |word| word).key_by(String::clone).results();
        parallel_each("second", first.successes(), |word| word).key_by(String::clone).all()
    })
    .unwrap_err();
    let kinds: Vec<_> = mistakes.iter().map(|mistake| mistake.kind).collect();
    assert_eq!(kinds, [PlanErrorKind::KeysInherited], "{mistakes}");
}

#[tokio::test]
async fn elements_have_their_keys_with_them_in_every_mode() {
    let body = |word: Step<String>| {
        step("check")
            .input("word", word)
            .try_run(|word| if word == "b" { Err("no b") } else { Ok(word.len()) })
    };
    let (all, some) = (["x", "yy"].map(str::to_owned).to_vec(), ["x", "b"].map(str::to_owned).to_vec());
    let keyed = |key: &str, value| Keyed { key: key.to_owned(), value };

    let plan = Plan::new("all", move |list: Step<Vec<String>>| {
        parallel_each("each", list, body).key_by(|word| format!("word {word}")).keyed().all()
    });
    assert_eq!(yields(plan.unwrap(), all).await, [keyed("word x", 1), keyed("word yy", 2)]);
    let plan = Plan::new("options", move |list: Step<Vec<String>>| {
        pipeline("each", list).stage(body).keyed().options()
    });
    assert_eq!(
        yields(plan.unwrap(), some.clone()).await,
        [Keyed { key: "0".to_owned(), value: Some(1) }, Keyed { key: "1".to_owned(), value: None }]
    );
    let plan = Plan::new("results", move |list: Step<Vec<String>>| {
        let results = parallel_each("each", list, body).key_by(String::clone).keyed().results();
        let failed = results.filter(|result| result.value.is_err());
        failed.map(|failed| failed.iter().map(|failed| failed.key.clone()).collect::<Vec<_>>())
    });
    assert_eq!(yields(plan.unwrap(), some).await, ["b".to_owned()]);
    let plan = Plan::new("known", |word: Step<String>| {
        parallel("lenses", ["far", "near"], |lens| word.map(move |word| format!("{lens} {word}")))
            .keyed()
            .all()
    });
    let expected = ["far", "near"].map(|lens| Keyed { key: lens.to_owned(), value: format!("{lens} x") });
    assert_eq!(yields(plan.unwrap(), "x".to_owned()).await, expected);
}

#[tokio::test]
async fn a_stage_may_see_the_item_as_it_entered() {
    let plan = Plan::new("stages", |list: Step<Vec<u32>>| {
        pipeline("numbers", list)
            .stage(|number| {
                step("halve").input("number", number).try_run(|number| match number % 2 {
                    0 => Ok(number / 2),
                    _ => Err("odd"),
                })
            })
            .stage_with(|half, number| {
                join((number, half)).map(|(number, half)| format!("{half} of {number}"))
            })
            .options()
    });
    let expected = [Some("2 of 4".to_owned()), None, Some("4 of 8".to_owned())];
    assert_eq!(yields(plan.unwrap(), vec![4, 7, 8]).await, expected);
}

/// An agent an item, a chain of verbs over what they say, and an agent below that. Counted are the calls by name.
fn cut_off(prompt: &'static str) -> Plan<Vec<u32>, String> {
    Plan::new("cut-off", move |list: Step<Vec<u32>>| {
        let words = parallel_each("words", list, |number| {
            agent("word").input("number", number).prompt(prompt).returns::<Vec<String>>()
        })
        .results();
        let flat = words.successes().flatten().filter(|word| word.len() > 1);
        let groups = flat.zip(flat).group_by(|(word, _)| word.len());
        let (first, all) = (flat.first(), join((groups, words.failures())));
        agent("sum_up").input("first", first).input("all", all).prompt("Sum up.").text()
    })
    .unwrap()
}

#[tokio::test]
async fn a_step_run_again_to_the_same_output_runs_nothing_again_below_the_verbs() {
    let answers = || {
        let (runner, calls) = echo();
        (
            FnRunner::new(move |call| {
                let runner = runner.clone();
                async move {
                    if call.path == "sum_up" {
                        return Ok(AgentReply::text("summed up"));
                    }
                    let _ = runner;
                    Ok(AgentReply::json(json!(["one", "x", "three"])))
                }
            }),
            calls,
        )
    };
    let store = Store::new();
    let (runner, _) = answers();
    start(&store.executor(runner), &cut_off("Say words."), vec![1, 2]).await.completed();
    let executor = store.replayer();
    let needs = resume(&executor, &cut_off("Say some words.")).await.parked();
    assert!(
        matches!(&needs[0].kind, NeedKind::Conflict { fields, count: 2, .. } if fields[0].field == Field::Prompt)
    );
    drop(executor);
    let (runner, _) = answers();
    let executor = store.executor(runner);
    decide_all(&executor, Decision::Rerun).await;
    let (value, counts) = resume(&executor, &cut_off("Say some words.")).await.completed();
    // Both words are said again, to the same effect; what was made of them stands.
    assert_eq!((value.as_str(), counts.calls, counts.reused), ("summed up", 2, 1));
}
