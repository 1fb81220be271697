//! The blog plan, as the contract writes it.

use super::{pattern, patterns};
use crate::{
    graph::{FanMode, Keys, Kind},
    prelude::*,
};

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct ResearchPacket {
    claims: Vec<String>,
    sources: Vec<String>,
    open_questions: Vec<String>,
}
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct SectionPlan {
    slug: String,
    title: String,
}
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct SectionDraft {
    slug: String,
    title: String,
    body_md: String,
}

fn draft_prompt(section: &SectionPlan, research: &ResearchPacket) -> String {
    format!("Draft “{}” from {} claims.", section.title, research.claims.len())
}
fn draft_section(section: Step<SectionPlan>, research: Step<ResearchPacket>) -> Step<SectionDraft> {
    agent("draft_section")
        .input("section", section)
        .input("research", research)
        .prompt_with(draft_prompt)
        .returns()
}
fn humanize(draft: Step<SectionDraft>) -> Step<SectionDraft> {
    agent("humanize_section").input("draft", draft).prompt("Make it sound human.").returns()
}
fn check_evidence(draft: Step<SectionDraft>) -> Step<SectionDraft> {
    agent("check_evidence").input("draft", draft).prompt("Check every claim.").returns()
}
fn reviewed(what: &str, draft: Step<SectionDraft>) -> Step<SectionDraft> {
    review(format!("review_{what}"), draft)
        .revise(|draft, feedback| {
            agent("revise")
                .input("draft", draft)
                .input("feedback", feedback)
                .prompt("Revise the section to answer the feedback.")
                .returns()
        })
        .approved()
}

#[rustfmt::skip]
fn blog_post(topic: Step<String>) -> Step<String> {
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

#[test]
fn it_builds_as_the_contract_has_it() -> Result<(), PlanErrors> {
    let plan: Plan<String, String> = Plan::new("blog-post", blog_post)?;
    assert_eq!(plan.name(), "blog-post");
    let expected = [
        "research",
        "angle_options",
        "choose_angle",
        "outline",
        "review_outline",
        "review_outline[*]/revise_outline",
        "draft_sections",
        "draft_sections[*]/draft_section",
        "polish",
        "polish[*]/humanize_section",
        "polish[*]/check_evidence",
        "polish[*]/review_section",
        "polish[*]/review_section[*]/revise",
        "assemble_final_draft",
    ];
    assert_eq!(patterns(&plan), expected);
    assert_eq!(pattern(&plan, "draft_section"), "draft_sections[*]/draft_section");
    Ok(())
}

#[test]
fn its_fan_outs_have_keys_limits_and_modes() -> Result<(), PlanErrors> {
    let plan = Plan::new("blog-post", blog_post)?;
    let group = |name: &str| plan.graph().nodes().find(|node| node.name == name).unwrap();
    let drafts = group("draft_sections");
    let Kind::Each { keys: Keys::By { .. }, fan, .. } = &drafts.kind else { panic!("{drafts:?}") };
    assert_eq!((fan.limit.map(u32::from), fan.mode), (Some(4), FanMode::FailFast));
    let polish = group("polish");
    let Kind::Pipeline { keys: Keys::Inherited(from), stages, .. } = &polish.kind else {
        panic!("{polish:?}")
    };
    assert_eq!((*from, stages.len()), (drafts.id, 3));
    Ok(())
}
