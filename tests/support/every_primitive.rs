//! One plan that has every primitive, who answers its agents, and who answers its questions: for tests that break off a
//! run anywhere and expect the same end.

use super::{
    diary::{Diary, Entry},
    run_id,
};
use hermes_workflows::{executor::DriveError, prelude::*};
use serde_json::json;
use std::path::Path;

/// What an agent says of a topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Finding {
    topic: String,
    weight: f64,
}

/// The names of the local steps: the diary counts them by name, as a closure does not know the path it is called for.
pub(crate) const STEPS: [&str; 7] = ["halve", "even", "doubt", "length", "cut", "give_up", "file"];

/// Where processes note that they begin, in the directory that commands work in.
pub(crate) const NOTES: &str = "calls";
/// Steps that call neither agents nor closures: nobody can note them.
pub(crate) const UNCALLED: [&str; 1] = ["shelf"];

/// The plan. Its steps note in the diary that they are called.
pub(crate) fn every_primitive(diary: &Diary) -> Plan<Vec<String>, Vec<String>> {
    Plan::new("every-primitive", |topics| build(topics, diary)).unwrap()
}

fn build(topics: Step<Vec<String>>, diary: &Diary) -> Step<Vec<String>> {
    let noting = |step: &'static str, on: &'static str| {
        let diary = diary.clone();
        move || diary.note(Entry::Ran { step, on })
    };
    let findings = parallel_each("findings", topics, |topic| {
        agent("find")
            .input("topic", topic)
            .input_value("scale", &10_u32)
            .prompt_with(|topic, scale| format!("Weigh {topic} on a scale of {scale}."))
            .returns::<Finding>()
    })
    .key_by(String::clone)
    .limit(2)
    .all();
    let grades = parallel_each("grades", findings, |finding| {
        agent("grade").input("finding", finding).prompt("Grade it.").returns::<u8>()
    })
    .results();
    let noted = noting("doubt", "findings[dunes]/find");
    let doubts = parallel_each("doubts", findings, |finding| {
        step("doubt").input("finding", finding).try_run_async(move |finding| {
            noted();
            async move { if finding.weight > 4.5 { Err("too heavy") } else { Ok(finding.weight) } }
        })
    })
    .options();
    let noted = (noting("halve", "findings[estuaries]/find"), noting("even", "findings[a%2Fb]/find"));
    let checked = pipeline("checked", findings)
        .stage(|finding| {
            step("halve").input("finding", finding).run(move |finding| {
                noted.0();
                finding.weight / 2.0
            })
        })
        .stage(|half| {
            step("even").input("half", half).try_run(move |half| {
                noted.1();
                if *half > 2.0 { Err(format!("{half} is too much")) } else { Ok(format!("{half:.2}")) }
            })
        })
        .results();
    let told = join((grades, doubts, checked)).map(|(grades, doubts, checked)| {
        let well = (grades.iter().map(Result::is_ok), doubts.iter().map(Option::is_some));
        well.0.chain(well.1).chain(checked.iter().map(Result::is_ok)).collect::<Vec<_>>()
    });
    let lenses = parallel("lenses", ["wide", "narrow"], |lens| {
        agent("look").input("told", told).key(lens).prompt(format!("Look with the {lens} lens.")).text()
    })
    .all();
    let text = talk(lenses, diary);
    let last = shorten(text, diary);
    let shelf = files("shelf", ["shelf/*.md"]).list();
    let sent =
        agent("send").input("last", last).prompt("Send it.").isolation(Isolation::None).after(shelf).text();
    let noted = noting("file", "send");
    let counted = command("count_told")
        .input("told", told)
        .shell(format!("echo 'begin count_told' >> {NOTES}; wc -w"))
        .stdin_with(|told| told.iter().map(bool::to_string).collect::<Vec<_>>().join(" "))
        .json::<u32>();
    let filed = step("file").input("sent", sent).input("told", told).effect(Unsafe).run(move |sent, told| {
        noted();
        format!("{sent}: {told:?}")
    });
    let more = more(lenses, told);
    let all = join((filed, lenses, counted, more, value("the end".to_owned())));
    all.map(|(filed, lenses, counted, more, end)| {
        [&[filed.clone(), counted.to_string(), end.clone()], lenses.as_slice(), more.as_slice()].concat()
    })
}

/// The part with the people.
fn talk(names: Step<Vec<String>>, diary: &Diary) -> Step<String> {
    let one = ask("one").title("Which one?").choose_from(names).one();
    let many = ask("many").choose_from(names).many();
    let count = ask("count").input("one", one).returns::<u8>();
    let late = ask("late")
        .input("one", one)
        .assign_with(|one| format!("whoever likes {one}"))
        .expires_in(Duration::from_millis(1), OnExpiry::Value(true))
        .returns::<bool>();
    let later = wait("pause").after(late).for_(Duration::from_millis(1));
    let diary = diary.clone();
    let length = scope("measured", || {
        step("length").input("one", one).run_async(move |one| {
            diary.note(Entry::Ran { step: "length", on: "one" });
            async move { one.len() }
        })
    });
    let approved = review("approve", one)
        .revise(|text, feedback| {
            agent("revise").input("text", text).input("feedback", feedback).prompt("Revise it.").text()
        })
        .max_rounds(3)
        .approved();
    let filed = review("file_it", one).decide(
        |text| agent("shelve").input("text", text).prompt("Shelve it.").text(),
        |text, reason| join((text, reason)).map(|(text, reason)| format!("{text}: {reason}")),
    );
    let kept = review("keep_it", filed).decision();
    let size = branch("size", join((length, many)))
        .when("small", |(length, _)| *length < 3, |_| value("small".to_owned()))
        .when(
            "large",
            |(length, _)| *length >= 3,
            |pair| {
                let length = pair.get(|pair| &pair.0);
                agent("praise").input("length", length).prompt("Praise its length.").text()
            },
        )
        .or_fail();
    let bounded = repeat("count_up", count, 9, |count| {
        let next = count.map(|count| count + 1);
        branch("enough", next).when("yes", |count| *count >= 3, |_| next.done()).otherwise(|_| next.again())
    })
    .or_fail();
    agent("last")
        .input("approved", approved)
        .input("bounded", bounded)
        .input("kept", kept)
        .prompt("Say the last word.")
        .effect(Pure)
        .after(size)
        .after(later)
        .text()
}

/// A loop whose rounds are used up.
fn shorten(text: Step<String>, diary: &Diary) -> Step<String> {
    let diaries = (diary.clone(), diary.clone());
    repeat("shorten", text, 2, |text| {
        let shorter = step("cut").input("text", text).run(move |text| {
            diaries.0.note(Entry::Ran { step: "cut", on: "last" });
            text.chars().skip(1).collect::<String>()
        });
        branch("short", shorter)
            .when("yes", |text| text.len() < 4, |_| shorter.done())
            .otherwise(|_| shorter.again())
    })
    .or_else(|text| {
        step("give_up").input("text", text).run(move |text| {
            diaries.1.note(Entry::Ran { step: "give_up", on: "shorten[2]/cut" });
            format!("{text}, long")
        })
    })
}

/// The parts whose failure or shape is a value.
fn more(names: Step<Vec<String>>, told: Step<Vec<bool>>) -> Step<Vec<String>> {
    let caught = catch("caught", || agent("refuse").input("told", told).prompt("Refuse.").text())
        .or_else(|failure| agent("instead").input("why", failure).prompt("Say it instead.").text());
    let refused = agent("refuse_too").input("told", told).prompt("Refuse.").text();
    let settled = agent("anyway").input("refused", refused.settled()).prompt("Say it anyway.").text();
    let found = branch("found", names)
        .case(
            "wide",
            |names| names.first().cloned(),
            |name| agent("found_it").input("name", name).prompt("Found it.").text(),
        )
        .or_fail();
    let ahead = pipeline("ahead", names)
        .stage(|name| agent("walk_on").input("name", name).prompt("Walk on.").text())
        .stage_with(|walked, name| {
            agent("look_back").input("walked", walked).input("name", name).prompt("Look back.").text()
        })
        .streaming()
        .limit(Limit::shared("walkers", 1))
        .keyed()
        .all();
    let needing = parallel_dag("needing", ahead, |one, needed: Step<Vec<Keyed<String>>>| {
        agent("build_on").input("one", one).input("needed", needed).prompt("Build on it.").text()
    })
    .needs(|one| (one.key == "1").then_some("0"))
    .limit(Limit::shared("walkers", 1))
    .all();
    let enough = parallel("enough", ["one", "other"], |which| {
        let asked = value(which.to_owned());
        agent("try_it").input("which", asked).after(needing).prompt("Try it.").text()
    })
    .at_least(2);
    let grown = needing.then("grown", |needing| {
        let each = needing.iter().enumerate().map(|(place, one)| {
            let one = value(one.clone());
            agent("grow").key(place.to_string()).input("one", one).prompt("Grow.").text()
        });
        join(each.collect::<Vec<_>>())
    });
    let deep = recursive("deep", grown, 3, |again, names| {
        let fewer = agent("fewer").input("names", names).prompt("Fewer.").text();
        branch("left", names)
            .when("one", |names| names.len() < 2, |_| fewer)
            .otherwise(|names| scope("rest", || again.call(names.map(|names| names[1..].to_vec()))))
    });
    let called = match Plan::new("inner", |name: Step<String>| {
        agent("inside").input("name", name).prompt("Inside.").text()
    }) {
        Ok(inner) => inner.call("called", deep),
        Err(mistakes) => panic!("{mistakes}"),
    };
    let both = join((enough, join([caught, settled, found, called])));
    both.map(|(enough, others)| [enough.as_slice(), others.as_slice()].concat())
}

/// Puts the files that it takes into the directory it works in.
pub(crate) fn furnish(directory: &Path) {
    std::fs::create_dir_all(directory.join("shelf")).unwrap();
    std::fs::write(directory.join("shelf/tides.md"), "The sea comes and goes.\n").unwrap();
}

/// The input that goes with it.
pub(crate) fn input() -> Vec<String> {
    ["dunes", "estuaries", "a/b"].map(str::to_owned).to_vec()
}

/// Answers every agent of the plan, the same each time.
pub(crate) fn runner(diary: &Diary) -> FnRunner {
    let diary = diary.clone();
    FnRunner::sync(move |call| {
        diary.note(Entry::Called(call.path.clone()));
        says(&call.path).map(AgentReply::new).map_err(|why| RunnerError::new(RunnerErrorKind::Failed, why))
    })
}

/// What the agent at `path` says, or how it fails.
pub(crate) fn says(path: &str) -> Result<Answer, &'static str> {
    let weight = path.len() as f64 / 5.0;
    let (group, rest) = path.split_once('[').unwrap_or((path, ""));
    let key = rest.split(']').next().unwrap_or_default();
    match (group, key) {
        ("findings", topic) => Ok(Answer::Json(json!({ "topic": topic, "weight": weight }))),
        ("grades", "estuaries") => Err("it cannot be graded"),
        ("caught/refuse" | "refuse_too", _) => Err("it refuses"),
        ("grades", _) => Ok(Answer::Json(json!(7))),
        _ => Ok(Answer::Text(format!("<{}>", path.rsplit('/').next().unwrap()))),
    }
}

/// Starts the run or goes on with it, and settles what people must settle until it ends.
pub(crate) async fn to_the_end(executor: &Executor, diary: &Diary) -> Result<Vec<String>, String> {
    let plan = every_primitive(diary);
    let failed = |error: DriveError| error.to_string();
    let mut watch = executor.watch();
    let mut run = executor.start(&plan, input()).id("r").await.map_err(failed)?;
    loop {
        match diary.watching(&mut watch, run.settled()).await.map_err(failed)? {
            Outcome::Completed(done) => {
                diary.note(Entry::Completed);
                return Ok(done.value);
            }
            Outcome::Waiting(needs) | Outcome::Parked(needs) => {
                for need in &needs.list {
                    settle(executor, need, diary).await?;
                }
                run = executor.resume(&plan, "r").await.map_err(failed)?;
            }
            other => return Err(format!("{other:?}")),
        }
    }
}

/// The person, about one need.
async fn settle(executor: &Executor, need: &Need, diary: &Diary) -> Result<(), String> {
    match need.kind {
        NeedKind::Review { .. } => {
            let given = executor.answer(&run_id(), need, &answer(&need.path)).key(&need.path).await;
            let seq = given.map_err(|error| format!("{}: {error}", need.path))?;
            diary.note(Entry::Thanked(Box::new(need.clone()), seq));
            Ok(())
        }
        NeedKind::InDoubt { .. } => {
            let decided = executor.decide(&run_id(), need, Decision::Retry).await;
            decided.map_err(|error| format!("{}: {error}", need.path))
        }
        _ => Err(format!("nobody expected {need:?}")),
    }
}

/// What the person says to the question at `path`.
pub(crate) fn answer(path: &str) -> serde_json::Value {
    match path {
        "one" => json!("<look[wide]>"),
        "many" => json!(["<look[narrow]>", "<look[wide]>"]),
        "count" => json!(1),
        "approve[1]" => json!({ "decision": "request_changes", "feedback": "Bolder." }),
        "approve[2]" | "keep_it[1]" => json!({ "decision": "approve" }),
        "file_it[1]" => json!({ "decision": "reject", "reason": "Not yet." }),
        other => panic!("nobody expected to be asked {other}"),
    }
}
