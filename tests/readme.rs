//! The README shows what there is: its first plan compiles as it stands there, and draws what stands below it.

use hermes_workflows::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Research {
    claims: Vec<String>,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Section {
    slug: String,
    title: String,
}

#[rustfmt::skip]
fn blog_post(topic: Step<String>) -> Step<String> {
    let research = agent("research").input("topic", topic)
        .prompt("Research this topic and return claims, sources and open questions.").returns::<Research>();
    let outline = agent("outline").input("research", research)
        .prompt("Draft a section outline.").returns::<Vec<Section>>();
    let outline = review("review_outline", outline)
        .revise(|outline, feedback| agent("revise_outline").input("outline", outline).input("feedback", feedback)
            .prompt("Revise the outline to answer the feedback.").returns())
        .max_rounds(5).approved();
    let drafts = parallel_each("draft_sections", outline, |section| {
        agent("draft").input("section", section).input("research", research)
            .prompt_with(|section, research| format!("Draft “{}” from {} claims.", section.title, research.claims.len()))
            .text()
    }).key_by(|section| section.slug.clone()).limit(4).all();
    agent("assemble").input("sections", drafts).prompt("Assemble the sections into one post.").text()
}

/// Compiled, and not run: it would call an agent.
#[rustfmt::skip]
async fn running(plan: Plan<String, String>, topic: String, id: RunId) -> Result<(), Box<dyn std::error::Error>> {
let executor = Executor::builder()
    .ledger(Ledger::open("runs.redb")?)
    .runner(Subprocess::new("my-agent"))          // who performs agent calls
    .concurrency(16)
    .build();
let run = executor.start(&plan, topic).id("post-42").await?;     // durable when it returns; the same id is the same run
match run.outcome().await? {
    Outcome::Completed(done) => println!("{}", done.value),      // a String, typed
    Outcome::Waiting(needs) => for need in needs.list {          // questions are open, and waits go on till `needs.until`
        executor.answer(&id, &need, &serde_json::json!({ "decision": "approve" })).await?;
    },
    Outcome::Parked(needs) => for need in needs.list {           // something must be decided before anything is spent
        executor.decide(&id, &need, Decision::Rerun).await?;
    },
    Outcome::Failed(failure) => eprintln!("{failure}"),          // what, where, why; executor.retry(&plan, "post-42") goes on
    Outcome::Cancelled(by) => eprintln!("cancelled by {by:?}"),
}
Ok(())
}

/// Compiled, and not run: there is no such run.
#[rustfmt::skip]
async fn changed(
    executor: Executor, plan: Plan<String, String>, yesterdays_plan: Plan<String, String>, id: RunId, topic: String,
) -> Result<(), Box<dyn std::error::Error>> {
println!("{}", plan.diff(&yesterdays_plan));                      // two plans, without a run
println!("{}", executor.preview(&plan, &id)?);                   // the plan's tree, each step: reuse, run, run again, conflict ..
println!("{}", executor.explain(&plan, &id)?);                   // each conflict by its fields, old and new; `.to_json()` too
executor.invalidate(&id, "drafts[*]/draft").why("stale").await?; // run again; what comes out the same changes nothing below
executor.set(&plan, &id, "title", &"Tides".to_owned()).await?;   // an output by hand
executor.start(&plan, topic).id("post-43").fork_of(&id).afresh("drafts").await?;   // a new run that takes over the rest
Ok(())
}

#[rustfmt::skip]
async fn rehearsing(plan: Plan<String, String>) -> Result<(), Box<dyn std::error::Error>> {
let rehearsal = plan.rehearse("tides".to_owned()).seed(7).await?;     // nothing is called, nothing is spent
rehearsal.ensure_covered()?;                                          // or the endings that no run came to, and why
for layout in rehearsal.layouts() { println!("{layout}"); }           // each shape a run can take, unrolled
Ok(())
}

#[rustfmt::skip]
fn draft(topic: Step<String>, tone: String) -> Step<String> {
agent("draft").input("topic", topic).input_value("tone", &tone)
    .prompt(template!("tests/prompts/draft.md"))         // compiled in; or Template::file("draft.md"), with
    .text()                                        // Executor::builder().templates("prompts") to read it from
}

#[rustfmt::skip]
fn sources(topic: Step<String>) -> Step<String> {
    Budget::usd(5.0).scope("sources", || {
        agent("search").input("topic", topic).prompt("Find sources.").budget(Budget::usd(0.5)).text()
    })
}

#[rustfmt::skip]
async fn bounded(executor: Executor, plan: Plan<String, String>, topic: String) -> Result<(), Box<dyn std::error::Error>> {
let run = executor.start(&plan, topic).id("post-42").budget(Budget::usd(20.0).and(Budget::calls(200))).await?;
println!("{}", executor.spent(run.id())?);                            // $3.20, 51000 tokens, 14 agent calls
executor.raise(run.id(), "sources", Budget::usd(8.0)).why("it is worth it").await?;
Ok(())
}

/// The `number`th block of this language in the README.
fn block(language: &str, number: usize) -> String {
    let readme = include_str!("../README.md");
    let opening = format!("```{language}\n");
    let (_, block) = readme.match_indices(&opening).nth(number).map(|(at, _)| readme.split_at(at)).unwrap();
    block.strip_prefix(&opening).unwrap().split_once("```").unwrap().0.to_owned()
}

#[test]
fn its_first_plan_is_the_one_compiled_here() {
    let block = block("rust", 0);
    let (function, _) = block.split_once("\n\n").unwrap();
    assert!(include_str!("readme.rs").contains(function), "{function}");
    assert!(function.starts_with("fn blog_post"));
}

#[test]
fn its_way_to_run_a_plan_is_the_one_compiled_here() {
    assert!(include_str!("readme.rs").contains(&block("rust", 1)));
    // Named, so that it is compiled.
    let _ = running;
}

#[test]
fn its_ways_with_changed_plans_are_those_compiled_here() {
    assert!(include_str!("readme.rs").contains(&block("rust", 2)));
    // Named, so that it is compiled.
    let _ = changed;
}

#[tokio::test]
async fn its_rehearsal_is_the_one_compiled_here() {
    assert!(include_str!("readme.rs").contains(&block("rust", 3)));
    rehearsing(Plan::new("blog-post", blog_post).unwrap()).await.unwrap();
}

#[test]
fn its_prompt_in_a_file_is_the_one_compiled_here() {
    let block = block("rust", 4).replace("\"prompts/draft.md", "\"tests/prompts/draft.md");
    assert!(include_str!("readme.rs").contains(&block), "{block}");
    let plan = |topic| draft(topic, "short".to_owned());
    assert!(Plan::new("p", plan).is_ok(), "the template reads these inputs");
}

#[tokio::test]
async fn its_budgets_are_those_compiled_here() {
    let block = block("rust", 5);
    for part in block.split("\n\n") {
        assert!(include_str!("readme.rs").contains(part), "{part}");
    }
    let runner = FnRunner::sync(|call| Ok(AgentReply::text(call.path.as_str())));
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build();
    bounded(executor, Plan::new("sources", sources).unwrap(), "tides".to_owned()).await.unwrap();
}

#[test]
fn its_first_drawing_is_the_one_of_that_plan() {
    let plan = Plan::new("blog-post", blog_post).unwrap();
    assert_eq!(block("text", 0), format!("{}\n", plan.layout()));
}

#[test]
fn its_commands_are_those_of_the_ci_script() {
    let commands = block("sh", 0);
    let test = commands.lines().find(|line| line.starts_with("cargo test")).unwrap();
    let test = test.split('#').next().unwrap().trim();
    assert!(include_str!("../.ci/run").lines().any(|line| line == test), "{test}");
    assert_eq!(commands.lines().count(), 2);
}
