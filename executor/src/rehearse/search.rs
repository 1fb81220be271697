//! The search for endings that no run has had yet: each run plays a part that comes from one that came close.

use super::{
    Ending, Rehearsal, Uncovered,
    endings::{What, can_fail_inside, endings, made_from},
    part::{Fails, Part, Says},
    run::Stage,
    sample::{Dice, FORMS},
};
use crate::error::DriveError;
use hermes_plan::graph::{Graph, Kind, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// How many runs at first only sample.
const AT_FIRST: usize = 4;
/// How often one ending is tried for.
const TRIES: u32 = 40;

/// An ending that is looked for.
struct Target {
    node: NodeId,
    ending: Ending,
    had: bool,
    tries: u32,
}

/// A part that was played, and which steps its run came to.
struct Known {
    part: Part,
    reached: BTreeSet<String>,
}

pub(super) struct Search {
    seed: u64,
    most: usize,
    targets: Vec<Target>,
    known: Vec<Known>,
    why: BTreeMap<String, String>,
}

impl Search {
    pub(super) fn new(stage: &Stage, seed: u64, most: usize) -> Self {
        let target = |(node, ending)| Target { node, ending, had: false, tries: 0 };
        let targets = endings(&stage.graph).into_iter().map(target).collect();
        Self { seed, most, targets, known: Vec::new(), why: BTreeMap::new() }
    }

    pub(super) async fn find(mut self, stage: &Stage) -> Result<Rehearsal, DriveError> {
        let mut runs = Vec::new();
        while runs.len() < self.most {
            let Some(part) = self.next(&stage.graph, runs.len()) else { break };
            let played = stage.play(&part, runs.len() + 1).await?;
            for target in &mut self.targets {
                target.had |= played.endings.contains(&target.ending);
            }
            self.why.extend(played.why);
            self.known.push(Known { part, reached: played.reached });
            runs.push(played.run);
        }
        let used_up = runs.len() >= self.most;
        let (mut covered, mut uncovered) = (Vec::new(), Vec::new());
        for target in &self.targets {
            if target.had {
                covered.push(target.ending.clone());
            } else {
                let why = self.reason(&stage.graph, target, used_up);
                uncovered.push(Uncovered { ending: target.ending.clone(), why });
            }
        }
        Ok(Rehearsal { plan: stage.graph.name().to_owned(), covered, uncovered, runs })
    }

    /// The next part to play; `None` where nothing is left to try.
    fn next(&mut self, graph: &Graph, number: usize) -> Option<Part> {
        let open = self.targets.iter_mut().filter(|target| !target.had && target.tries < TRIES);
        // One that can be reached comes before one that no run has come near.
        let reached = |target: &Target, known: &[Known]| {
            known.iter().any(|known| known.reached.contains(&target.ending.path))
        };
        let target = open.min_by_key(|target| (!reached(target, &self.known), target.tries));
        let seed = self.seed.wrapping_add((number as u64).wrapping_mul(0x9e37_79b9));
        let Some(target) = target else { return (number == 0).then(|| Part { seed, ..Part::default() }) };
        if number < AT_FIRST {
            return Some(Part { seed, ..Part::default() });
        }
        target.tries += 1;
        let tries = target.tries;
        let (node, ending) = (target.node, target.ending.clone());
        let mut dice = Dice::new(self.seed, &ending.to_string(), number as u64);
        let mut part = self.base(graph, node, &ending.path, &mut dice);
        let ordered = order(graph, node, &ending, tries, &mut part, &mut dice);
        if !ordered || tries > 1 {
            vary(graph, node, &mut part, &mut dice);
        }
        Some(part)
    }

    /// The part to begin with: one whose run came to the step, or as near to it as any.
    fn base(&self, graph: &Graph, node: NodeId, path: &str, dice: &mut Dice) -> Part {
        let fewest = |paths: &[&str]| {
            let came = |known: &&Known| paths.iter().any(|path| known.reached.contains(*path));
            let came: Vec<_> = self.known.iter().filter(came).collect();
            let least = came.iter().map(|known| known.part.orders()).min();
            let came: Vec<_> = came.into_iter().filter(|known| Some(known.part.orders()) == least).collect();
            dice_one(dice, &came)
        };
        let mut fewest = fewest;
        if let Some(part) = fewest(&[path]) {
            return part;
        }
        let mut around = graph.body(graph.node(node).body).owner;
        while let Some(owner) = around {
            let pattern = graph.node(owner).pattern.to_string();
            if let Some(part) = fewest(&[&pattern]) {
                return part;
            }
            around = graph.body(graph.node(owner).body).owner;
        }
        Part { seed: dice.next(), ..Part::default() }
    }

    fn reason(&self, graph: &Graph, target: &Target, used_up: bool) -> String {
        let path = &target.ending.path;
        let came = self.known.iter().filter(|known| known.reached.contains(path)).count();
        let runs = self.known.len();
        let bound = if used_up { "; the bound of runs was reached, raise it with `.runs(..)`" } else { "" };
        if came == 0 {
            return format!("none of {runs} runs came to it{bound}");
        }
        if let Some(why) = self.why.get(path) {
            return why.clone();
        }
        let sources = made_from(graph, target.node);
        let named =
            |source: &String| if source.is_empty() { "the input".to_owned() } else { format!("`{source}`") };
        let sources: Vec<_> = sources.iter().take(5).map(named).collect();
        if sources.is_empty() {
            return format!(
                "{came} of {runs} runs came to it and none ended so; nothing that it depends on varies{bound}"
            );
        }
        format!(
            "{came} of {runs} runs came to it and none ended so; steer what it is made from, with `.answers(..)` or \
             `.input(..)`: {}{bound}",
            sources.join(", ")
        )
    }
}

fn dice_one(dice: &mut Dice, of: &[&Known]) -> Option<Part> {
    dice.one(of).map(|known| known.part.clone())
}

/// Orders the ending itself, where it can be ordered.
fn order(graph: &Graph, node: NodeId, ending: &Ending, tries: u32, part: &mut Part, dice: &mut Dice) -> bool {
    let path = &ending.path;
    let mut fail = |inside: Vec<String>, how: Fails| {
        let Some(step) = dice.one(&inside) else { return false };
        part.fails.insert(step.clone(), how);
        true
    };
    let how = if tries % 2 == 1 { Fails::First } else { Fails::All };
    match &ending.what {
        What::Fails => fail(vec![path.clone()], how),
        What::ItemFails => fail(can_fail_inside(graph, node, None), how),
        What::TooFew => {
            let all = can_fail_inside(graph, node, None);
            part.fails.extend(all.into_iter().map(|step| (step, Fails::All)));
            true
        }
        What::NoItems | What::OneItem => {
            let sources = made_from(graph, node);
            let only = dice.below(sources.len().max(1));
            let one = usize::from(ending.what == What::OneItem);
            let lengths = sources.into_iter().enumerate();
            part.lengths.extend(lengths.map(|(index, source)| (source, if index == only { one } else { 0 })));
            false
        }
        What::UsedUp => {
            part.steady = (tries % 2 == 1).then(|| dice.below(FORMS));
            false
        }
        What::Caught => fail(can_fail_inside(graph, node, Some(1)), how),
        What::Expires => part.silent.insert(path.clone()),
        What::Approved => say(part, path, "approve", false),
        What::Edited => say(part, path, "edit", false),
        What::Rejected => say(part, path, "reject", false),
        What::Changes => say(part, path, "request_changes", false),
        What::NotApproved => say(part, path, "request_changes", true),
        What::Done | What::Answered => {
            part.fails.clear();
            part.silent.remove(path);
            false
        }
        _ => false,
    }
}

fn say(part: &mut Part, path: &str, decision: &'static str, always: bool) -> bool {
    part.says.insert(path.to_owned(), Says { decision, always });
    true
}

/// Gives other seeds to some of what the step's values are made from; now and then to everything.
fn vary(graph: &Graph, node: NodeId, part: &mut Part, dice: &mut Dice) {
    if dice.below(3) == 0 {
        part.seed = dice.next();
        part.seeds.clear();
        return;
    }
    let mut sources: Vec<_> = made_from(graph, node).into_iter().collect();
    // A group's exits depend on what happens in it.
    if matches!(graph.node(node).kind, Kind::Repeat(_) | Kind::Review(_)) {
        sources.extend(can_fail_inside(graph, node, None));
    }
    let chosen = dice.below(sources.len().max(1));
    for (index, source) in sources.into_iter().enumerate() {
        if index == chosen || dice.below(2) == 0 {
            part.seeds.insert(source, dice.next());
        }
    }
}
