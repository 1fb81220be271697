//! Real plans, as an author writes them, and their drawings.

use crate::prelude::*;

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct ResearchPacket {
    claims: Vec<String>,
    sources: Vec<String>,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct SectionPlan {
    slug: String,
    title: String,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct SectionDraft {
    slug: String,
    body_md: String,
}

fn check<I, O>(plan: Result<Plan<I, O>, PlanErrors>, expected: &str) {
    let plan = plan.unwrap();
    super::assert_text(plan.graph(), expected);
    assert_eq!(plan.layout().text(), AnyPlan::from(&plan).layout().to_string());
}

fn draft_section(section: Step<SectionPlan>, research: Step<ResearchPacket>) -> Step<SectionDraft> {
    agent("draft_section").input("section", section).input("research", research).prompt("Draft it.").returns()
}

fn stage(name: &str, draft: Step<SectionDraft>) -> Step<SectionDraft> {
    agent(name).input("draft", draft).prompt("Mend it.").returns()
}

fn reviewed(draft: Step<SectionDraft>) -> Step<SectionDraft> {
    review("section", draft)
        .revise(|draft, feedback| {
            agent("revise").input("draft", draft).input("feedback", feedback).prompt("Revise it.").returns()
        })
        .approved()
}

fn blog_post(topic: Step<String>) -> Step<String> {
    let research = agent("research").input("topic", topic).prompt("Research it.").returns::<ResearchPacket>();
    let angles = agent("angle_options")
        .input("research", research)
        .prompt("Generate 5 strong blog angles.")
        .returns::<Vec<String>>();
    let angle = ask("choose_angle").title("Choose angle").choose_from(angles).one();
    let outline = agent("outline")
        .input("angle", angle)
        .input("research", research)
        .prompt("Draft a concrete section outline.")
        .returns::<Vec<SectionPlan>>();
    let outline = review("review_outline", outline)
        .revise(|outline, feedback| {
            agent("revise_outline")
                .input("outline", outline)
                .input("feedback", feedback)
                .prompt("Revise.")
                .returns()
        })
        .max_rounds(5)
        .approved();
    let drafts = parallel_each("draft_sections", outline, |section| draft_section(section, research))
        .key_by(|section| section.slug.clone())
        .limit(4)
        .all();
    let approved = pipeline("polish", drafts)
        .stage(|draft| stage("humanize_section", draft))
        .stage(|draft| stage("check_evidence", draft))
        .stage(reviewed)
        .limit(4)
        .all();
    agent("assemble_final_draft").input("sections", approved).prompt("Assemble them.").text()
}

#[test]
fn the_contract_s_plan_is_drawn_as_in_the_contract() {
    check(
        Plan::new("blog-post", blog_post),
        "
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
        │  │  └─ humanize_section: agent(item) -> SectionDraft
        │  ├─ stage 2
        │  │  └─ check_evidence: agent(item) -> SectionDraft
        │  └─ stage 3
        │     └─ section: review(item) up to 3 rounds -> SectionDraft
        │        └─ revise: agent(value, feedback) -> SectionDraft
        └─ assemble_final_draft: agent(polish) -> string",
    );
}

fn mend(code: Step<String>) -> Step<String> {
    repeat("until_it_compiles", code, 3, |code| {
        let errors = step("cargo_check").input("code", code).run(|code: &String| code.len());
        branch("compiles", errors).when("yes", |errors| *errors == 0, |_| code.done()).otherwise(|errors| {
            agent("fix")
                .input("code", code)
                .input("errors", errors)
                .input_value("style", &"terse".to_owned())
                .prompt("Fix it.")
                .text()
                .again()
        })
    })
    .or_else(|code| review("take_it_as_it_is", code).approved())
}

#[test]
fn loops_branches_and_scopes_are_drawn() {
    check(
        Plan::new("mend", |code: Step<String>| {
            let (rules, first) = scope("prepare", || {
                let rules = agent("rules").prompt("Which rules hold?").text();
                (rules, mend(code))
            });
            let found = parallel("lenses", ["security", "style"], |lens| {
                let look = agent("look")
                    .input_value("lens", &lens.to_owned())
                    .input("code", first)
                    .prompt("Look.")
                    .text();
                if lens == "style" { step("tidy").input("found", look).run(String::clone) } else { look }
            })
            .limit(2)
            .results();
            for name in ["core", "plan"] {
                agent("lint")
                    .key(name)
                    .input("code", first.map(String::len))
                    .after(found)
                    .prompt("Lint.")
                    .text();
            }
            let counts = parallel_each("counts", found, |_| rules).options();
            join((first, rules)).map(|pair| pair.0.clone()).get(|text| text);
            join((counts.map(Vec::len), rules))
        }),
        "
        plan mend(input: string) -> (integer, string)
        ├─ prepare: scope
        │  ├─ rules: agent() -> string
        │  └─ until_it_compiles: repeat input up to 3 rounds -> string
        │     ├─ cargo_check: step(state) -> integer
        │     ├─ compiles: branch on cargo_check -> Flow
        │     │  ├─ when yes -> done state
        │     │  └─ otherwise
        │     │     ├─ fix: agent(state, value, constant) -> string
        │     │     └─ -> again fix
        │     └─ else
        │        └─ take_it_as_it_is: review(state) -> string
        ├─ lenses: parallel, limit 2, collect -> [Result<string, Failure>]
        │  ├─ [security] look: agent(value, prepare/until_it_compiles) -> string
        │  └─ [style]
        │     ├─ look: agent(value, prepare/until_it_compiles) -> string
        │     └─ tidy: step(look) -> string
        ├─ lint[core]: agent(prepare/until_it_compiles.map) after lenses -> string
        ├─ lint[plan]: agent(prepare/until_it_compiles.map) after lenses -> string
        ├─ counts: parallel each of lenses by its keys, null -> [string?]
        │  └─ -> prepare/rules
        └─ -> counts.map, prepare/rules",
    );
}
