//! What stands below a line of a run, whatever kind of group it is: items, rounds, arms, each a label, a state and frames.

use super::{
    draw::WIDE,
    group::{Fan, Frame, Inside, Line},
    standing::{Standing, State},
    unroll::Unroll,
};
use hermes_core::path::escape;
use hermes_plan::graph::Node;

/// One member of a group.
pub(super) struct Member<'a> {
    /// `[key]`, `[2]`, `when yes`; empty where the group's line says it.
    pub(super) label: String,
    pub(super) state: State,
    pub(super) frames: Vec<&'a Frame>,
}

impl<'a> Member<'a> {
    fn new(label: String, state: Option<State>, frame: Option<&'a Frame>) -> Self {
        let own = || frame.and_then(Frame::standing).unwrap_or(Standing::Done).into();
        Self { label, state: state.unwrap_or_else(own), frames: frame.into_iter().collect() }
    }
}

impl Unroll<'_> {
    /// Whether the items of a fan-out are drawn one by one.
    pub(super) fn shows_items(&self, node: &Node, fan: &Fan) -> bool {
        fan.items.len() <= WIDE || self.expanded.contains(&node.id)
    }

    /// The state of a line, with counts where its items are not drawn.
    pub(super) fn state_of(&self, node: &Node, line: &Line) -> String {
        match &line.inside {
            Inside::Fan(fan) if !self.shows_items(node, fan) => {
                let counts = Standing::counts(fan.standings());
                let out = fan.left_out.len();
                let left = if out == 0 { String::new() } else { format!("; {out} left out") };
                format!("{} items: {counts}{left}", fan.items.len())
            }
            _ => line.state.to_string(),
        }
    }

    /// The members of a group that are drawn.
    pub(super) fn members<'f>(&self, node: &Node, inside: &'f Inside) -> Vec<Member<'f>> {
        let role = |frame: &Frame| self.lines.role(node, self.graph.body(frame.body)).unwrap_or_default();
        match inside {
            Inside::Nothing | Inside::Grown(_) => Vec::new(),
            Inside::Fan(fan) if !self.shows_items(node, fan) => Vec::new(),
            Inside::Fan(fan) => {
                let item = fan.items.iter().map(|item| Member {
                    label: format!("[{}]", escape(&item.key)),
                    state: item.standing().into(),
                    frames: item.frames.iter().collect(),
                });
                item.collect()
            }
            Inside::Loop(rounds) => {
                let numbered = rounds.rounds.iter().enumerate().map(|(index, round)| {
                    Member::new(format!("[{}]", index + 1), Some(round.state()), Some(&round.frame))
                });
                let last = rounds.otherwise.iter().map(|frame| Member::new(role(frame), None, Some(frame)));
                numbered.chain(last).collect()
            }
            Inside::Arm(frame) => vec![Member::new(role(frame), None, Some(frame))],
            Inside::Catch(catch) => {
                let frames = std::iter::once(&catch.body).chain(&catch.otherwise);
                frames.map(|frame| Member::new(role(frame), None, Some(frame))).collect()
            }
            Inside::Review(review) => {
                let turns = review.turns.iter().enumerate().map(|(index, turn)| {
                    Member::new(format!("[{}]", index + 1), Some(turn.state()), turn.revision.as_ref())
                });
                let way = review.way.iter().map(|frame| Member::new(role(frame), None, Some(frame)));
                turns.chain(way).collect()
            }
        }
    }
}
