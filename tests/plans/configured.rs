//! Plan 10: A plan built from a configuration file: a plain loop over what was parsed builds the steps, and what the file leaves
//! out is not in the plan.

use hermes_workflows::prelude::*;

#[derive(Clone, Debug, Deserialize)]
struct Config {
    reviewers: Vec<Reviewer>,
    #[serde(default)]
    languages: Vec<String>,
    /// Who approves the notes; nobody has to if it is left out.
    approval: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Reviewer {
    name: String,
    model: Option<String>,
    asks: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Notes {
    text: String,
    translations: Vec<String>,
}

fn release_notes(config: &Config) -> Result<Plan<String, Notes>, PlanErrors> {
    Plan::new("release-notes", |changes: Step<String>| {
        let mut opinions = Vec::new();
        for reviewer in &config.reviewers {
            let mut opinion =
                agent("review").key(&reviewer.name).input("changes", changes).prompt(reviewer.asks.as_str());
            if let Some(model) = &reviewer.model {
                opinion = opinion.model(model);
            }
            opinions.push(opinion.text());
        }
        let mut notes = agent("write")
            .input("changes", changes)
            .input("opinions", join(opinions))
            .prompt("Write release notes that answer these opinions.")
            .text();
        if let Some(who) = &config.approval {
            notes = review("approve", notes).title(format!("For {who}")).approved();
        }
        let translations = parallel("translations", &config.languages, |language| {
            agent("translate")
                .input("notes", notes)
                .prompt(format!("Translate the notes to {language}."))
                .text()
        })
        .all();
        join((notes, translations))
            .map(|(text, translations)| Notes { text: text.clone(), translations: translations.clone() })
    })
}

mod run {
    use super::{Config, Notes, release_notes};
    use crate::drive::{Drive, input};
    use hermes_plan::assert_layout;
    use hermes_workflows::prelude::*;
    use serde_json::json;

    fn config() -> Config {
        serde_json::from_str(include_str!("configured.json")).unwrap()
    }

    fn script() -> Scripted {
        Scripted::new()
            .on("review[*]", |call: &AgentCall| {
                Ok(AgentReply::text(format!("{}?", call.model.as_deref().unwrap_or("any"))))
            })
            .on("write", |call: &AgentCall| {
                Ok(AgentReply::text(input::<Vec<String>>(call, "opinions").join(" ")))
            })
            .on("translations[*]/translate", |call: &AgentCall| {
                Ok(AgentReply::text(format!("{}: {}", call.path, input::<String>(call, "notes"))))
            })
    }

    fn drive(config: &Config) -> Drive<String, Notes> {
        Drive::new(release_notes(config).unwrap(), "We fixed it.".to_owned(), script).person(|path| {
            assert_eq!(path, "approve[1]");
            json!({"decision": "approve"})
        })
    }

    #[test]
    fn its_layout_follows_the_file() {
        assert_layout!(release_notes(&config()).unwrap(), "plan-configured");
        let small: Config =
            serde_json::from_str(r#"{"reviewers": [{"name": "all", "asks": "Well?"}]}"#).unwrap();
        assert_layout!(release_notes(&small).unwrap(), "plan-configured-small");
    }

    #[test]
    fn all_mistakes_in_the_file_are_named_at_once() {
        let mut config = config();
        config.reviewers[0].asks = " ".to_owned();
        config.reviewers[2].name = "operations".to_owned();
        config.languages[1] = "de".to_owned();
        let mistakes = release_notes(&config).unwrap_err();
        let said = mistakes.to_string();
        for mistake in [
            "the prompt of `review` is blank",
            "named `review` have the key `operations`",
            "have the key `de`",
        ] {
            assert!(said.contains(mistake), "{said}");
        }
        assert_eq!(
            said.lines().filter(|line| line.contains("- tests/plans/configured.rs:")).count(),
            3,
            "{said}"
        );
    }

    #[tokio::test]
    async fn killed_anywhere_it_runs_as_it_is_configured() {
        let ended = drive(&config()).survives(6).await;
        assert_eq!(ended.value.text, "large? any? small?");
        assert_eq!(ended.value.translations[1], "translations[fr]/translate: large? any? small?");
        assert_eq!(ended.script.calls().len(), 3 + 1 + 2);
    }

    #[tokio::test]
    async fn a_configured_reviewer_fails_once() {
        drive(&config()).recovers("review[users]", 3).await;
    }

    #[tokio::test]
    async fn an_edit_of_the_file_parks_the_run_by_the_name_of_the_reviewer() {
        let ledger = Ledger::in_memory().unwrap();
        let executor = || Executor::builder().ledger(ledger.clone()).runner(script()).build();
        let mut config = Config { approval: None, ..config() };
        let run = executor().start(&release_notes(&config).unwrap(), "We fixed it.".to_owned()).id("r");
        assert!(matches!(run.await.unwrap().outcome().await.unwrap(), Outcome::Completed(_)));
        config.reviewers[1].asks = "Who is paged?".to_owned();
        let run = executor().resume(&release_notes(&config).unwrap(), "r").await.unwrap();
        let Outcome::Parked(needs) = run.outcome().await.unwrap() else { panic!("it parks") };
        assert_eq!(
            needs.list.iter().map(|need| need.path.as_str()).collect::<Vec<_>>(),
            ["review[operations]"]
        );
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending() {
        assert_eq!(drive(&config()).never_rehearsed(|plan| plan).await, [""; 0]);
    }
}
