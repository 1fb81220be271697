//! The tree: an unrolled run as lines, each the plan's own line with its state behind it.

use super::{
    group::{Fan, Frame, Inside, Item, Line, Loop, Review},
    grown,
    standing::{Standing, State},
    unroll::Unroll,
};
use hermes_core::{fold::RunStatus, journal::EndKind, path::escape, people::NeedKind};
use hermes_plan::{
    graph::{BodyId, Kind, Node},
    layout::Drawing,
};

/// More items, or copies of a step that the plan has no more, than this are drawn as one line with counts.
pub(super) const WIDE: usize = 20;

/// Draws an unrolled run.
pub(super) fn tree(run: &Unroll<'_>, plan: &Frame) -> Drawing {
    let lines = run.graph.nodes().map(|node| run.lines.node(node)).collect();
    let draw = Draw { run, lines };
    Drawing::with(with_state(&format!("run of {}", run.lines.plan()), &whole(run, plan)), draw.frame(plan))
}

/// A line with its state.
pub(super) fn with_state(line: &str, state: &str) -> String {
    format!("{line} · {state}")
}

/// How many of them: `1 item`, `2 items`.
fn count(number: usize, of: &str) -> String {
    format!("{number} {of}{}", if number == 1 { "" } else { "s" })
}

/// Where the run as a whole stands. An ended run with something to decide, or decided and not yet resumed, does not stand
/// where it ended.
pub(super) fn whole(run: &Unroll<'_>, plan: &Frame) -> String {
    let needs = run.run.summary.needs().values();
    let (asked, parked): (Vec<_>, Vec<_>) =
        needs.partition(|need| matches!(need.kind, NeedKind::Review { .. }));
    let status = run.run.summary.head().map(|head| head.status);
    if !run.live && status == Some(RunStatus::Parked) {
        return format!("parked, {} to decide", parked.len());
    }
    if !run.live && !run.run.decisions.is_empty() {
        // What a decision makes of the run, only a walk of the plan can say.
        return "decided, to be resumed".to_owned();
    }
    match &run.end {
        Some(EndKind::Completed { failed: 0 }) => "completed".to_owned(),
        Some(EndKind::Completed { failed }) => {
            let failed = usize::try_from(*failed).unwrap_or(usize::MAX);
            format!("completed over {}", count(failed, "failed step"))
        }
        Some(EndKind::Failed { failure }) => {
            let place = if failure.path.is_empty() { String::new() } else { format!(" at {}", failure.path) };
            format!("failed{place}: {}", failure.class.sentence())
        }
        Some(EndKind::Cancelled { .. }) => "cancelled".to_owned(),
        None if run.live => "running".to_owned(),
        None if !asked.is_empty() => format!("waiting for {}", count(asked.len(), "answer")),
        None if run.only_time_moves_it() => "waiting for its time".to_owned(),
        None if plan.standing().is_some_and(|standing| standing != Standing::NotStarted) => {
            "not finished".to_owned()
        }
        None => "not started".to_owned(),
    }
}

struct Draw<'a> {
    run: &'a Unroll<'a>,
    /// By node: its line in the plan.
    lines: Vec<String>,
}

/// A line on its way into the scopes around it.
type Drawn<'a> = (&'a Node, Standing, Drawing);

impl<'a> Draw<'a> {
    fn frame(&self, frame: &Frame) -> Vec<Drawing> {
        let drawn = frame.lines.iter().map(|line| self.line(line));
        let scope = |name: &str, inside: Vec<Drawn<'a>>| {
            let node = inside[0].0;
            let standing = Standing::of(inside.iter().map(|(_, standing, _)| *standing));
            let standing = standing.unwrap_or(Standing::Done);
            let inside = inside.into_iter().map(|(_, _, drawing)| drawing).collect();
            let line = with_state(&format!("{name}: scope"), standing.word());
            (node, standing, Drawing::with(line, inside))
        };
        let drawn = self.run.lines.scoped(drawn, |(node, _, _)| node, scope);
        let mut drawn: Vec<_> = drawn.into_iter().map(|(_, _, drawing)| drawing).collect();
        drawn.extend(self.run.lines.result(self.run.graph.body(frame.body)).map(Drawing::leaf));
        drawn
    }

    fn line(&self, line: &Line) -> Drawn<'a> {
        let graph = self.run.graph;
        let node = graph.node(line.node);
        let state = self.run.state_of(node, line);
        let inside = match &line.inside {
            Inside::Nothing => Vec::new(),
            Inside::Fan(fan) if !self.run.shows_items(node, fan) => Vec::new(),
            Inside::Fan(fan) => self.fan(node, fan),
            Inside::Loop(rounds) => self.rounds(node, rounds),
            Inside::Arm(frame) => vec![self.body(&self.role(node, frame.body), None, frame)],
            Inside::Grown(built) => grown::draw(built, None),
            Inside::Catch(catch) => {
                let mut lines = self.frame(&catch.body);
                let role = |frame: &Frame| self.body(&self.role(node, frame.body), None, frame);
                lines.extend(catch.otherwise.as_ref().map(role));
                lines
            }
            Inside::Review(review) => self.turns(node, review),
        };
        let mut text = self.lines[node.id.0 as usize].clone();
        if let Some(title) = line.titled.and_then(|started| self.run.title(started)) {
            text = format!("{text} “{title}”");
        }
        (node, line.counts_as(), Drawing::with(with_state(&text, &state), inside))
    }

    fn role(&self, owner: &Node, body: BodyId) -> String {
        self.run.lines.role(owner, self.run.graph.body(body)).unwrap_or_default()
    }

    /// A copy of a body under its key or role. One line shares the line with it.
    fn body(&self, label: &str, state: Option<State>, frame: &Frame) -> Drawing {
        let mut inside = self.frame(frame);
        if state.is_none()
            && inside.len() == 1
            && let Some(only) = inside.pop()
        {
            return Drawing::with(format!("{label} {}", only.line), only.children);
        }
        let state = state.or_else(|| frame.standing().map(State::from));
        let line = state.map_or_else(|| label.to_owned(), |state| with_state(label, &state.to_string()));
        Drawing::with(line, inside)
    }

    fn fan(&self, node: &Node, fan: &Fan) -> Vec<Drawing> {
        let label = |item: &Item| format!("[{}]", escape(&item.key));
        let stage = |stage: usize| {
            let frames = fan.items.iter().filter_map(move |item| Some((item, item.frames.get(stage)?)));
            frames.map(|(item, frame)| self.body(&label(item), None, frame)).collect::<Vec<_>>()
        };
        let mut inside = match &node.kind {
            Kind::Pipeline { stages, .. } if !fan.items.is_empty() => {
                let stages = stages.iter().enumerate().map(|(number, body)| {
                    let frames = fan.items.iter().filter_map(|item| item.frames.get(number));
                    let standing = Standing::of(frames.filter_map(Frame::standing));
                    let role = self.role(node, *body);
                    let line = standing.map_or(role.clone(), |standing| with_state(&role, standing.word()));
                    Drawing::with(line, stage(number))
                });
                stages.collect()
            }
            _ => stage(0),
        };
        if !fan.left_out.is_empty() {
            let shown = fan.left_out.iter().take(WIDE).map(|key| format!("[{}]", escape(key)));
            let more = if fan.left_out.len() > WIDE { ", …" } else { "" };
            inside.push(Drawing::leaf(format!("left out: {}{more}", shown.collect::<Vec<_>>().join(", "))));
        }
        inside
    }

    fn rounds(&self, node: &Node, rounds: &Loop) -> Vec<Drawing> {
        let numbered = rounds.rounds.iter().enumerate();
        let drawn = numbered
            .map(|(index, round)| self.body(&format!("[{}]", index + 1), Some(round.state()), &round.frame));
        let otherwise =
            rounds.otherwise.iter().map(|frame| self.body(&self.role(node, frame.body), None, frame));
        drawn.chain(otherwise).collect()
    }

    fn turns(&self, node: &Node, review: &Review) -> Vec<Drawing> {
        let numbered = review.turns.iter().enumerate();
        let turn = numbered.map(|(index, turn)| {
            let inside = turn.revision.as_ref().map(|frame| self.frame(frame)).unwrap_or_default();
            Drawing::with(with_state(&format!("[{}]", index + 1), &turn.state().to_string()), inside)
        });
        let way = review.way.iter().map(|frame| self.body(&self.role(node, frame.body), None, frame));
        turn.chain(way).collect()
    }
}
