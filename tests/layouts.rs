//! Drawings as snapshots: of the plans of the examples, of the design's own plan, and of runs in every state.

#[path = "../examples/blog_post/plan.rs"]
mod blog_post;
#[path = "layouts/forms.rs"]
mod forms;
#[path = "../examples/topology/plans.rs"]
mod plans;
#[path = "../examples/release_notes"]
mod release_notes {
    mod history;
    pub(crate) mod plan;
}
#[path = "layouts/states.rs"]
mod states;
mod support;

use hermes_plan::assert_layout;
use hermes_workflows::{executor::run_layout, prelude::*};
use support::{drawing::assert_drawing, *};

#[test]
fn the_plans_of_the_examples() {
    assert_layout!(Plan::new("blog-post", blog_post::blog_post).unwrap(), "example-blog_post");
    assert_layout!(
        Plan::new("release-notes", release_notes::plan::release_notes).unwrap(),
        "example-release_notes"
    );
    let plans = plans::plans().unwrap();
    assert!(plans.len() >= 19, "{} plans", plans.len());
    for plan in plans {
        assert_layout!(plan, format!("topology-{}", plan.name()));
    }
}

#[test]
fn other_forms() {
    let blog = Plan::new("blog-post", blog_post::blog_post).unwrap();
    assert_drawing("example-blog_post-mermaid", &blog.layout().mermaid());
    assert_drawing("example-blog_post-dot", &blog.layout().dot());
    for plan in plans::plans().unwrap() {
        if ["nested", "repeat_or_else", "after", "decide"].contains(&plan.name()) {
            assert_drawing(&format!("topology-{}-mermaid", plan.name()), &plan.layout().mermaid());
            assert_drawing(&format!("topology-{}-dot", plan.name()), &plan.layout().dot());
        }
    }
}

/// The plan of the design, as it stands there.
mod design {
    use hermes_workflows::prelude::*;

    #[derive(Clone, Serialize, Deserialize, JsonSchema)]
    pub(super) struct ResearchPacket {
        claims: Vec<String>,
        sources: Vec<String>,
        open_questions: Vec<String>,
    }
    #[derive(Clone, Serialize, Deserialize, JsonSchema)]
    pub(super) struct SectionPlan {
        slug: String,
        title: String,
    }
    #[derive(Clone, Serialize, Deserialize, JsonSchema)]
    pub(super) struct SectionDraft {
        slug: String,
        title: String,
        body_md: String,
    }

    fn draft_prompt(section: &SectionPlan, research: &ResearchPacket) -> String {
        format!("Draft “{}” from {} claims.", section.title, research.claims.len())
    }

    #[rustfmt::skip]
    fn draft_section(section: Step<SectionPlan>, research: Step<ResearchPacket>) -> Step<SectionDraft> {
        agent("draft_section").input("section", section).input("research", research).prompt_with(draft_prompt).returns()
    }

    #[rustfmt::skip]
    fn humanize(draft: Step<SectionDraft>) -> Step<SectionDraft> {
        agent("humanize_section").input("draft", draft).prompt("Make it read well.").returns()
    }

    #[rustfmt::skip]
    fn check_evidence(draft: Step<SectionDraft>) -> Step<SectionDraft> {
        agent("check_evidence").input("draft", draft).prompt("Check the evidence.").returns()
    }

    #[rustfmt::skip]
    fn reviewed(name: &str, draft: Step<SectionDraft>) -> Step<SectionDraft> {
        review(format!("review_{name}"), draft)
            .revise(|draft, feedback| agent("revise_section").input("draft", draft).input("feedback", feedback)
                .prompt("Revise the section.").returns())
            .approved()
    }

    #[rustfmt::skip]
    pub(super) fn blog_post(topic: Step<String>) -> Step<String> {
        let research = agent("research").input("topic", topic).skills(["deep-research"])
            .prompt_with(|topic| format!("Research this topic and return claims, sources and open questions.\n\nTopic: {topic}"))
            .returns::<ResearchPacket>();
        let angles = agent("angle_options").input("research", research)
            .prompt("Generate 5 strong blog angles from this research.").returns::<Vec<String>>();
        let angle = ask("choose_angle").title("Choose angle").choose_from(angles).one();
        let outline = agent("outline").input("angle", angle).input("research", research)
            .prompt("Draft a concrete section outline from the selected angle and research.").returns::<Vec<SectionPlan>>();
        let outline = review("review_outline", outline).title("Review outline")
            .revise(|outline, feedback| agent("revise_outline").input("outline", outline).input("feedback", feedback)
                .prompt("Revise the outline to answer the feedback.").returns())
            .max_rounds(5).approved();
        let drafts = parallel_each("draft_sections", outline, |section| draft_section(section, research))
            .key_by(|section| section.slug.clone()).limit(4).all();
        let approved = pipeline("polish", drafts)                       // inherits the keys of draft_sections
            .stage(humanize).stage(check_evidence).stage(|draft| reviewed("section", draft))
            .limit(4).all();
        agent("assemble_final_draft").input("sections", approved)
            .prompt("Assemble approved sections into one coherent Markdown draft.").text()
    }
}

#[test]
fn the_plan_of_the_design_is_drawn_as_the_design_says() {
    let plan = Plan::new("blog-post", design::blog_post).unwrap();
    assert_layout!(plan, "design-blog-post");
    let drawn = plan.layout().text();
    let lines: Vec<_> = drawn.lines().collect();
    let beginning = "\
plan blog-post(input: string) -> string
├─ research: agent(input) -> ResearchPacket
├─ angle_options: agent(research) -> [string]
├─ choose_angle: ask(angle_options) -> string
├─ outline: agent(choose_angle, research) -> [SectionPlan]
├─ review_outline: review(outline) up to 5 rounds -> [SectionPlan]
│  └─ revise_outline: agent(value, feedback) -> [SectionPlan]
├─ draft_sections: parallel each of review_outline by key, limit 4, fail fast -> [SectionDraft]
│  └─ draft_section: agent(item, research) -> SectionDraft
├─ polish: pipeline over draft_sections by its keys, limit 4, fail fast -> [SectionDraft]
│  ├─ stage 1
│  │  └─ humanize_section: agent(item) -> SectionDraft";
    assert_eq!(lines[..12].join("\n"), beginning);
    assert_eq!(lines.last(), Some(&"└─ assemble_final_draft: agent(polish) -> string"));
}

/// A plan with a group of each kind. `prompt` is what its first agent is asked.
fn everything(prompt: &'static str) -> Plan<Vec<String>, String> {
    Plan::new("everything", move |topics: Step<Vec<String>>| {
        let plan = agent("plan").input("topics", topics).prompt(prompt).text();
        let drafts = parallel_each("drafts", topics, |topic| {
            let draft = agent("draft").input("topic", topic).prompt("Draft.").text();
            agent("check").input("draft", draft).prompt("Check.").text()
        })
        .key_by(String::clone)
        .limit(2)
        .results();
        let short = repeat("shorten", plan, 3, |plan| {
            let shorter = agent("shorter").input("plan", plan).prompt("Shorten.").text();
            branch("done", shorter)
                .when("yes", |text| text.ends_with("[2]/shorter>"), |_| shorter.done())
                .otherwise(|_| shorter.again())
        })
        .or_fail();
        let approved = review("approve", short)
            .revise(|value, feedback| {
                agent("revise").input("value", value).input("feedback", feedback).prompt("Revise.").text()
            })
            .approved();
        let read = scope("ending", || agent("proofread").input("text", approved).prompt("Proofread.").text());
        agent("assemble").input("read", read).input("drafts", drafts).prompt("Assemble.").text()
    })
    .unwrap()
}

fn topics(count: usize) -> Vec<String> {
    ["dunes", "tides", "a/b"]
        .map(str::to_owned)
        .into_iter()
        .cycle()
        .take(count.min(3))
        .chain((3..count).map(|n| n.to_string()))
        .collect()
}

/// Answers with the path; fails at one draft.
fn failing_once() -> FnRunner {
    FnRunner::sync(|call| {
        if call.path == "drafts[tides]/draft" {
            return Err(RunnerError::new(RunnerErrorKind::Failed, "no luck"));
        }
        Ok(AgentReply::text(format!("<{}>", call.path)))
    })
}

#[tokio::test]
async fn a_run_from_its_start_to_its_end() {
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(failing_once()).build();
    let plan = everything("Plan.");
    let drawing = |name: &str| assert_drawing(name, &run_layout(&executor, &plan, &run_id()).unwrap());
    start(&executor, &plan, topics(3)).await.waiting();
    drawing("run-waiting");
    request_changes(&executor, "approve[1]", "Shorter.").await;
    resume(&executor, &plan).await.waiting();
    drawing("run-waiting-again");
    approve(&executor, "approve[2]").await;
    resume(&executor, &plan).await.completed();
    drawing("run-completed");
    resume(&executor, &everything("Plan better.")).await.parked();
    drawing("run-parked");
}

#[tokio::test]
async fn a_run_that_has_failed_and_one_of_nothing() {
    let plan = Plan::new("failing", |topics: Step<Vec<String>>| {
        let drafts = parallel_each("drafts", topics, |topic| {
            let draft = agent("draft").input("topic", topic).prompt("Draft.").text();
            agent("check").input("draft", draft).prompt("Check.").text()
        })
        .key_by(String::clone)
        .limit(1)
        .all();
        agent("assemble").input("drafts", drafts).prompt("Assemble.").text()
    })
    .unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(failing_once()).build();
    start(&executor, &plan, topics(3)).await.failed();
    assert_drawing("run-failed", &run_layout(&executor, &plan, &run_id()).unwrap());
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(failing_once()).build();
    start(&executor, &plan, vec![]).await.completed();
    assert_drawing("run-no-items", &run_layout(&executor, &plan, &run_id()).unwrap());
    let unknown = run_layout(&executor, &plan, &RunId::new("other").unwrap()).unwrap_err();
    assert!(unknown.to_string().contains("other"), "{unknown}");
}

#[tokio::test]
async fn many_items_are_one_line_with_counts() {
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(failing_once()).build();
    let plan = Plan::new("wide", |topics: Step<Vec<String>>| {
        parallel_each("drafts", topics, |topic| agent("draft").input("topic", topic).prompt("Draft.").text())
            .key_by(String::clone)
            .results()
    })
    .unwrap();
    start(&executor, &plan, topics(21)).await.completed();
    assert_drawing("run-wide", &run_layout(&executor, &plan, &run_id()).unwrap());
    // One fewer, and each has its line below the plan's and the fan-out's.
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(failing_once()).build();
    start(&executor, &plan, topics(20)).await.completed();
    assert_eq!(run_layout(&executor, &plan, &run_id()).unwrap().lines().count(), 22);
}

#[tokio::test]
async fn what_the_plan_has_no_more_stands_below() {
    let plan = |with: bool| {
        Plan::new("p", move |topic: Step<String>| {
            if with {
                agent("notes").input("topic", topic).prompt("Note.").text();
            }
            agent("draft").input("topic", topic).prompt("Draft.").text()
        })
        .unwrap()
    };
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(failing_once()).build();
    start(&executor, &plan(true), "tides".to_owned()).await.completed();
    resume(&executor, &plan(false)).await.parked();
    assert_drawing("run-left-over", &run_layout(&executor, &plan(false), &run_id()).unwrap());
    decide_all(&executor, Decision::Drop).await;
    resume(&executor, &plan(false)).await.completed();
    assert_drawing("run-dropped", &run_layout(&executor, &plan(false), &run_id()).unwrap());
}

#[tokio::test]
async fn a_drawing_says_nothing_of_when_and_as_which_run() {
    let plan = everything("Plan.");
    let mut drawings = Vec::new();
    for id in ["first", "second"] {
        let executor =
            Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(failing_once()).build();
        let run = executor.start(&plan, topics(3)).id(id).await.unwrap();
        run.outcome().await.unwrap();
        drawings.push(run_layout(&executor, &plan, &RunId::new(id).unwrap()).unwrap());
    }
    assert_eq!(drawings[0], drawings[1]);
}
