//! One plan a pattern, each a few lines.

use hermes_workflows::patterns::{
    Found, Goal, Refutation, Scored, Verified, Winner, goal, judge, loop_until_dry, map_reduce, tournament,
    verify,
};
use hermes_workflows::prelude::*;
use std::num::NonZeroU8;

/// Tries until the text is short enough.
pub(crate) fn short_enough(text: Step<String>) -> Step<Goal<String>> {
    goal(
        "shorten",
        text,
        5,
        |text| agent("shorter").input("text", text).prompt("Shorten it.").text(),
        |text| text.map(|text| text.len() < 40),
    )
}

/// Titles by their scores, best first.
pub(crate) fn best_titles(titles: Step<Vec<String>>) -> Step<Vec<Scored<String>>> {
    judge("titles", titles, |title| {
        agent("score").input("title", title).prompt("Score it from 0 to 10.").returns()
    })
}

/// Pairs of drafts, until one is left.
pub(crate) fn best_draft(drafts: Step<Vec<String>>) -> Step<Option<String>> {
    tournament("drafts", drafts, |first, second| {
        agent("compare")
            .input("first", first)
            .input("second", second)
            .prompt("Which is better?")
            .returns::<Winner>()
    })
}

/// A claim, and three who try to refute it.
pub(crate) fn checked(claim: Step<String>) -> Step<Verified<String>> {
    verify("refute", claim, ["facts", "logic", "sources"], |claim, by| {
        agent("refuter")
            .input("claim", claim)
            .prompt(format!("Try to refute it by its {by}."))
            .returns::<Refutation>()
    })
}

/// Rounds of looking for bugs, until one finds nothing new.
pub(crate) fn all_bugs(code: Step<String>) -> Step<Found<String>> {
    loop_until_dry(
        "hunt",
        10,
        |seen| agent("look").input("code", code).input("seen", seen).prompt("Find more bugs.").returns(),
        String::clone,
    )
}

/// A summary of summaries.
pub(crate) fn digest(pages: Step<Vec<String>>) -> Step<Option<String>> {
    map_reduce(
        "digest",
        pages,
        NonZeroU8::MIN.saturating_add(2),
        |page| agent("summarize").input("page", page).prompt("Summarize it.").text(),
        |parts| agent("merge").input("parts", parts).prompt("Merge them.").text(),
    )
}
