//! Revisions: what the house writer can do for a reviewer, it does; the rest it notes as a remark, for people to see.

use super::{
    evidence::check,
    humanize::paragraphs,
    outline::{open_with, take_opening},
    units::{read, write},
};
use crate::plan::{SectionDraft, SectionPlan};

/// Revises an outline. It can reverse it, rename a section (`rename A to B`), and put one first or last by its title, or
/// the longest or shortest.
pub(super) fn outline(mut plans: Vec<SectionPlan>, feedback: &str) -> Vec<SectionPlan> {
    let opening = take_opening(&mut plans);
    for wish in wishes(feedback) {
        let done = reverse(&mut plans, wish) || rename(&mut plans, wish) || place(&mut plans, wish);
        if !done {
            for plan in &mut plans {
                plan.remarks.push(wish.to_owned());
            }
        }
    }
    open_with(&mut plans, opening);
    plans
}

/// Revises a section. It can make its paragraphs shorter or longer.
pub(super) fn section(mut draft: SectionDraft, feedback: &str) -> SectionDraft {
    for wish in wishes(feedback) {
        let lower = wish.to_lowercase();
        let about_paragraphs = lower.contains("paragraph");
        if about_paragraphs && ["short", "split"].iter().any(|word| lower.contains(word)) {
            draft.body_md = write(&split(&draft.body_md));
        } else if about_paragraphs && ["long", "join", "fewer"].iter().any(|word| lower.contains(word)) {
            draft.body_md = write(&paragraphs(read(&draft.body_md), 6));
        } else {
            draft.remarks.push(wish.to_owned());
        }
    }
    check(draft)
}

fn split(body: &str) -> Vec<super::units::Part> {
    use super::units::Part;
    read(body)
        .into_iter()
        .flat_map(|part| match part {
            Part::Paragraph(claims) => claims.into_iter().map(|claim| Part::Paragraph(vec![claim])).collect(),
            other => vec![other],
        })
        .collect()
}

fn wishes(feedback: &str) -> impl Iterator<Item = &str> {
    feedback
        .split(['\n', ';'])
        .flat_map(|line| line.split(". "))
        .map(|wish| wish.trim().trim_end_matches('.'))
        .filter(|wish| !wish.is_empty())
}

fn reverse(plans: &mut [SectionPlan], wish: &str) -> bool {
    let wanted = wish.to_lowercase().contains("reverse");
    if wanted {
        plans.reverse();
    }
    wanted
}

fn rename(plans: &mut [SectionPlan], wish: &str) -> bool {
    let Some((verb, rest)) = wish.split_once(' ') else { return false };
    if !verb.eq_ignore_ascii_case("rename") {
        return false;
    }
    let Some((old, new)) = rest.split_once(" to ") else { return false };
    let (old, new) = (unquoted(old), unquoted(new));
    let Some(plan) = plans.iter_mut().find(|plan| plan.title.eq_ignore_ascii_case(old)) else { return false };
    if new.is_empty() {
        return false;
    }
    if let Some(topic) = plan.topics.iter_mut().find(|topic| topic.heading == plan.title) {
        new.clone_into(&mut topic.heading);
    }
    new.clone_into(&mut plan.title);
    true
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\'', '“', '”'])
}

/// Puts a section first or last.
fn place(plans: &mut [SectionPlan], wish: &str) -> bool {
    let lower = wish.to_lowercase();
    let words: Vec<_> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let first = words.contains(&"first");
    if first == words.contains(&"last") {
        return false;
    }
    let by_size = || plans.iter().enumerate().map(|(index, plan)| (index, size(plan)));
    let chosen = if words.contains(&"longest") {
        by_size().rev().max_by_key(|(_, size)| *size).map(|(index, _)| index)
    } else if words.contains(&"shortest") {
        by_size().min_by_key(|(_, size)| *size).map(|(index, _)| index)
    } else {
        let named = plans.iter().enumerate().filter(|(_, plan)| lower.contains(&plan.title.to_lowercase()));
        named.max_by_key(|(_, plan)| plan.title.len()).map(|(index, _)| index)
    };
    let Some(chosen) = chosen else { return false };
    if first {
        plans[..=chosen].rotate_right(1);
    } else {
        plans[chosen..].rotate_left(1);
    }
    true
}

fn size(plan: &SectionPlan) -> usize {
    plan.topics
        .iter()
        .flat_map(|topic| topic.claims.iter().chain(&topic.open_questions))
        .map(String::len)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{draft::draft, humanize::humanize, outline::outline as outlined, research::research},
        *,
    };

    fn plans() -> Vec<SectionPlan> {
        outlined("", research("# T\n## A\n- short\n## Bee\n- quite long, this one\n## C\n- middling text\n"))
    }

    fn titles(plans: &[SectionPlan]) -> Vec<&str> {
        plans.iter().map(|plan| plan.title.as_str()).collect()
    }

    #[test]
    fn what_can_be_done_to_an_outline_is_done() {
        for (feedback, expected) in [
            ("Put the longest section first.", ["Bee", "A", "C"]),
            ("the shortest one last", ["Bee", "C", "A"]),
            ("Move “bee” to the end: last; reverse it", ["Bee", "C", "A"]),
            ("C first. Rename \"A\" to Dee", ["C", "Dee", "Bee"]),
        ] {
            let revised = outline(plans(), feedback);
            assert_eq!(titles(&revised), expected, "{feedback}");
            assert_eq!(revised[0].topics[0].heading, "T", "{feedback}");
            assert!(revised.iter().all(|plan| plan.remarks.is_empty()), "{feedback}");
        }
        let renamed = outline(plans(), "rename A to Dee");
        assert_eq!((renamed[0].slug.as_str(), renamed[0].topics[1].heading.as_str()), ("a", "Dee"));
    }

    #[test]
    fn what_cannot_is_noted() {
        let revised = outline(plans(), "Make it funnier. Rename Z to Y");
        assert!(revised.iter().all(|plan| plan.remarks == ["Make it funnier", "Rename Z to Y"]));
        assert_eq!(titles(&revised), ["A", "Bee", "C"]);
        let drafted = section(humanize(draft(revised.into_iter().next().unwrap())), "Add a joke");
        assert_eq!(drafted.remarks, ["Make it funnier", "Rename Z to Y", "Add a joke"]);
        assert!(drafted.unsupported.is_empty());
    }

    #[test]
    fn paragraphs_can_be_split_and_joined() {
        let plan = outlined("", research("- a\n- b\n- c\n- d")).remove(0);
        let drafted = humanize(draft(plan));
        let split = section(drafted, "shorter paragraphs please");
        assert_eq!(split.body_md, "# Notes\n\na.\n\nb.\n\nc.\n\nd.");
        let joined = section(split, "longer paragraphs");
        assert_eq!(joined.body_md, "# Notes\n\na.\nb.\nc.\nd.");
        assert!(joined.unsupported.is_empty() && joined.remarks.is_empty());
    }
}
