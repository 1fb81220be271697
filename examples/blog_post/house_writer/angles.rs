//! Angles: in which order the post may tell what the notes say.

use super::outline::sections;
use crate::plan::{ResearchPacket, Topic};

const AS_IS: &str = "As the notes tell it";
const FROM_THE_END: &str = "From the end back to the beginning";

/// What an angle means for the order of the sections.
#[derive(Debug, PartialEq)]
pub(super) enum Order {
    AsIs,
    FromTheEnd,
    /// This section first.
    First(usize),
}

/// A section, counted.
struct Size<'a> {
    index: usize,
    title: &'a str,
    claims: usize,
    open: usize,
}

/// Up to five angles; the first is always there.
pub(super) fn options(research: &ResearchPacket) -> Vec<String> {
    let sizes: Vec<_> = sections(&research.topics)
        .into_iter()
        .enumerate()
        .filter_map(|(index, topics)| size(index, topics))
        .collect();
    let claims = research.topics.iter().map(|topic| topic.claims.len()).sum();
    let (claims, parts) = (plural(claims, "claim"), plural(sizes.len(), "section"));
    let mut angles =
        vec![format!("{AS_IS}: {claims} in {parts}, from {}", plural(research.sources.len(), "source"))];
    let later = || sizes.iter().skip(1);
    let offers = [
        (
            later().filter(|size| size.claims > 0).rev().max_by_key(|size| size.claims),
            "it has the most to say",
        ),
        (later().filter(|size| size.open > 0).rev().max_by_key(|size| size.open), "it leaves the most open"),
        (later().last(), "it is where the notes end"),
    ];
    let mut taken = Vec::new();
    for (size, why) in offers {
        if let Some(size) = size
            && !taken.contains(&size.index)
        {
            taken.push(size.index);
            angles.push(format!("{}: {why}", begin_with(size.title)));
        }
    }
    if sizes.len() > 2 {
        angles.push(FROM_THE_END.to_owned());
    }
    // Two sections may have one title; one of the two is enough to offer.
    let mut seen = std::collections::HashSet::new();
    angles.retain(|angle| seen.insert(angle.clone()));
    angles
}

/// What `angle` means for sections of these titles.
pub(super) fn order(angle: &str, titles: &[&str]) -> Order {
    if angle == FROM_THE_END {
        return Order::FromTheEnd;
    }
    let named =
        |title: &&str| angle.strip_prefix(&begin_with(title)).is_some_and(|rest| rest.starts_with(": "));
    titles.iter().rposition(named).map_or(Order::AsIs, Order::First)
}

fn size(index: usize, topics: &[Topic]) -> Option<Size<'_>> {
    let title = &topics.first()?.heading;
    let claims = topics.iter().map(|topic| topic.claims.len()).sum();
    let open = topics.iter().map(|topic| topic.open_questions.len()).sum();
    Some(Size { index, title, claims, open })
}

fn begin_with(title: &str) -> String {
    format!("Begin with “{title}”")
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::{super::research::research, *};

    #[test]
    fn angles_are_made_of_what_the_notes_have() {
        let packet = research("# T\n## A\n- a1\n## B\n- b1\n- b2 https://x.org\n## C\n- Why?\n");
        let expected = [
            "As the notes tell it: 3 claims in 3 sections, from 1 source",
            "Begin with “B”: it has the most to say",
            "Begin with “C”: it leaves the most open",
            "From the end back to the beginning",
        ];
        assert_eq!(options(&packet), expected);
        let orders: Vec<_> = expected.iter().map(|angle| order(angle, &["A", "B", "C"])).collect();
        assert_eq!(orders, [Order::AsIs, Order::First(1), Order::First(2), Order::FromTheEnd]);
        assert_eq!(
            options(&research("one line")),
            ["As the notes tell it: 1 claim in 1 section, from 0 sources"]
        );
    }
}
