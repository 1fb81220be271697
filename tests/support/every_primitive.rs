//! One plan that has every primitive, who answers its agents, and who answers its questions: for tests that break off a
//! run anywhere and expect the same end.

use super::Calls;
use hermes_workflows::{executor::DriveError, prelude::*};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// What an agent says of a topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Finding {
    topic: String,
    weight: f64,
}

/// The plan.
pub(crate) fn every_primitive() -> Plan<Vec<String>, Vec<String>> {
    Plan::new("every-primitive", build).unwrap()
}

fn build(topics: Step<Vec<String>>) -> Step<Vec<String>> {
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
    let checked = pipeline("checked", findings)
        .stage(|finding| step("halve").input("finding", finding).run(|finding| finding.weight / 2.0))
        .stage(|half| {
            step("even").input("half", half).try_run(|half| match half {
                half if *half > 2.0 => Err(format!("{half} is too much")),
                half => Ok(format!("{half:.2}")),
            })
        })
        .results();
    let told = checked.map(|checked| checked.iter().map(Result::is_ok).collect::<Vec<_>>());
    let lenses = parallel("lenses", ["wide", "narrow"], |lens| {
        agent("look").input("told", told).key(lens).prompt(format!("Look with the {lens} lens.")).text()
    })
    .options();
    let names = lenses.map(|lenses| lenses.iter().flatten().cloned().collect::<Vec<_>>());
    let one = ask("one").title("Which one?").choose_from(names).one();
    let many = ask("many").choose_from(names).many();
    let count = ask("count").input("one", one).returns::<u8>();
    let length =
        scope("measured", || step("length").input("one", one).run_async(|one| async move { one.len() }));
    let approved = review("approve", one)
        .revise(|text, feedback| {
            agent("revise").input("text", text).input("feedback", feedback).prompt("Revise it.").text()
        })
        .max_rounds(3)
        .approved();
    let short = repeat("shorten", approved, 3, |text| {
        let shorter = step("cut").input("text", text).run(|text| text.chars().skip(1).collect::<String>());
        branch("short", shorter)
            .when("yes", |text| text.len() < 4, |_| shorter.done())
            .otherwise(|_| shorter.again())
    })
    .or_else(|text| step("give_up").input("text", text).run(|text| format!("{text}, long")));
    let size = branch("size", join((length, count)))
        .when("small", |(length, _)| *length < 3, |_| value("small".to_owned()))
        .when(
            "large",
            |(length, _)| *length >= 3,
            |pair| {
                agent("praise").input("length", pair.get(|pair| &pair.0)).prompt("Praise its length.").text()
            },
        )
        .or_fail();
    let bounded = repeat("count_up", count, 9, |count| {
        let next = count.map(|count| count + 1);
        branch("enough", next).when("yes", |count| *count >= 3, |_| next.done()).otherwise(|_| next.again())
    })
    .or_fail();
    let last = agent("last")
        .input("short", short)
        .input("bounded", bounded)
        .prompt("Say the last word.")
        .effect(Pure)
        .after(size)
        .text();
    join((many, size, last))
        .map(|(many, size, last)| [many.as_slice(), &[size.clone(), last.clone()]].concat())
}

/// The input that goes with it.
pub(crate) fn input() -> Vec<String> {
    ["dunes", "tides", "a/b"].map(str::to_owned).to_vec()
}

/// How often each path was called.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallsByPath(Arc<Mutex<BTreeMap<String, u32>>>);

impl CallsByPath {
    pub(crate) fn of(&self, path: &str) -> u32 {
        self.0.lock().unwrap().get(path).copied().unwrap_or(0)
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }
}

/// Answers every agent of the plan, the same each time.
pub(crate) fn runner(calls: &CallsByPath) -> FnRunner {
    let calls = calls.clone();
    FnRunner::sync(move |call| {
        *calls.0.lock().unwrap().entry(call.path.clone()).or_default() += 1;
        Ok(AgentReply::new(says(&call.path)))
    })
}

/// What the agent at `path` says.
pub(crate) fn says(path: &str) -> Answer {
    let weight = path.len() as f64 / 5.0;
    match path.strip_prefix("findings[").and_then(|rest| rest.split(']').next()) {
        Some(topic) => Answer::Json(json!({ "topic": topic, "weight": weight })),
        None => Answer::Text(format!("<{}>", path.rsplit('/').next().unwrap())),
    }
}

/// Starts the run or goes on with it, and answers what is asked until it ends.
pub(crate) async fn to_the_end(executor: &Executor, answers: &Calls) -> Result<Vec<String>, String> {
    let plan = every_primitive();
    let failed = |error: DriveError| error.to_string();
    let mut run = executor.start(&plan, input()).id("r").await.map_err(failed)?;
    loop {
        match run.outcome().await.map_err(failed)? {
            Outcome::Completed(done) => return Ok(done.value),
            Outcome::Waiting(needs) => {
                for need in &needs.list {
                    answers.add();
                    let answered = executor.answer(&super::run_id(), need, &answer(&need.path)).await;
                    answered.map_err(|error| format!("{}: {error}", need.path))?;
                }
                run = executor.resume(&plan, "r").await.map_err(failed)?;
            }
            other => return Err(format!("{other:?}")),
        }
    }
}

/// What the person says to the question at `path`.
fn answer(path: &str) -> serde_json::Value {
    match path {
        "one" => json!("<look[wide]>"),
        "many" => json!(["<look[narrow]>", "<look[wide]>"]),
        "count" => json!(1),
        "approve[1]" => json!({ "decision": "request_changes", "feedback": "Bolder." }),
        "approve[2]" => json!({ "decision": "approve" }),
        other => panic!("nobody expected to be asked {other}"),
    }
}
