//! Plan 6: A tournament: as many drafts as there are briefs, then rounds of matches between neighbours until one is left.

use hermes_workflows::prelude::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Draft {
    brief: u32,
    text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
enum Winner {
    First,
    Second,
}

/// A match of two; somebody without an opponent goes on by themselves.
fn matches(drafts: &[Draft]) -> Vec<Vec<Draft>> {
    drafts.chunks(2).map(<[Draft]>::to_vec).collect()
}

fn play(pair: Step<Vec<Draft>>) -> Step<Draft> {
    branch("against", pair)
        .case(
            "nobody",
            |pair| if let [alone] = pair.as_slice() { Some(alone.clone()) } else { None },
            |alone| alone,
        )
        .otherwise(|pair| {
            let winner = agent("judge")
                .input("drafts", pair)
                .prompt("Which of the two is better?")
                .returns::<Winner>();
            join((pair, winner)).map(|(pair, winner)| match winner {
                Winner::First => pair[0].clone(),
                Winner::Second => pair[1].clone(),
            })
        })
}

fn tournament(briefs: Step<Vec<u32>>) -> Step<Draft> {
    let drafts = parallel_each("drafts", briefs, |brief| {
        agent("write")
            .input("brief", brief)
            .prompt_with(|brief| format!("Write a draft after brief {brief}."))
            .returns::<Draft>()
    })
    .key_by(|brief| *brief)
    .limit(16)
    .all();
    repeat("rounds", drafts, 16, |drafts| {
        let winners = parallel_each("matches", drafts.map(|drafts| matches(drafts)), play).limit(16).all();
        branch("left", winners)
            .case(
                "one",
                |left| if let [best] = left.as_slice() { Some(best.clone()) } else { None },
                Step::done,
            )
            .otherwise(Step::again)
    })
    .or_fail()
}

mod run {
    use super::{Draft, Winner, matches, tournament};
    use crate::{
        drawing::assert_drawing,
        drive::{Drive, input},
    };
    use hermes_plan::assert_layout;
    use hermes_workflows::prelude::*;
    use serde_json::json;

    /// How good a draft is: no two of up to 1,000 are as good as each other, and the best is somewhere in the middle.
    fn quality(draft: &Draft) -> u32 {
        draft.brief * 389 % 1009
    }

    fn script() -> Scripted {
        Scripted::new()
            .on("drafts[*]/write", |call: &AgentCall| {
                let brief: u32 = input(call, "brief");
                Ok(AgentReply::json(json!(Draft { brief, text: format!("draft {brief}") })))
            })
            .on("rounds[*]/matches[*]/against:else/judge", |call: &AgentCall| {
                let pair: Vec<Draft> = input(call, "drafts");
                let first = quality(&pair[0]) > quality(&pair[1]);
                Ok(AgentReply::json(json!(if first { Winner::First } else { Winner::Second })))
            })
    }

    fn drive(drafts: u32) -> Drive<Vec<u32>, Draft> {
        Drive::new(Plan::new("tournament", tournament).unwrap(), (1..=drafts).collect(), script)
    }

    fn best(drafts: u32) -> u32 {
        (1..=drafts).max_by_key(|brief| quality(&Draft { brief: *brief, text: String::new() })).unwrap()
    }

    #[test]
    fn its_layout_and_its_matches() {
        assert_layout!(Plan::new("tournament", tournament).unwrap(), "plan-tournament");
        let drafts: Vec<_> = (1..=5).map(|brief| Draft { brief, text: String::new() }).collect();
        assert_eq!(matches(&drafts).iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    }

    #[tokio::test]
    async fn killed_anywhere_the_best_of_8_wins_and_each_match_is_judged_once() {
        let ended = drive(8).survives(6).await;
        assert_eq!(ended.value.brief, best(8));
        assert_eq!((ended.script.count("drafts[*]/write"), ended.script.calls().len()), (8, 8 + 7));
        assert_drawing("plan-tournament-run", &ended.layout);
    }

    #[tokio::test]
    async fn somebody_without_an_opponent_goes_on_and_a_judge_who_fails_is_asked_again() {
        assert_eq!(drive(5).survives(3).await.value.brief, best(5));
        drive(5).recovers("rounds[2]/matches[0]/against:else/judge", 3).await;
    }

    #[tokio::test]
    async fn the_best_of_1000_wins_in_999_matches_also_after_a_kill() {
        let ended = drive(1000).survives(1).await;
        assert_eq!(ended.value.brief, best(1000));
        assert_eq!(ended.script.calls().len(), 1000 + 999);
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending() {
        assert_eq!(drive(8).never_rehearsed(|plan| plan).await, [""; 0]);
    }
}
