//! Plan 9: A plan over any `T: Data`: something is judged and improved until it is good enough, whatever it is, and a person may
//! take it as it is.

use hermes_workflows::prelude::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Letter {
    to: String,
    lines: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Judgement<T> {
    good: bool,
    /// Something like it that is better, if there is.
    better: Option<T>,
}

fn judge_prompt<T>(aim: &str) -> String {
    format!(
        "Is this {} good? It should be {aim}.",
        std::any::type_name::<T>().rsplit("::").next().unwrap_or("text")
    )
}

/// Improves a value of any type up to three times; a person decides about what is still not good.
fn improved<T: Data>(first: Step<T>, aim: &'static str) -> Step<T> {
    repeat("improve", first, 3, |current| {
        let judgement = agent("judge")
            .input("current", current)
            .prompt_with(move |_| judge_prompt::<T>(aim))
            .returns::<Judgement<T>>();
        branch("good", judgement)
            .when("yes", |judgement| judgement.good, |_| current.done())
            .case("better", |judgement| judgement.better.clone(), Step::again)
            .otherwise(|_| {
                agent("rewrite").input("current", current).prompt("Write it anew.").returns::<T>().again()
            })
    })
    .or_else(|last| review("good_enough", last).approved())
}

/// The same, as a plan that other plans can call.
fn improving<T: Data>(aim: &'static str) -> Result<Plan<T, T>, PlanErrors> {
    Plan::new("improving", move |first: Step<T>| improved(first, aim))
}

/// Of two types in one plan: in a scope each, as one plan has a name once a scope.
fn letter_and_number(letter: Step<Letter>) -> Step<(Letter, u32)> {
    let letter = scope("letter", || improved(letter, "short"));
    let lines = letter.map(|letter| letter.lines.len().try_into().unwrap_or(u32::MAX));
    join((letter, scope("number", || improved(lines, "round"))))
}

mod run {
    use super::{Judgement, Letter, improving, judge_prompt, letter_and_number};
    use crate::drive::{Drive, input};
    use hermes_plan::assert_layout;
    use hermes_workflows::prelude::*;
    use serde_json::{Value, json};

    fn letter(lines: &[&str]) -> Letter {
        Letter { to: "Ada".to_owned(), lines: lines.iter().map(|line| (*line).to_owned()).collect() }
    }

    /// Letters lose a line a round until two are left; a number is never good, and rewritten.
    fn script() -> Scripted {
        Scripted::new()
            .on("letter/improve[*]/judge", |call: &AgentCall| {
                let mut letter: Letter = input(call, "current");
                letter.lines.pop();
                let good = letter.lines.len() < 2;
                let better = (!good).then_some(letter);
                Ok(AgentReply::json(json!(Judgement { good, better })))
            })
            .on("number/improve[*]/judge", json!({"good": false, "better": null}))
            .on("number/improve[*]/good:else/rewrite", |call: &AgentCall| {
                Ok(AgentReply::json(json!(input::<u32>(call, "current") * 10)))
            })
    }

    fn person(path: &str) -> Value {
        assert_eq!(path, "number/improve:else/good_enough[1]");
        json!({"decision": "edit", "value": 7})
    }

    fn drive() -> Drive<Letter, (Letter, u32)> {
        let plan = Plan::new("generic", letter_and_number).unwrap();
        Drive::new(plan, letter(&["Dear Ada,", "yes.", "And so on.", "And on."]), script).person(person)
    }

    #[test]
    fn its_layout_and_its_prompt_are_of_their_types() {
        assert_layout!(Plan::new("generic", letter_and_number).unwrap(), "plan-generic");
        assert_layout!(improving::<Vec<Letter>>("kind").unwrap(), "plan-generic-called");
        assert_eq!(judge_prompt::<Letter>("short"), "Is this Letter good? It should be short.");
    }

    #[tokio::test]
    async fn killed_anywhere_each_type_is_improved_by_the_same_function() {
        let ended = drive().survives(6).await;
        assert_eq!(ended.value, (letter(&["Dear Ada,", "yes."]), 7));
        assert_eq!(ended.script.count("letter/improve[*]/judge"), 3);
        assert_eq!(ended.script.count("number/improve[*]/good:else/rewrite"), 3);
    }

    #[tokio::test]
    async fn a_judge_and_a_rewrite_fail_once() {
        drive().recovers("letter/improve[2]/judge", 2).await;
        drive().recovers("number/improve[3]/good:else/rewrite", 2).await;
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending() {
        assert_eq!(drive().never_rehearsed(|plan| plan).await, [""; 0]);
    }
}
