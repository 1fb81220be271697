//! Plan 3: A pull request under several lenses at once: what they find is put together by content, and each finding counts only if
//! fewer than two of three refuters can refute it.

use hermes_workflows::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Change {
    title: String,
    diff: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Finding {
    file: String,
    line: u32,
    claim: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Vote {
    refuted: bool,
    because: String,
}

impl Finding {
    /// What makes two findings the same, however they are worded in spaces and case.
    fn identity(&self) -> String {
        let words: Vec<_> = self.claim.split_whitespace().map(str::to_lowercase).collect();
        format!("{}:{}:{}", self.file, self.line, words.join(" "))
    }
}

/// Each finding once, in the order of their places.
fn distinct(found: &[Finding]) -> Vec<Finding> {
    let mut by_identity = BTreeMap::new();
    for finding in found {
        by_identity.entry(finding.identity()).or_insert_with(|| finding.clone());
    }
    by_identity.into_values().collect()
}

/// The finding, unless most of the refuters have refuted it.
fn upheld(finding: &Finding, votes: &[Vote]) -> Option<Finding> {
    let refuted = votes.iter().filter(|vote| vote.refuted).count();
    (2 * refuted < votes.len()).then(|| finding.clone())
}

fn verified(finding: Step<Finding>, change: Step<Change>, refuters: &Limit) -> Step<Option<Finding>> {
    let votes = parallel("refuters", ["first", "second", "third"], |_| {
        agent("refute")
            .input("finding", finding)
            .input("change", change)
            .prompt_with(|finding, _| format!("Try to refute it: {}", finding.claim))
            .returns::<Vote>()
    })
    .limit(refuters)
    .all();
    join((finding, votes)).map(|(finding, votes)| upheld(finding, votes))
}

fn review_pull_request(change: Step<Change>) -> Step<String> {
    let refuters = Limit::shared("refuters", 6);
    let found = parallel("lenses", ["security", "performance", "tests", "style"], |lens| {
        agent("look")
            .input("change", change)
            .prompt_with(move |change| format!("Review “{}” for {lens}.", change.title))
            .returns::<Vec<Finding>>()
    })
    .results();
    let findings = found.successes().flatten().map(|found| distinct(found));
    let verified = parallel_each("verify", findings, |finding| verified(finding, change, &refuters))
        .key_by(Finding::identity)
        .all()
        .flatten();
    agent("report")
        .input("findings", verified)
        .input("lenses_that_failed", found.failures())
        .prompt("Write the review. Name the lenses that failed.")
        .text()
}

mod run {
    use super::{Change, Finding, Vote, distinct, review_pull_request, upheld};
    use crate::{
        drawing::assert_drawing,
        drive::{Drive, input},
    };
    use hermes_plan::assert_layout;
    use hermes_workflows::prelude::*;
    use serde_json::json;

    fn finding(line: u32, claim: &str) -> Finding {
        Finding { file: "src/net.rs".to_owned(), line, claim: claim.to_owned() }
    }

    fn vote(refuted: bool) -> Vote {
        Vote { refuted, because: "I looked.".to_owned() }
    }

    /// Two lenses find the same in other words, and one fails for good. Refuters refute what is a matter of taste; of what is
    /// slow only one does.
    fn script() -> Scripted {
        Scripted::new()
            .on(
                "lenses[security]/look",
                json!([finding(7, "The length is not checked"), finding(9, "Slow loop")]),
            )
            .on(
                "lenses[performance]/look",
                json!([finding(9, "slow  LOOP"), finding(7, "the length is not checked")]),
            )
            .on("lenses[style]/look", json!([finding(1, "Ugly name")]))
            .fail("lenses[tests]/look", 9, RunnerError::new(RunnerErrorKind::Failed, "no tests found"))
            .on("verify[*]/refuters[*]/refute", |call: &AgentCall| {
                let finding: Finding = input(call, "finding");
                let alone = finding.line == 9 && call.path.contains("refuters[first]");
                Ok(AgentReply::json(json!(vote(finding.line == 1 || alone))))
            })
            .on("report", |call: &AgentCall| {
                let findings: Vec<Finding> = input(call, "findings");
                let failed: Vec<Failure> = input(call, "lenses_that_failed");
                let failed = failed.iter().map(|failure| format!("{}: {}", failure.path, failure.message));
                let lines = findings.iter().map(|finding| format!("{}: {}", finding.line, finding.claim));
                Ok(AgentReply::text(lines.chain(failed).collect::<Vec<_>>().join("\n")))
            })
    }

    fn drive() -> Drive<Change, String> {
        let change = Change { title: "Read frames".to_owned(), diff: "+ loop {}".to_owned() };
        Drive::new(Plan::new("pull-request", review_pull_request).unwrap(), change, script)
    }

    #[test]
    fn its_layout_and_its_rules() {
        assert_layout!(Plan::new("pull-request", review_pull_request).unwrap(), "plan-pull_request");
        let found = [finding(7, "No  check"), finding(7, "no check"), finding(8, "no check")];
        assert_eq!(distinct(&found), [finding(7, "No  check"), finding(8, "no check")]);
        let kept = |votes: &[Vote]| upheld(&found[0], votes).is_some();
        assert!(
            kept(&[vote(false), vote(true), vote(false)]) && !kept(&[vote(true), vote(true), vote(false)])
        );
    }

    #[tokio::test]
    async fn killed_anywhere_each_finding_is_refuted_by_three_once() {
        let ended = drive().survives(6).await;
        let report = "7: The length is not checked\n9: Slow loop\nlenses[tests]/look: no tests found";
        assert_eq!(ended.value, report);
        assert_eq!(ended.script.count("verify[*]/refuters[*]/refute"), 3 * 3);
        assert_eq!((ended.counts.failed, ended.counts.calls), (1, 4 + 9 + 1));
        assert_drawing("plan-pull_request-run", &ended.layout);
    }
    #[tokio::test]
    async fn a_refuter_fails_once_and_the_lens_that_is_retried_beside_it_fails_again() {
        drive().recovers("verify[src%2Fnet.rs%3A9%3Aslow loop]/refuters[second]/refute", 3).await;
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending() {
        assert_eq!(drive().never_rehearsed(|plan| plan).await, [""; 0]);
    }
}
