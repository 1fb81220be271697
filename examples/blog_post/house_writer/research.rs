//! Research: what the notes claim, by heading, what they leave open, and where it comes from.

use super::notes::{Part, front_title, read};
use crate::plan::{ResearchPacket, Topic};
use std::collections::HashSet;

/// The title of notes that have none.
const UNTITLED: &str = "Notes";
/// The deepest heading that Markdown has.
const DEEPEST: u8 = 6;

/// Reads the notes. A claim that they make twice is one claim, where they first make it.
pub(super) fn research(notes: &str) -> ResearchPacket {
    let mut parts = read(notes);
    let sources = sources(&parts);
    let title = take_title(&mut parts, front_title(notes));
    let base = parts.iter().skip(1).map(|part| part.level).min().unwrap_or(1);
    let mut seen = HashSet::new();
    let topics: Vec<_> = parts
        .into_iter()
        .enumerate()
        .map(|(index, part)| {
            let level = if index == 0 { 1 } else { (2 + part.level - base).min(DEEPEST) };
            topic(part, level, &mut seen)
        })
        .collect();
    ResearchPacket { title, topics, sources }
}

/// Makes the first part that of the title: a heading above all others, else what the front matter says, else a word.
fn take_title(parts: &mut Vec<Part>, front: Option<&str>) -> String {
    let highest = parts.iter().skip(1).map(|part| part.level).min();
    let of_highest = parts.iter().skip(1).filter(|part| Some(part.level) == highest).count();
    if front.is_none() && of_highest == 1 && parts.get(1).map(|part| part.level) == highest {
        let titled = parts.remove(1);
        parts[0].heading = titled.heading;
        parts[0].units.extend(titled.units);
    } else {
        front.unwrap_or(UNTITLED).clone_into(&mut parts[0].heading);
    }
    parts[0].heading.clone()
}

fn topic(part: Part, level: u8, seen: &mut HashSet<String>) -> Topic {
    let mut topic = Topic { heading: part.heading, level, claims: Vec::new(), open_questions: Vec::new() };
    for unit in part.units {
        if seen.insert(unit.text.clone()) {
            let open = unit.to_do || is_open(&unit.text);
            let list = if open { &mut topic.open_questions } else { &mut topic.claims };
            list.push(unit.text);
        }
    }
    topic
}

/// Whether it asks something, or says that something is to be done. Links and code do not count.
fn is_open(text: &str) -> bool {
    if text.contains('\n') {
        return false;
    }
    let mut in_code = false;
    for word in text.split_whitespace() {
        let outside = !in_code && !word.contains('`');
        in_code ^= word.matches('`').count() % 2 == 1;
        if !outside {
            continue;
        }
        let word = word.split_once("](").map_or(word, |(label, _)| label);
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        if (word.contains('?') && !word.contains("://")) || matches!(bare, "TODO" | "FIXME" | "TBD") {
            return true;
        }
    }
    false
}

/// Links and citations, each once, in the order in which they first come.
fn sources(parts: &[Part]) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut sources = Vec::new();
    for text in parts.iter().flat_map(|part| &part.units).map(|unit| unit.text.as_str()) {
        for source in links(text).chain(citations(text)) {
            if seen.insert(source) {
                sources.push(source.to_owned());
            }
        }
    }
    sources
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(move |(at, _)| {
        let scheme = ["https", "http", "ftp"].into_iter().find(|scheme| text[..at].ends_with(scheme))?;
        let rest = &text[at - scheme.len()..];
        let end = rest.find(|c: char| c.is_whitespace() || "()<>[]\"'`|".contains(c)).unwrap_or(rest.len());
        Some(rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']))
    })
}

/// `[@key]`, `[^note]` and `doi:..`.
fn citations(text: &str) -> impl Iterator<Item = &str> {
    let keyed = text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(key, _)| key);
    let keyed = keyed
        .filter(|key| key.len() > 1 && key.starts_with(['@', '^']) && !key.contains(char::is_whitespace));
    let doi = text.split_whitespace().filter_map(|word| {
        let word = word.trim_matches(|c: char| "()<>[].,;".contains(c));
        (word.len() > 4 && word.starts_with("doi:")).then_some(word)
    });
    keyed.chain(doi)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(notes: &str) -> Vec<(String, u8)> {
        research(notes).topics.into_iter().map(|topic| (topic.heading, topic.level)).collect()
    }

    fn is(heading: &str, level: u8) -> (String, u8) {
        (heading.to_owned(), level)
    }

    #[test]
    fn the_title_is_the_one_heading_above_the_others() {
        assert_eq!(levels("# T\n## A\n#### B\n## C"), [is("T", 1), is("A", 2), is("B", 4), is("C", 2)]);
        assert_eq!(levels("# A\n## B\n# C"), [is("Notes", 1), is("A", 2), is("B", 3), is("C", 2)]);
        assert_eq!(levels("### A\n# B"), [is("Notes", 1), is("A", 4), is("B", 2)]);
        assert_eq!(levels("only text"), [is("Notes", 1)]);
        assert_eq!(levels("## T\ntext"), [is("T", 1)]);
        assert_eq!(levels("---\ntitle: F\n---\n# T\n## A"), [is("F", 1), is("T", 2), is("A", 3)]);
    }

    #[test]
    fn claims_questions_and_sources_are_told_apart() {
        let packet = research(
            "# T\n- Rust 1.0 came in 2015 ([blog](https://x.org/a?b=c)).\n- Why then?\n- [ ] ask Ada\n- TODO: numbers\n\
             - `a ? b : c` is C\n- It is so [@ada2020], see doi:10.1/x.\n- Rust 1.0 came in 2015 ([blog](https://x.org/a?b=c)).",
        );
        let topic = &packet.topics[0];
        assert_eq!(
            topic.claims,
            [
                "Rust 1.0 came in 2015 ([blog](https://x.org/a?b=c)).",
                "`a ? b : c` is C",
                "It is so [@ada2020], see doi:10.1/x."
            ]
        );
        assert_eq!(topic.open_questions, ["Why then?", "ask Ada", "TODO: numbers"]);
        assert_eq!(packet.sources, ["https://x.org/a?b=c", "@ada2020", "doi:10.1/x"]);
    }
}
