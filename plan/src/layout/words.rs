//! The words of a node: what it is and its bounds, with or without its sources.

use crate::graph::{Body, Fan, FanMode, Keys, Kind, Node, ReviewEnd, Role, Until};
use hermes_core::{budget::Budget, path};
use std::{num::NonZeroU32, time::Duration};

/// What a node is, e.g. `agent(input)` or `parallel each of outline by key, limit 4, fail fast`. Drawings with arrows
/// leave the sources out.
pub(super) fn head(kind: &Kind, sources: Option<&str>) -> String {
    let call = |word: &str| sources.map_or_else(|| word.to_owned(), |sources| format!("{word}({sources})"));
    let of = |words: &str| sources.map_or_else(String::new, |sources| format!(" {words}{sources}"));
    match kind {
        Kind::Placeholder(placeholder) => placeholder.word().to_owned(),
        Kind::Constant(_) => "value".to_owned(),
        Kind::Derived(derived) => derived.verb.to_owned(),
        Kind::Agent(agent) => call("agent") + &budget(agent.budget.as_ref()),
        Kind::Ask(ask) => {
            let open = ask.expires.as_ref();
            call("ask")
                + &open.map_or_else(String::new, |expires| format!(", expires in {}", time(expires.after)))
        }
        Kind::Step(_) => call("step"),
        Kind::Command(_) => call("command"),
        Kind::Wait(Until::After(duration)) => format!("wait for {}", time(*duration)),
        Kind::Wait(Until::Moment(_)) => format!("wait{}", of("until ")),
        // What it is made from is not a step.
        Kind::Files(files) => format!("files {}", files.globs.short()),
        Kind::Parallel { fan: bounds, .. } => {
            let sources = sources.filter(|sources| !sources.is_empty());
            let of = sources.map_or_else(String::new, |sources| format!(" of {sources}"));
            format!("parallel{of}{}", fan(bounds))
        }
        Kind::Each { keys, needs, fan: bounds, .. } => {
            let word = if needs.is_some() { "dag" } else { "each" };
            format!("parallel {word}{} {}{}", of("of "), by(keys), fan(bounds))
        }
        Kind::Pipeline { keys, fan: bounds, .. } => {
            format!("pipeline{} {}{}", of("over "), by(keys), fan(bounds))
        }
        Kind::Repeat(repeat) => format!("repeat{}{}", of(""), rounds(repeat.max)),
        Kind::Branch { .. } => format!("branch{}", of("on ")),
        Kind::Catch(_) => "catch".to_owned(),
        Kind::Call(_) => call("call"),
        Kind::Recursive(recursive) => call("recursive") + &levels(recursive.max_depth),
        Kind::Again { .. } => call("again"),
        Kind::Then(_) => call("then"),
        // Without a revision nobody can ask for another round.
        Kind::Review(review) => {
            let rounds = review.revise.map_or_else(String::new, |_| rounds(review.max_rounds));
            let end = match review.end {
                ReviewEnd::Approved => "",
                ReviewEnd::Decide { .. } => ", decide",
                ReviewEnd::Decision => ", decision",
            };
            call("review") + &rounds + end
        }
    }
}

/// Whether the sources of such a node read as one thing rather than as a list.
pub(super) fn takes_one(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Each { .. } | Kind::Pipeline { .. } | Kind::Repeat(_) | Kind::Branch { .. } | Kind::Wait(_)
    )
}

/// What a body is to its owner; `None` where the owner's line says it.
pub(super) fn role(owner: &Node, body: &Body) -> Option<String> {
    match &body.role {
        Role::Plan
        | Role::Item
        | Role::Round
        | Role::Revise
        | Role::Try
        | Role::Call
        | Role::Level(_)
        | Role::Then => None,
        Role::Stage(number) => Some(format!("stage {number}")),
        Role::Child(key) => Some(format!("[{}]", path::escape(key))),
        Role::Arm(label) => {
            let case = matches!(&owner.kind, Kind::Branch { arms, .. } if arms.iter().any(|arm| arm.body == body.id && arm.case));
            Some(format!("{} {label}", if case { "case" } else { "when" }))
        }
        Role::Else if matches!(owner.kind, Kind::Branch { .. }) => Some("otherwise".to_owned()),
        Role::Else => Some("else".to_owned()),
    }
}

fn by(keys: &Keys) -> &'static str {
    match keys {
        Keys::Position => "by position",
        Keys::By { .. } => "by key",
        Keys::Inherited(_) => "by its keys",
    }
}

fn budget(budget: Option<&Budget>) -> String {
    budget.map_or_else(String::new, |budget| format!(", budget {budget}"))
}

fn fan(fan: &Fan) -> String {
    let streaming = if fan.streaming { ", streaming" } else { "" };
    let shared = fan.shared.as_ref().map_or_else(String::new, |name| format!(" shared as {name}"));
    let limit = fan.limit.map_or_else(String::new, |limit| format!(", limit {limit}{shared}"));
    let budget = budget(fan.bounds.as_ref().map(|bounds| &bounds.budget));
    let mode = match fan.mode {
        FanMode::FailFast => "fail fast".to_owned(),
        FanMode::Collect => "collect".to_owned(),
        FanMode::Null => "null".to_owned(),
        FanMode::AtLeast(count) => format!("first {count}"),
        FanMode::First => "first".to_owned(),
    };
    format!("{streaming}{limit}{budget}, {mode}{}", if fan.keyed { ", keyed" } else { "" })
}

fn levels(max: NonZeroU32) -> String {
    format!(" up to {max} {}", if max.get() == 1 { "level" } else { "levels" })
}

/// A duration, exactly: `2 h`, `90 min`, `1 d 30 s`.
fn time(duration: Duration) -> String {
    let mut left = duration.as_nanos();
    let units = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "min"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "µs"),
        (1, "ns"),
    ];
    let mut parts = Vec::new();
    for (unit, name) in units {
        if left >= unit {
            parts.push(format!("{} {name}", left / unit));
            left %= unit;
        }
    }
    if parts.is_empty() { "0 s".to_owned() } else { parts.join(" ") }
}

fn rounds(max: NonZeroU32) -> String {
    format!(" up to {max} {}", if max.get() == 1 { "round" } else { "rounds" })
}
