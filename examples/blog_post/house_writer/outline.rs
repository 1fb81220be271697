//! The outline: which sections the post has, in which order, and what each covers.

use super::{
    angles::{Order, order},
    slug::Slugs,
};
use crate::plan::{ResearchPacket, SectionPlan, Topic};

/// The most sections: each is reviewed by a person. Where the notes have more headings, neighbours share a section.
const MOST: usize = 24;

/// Makes an outline of the notes, in the order that the angle asks for.
pub(super) fn outline(angle: &str, research: ResearchPacket) -> Vec<SectionPlan> {
    let mut slugs = Slugs::default();
    let mut plans: Vec<_> = sections(&research.topics)
        .into_iter()
        .filter_map(|topics| {
            let title = topics.first()?.heading.clone();
            Some(SectionPlan { slug: slugs.of(&title), title, topics: topics.to_vec(), remarks: Vec::new() })
        })
        .collect();
    let titles: Vec<_> = plans.iter().map(|plan| plan.title.as_str()).collect();
    match order(angle, &titles) {
        Order::AsIs => {}
        Order::FromTheEnd => plans.reverse(),
        Order::First(index) => plans[..=index].rotate_right(1),
    }
    let opening: Vec<_> = research.topics.into_iter().take(1).collect();
    open_with(&mut plans, opening);
    plans
}

/// The topics of each section. The first topic is the title's; it is a section of its own only where nothing else is.
pub(super) fn sections(topics: &[Topic]) -> Vec<&[Topic]> {
    let Some((_, rest)) = topics.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return vec![topics];
    };
    let starts: Vec<_> = (0..rest.len()).filter(|&index| index == 0 || rest[index].level == 2).collect();
    let shared = starts.len().div_ceil(MOST);
    let starts: Vec<_> = starts.into_iter().step_by(shared).collect();
    let ends = starts.iter().skip(1).copied().chain([rest.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &rest[start..end]).collect()
}

/// Takes the title's topics out of the sections that have others too.
pub(super) fn take_opening(plans: &mut [SectionPlan]) -> Vec<Topic> {
    let mut opening = Vec::new();
    for plan in plans.iter_mut().filter(|plan| plan.topics.iter().any(|topic| topic.level > 1)) {
        opening.extend(plan.topics.extract_if(.., |topic| topic.level <= 1));
    }
    opening
}

/// Puts the title's topics at the beginning of the first section, unless it is theirs.
pub(super) fn open_with(plans: &mut [SectionPlan], opening: Vec<Topic>) {
    if let Some(first) = plans.first_mut()
        && first.topics.iter().all(|topic| topic.level > 1)
    {
        first.topics.splice(0..0, opening);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::research::research, *};

    fn shown(plans: &[SectionPlan]) -> Vec<(String, Vec<String>)> {
        let headings = |plan: &SectionPlan| plan.topics.iter().map(|topic| topic.heading.clone()).collect();
        plans.iter().map(|plan| (plan.slug.clone(), headings(plan))).collect()
    }

    fn is(slug: &str, headings: &[&str]) -> (String, Vec<String>) {
        (slug.to_owned(), headings.iter().map(|heading| (*heading).to_owned()).collect())
    }

    #[test]
    fn the_title_opens_the_first_section_in_whatever_order() {
        let packet = research("# T\n## A\n### a\n## B\n## A\n- x\n");
        let as_is = [is("a", &["T", "A", "a"]), is("b", &["B"]), is("a-2", &["A"])];
        assert_eq!(shown(&outline("As the notes tell it", packet.clone())), as_is);
        let back = [is("a-2", &["T", "A"]), is("b", &["B"]), is("a", &["A", "a"])];
        assert_eq!(shown(&outline("From the end back to the beginning", packet.clone())), back);
        let b_first = [is("b", &["T", "B"]), is("a", &["A", "a"]), is("a-2", &["A"])];
        assert_eq!(shown(&outline("Begin with “B”: because", packet)), b_first);
    }

    #[test]
    fn notes_without_headings_are_one_section() {
        assert_eq!(shown(&outline("", research("- x"))), [is("notes", &["Notes"])]);
    }

    #[test]
    fn a_thousand_headings_share_sections() {
        let notes: Vec<_> = (0..1_000).map(|n| format!("# H{n}\n- claim {n}")).collect();
        let plans = outline("", research(&notes.join("\n")));
        assert!(plans.len() <= MOST, "{}", plans.len());
        assert_eq!(plans.iter().map(|plan| plan.topics.len()).sum::<usize>(), 1_001);
    }
}
