//! Plan 7: Looking for as long as something new is found: several seekers at once, each told what is known; it ends after a round
//! that found nothing new.

use hermes_workflows::prelude::*;
use std::collections::BTreeSet;

/// What a seeker may come back with, and what all have found together.
type Names = BTreeSet<String>;

fn seek_prompt(area: &str, known: &Names) -> String {
    format!("Look for flaky tests in {area}. {} are known; name others.", known.len())
}

fn round(areas: Step<Vec<String>>, known: Step<Names>) -> Step<Flow<Names, Names>> {
    let found = parallel_each("areas", areas, |area| {
        agent("seek")
            .input("area", area)
            .input("known", known)
            .prompt_with(|area, known| seek_prompt(area, known))
            .returns::<Names>()
    })
    .key_by(String::clone)
    .limit(4)
    .all();
    let all =
        join((known, found)).map(|(known, found)| found.iter().fold(known.clone(), |all, more| &all | more));
    branch("anything_new", join((known, all)))
        .when("no", |(known, all)| known == all, |_| all.done())
        .otherwise(|_| all.again())
}

fn flaky_tests(areas: Step<Vec<String>>) -> Step<String> {
    let nothing = value(Names::new());
    let flaky = repeat("until_dry", nothing, 8, |known| round(areas, known)).or_else(|known| known);
    agent("report").input("flaky", flaky).prompt("Write an issue about these flaky tests.").text()
}

mod run {
    use super::{Names, flaky_tests, seek_prompt};
    use crate::{
        drawing::assert_drawing,
        drive::{Drive, input},
    };
    use hermes_plan::assert_layout;
    use hermes_workflows::prelude::*;
    use serde_json::json;

    /// A seeker finds one more test of its area than are known of it, up to four, and sometimes one that is known.
    fn script() -> Scripted {
        Scripted::new()
            .on("until_dry[*]/areas[*]/seek", |call: &AgentCall| {
                let (area, known): (String, Names) = (input(call, "area"), input(call, "known"));
                let own = known.iter().filter(|name| name.starts_with(&area)).count();
                let most = if area == "net" { 4 } else { 2 };
                let names = [format!("{area}-0"), format!("{area}-{}", (own + 1).min(most) - 1)];
                Ok(AgentReply::json(json!(Names::from(names))))
            })
            .on("report", |call: &AgentCall| {
                let flaky: Names = input(call, "flaky");
                Ok(AgentReply::text(flaky.into_iter().collect::<Vec<_>>().join(", ")))
            })
    }

    /// Finds something new for ever.
    fn endless() -> Scripted {
        script().on("until_dry[*]/areas[*]/seek", |call: &AgentCall| {
            let known: Names = input(call, "known");
            Ok(AgentReply::json(json!([format!("test-{}", known.len())])))
        })
    }

    fn drive(script: fn() -> Scripted) -> Drive<Vec<String>, String> {
        let areas = vec!["net".to_owned(), "disk".to_owned()];
        Drive::new(Plan::new("flaky-tests", flaky_tests).unwrap(), areas, script)
    }

    #[test]
    fn its_layout_and_its_prompt() {
        assert_layout!(Plan::new("flaky-tests", flaky_tests).unwrap(), "plan-until_dry");
        let known = Names::from(["a".to_owned()]);
        assert_eq!(seek_prompt("net", &known), "Look for flaky tests in net. 1 are known; name others.");
    }

    #[tokio::test]
    async fn killed_anywhere_it_ends_after_a_round_without_anything_new() {
        let ended = drive(script).survives(6).await;
        assert_eq!(ended.value, "disk-0, disk-1, net-0, net-1, net-2, net-3");
        assert_eq!(ended.script.count("until_dry[*]/areas[*]/seek"), 2 * 5);
        assert_drawing("plan-until_dry-run", &ended.layout);
    }

    #[tokio::test]
    async fn what_is_never_dry_ends_with_its_rounds() {
        let ended = drive(endless).survives(2).await;
        assert_eq!(ended.value.split(", ").count(), 8);
        assert_eq!(ended.script.count("until_dry[*]/areas[*]/seek"), 2 * 8);
    }

    #[tokio::test]
    async fn a_seeker_fails_in_the_third_round() {
        drive(script).recovers("until_dry[3]/areas[disk]/seek", 3).await;
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending() {
        assert_eq!(drive(script).never_rehearsed(|plan| plan).await, [""; 0]);
    }
}
