//! Plan 1: The blog: research, an angle that a person chooses, an outline that a person reviews, sections drafted side by side and
//! polished in stages.

use hermes_workflows::prelude::*;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct ResearchPacket {
    claims: Vec<String>,
    sources: Vec<String>,
    open_questions: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct SectionPlan {
    slug: String,
    title: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
    agent("humanize").input("draft", draft).prompt("Make it sound like a person wrote it.").returns()
}

fn check_evidence(draft: Step<SectionDraft>, research: Step<ResearchPacket>) -> Step<SectionDraft> {
    agent("check_evidence")
        .input("draft", draft)
        .input("sources", research.get(|research| &research.sources))
        .tools(["fetch"])
        .prompt("Take out every claim that no source supports.")
        .check(|draft: &SectionDraft| {
            if draft.body_md.trim().is_empty() {
                Err("nothing is left of the section".to_owned())
            } else {
                Ok(())
            }
        })
        .repair(1)
        .returns()
}

fn reviewed(draft: Step<SectionDraft>) -> Step<SectionDraft> {
    review("section", draft)
        .revise(|draft, feedback| {
            agent("revise_section")
                .input("draft", draft)
                .input("feedback", feedback)
                .prompt("Revise the section to answer the feedback.")
                .returns()
        })
        .approved()
}

fn blog_post(topic: Step<String>) -> Step<String> {
    let research = agent("research")
        .input("topic", topic)
        .skills(["deep-research"])
        .prompt_with(|topic| {
            format!("Research this topic and return claims, sources and open questions.\n\nTopic: {topic}")
        })
        .returns::<ResearchPacket>();
    let angles = agent("angle_options")
        .input("research", research)
        .prompt("Generate 5 strong blog angles from this research.")
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
                .prompt("Revise the outline to answer the feedback.")
                .returns()
        })
        .max_rounds(5)
        .approved();
    let drafts = parallel_each("draft_sections", outline, |section| draft_section(section, research))
        .key_by(|section| section.slug.clone())
        .limit(4)
        .all();
    let approved = pipeline("polish", drafts)
        .stage(humanize)
        .stage(|draft| check_evidence(draft, research))
        .stage(reviewed)
        .limit(4)
        .all();
    agent("assemble_final_draft")
        .input("sections", approved)
        .prompt("Assemble approved sections into one coherent Markdown draft.")
        .text()
}

mod run {
    use super::{SectionDraft, SectionPlan, blog_post, draft_prompt};
    use crate::{
        drawing::assert_drawing,
        drive::{Drive, input},
    };
    use hermes_plan::assert_layout;
    use hermes_workflows::prelude::*;
    use serde_json::{Value, json};

    fn section(slug: &str) -> SectionPlan {
        SectionPlan { slug: slug.to_owned(), title: format!("On {slug}") }
    }

    fn script() -> Scripted {
        let marked = |mark: &'static str| {
            move |call: &AgentCall| {
                let mut draft: SectionDraft = input(call, "draft");
                draft.body_md += mark;
                Ok(AgentReply::json(json!(draft)))
            }
        };
        Scripted::new()
            .on(
                "research",
                json!({"claims": ["The moon pulls."], "sources": ["tides.org"], "open_questions": []}),
            )
            .on("angle_options", json!(["Why the sea moves", "A day at the quay"]))
            .on("outline", json!([section("moon"), section("quay")]))
            .on("review_outline[*]/revise_outline", json!([section("moon"), section("quay"), section("mud")]))
            .on("draft_sections[*]/draft_section", |call: &AgentCall| {
                let plan: SectionPlan = input(call, "section");
                let body_md = format!("About {}.", plan.slug);
                Ok(AgentReply::json(json!(SectionDraft { slug: plan.slug, title: plan.title, body_md })))
            })
            .on("polish[*]/humanize", marked(" Well."))
            .on("polish[*]/check_evidence", marked(" (checked)"))
            .on("polish[mud]/check_evidence", json!({"slug": "mud", "title": "On mud", "body_md": " "}))
            .then(marked(" (mended)"))
            .on("polish[*]/section[*]/revise_section", marked(" Bolder!"))
            .on("assemble_final_draft", |call: &AgentCall| {
                let sections: Vec<SectionDraft> = input(call, "sections");
                let sections =
                    sections.iter().map(|section| format!("# {}\n{}", section.title, section.body_md));
                Ok(AgentReply::text(sections.collect::<Vec<_>>().join("\n")))
            })
    }

    fn person(path: &str) -> Value {
        match path {
            "choose_angle" => json!("A day at the quay"),
            "review_outline[1]" => json!({"decision": "request_changes", "feedback": "The mud is missing."}),
            "polish[moon]/section[1]" => json!({"decision": "request_changes", "feedback": "Bolder."}),
            "polish[quay]/section[1]" => {
                json!({"decision": "edit", "value": {"slug": "quay", "title": "On quay", "body_md": "Mine."}})
            }
            _ => json!({"decision": "approve"}),
        }
    }

    fn drive() -> Drive<String, String> {
        Drive::new(Plan::new("blog", blog_post).unwrap(), "tides".to_owned(), script).person(person)
    }

    #[test]
    fn its_layout_and_its_prompt() {
        assert_layout!(Plan::new("blog", blog_post).unwrap(), "plan-blog");
        let research = super::ResearchPacket {
            claims: vec!["One.".to_owned()],
            sources: Vec::new(),
            open_questions: Vec::new(),
        };
        assert_eq!(draft_prompt(&section("moon"), &research), "Draft “On moon” from 1 claims.");
    }

    #[tokio::test]
    async fn killed_anywhere_it_ends_in_the_same_post_and_asks_nobody_twice() {
        let ended = drive().survives(6).await;
        let moon = "# On moon\nAbout moon. Well. (checked) Bolder!";
        assert_eq!(ended.value, format!("{moon}\n# On quay\nMine.\n# On mud\nAbout mud. Well. (mended)"));
        // The angle, two rounds of the outline, three sections, and one of them again.
        assert_eq!(ended.asked.len(), 7, "{:?}", ended.asked);
        assert_eq!(ended.script.count("polish[mud]/check_evidence"), 2);
        assert_drawing("plan-blog-run", &ended.layout);
    }

    #[tokio::test]
    async fn a_section_fails_and_a_retry_finishes_the_post() {
        drive().recovers("polish[quay]/humanize", 3).await;
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending() {
        assert_eq!(drive().never_rehearsed(|plan| plan).await, [""; 0]);
    }
}
