//! The check: a section says what its evidence says, all of it, and nothing else.

use super::units::{Part, STILL_OPEN, read};
use crate::plan::SectionDraft;
use std::collections::HashSet;

/// Lists what the section says without evidence, and what it leaves out.
pub(super) fn check(mut draft: SectionDraft) -> SectionDraft {
    let known: HashSet<&str> = draft.evidence.iter().map(String::as_str).collect();
    let mut said = HashSet::new();
    let mut unsupported = Vec::new();
    let parts = read(&draft.body_md);
    for unit in parts.iter().flat_map(units) {
        match evidence(unit, &known) {
            Some(evidence) => {
                said.insert(evidence);
            }
            None => unsupported.push(format!("not in the notes: {unit}")),
        }
    }
    let missing = draft.evidence.iter().filter(|claim| !said.contains(claim.as_str()));
    unsupported.extend(missing.map(|claim| format!("left out: {claim}")));
    draft.unsupported = unsupported;
    draft
}

fn units(part: &Part) -> &[String] {
    match part {
        Part::Heading(_) => &[],
        Part::Paragraph(claims) => claims,
        Part::Block(block) => std::slice::from_ref(block),
    }
}

/// What the notes say that `unit` says. A full stop may have been added, and the mark of an open question.
fn evidence<'a>(unit: &str, known: &HashSet<&'a str>) -> Option<&'a str> {
    let bare = unit.strip_prefix(STILL_OPEN).unwrap_or(unit);
    let forms = [unit, bare, unit.strip_suffix('.').unwrap_or(unit), bare.strip_suffix('.').unwrap_or(bare)];
    forms.iter().find_map(|form| known.get(*form).copied())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{draft::draft, humanize::humanize, outline::outline, research::research},
        *,
    };

    const NOTES: &str = "# T\nIntro text\n## A\n- one\n- two.\n- # three\n- Why?\n\n```\ncode\n```\n### a\n| x | y |\n\n[l]: https://x.org";

    fn drafts() -> Vec<SectionDraft> {
        outline("", research(NOTES)).into_iter().map(|section| humanize(draft(section))).collect()
    }

    #[test]
    fn what_the_house_writer_drafts_is_all_supported() {
        for draft in drafts() {
            assert_eq!(draft.evidence.len(), 8);
            assert_eq!(check(draft).unsupported, [""; 0]);
        }
    }

    #[test]
    fn what_is_made_up_and_what_is_lost_is_listed() {
        let mut draft = drafts().remove(0);
        draft.body_md = draft.body_md.replace("two.", "two, of course.");
        assert_eq!(check(draft).unsupported, ["not in the notes: two, of course.", "left out: two."]);
    }
}
