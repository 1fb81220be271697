//! Plan 5: Research whose depth depends on the questions: each is split for as long as an agent thinks it should be, its parts are
//! answered side by side, and answers are put together on the way back up.

use hermes_workflows::prelude::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Answered {
    question: String,
    text: String,
    sources: Vec<String>,
}

fn put_together(question: &str, parts: &[Answered]) -> String {
    let titles: Vec<_> = parts.iter().map(|part| part.question.as_str()).collect();
    format!("Answer “{question}” from the answers to: {}.", titles.join("; "))
}

fn research(question: Step<String>) -> Step<Answered> {
    recursive("answer", question, 4, |deeper, question| {
        let parts = agent("split")
            .input("question", question)
            .prompt("Split it into questions of their own; return none if it can be looked up.")
            .check(
                |parts: &Vec<String>| {
                    if parts.len() == 1 { Err("one part is no split".to_owned()) } else { Ok(()) }
                },
            )
            .returns::<Vec<String>>();
        branch("simple", parts)
            .when("yes", Vec::is_empty, |_| {
                agent("look_up").input("question", question).tools(["search"]).prompt("Look it up.").returns()
            })
            .otherwise(|parts| {
                let answers =
                    parallel_each("parts", parts, |part| deeper.call(part)).key_by(String::clone).all();
                agent("synthesize")
                    .input("question", question)
                    .input("answers", answers)
                    .prompt_with(|question, answers| put_together(question, answers))
                    .returns()
            })
    })
}

mod run {
    use super::{Answered, put_together, research};
    use crate::drive::{Drive, input};
    use hermes_plan::assert_layout;
    use hermes_workflows::prelude::*;
    use serde_json::json;

    /// `ab(c)` and the like: a question is split into its letters, unless it has one; `x` is never simple enough.
    fn script() -> Scripted {
        Scripted::new().otherwise(|call| {
            let question: String = input(call, "question");
            let parts: Vec<String> = match question.as_str() {
                "why tides" => vec!["moon".to_owned(), "sun and sea".to_owned()],
                "sun and sea" => vec!["sun".to_owned(), "sea".to_owned()],
                "abyss" => vec!["abyss".to_owned(), "moon".to_owned()],
                _ => Vec::new(),
            };
            let answered =
                |text: String, sources| json!(Answered { question: question.clone(), text, sources });
            let reply = match call.path.rsplit('/').next() {
                Some("split") => json!(parts),
                Some("look_up") => answered(format!("<{question}>"), vec![format!("{question}.org")]),
                _ => {
                    let answers: Vec<Answered> = input(call, "answers");
                    let texts: Vec<_> = answers.iter().map(|answer| answer.text.as_str()).collect();
                    answered(
                        texts.join("+"),
                        answers.iter().flat_map(|answer| answer.sources.clone()).collect(),
                    )
                }
            };
            Ok(AgentReply::json(reply))
        })
    }

    fn drive() -> Drive<String, Answered> {
        Drive::new(Plan::new("research", research).unwrap(), "why tides".to_owned(), script)
    }

    #[test]
    fn its_layout_and_its_prompt() {
        assert_layout!(Plan::new("research", research).unwrap(), "plan-research");
        assert_eq!(put_together("Why?", &[]), "Answer “Why?” from the answers to: .");
    }

    #[tokio::test]
    async fn killed_anywhere_it_goes_as_deep_as_the_questions_and_looks_each_up_once() {
        let ended = drive().survives(6).await;
        assert_eq!((ended.value.text.as_str(), ended.value.sources.len()), ("<moon>+<sun>+<sea>", 3));
        // Five questions were split, three looked up and two put together.
        assert_eq!(ended.script.calls().len(), 5 + 3 + 2);
    }

    #[tokio::test]
    async fn a_question_three_levels_down_fails_once() {
        let deep = "answer[1]/simple:else/parts[sun and sea]/answer[2]/simple:else/parts[sea]/answer[3]";
        drive().recovers(&format!("{deep}/simple:yes/look_up"), 3).await;
    }

    #[tokio::test]
    async fn a_question_that_is_never_simple_enough_fails_by_name() {
        let plan = Plan::new("research", research).unwrap();
        let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(script()).build();
        let run = executor.start(&plan, "abyss".to_owned()).id("r").await.unwrap();
        let outcome = run.outcome().await.unwrap();
        let Outcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
        assert_eq!(failure.class, FailureClass::TooDeep, "{failure}");
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending_but_those_that_its_arms_rule_out() {
        // A question that is split has at least two parts.
        assert_eq!(
            drive().never_rehearsed(|plan| plan).await,
            ["answer[1]/simple:else/parts: has no items", "answer[1]/simple:else/parts: has one item"]
        );
    }
}
