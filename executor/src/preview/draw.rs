//! The drawing of a preview: the plan's text tree, each step with what becomes of it, and below it what is not simply reused.

use super::{Fate, Preview, Tally};
use hermes_plan::{
    graph::{Graph, NodeId},
    layout::Layout,
};
use std::{collections::BTreeMap, fmt::Write as _};

/// More steps of one fate than this are counted, not listed.
const LISTED: usize = 20;

pub(super) fn draw(preview: &Preview, graph: &Graph, by_node: &BTreeMap<NodeId, Tally>) -> String {
    let mut tree = Layout::new(graph).noted(|node| {
        let tally = by_node.get(&node.id)?;
        let one = Fate::ALL.into_iter().find(|fate| tally.of(*fate) == 1);
        let whole = Fate::ALL.iter().map(|fate| tally.of(*fate)).sum::<u64>();
        Some(one.filter(|_| whole == 1).map_or_else(|| tally.to_string(), |fate| fate.to_string()))
    });
    tree.line = format!("preview of {} · {}", tree.line, preview.counts);
    let mut text = tree.to_string();
    let fates = [Fate::Conflict, Fate::Dropped, Fate::InDoubt, Fate::RunAgain];
    for fate in fates {
        section(&mut text, preview, fate);
    }
    if preview.counts.run_again > 0 {
        let _ = write!(text, "\n{}", cost(preview));
    }
    if preview.ended && preview.counts.run + preview.counts.run_again > 0 {
        text.push_str(
            "\nThe run has ended: what would run needs `retry` (failed, cancelled) or `extend` (completed).",
        );
    }
    text
}

fn section(text: &mut String, preview: &Preview, fate: Fate) {
    let steps: Vec<_> = preview.steps.iter().filter(|step| step.fate == fate).collect();
    if steps.is_empty() {
        return;
    }
    let _ = write!(text, "\n{fate}:");
    for step in steps.iter().take(LISTED) {
        let _ = write!(text, "\n  {}", step.path.escape_debug());
        // Where it is the step's own cause, its path has just been said.
        let because = step.because.iter().map(|because| because.seen_from(&step.path));
        let reasons: Vec<_> = step.says.iter().cloned().chain(because).collect();
        if !reasons.is_empty() {
            let _ = write!(text, " ({})", reasons.join("; "));
        }
    }
    if steps.len() > LISTED {
        let _ = write!(text, "\n  and {} more", steps.len() - LISTED);
    }
}

fn cost(preview: &Preview) -> String {
    let cost = preview.last_cost;
    match cost.unknown {
        0 => format!("What runs again cost ${:.2} last time.", cost.usd),
        1 => format!("What runs again cost ${:.2} last time, and one call of unknown cost.", cost.usd),
        more => format!("What runs again cost ${:.2} last time, and {more} calls of unknown cost.", cost.usd),
    }
}
