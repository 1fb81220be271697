//! Plan 11: A person approves before anything is done that cannot be undone. Rejection is a value: the plan goes on with it.

use hermes_workflows::prelude::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Migration {
    statements: Vec<String>,
    locks_for_seconds: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Deployed {
    Done { statements: usize, said: String },
    NotDone { because: String, instead: String },
}

/// What makes a plan of a database change dangerous enough for the statement to be refused.
fn refuse(migration: &Migration) -> Result<(), String> {
    match migration.statements.iter().find(|statement| statement.starts_with("DROP")) {
        Some(statement) => Err(format!("`{statement}` drops something")),
        None => Ok(()),
    }
}

/// What is done cannot be undone: should nobody know whether it was, a person is asked.
fn apply(migration: Step<Migration>) -> Step<Deployed> {
    let said = agent("apply")
        .input("migration", migration)
        .tools(["psql"])
        .isolation(Isolation::None)
        .effect(Unsafe)
        .prompt("Apply exactly these statements and say what the database said.")
        .text();
    let noted = step("note_in_the_log")
        .input("migration", migration)
        .input("said", said)
        .effect(Unsafe)
        .run(|migration, said| format!("{} statements: {said}", migration.statements.len()));
    join((migration, noted)).map(|(migration, said)| Deployed::Done {
        statements: migration.statements.len(),
        said: said.clone(),
    })
}

fn give_up(reason: Step<String>) -> Step<Deployed> {
    let instead = agent("propose").input("reason", reason).prompt("Say how else it can be done.").text();
    join((reason, instead))
        .map(|(because, instead)| Deployed::NotDone { because: because.clone(), instead: instead.clone() })
}

fn deploy(wish: Step<String>) -> Step<Deployed> {
    let migration = agent("write_migration")
        .input("wish", wish)
        .prompt("Write the statements for this change.")
        .check(refuse)
        .repair(2)
        .returns::<Migration>();
    let verdict = review("approve_migration", migration)
        .title("Apply this to production?")
        .revise(|migration, feedback| {
            agent("revise_migration")
                .input("migration", migration)
                .input("feedback", feedback)
                .prompt("Answer the feedback.")
                .returns()
        })
        .decision();
    let approved = |verdict: &Verdict<Migration>| match verdict {
        Verdict::Approved(migration) => Some(migration.clone()),
        Verdict::Rejected { .. } => None,
    };
    let rejected = |verdict: &Verdict<Migration>| match verdict {
        Verdict::Rejected { reason, .. } => Some(reason.clone()),
        Verdict::Approved(_) => None,
    };
    branch("verdict", verdict).case("approved", approved, apply).case("rejected", rejected, give_up).or_fail()
}

mod run {
    use super::{Deployed, deploy, refuse};
    use crate::{drawing::assert_drawing, drive::Drive};
    use hermes_plan::assert_layout;
    use hermes_workflows::prelude::*;
    use serde_json::{Value, json};

    fn migration(statements: &[&str]) -> Value {
        json!({"statements": statements, "locks_for_seconds": 3})
    }

    /// Drops a table at first, and is told.
    fn script() -> Scripted {
        Scripted::new()
            .on("write_migration", migration(&["DROP TABLE old"]))
            .then(migration(&["ALTER TABLE posts ADD tags"]))
            .on(
                "approve_migration[*]/revise_migration",
                migration(&["SET lock_timeout", "ALTER TABLE posts ADD tags"]),
            )
            .text("verdict:approved/apply", "ALTER TABLE")
            .text("verdict:rejected/propose", "Use a view.")
    }

    fn approves(path: &str) -> Value {
        match path {
            "approve_migration[1]" => json!({"decision": "request_changes", "feedback": "Mind the lock."}),
            "approve_migration[2]" => json!({"decision": "approve"}),
            other => panic!("nobody expected to be asked {other}"),
        }
    }

    fn rejects(_: &str) -> Value {
        json!({"decision": "reject", "reason": "Not on a Friday."})
    }

    fn drive(person: fn(&str) -> Value) -> Drive<String, Deployed> {
        Drive::new(Plan::new("deploy", deploy).unwrap(), "tags for posts".to_owned(), script).person(person)
    }

    #[test]
    fn its_layout_and_what_it_refuses() {
        assert_layout!(Plan::new("deploy", deploy).unwrap(), "plan-deploy");
        let migration = serde_json::from_value(migration(&["SELECT 1", "DROP TABLE posts"])).unwrap();
        assert_eq!(refuse(&migration), Err("`DROP TABLE posts` drops something".to_owned()));
    }

    #[tokio::test]
    async fn killed_anywhere_what_is_approved_is_applied_and_never_twice_without_asking() {
        let ended = drive(approves).survives(6).await;
        assert_eq!(
            ended.value,
            Deployed::Done { statements: 2, said: "2 statements: ALTER TABLE".to_owned() }
        );
        // Two turns of one attempt, for the first was refused.
        assert_eq!(
            (ended.script.count("write_migration"), ended.script.count("verdict:approved/apply")),
            (2, 1)
        );
    }

    #[tokio::test]
    async fn killed_at_every_moment_only_what_cannot_be_undone_is_asked_about() {
        let doubts = drive(approves).doubts().await;
        assert_eq!(
            doubts.into_iter().collect::<Vec<_>>(),
            ["verdict:approved/apply", "verdict:approved/note_in_the_log"]
        );
    }

    #[tokio::test]
    async fn what_is_rejected_is_not_applied_and_the_plan_goes_on() {
        let ended = drive(rejects).survives(6).await;
        let because = "Not on a Friday.".to_owned();
        assert_eq!(ended.value, Deployed::NotDone { because, instead: "Use a view.".to_owned() });
        assert_eq!(ended.script.count("verdict:approved/apply"), 0);
        assert_drawing("plan-deploy-run", &ended.layout);
    }

    #[tokio::test]
    async fn a_revision_fails_once_and_is_retried() {
        drive(approves).recovers("approve_migration[1]/revise_migration", 3).await;
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending_but_a_verdict_that_there_is_not() {
        assert_eq!(drive(approves).never_rehearsed(|plan| plan).await, ["verdict: takes no arm, and fails"]);
    }
}
