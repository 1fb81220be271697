//! Parts of a plan that are built while it runs: `then`, whose structure is recorded and compared; `recursive`, which can be
//! drawn; and plans in plans.

mod support;

use hermes_workflows::{core::request::Field, executor::run_layout, prelude::*};
use std::sync::{Arc, Mutex};
use support::*;

fn say(name: &str, text: Step<String>) -> Step<String> {
    agent(name).input("text", text).prompt("Say it.").text()
}

/// Answers `<path>`, and `good` to the judge once the draft was mended so many times.
fn mender(good_after: usize) -> (FnRunner, Calls) {
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::sync(move |call| {
        counted.add();
        Ok(mended(&call.path, good_after))
    });
    (runner, calls)
}

fn mended(path: &str, good_after: usize) -> AgentReply {
    let levels = path.matches("again/").count();
    if path.ends_with("judge") {
        AgentReply::json(serde_json::json!(levels >= good_after))
    } else {
        AgentReply::text(format!("mended {levels}"))
    }
}

fn improve(draft: Step<String>) -> Step<String> {
    let good = agent("judge").input("draft", draft).prompt("Is it good?").returns::<bool>();
    good.then("again", move |good| {
        if *good { draft } else { improve(agent("mend").input("draft", draft).prompt("Mend it.").text()) }
    })
}

#[tokio::test]
async fn a_function_that_calls_itself_through_then_is_a_loop_and_is_replayed_without_a_call() {
    let plan = Plan::new("improve", improve).unwrap();
    let store = Store::new();
    let (runner, calls) = mender(3);
    let (value, _) = start(&store.executor(runner), &plan, "draft".to_owned()).await.completed();
    assert_eq!((value.as_str(), calls.count()), ("mended 3", 7));
    let executor = store.replayer();
    let (again, counts) = resume(&executor, &plan).await.completed();
    assert_eq!((again, counts.calls, counts.reused), (value, 0, 7));
    let drawn = run_layout(&executor, &plan, &run_id()).unwrap();
    assert_eq!(drawn.matches("judge: agent -> boolean · done").count(), 3, "{drawn}");
}

#[tokio::test]
async fn it_goes_on_where_the_process_ended_in_the_middle() {
    let plan = Plan::new("improve", improve).unwrap();
    for broken in ["judge", "again/mend", "again/judge", "again/again/mend", "again/again/judge"] {
        let store = Store::new();
        let failing = FnRunner::sync(move |call| {
            if call.path == broken {
                return Err(RunnerError::new(RunnerErrorKind::Failed, "no luck"));
            }
            Ok(mended(&call.path, 2))
        });
        let failure = start(&store.executor(failing), &plan, "draft".to_owned()).await.failed();
        assert_eq!(failure.path, broken);
        assert_eq!(resume(&store.replayer(), &plan).await.failed().path, broken);
        let (runner, calls) = mender(2);
        let (value, counts) = retry(&store.executor(runner), &plan).await.completed();
        assert_eq!(value, "mended 2");
        assert_eq!(calls.count() + counts.reused, 5, "{broken}");
        resume(&store.replayer(), &plan).await.completed();
    }
}

/// A person rejects until the text is right: a normal Rust loop over a question.
#[tokio::test]
async fn a_rejection_feeds_a_revision_loop() {
    fn revised(text: Step<String>) -> Step<String> {
        let feedback = ask("right").input("text", text).returns::<Option<String>>();
        feedback.then("again", move |feedback| match feedback {
            None => text,
            Some(feedback) => revised(
                agent("revise")
                    .input("text", text)
                    .input_value("feedback", feedback)
                    .prompt("Revise it.")
                    .text(),
            ),
        })
    }
    let plan = Plan::new("revised", revised).unwrap();
    let store = Store::new();
    let (runner, calls) = echo();
    let executor = store.executor(runner);
    start(&executor, &plan, "text".to_owned()).await.waiting();
    answer(&executor, "right", &serde_json::json!("louder")).await;
    let needs = resume(&executor, &plan).await.waiting();
    assert_eq!(needs[0].path, "again/right");
    drop(executor);
    let executor = store.replayer();
    answer(&executor, "again/right", &serde_json::Value::Null).await;
    let (value, _) = resume(&executor, &plan).await.completed();
    assert_eq!((value.as_str(), calls.count()), ("<again/revise>", 1));
}

#[tokio::test]
async fn inside_a_fan_out_the_steps_around_it_are_those_of_the_same_item() {
    let plan = Plan::new("items", |words: Step<Vec<String>>| {
        let shared = say("shared", words.map(|words| words.join(" ")));
        parallel_each("each", words, |word| {
            let said = say("said", word);
            word.then("grow", move |word| {
                let parts = value(word.chars().map(String::from).collect::<Vec<_>>());
                let letters = parallel_each("letters", parts, |letter| join((letter, said, shared)))
                    .key_by(Clone::clone)
                    .all();
                letters.map(|letters| {
                    letters
                        .iter()
                        .map(|(letter, said, shared)| format!("{letter}{said}{shared}"))
                        .collect::<Vec<_>>()
                })
            })
        })
        .key_by(String::clone)
        .all()
    })
    .unwrap();
    let store = Store::new();
    let (runner, _) = echo();
    let words = ["ab", "c"].map(str::to_owned).to_vec();
    let (value, _) = start(&store.executor(runner), &plan, words).await.completed();
    assert_eq!(
        value,
        [
            vec!["a<each[ab]/said><shared>".to_owned(), "b<each[ab]/said><shared>".to_owned()],
            vec!["c<each[c]/said><shared>".to_owned()]
        ]
    );
    assert_eq!(resume(&store.replayer(), &plan).await.completed().0, value);
}

#[tokio::test]
async fn a_structure_that_differs_is_a_conflict_and_can_be_run_again() {
    let plan = |name: &'static str| {
        Plan::new("structure", move |text: Step<String>| {
            let said = say("first", text);
            said.then("grow", move |_| say(name, said))
        })
        .unwrap()
    };
    let store = Store::new();
    let (runner, _) = echo();
    start(&store.executor(runner), &plan("one"), "t".to_owned()).await.completed();
    let executor = store.replayer();
    let needs = resume(&executor, &plan("other")).await.parked();
    let NeedKind::Conflict { fields, not_kept, .. } = &needs[0].kind else { panic!("{needs:?}") };
    assert_eq!((needs[0].path.as_str(), &fields[0].field), ("grow", &Field::Structure));
    assert!(not_kept.is_some());
    drop(executor);
    let (runner, calls) = echo();
    let executor = store.executor(runner);
    decide_all(&executor, Decision::Rerun).await;
    let (value, _) = resume(&executor, &plan("other")).await.completed();
    assert_eq!((value.as_str(), calls.count()), ("<grow/other>", 1));
    drop(executor);
    resume(&store.replayer(), &plan("other")).await.completed();
}

#[tokio::test]
async fn a_changed_prompt_inside_is_a_conflict_of_its_own_step() {
    let plan = |prompt: &'static str| {
        Plan::new("prompt", move |text: Step<String>| {
            text.then("grow", move |_| agent("inner").input("text", text).prompt(prompt).text())
        })
        .unwrap()
    };
    let store = Store::new();
    let (runner, _) = echo();
    start(&store.executor(runner), &plan("Say it."), "t".to_owned()).await.completed();
    let needs = resume(&store.replayer(), &plan("Say it louder.")).await.parked();
    assert_eq!(changed_fields(&needs), ["grow/inner: prompt"]);
}

#[tokio::test]
async fn handles_that_leak_are_named_with_both_places() {
    // From one item's closure into another's: the steps of another copy.
    let leaked: Arc<Mutex<Option<Step<String>>>> = Arc::default();
    let plan = Plan::new("leaks", move |words: Step<Vec<String>>| {
        parallel_each("each", words, move |word| {
            let leaked = Arc::clone(&leaked);
            word.then("grow", move |_| {
                let mut leaked = leaked.lock().unwrap();
                let own = say("own", word);
                *leaked.get_or_insert(own)
            })
        })
        .options()
    })
    .unwrap();
    let store = Store::new();
    let (runner, _) = echo();
    let executor = store.executor(runner);
    let words = ["a", "b"].map(str::to_owned).to_vec();
    let (values, counts) = start(&executor, &plan, words).await.completed();
    assert_eq!((values.iter().flatten().count(), counts.failed), (1, 1));

    // Out of a body inside the closure.
    let plan = Plan::new("leaks", |word: Step<String>| {
        word.then("grow", move |word| {
            let mut inner = None;
            parallel("children", [word.clone()], |_| *inner.insert(say("inner", value("t".to_owned()))))
                .all();
            inner.unwrap()
        })
    })
    .unwrap();
    let store = Store::new();
    let failure = start(&store.replayer(), &plan, "t".to_owned()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::InvalidPlan, "grow"));
    assert!(failure.message.contains("was made inside the body of `children`"), "{failure}");
    assert_eq!(failure.message.matches("tests/then.rs:").count(), 2, "{failure}");
}

#[tokio::test]
async fn mistakes_and_panics_in_the_closure_fail_the_step_and_say_where() {
    let plan = Plan::new("mistakes", |text: Step<String>| {
        text.then("grow", move |_| {
            let _ = say("same", text);
            agent("same").prompt(" ").text()
        })
    })
    .unwrap();
    let failure = start(&Store::new().replayer(), &plan, "t".to_owned()).await.failed();
    assert_eq!(failure.class, FailureClass::InvalidPlan);
    assert!(failure.message.contains("two things are named `same`"), "{failure}");
    assert!(failure.message.contains("the prompt of `same` is blank"), "{failure}");

    let plan = Plan::new("panics", |text: Step<String>| {
        text.then("grow", move |text| {
            assert_ne!(text, "t", "a bad value");
            say("never", value(text.clone()))
        })
    })
    .unwrap();
    let failure = start(&Store::new().replayer(), &plan, "t".to_owned()).await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::Panicked, "grow"));
    assert!(failure.location.unwrap().starts_with("tests/then.rs:"));
}

#[tokio::test]
async fn it_ends_after_256_levels() {
    fn down(number: Step<u32>) -> Step<u32> {
        number.map(|number| number + 1).then("down", |number| {
            let number = value(*number);
            if number_of(&number) { down(number) } else { number }
        })
    }
    fn number_of(_: &Step<u32>) -> bool {
        true
    }
    let plan = Plan::new("deep", down).unwrap();
    let store = Store::new();
    let failure = start(&store.replayer(), &plan, 0).await.failed();
    assert_eq!(failure.class, FailureClass::TooDeep);
    assert_eq!(failure.path.matches("down").count(), 257);
    assert_eq!(resume(&store.replayer(), &plan).await.failed().class, FailureClass::TooDeep);
}

/// Splits what has commas, to any depth.
fn splitter() -> (FnRunner, Calls) {
    let calls = Calls::default();
    let counted = calls.clone();
    let runner = FnRunner::sync(move |call| {
        counted.add();
        let text: String = serde_json::from_str(&call.inputs[0].1).unwrap_or_default();
        Ok(match call.path.rsplit('/').next() {
            Some("split") => {
                let half = text.len() / 2;
                let parts = if text.len() > 1 { vec![&text[..half], &text[half..]] } else { Vec::new() };
                AgentReply::json(serde_json::json!(parts))
            }
            Some("look_up") => AgentReply::text(text.to_uppercase()),
            _ => AgentReply::text(serde_json::from_str::<Vec<String>>(&call.inputs[0].1).unwrap().join("+")),
        })
    });
    (runner, calls)
}

fn research(levels: u32) -> Plan<String, String> {
    Plan::new("research", move |question: Step<String>| {
        recursive("answer", question, levels, |again, question| {
            let parts =
                agent("split").input("question", question).prompt("Split it.").returns::<Vec<String>>();
            branch("whole", parts)
                .when("yes", Vec::is_empty, |_| {
                    agent("look_up").input("question", question).prompt("Answer it.").text()
                })
                .otherwise(|parts| {
                    let answers = parallel_each("parts", parts, |part| again.call(part)).all();
                    agent("merge").input("answers", answers).prompt("Merge them.").text()
                })
        })
    })
    .unwrap()
}

#[tokio::test]
async fn a_recursive_part_stands_in_itself_as_deep_as_its_data() {
    let store = Store::new();
    let (runner, calls) = splitter();
    let plan = research(5);
    let (value, _) = start(&store.executor(runner), &plan, "abcd".to_owned()).await.completed();
    assert_eq!((value.as_str(), calls.count()), ("A+B+C+D", 14));
    let executor = store.replayer();
    let (again, counts) = resume(&executor, &plan).await.completed();
    assert_eq!((again, counts.calls), (value, 0));
    let ledger = executor.ledger();
    let state = ledger.state(ledger.find(&run_id()).unwrap().unwrap()).unwrap();
    let deep = "answer[1]/whole:else/parts[1]/answer[2]/whole:else/parts[0]/answer[3]/whole:yes/look_up";
    assert!(state.find(&deep.parse().unwrap()).is_some());
    let drawn = run_layout(&executor, &plan, &run_id()).unwrap();
    assert!(drawn.contains("answer: again"), "{drawn}");
}

#[tokio::test]
async fn a_level_too_deep_fails_by_name_and_more_levels_mend_it() {
    let store = Store::new();
    let (runner, _) = splitter();
    let failure = start(&store.executor(runner), &research(2), "abcd".to_owned()).await.failed();
    assert_eq!(failure.class, FailureClass::TooDeep);
    assert!(
        failure.path.starts_with("answer[1]/whole:else/parts[0]/answer[2]/whole:else/parts["),
        "{failure}"
    );
    assert!(failure.message.contains("level 3 of at most 2"), "{failure}");
    let (runner, _) = splitter();
    let (value, _) = retry(&store.executor(runner), &research(3)).await.completed();
    assert_eq!(value, "A+B+C+D");
}

#[test]
fn what_stands_for_one_level_more_stands_in_it_only() {
    let mistakes = Plan::new("outside", |text: Step<String>| {
        let mut kept = None;
        let first = recursive("part", text, 3, |again, text| {
            kept = Some(again);
            say("inner", text)
        });
        kept.unwrap().call(first)
    })
    .unwrap_err();
    assert!(mistakes.to_string().contains("`part` is called again outside of itself"), "{mistakes}");
}

#[tokio::test]
async fn a_plan_in_a_plan_has_paths_of_its_own_and_fails_as_a_whole() {
    let inner = Plan::new("inner", |text: Step<String>| {
        let first = say("first", text);
        parallel("pair", ["a", "b"], |key| say(key, first)).all().map(|pair| pair.join(","))
    })
    .unwrap();
    let plan = Plan::new("outer", |text: Step<String>| {
        let one = inner.call("one", text);
        let two = inner.call("two", one);
        join((one, two))
    })
    .unwrap();
    assert_eq!(
        plan.layout().text().lines().nth(1).unwrap(),
        "├─ one: call(input) -> string",
        "{}",
        plan.layout()
    );
    let store = Store::new();
    let (runner, calls) = echo();
    let (value, _) = start(&store.executor(runner), &plan, "t".to_owned()).await.completed();
    let said = |name| format!("<{name}/pair[a]/a>,<{name}/pair[b]/b>");
    assert_eq!((value, calls.count()), ((said("one"), said("two")), 6));
    resume(&store.replayer(), &plan).await.completed();

    let caught = Plan::new("caught", |text: Step<String>| {
        catch("try", || inner.call("inner", text))
            .or_else(|failure| failure.map(|failure| failure.path.clone()))
    })
    .unwrap();
    let failing = FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no luck")));
    let store = Store::new();
    let (value, _) = start(&store.executor(failing), &caught, "t".to_owned()).await.completed();
    assert_eq!(value, "try/inner/first");
}

/// Closures in a copied part hold handles on what it was copied from: they mean the copy.
#[tokio::test]
async fn in_copies_a_then_means_the_steps_of_its_own_copy() {
    let inner = Plan::new("inner", |text: Step<String>| {
        let said = say("said", text);
        said.then("grow", move |_| join((text, said)).map(|(text, said)| format!("{text}{said}")))
    })
    .unwrap();
    let plan = Plan::new("outer", |text: Step<String>| {
        let one = inner.call("one", text);
        recursive("level", one, 2, |again, text| {
            let two = inner.call("two", text);
            let deep = text.map(|text| text.matches("two").count());
            let ended =
                two.then("ended", move |_| join((two, text)).map(|(two, text)| format!("{two}|{text}")));
            branch("deep", deep).when("yes", |deep| *deep > 0, |_| ended).otherwise(|_| again.call(two))
        })
    })
    .unwrap();
    let store = Store::new();
    let (runner, _) = echo();
    let (value, _) = start(&store.executor(runner), &plan, "t".to_owned()).await.completed();
    let one = "t<one/said>";
    let two = format!("{one}<level[1]/two/said>");
    let deeper = format!("{two}<level[1]/deep:else/level[2]/two/said>");
    assert_eq!(value, format!("{deeper}|{two}"));
    assert_eq!(resume(&store.replayer(), &plan).await.completed().0, value);
}

#[tokio::test]
async fn at_each_level_of_a_recursive_part_a_then_means_that_level() {
    let plan = Plan::new("levels", |number: Step<u32>| {
        recursive("level", number, 4, |again, number| {
            let doubled = number.then("grow", move |_| number.map(|number| number * 2));
            branch("large", doubled)
                .when("yes", |doubled| *doubled > 50, |doubled| doubled)
                .otherwise(|doubled| again.call(doubled))
        })
    })
    .unwrap();
    let store = Store::new();
    let (value, _) = start(&store.replayer(), &plan, 5).await.completed();
    assert_eq!(value, 80);
    assert_eq!(resume(&store.replayer(), &plan).await.completed().0, 80);
}
