//! The plan: from a notes file to a blog post that people have approved.

use hermes_workflows::prelude::*;

/// What the notes say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ResearchPacket {
    /// The title of the post.
    pub(crate) title: String,
    /// What they say, by heading, in their order.
    pub(crate) topics: Vec<Topic>,
    /// Links, citations and other sources.
    pub(crate) sources: Vec<String>,
}

/// What the notes say under one heading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Topic {
    /// The heading.
    pub(crate) heading: String,
    /// 1 for the title of the post, 2 for a section, 3 and more for what is inside one.
    pub(crate) level: u8,
    /// Each claim, word for word.
    pub(crate) claims: Vec<String>,
    /// What the notes leave open.
    pub(crate) open_questions: Vec<String>,
}

/// A section of the post, before it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SectionPlan {
    /// What identifies it.
    pub(crate) slug: String,
    /// Its title.
    pub(crate) title: String,
    /// What it covers.
    pub(crate) topics: Vec<Topic>,
    /// What reviewers asked for and nobody could do for them.
    pub(crate) remarks: Vec<String>,
}

/// A section of the post, written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SectionDraft {
    /// What identifies it.
    pub(crate) slug: String,
    /// Its title.
    pub(crate) title: String,
    /// The text, in Markdown, with its headings.
    pub(crate) body_md: String,
    /// What the notes say that it is to say.
    pub(crate) evidence: Vec<String>,
    /// What it says without evidence, and evidence that it leaves out.
    pub(crate) unsupported: Vec<String>,
    /// What reviewers asked for and nobody could do for them.
    pub(crate) remarks: Vec<String>,
}

fn draft_prompt(section: &SectionPlan) -> String {
    let claims: usize = section.topics.iter().map(|topic| topic.claims.len()).sum();
    format!(
        "Draft “{}” from its {claims} claims. Say all of them, word for word, and nothing else.",
        section.title
    )
}

fn draft_section(section: Step<SectionPlan>) -> Step<SectionDraft> {
    agent("draft_section").input("section", section).prompt_with(draft_prompt).returns()
}

fn humanize(draft: Step<SectionDraft>) -> Step<SectionDraft> {
    agent("humanize").input("draft", draft).prompt("Make the section read well. Keep every claim.").returns()
}

fn check_evidence(draft: Step<SectionDraft>) -> Step<SectionDraft> {
    agent("check_evidence")
        .input("draft", draft)
        .prompt("Compare the section with its evidence. List what it says without evidence, and what it leaves out.")
        .returns()
}

fn reviewed(name: &str, draft: Step<SectionDraft>) -> Step<SectionDraft> {
    review(format!("review_{name}"), draft)
        .title(format!("Review {name}"))
        .revise(|draft, feedback| {
            agent("revise_section")
                .input("draft", draft)
                .input("feedback", feedback)
                .prompt("Revise the section to answer the feedback. Keep every claim.")
                .returns()
        })
        .max_rounds(5)
        .approved()
}

/// From the notes to the post.
pub(crate) fn blog_post(notes: Step<String>) -> Step<String> {
    let research = agent("research")
        .input("notes", notes)
        .skills(["deep-research"])
        .prompt("Research these notes and return claims, sources and open questions, by heading.")
        .returns::<ResearchPacket>();
    let angles = agent("angle_options")
        .input("research", research)
        .prompt("Generate up to 5 strong blog angles from this research.")
        .returns::<Vec<String>>();
    let angle = ask("choose_angle").title("Choose angle").choose_from(angles).one();
    let outline = agent("outline")
        .input("angle", angle)
        .input("research", research)
        .prompt("Draft a concrete section outline from the selected angle and research.")
        .returns::<Vec<SectionPlan>>();
    let outline = review("review_outline", outline)
        .title("Review outline")
        .revise(|outline, feedback| {
            agent("revise_outline")
                .input("outline", outline)
                .input("feedback", feedback)
                .prompt("Revise the outline to answer the feedback. Keep every claim.")
                .returns()
        })
        .max_rounds(5)
        .approved();
    let drafts = parallel_each("draft_sections", outline, draft_section)
        .key_by(|section| section.slug.clone())
        .limit(4)
        .all();
    let approved = pipeline("polish", drafts)
        .stage(humanize)
        .stage(check_evidence)
        .stage(|draft| reviewed("section", draft))
        .limit(4)
        .all();
    agent("assemble_final_draft")
        .input("sections", approved)
        .prompt("Assemble approved sections into one coherent Markdown draft.")
        .text()
}
