//! A first draft: every heading, claim and open question of a section, word for word.

use super::units::{Part, STILL_OPEN, part, write};
use crate::plan::{SectionDraft, SectionPlan, Topic};

/// Drafts a section.
pub(super) fn draft(section: SectionPlan) -> SectionDraft {
    let parts: Vec<_> = section.topics.iter().flat_map(parts).collect();
    let evidence =
        section.topics.into_iter().flat_map(|topic| topic.claims.into_iter().chain(topic.open_questions));
    SectionDraft {
        slug: section.slug,
        title: section.title,
        body_md: write(&parts),
        evidence: evidence.collect(),
        unsupported: Vec::new(),
        remarks: section.remarks,
    }
}

fn parts(topic: &Topic) -> impl Iterator<Item = Part> {
    let heading = Part::Heading(format!("{} {}", "#".repeat(topic.level.into()), topic.heading));
    let claims = topic.claims.iter().map(|claim| part(claim));
    let open =
        topic.open_questions.iter().map(|question| Part::Paragraph(vec![format!("{STILL_OPEN}{question}")]));
    std::iter::once(heading).chain(claims).chain(open)
}
