//! A light copy edit: claims that follow each other become paragraphs, and sentences get their full stop.

use super::units::{Part, STILL_OPEN, read, write};
use crate::plan::SectionDraft;

/// How many claims make a paragraph.
const TOGETHER: usize = 3;

/// Makes the section read well; every claim stays as it is.
pub(super) fn humanize(mut draft: SectionDraft) -> SectionDraft {
    draft.body_md = write(&paragraphs(read(&draft.body_md), TOGETHER));
    draft
}

/// The same parts, with up to `together` claims in a paragraph.
pub(super) fn paragraphs(parts: Vec<Part>, together: usize) -> Vec<Part> {
    let mut edited: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        let Part::Paragraph(claims) = part else {
            edited.push(part);
            continue;
        };
        for claim in claims.into_iter().map(closed) {
            match edited.last_mut() {
                Some(Part::Paragraph(before))
                    if before.len() < together
                        && !is_open(&claim)
                        && !before.iter().any(|claim| is_open(claim)) =>
                {
                    before.push(claim);
                }
                _ => edited.push(Part::Paragraph(vec![claim])),
            }
        }
    }
    edited
}

fn is_open(claim: &str) -> bool {
    claim.starts_with(STILL_OPEN)
}

/// The claim with a full stop, where it lacks one and can have one.
fn closed(mut claim: String) -> String {
    let last_word = claim.rsplit(char::is_whitespace).next().unwrap_or_default();
    if claim.ends_with(char::is_alphanumeric) && !last_word.contains("://") {
        claim.push('.');
    }
    claim
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_become_paragraphs_with_full_stops() {
        let text = "## A\n\none\n\ntwo!\n\nsee https://x.org\n\nfour\n\nStill open: Why?\n\nfive\n\n```\ncode\n```\n\nsix";
        let expected = "## A\n\none.\ntwo!\nsee https://x.org\n\nfour.\n\nStill open: Why?\n\nfive.\n\n```\ncode\n```\n\nsix.";
        let edited = write(&paragraphs(read(text), 3));
        assert_eq!(edited, expected);
        assert_eq!(write(&paragraphs(read(&edited), 3)), expected, "twice changes nothing");
    }
}
