//! Slugs: short names of sections, each once.

use std::collections::HashSet;

const LONGEST: usize = 60;

/// Makes slugs of titles.
#[derive(Default)]
pub(super) struct Slugs(HashSet<String>);

impl Slugs {
    /// A slug that it has not made before.
    pub(super) fn of(&mut self, title: &str) -> String {
        let mut slug = String::new();
        for c in title.chars().flat_map(char::to_lowercase) {
            if c.is_alphanumeric() {
                slug.push(c);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
            if slug.len() >= LONGEST {
                break;
            }
        }
        let slug = slug.trim_end_matches('-');
        let slug = if slug.is_empty() { "section" } else { slug };
        let numbered = (2..).map(|number: u32| format!("{slug}-{number}"));
        let mut names = std::iter::once(slug.to_owned()).chain(numbered);
        names.find(|name| self.0.insert(name.clone())).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_once() {
        let mut slugs = Slugs::default();
        let made = ["The Sea, again!", "The sea again", "the-sea-again-2", "…", "Größe", "?"]
            .map(|title| slugs.of(title));
        assert_eq!(
            made,
            ["the-sea-again", "the-sea-again-2", "the-sea-again-2-2", "section", "größe", "section-2"]
        );
        assert!(slugs.of(&"x".repeat(500)).len() <= LONGEST + 4);
    }
}
