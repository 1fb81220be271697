//! The post: the approved sections, one after the other.

use crate::plan::SectionDraft;

/// Puts the sections together.
pub(super) fn assemble(sections: &[SectionDraft]) -> String {
    let mut post = String::with_capacity(sections.iter().map(|section| section.body_md.len() + 2).sum());
    for section in sections {
        if !post.is_empty() {
            post.push_str("\n\n");
        }
        post.push_str(section.body_md.trim());
    }
    post.push('\n');
    post
}
