//! Unrolls a plan by what the journal says: bodies to one frame an item, round or arm, and each step to the state of its
//! cell. Reads no author's closure and no value but a review's decision.

use super::{
    Read,
    group::{Answer, Catch, Fan, Frame, Inside, Item, Line, Loop, Review, Round, Turn, failed},
    standing::{Standing, State},
};
use crate::error::DriveError;
use hermes_core::{
    failure::FailureClass,
    fold::{Cell, CellStatus, RunState, Scope},
    ids::{Address, Place, Seq, StepNo},
    journal::{EndKind, Event},
    path::StepPath,
};
use hermes_plan::{
    graph::{self, BodyId, Fan as Bounds, Graph, Kind, Node, NodeId, ReviewEnd},
    layout::Lines,
};
use serde::Deserialize;
use std::collections::BTreeSet;

/// A run, ready to be unrolled.
pub(crate) struct Unroll<'a> {
    /// The fan-outs whose items are drawn, however many there are.
    pub(super) expanded: &'a BTreeSet<NodeId>,
    pub(super) graph: &'a Graph,
    pub(super) run: &'a RunState,
    pub(super) lines: Lines<'a>,
    pub(super) live: bool,
    /// How the run ended, while it is ended.
    pub(super) end: Option<EndKind>,
    read: &'a Read<'a>,
    /// By node: its number in the run's step table.
    numbers: Vec<Option<StepNo>>,
    /// What failed the run, where that left no record of its own.
    blamed: Option<(StepPath, FailureClass)>,
    /// The nodes whose failure is a value.
    settled: BTreeSet<NodeId>,
}

impl<'a> Unroll<'a> {
    pub(crate) fn new(
        graph: &'a Graph,
        run: &'a RunState,
        live: bool,
        read: &'a Read<'a>,
        expanded: &'a BTreeSet<NodeId>,
    ) -> Result<Self, DriveError> {
        let end = match run.ended.map(read).transpose()? {
            Some(Event::Ended(ended)) => Some(ended.end),
            _ => None,
        };
        let blamed = match &end {
            Some(EndKind::Failed { failure }) if failure.class != FailureClass::DependencyFailed => {
                failure.path.parse().ok().map(|path| (path, failure.class))
            }
            _ => None,
        };
        let number = |node: &Node| (!node.pattern.is_empty()).then(|| run.number(&node.pattern)).flatten();
        let numbers = graph.nodes().map(number).collect();
        let (lines, settled) = (Lines::new(graph), graph.settled());
        Ok(Self { expanded, graph, run, lines, live, end, read, numbers, blamed, settled })
    }

    /// The plan itself.
    pub(crate) fn plan(&self) -> Result<Frame, DriveError> {
        let mut plan = self.frame(BodyId::PLAN, Place::ROOT)?;
        if matches!(self.end, Some(EndKind::Completed { .. } | EndKind::Failed { .. })) {
            plan.stop(Standing::NeverBegan);
        }
        Ok(plan)
    }

    /// Whether nothing is under way but waits.
    pub(super) fn only_time_moves_it(&self) -> bool {
        let under_way = self.run.cells().map(|(_, cell)| cell.status);
        let (mut waits, mut other) = (false, false);
        for status in under_way {
            waits |= matches!(status, CellStatus::Timed | CellStatus::Delayed);
            other |= matches!(status, CellStatus::Started | CellStatus::Interrupted);
        }
        waits && !other
    }

    /// The plan steps that today's plan has.
    pub(super) fn known(&self) -> BTreeSet<StepNo> {
        self.numbers.iter().copied().flatten().collect()
    }

    fn frame(&self, body: BodyId, place: Place) -> Result<Frame, DriveError> {
        let nodes = self.lines.nodes(self.graph.body(body));
        let lines = nodes.map(|node| self.line(node, place)).collect::<Result<_, _>>()?;
        Ok(Frame::new(body, lines))
    }

    fn line(&self, node: &Node, place: Place) -> Result<Line, DriveError> {
        let at = self.number(node.id).map(|step| Address { place, step });
        let inside = match &node.kind {
            Kind::Parallel { children, fan } => Some(self.children(at, children, fan, place)?),
            Kind::Each { body, fan, .. } => self.items(at, std::slice::from_ref(body), fan)?,
            Kind::Pipeline { stages, fan, .. } => self.items(at, stages, fan)?,
            Kind::Repeat(repeat) => self.rounds(at, repeat)?,
            Kind::Branch { arms, otherwise } => {
                let Some(decision) = self.decision(at)? else { return self.leaf(node, at) };
                let label = decision.strip_prefix("arm ");
                let arm = label.and_then(|label| arms.iter().find(|arm| arm.label == label));
                let body = arm.map(|arm| arm.body).or(otherwise.filter(|_| label.is_none()));
                let Some(body) = body else {
                    let words = format!("took {}, which is not in this plan", label.unwrap_or("otherwise"));
                    let state = State::new(Standing::Begun, words);
                    return Ok(self.single(node, state));
                };
                Some(Inside::Arm(self.frame(body, place)?))
            }
            Kind::Catch(catch) => Some(self.attempt(*catch, place)?),
            Kind::Call(body) => Some(Inside::Arm(self.frame(*body, place)?)),
            Kind::Recursive(recursive) => Some(Inside::Arm(self.frame(recursive.body, place)?)),
            Kind::Again { of } => self.levels(node, *of, &self.concrete(node, place))?,
            Kind::Then(_) => self.built(at)?,
            Kind::Review(review) => self.turns(at, review)?,
            _ => None,
        };
        let Some(inside) = inside else { return self.leaf(node, at) };
        let whole = if let Inside::Grown(built) = &inside { Some(self.whole_of(built)) } else { None };
        let mut line = Line::group(node.id, inside, self.settled.contains(&node.id));
        line.state = whole.unwrap_or(line.state);
        if let Some(class) = self.blame(node, at).filter(|_| !line.state.standing.fails()) {
            line.state = failed(class);
        }
        Ok(line)
    }

    /// The path of a node that has no cell of its own, at `place`.
    fn concrete(&self, node: &Node, place: Place) -> StepPath {
        node.pattern.fill(self.run.keys_around(place))
    }

    fn number(&self, node: NodeId) -> Option<StepNo> {
        self.numbers.get(node.0 as usize).copied().flatten()
    }

    /// How the run says this copy failed, if it is the one that failed the run.
    fn blame(&self, node: &Node, at: Option<Address>) -> Option<FailureClass> {
        let (path, class) = self.blamed.as_ref()?;
        (node.pattern.matches(path) && self.run.path(at?) == *path).then_some(*class)
    }

    fn leaf(&self, node: &Node, at: Option<Address>) -> Result<Line, DriveError> {
        let cell = at.and_then(|at| self.run.cell(at));
        let has_title = matches!(&node.kind, Kind::Agent(agent) if agent.title.is_some());
        let titled = cell.filter(|_| has_title).map(|cell| cell.request);
        let state = match cell {
            Some(cell) => self.cell(cell)?,
            None => self.blame(node, at).map_or_else(|| Standing::NotStarted.into(), failed),
        };
        Ok(Line { titled, ..self.single(node, state) })
    }

    fn single(&self, node: &Node, state: State) -> Line {
        let handled = self.settled.contains(&node.id);
        Line { node: node.id, state, inside: Inside::Nothing, handled, titled: None }
    }

    /// What people call the call that this record began.
    pub(super) fn title(&self, started: Seq) -> Option<String> {
        match (self.read)(started) {
            Ok(Event::Started(started)) => started.title,
            // The drawing is right without it; what cannot be read is told where it is needed.
            _ => None,
        }
    }

    /// The state of a concrete step.
    pub(super) fn cell(&self, cell: &Cell) -> Result<State, DriveError> {
        let state = match cell.status {
            CellStatus::Started if self.live => Standing::Running.into(),
            CellStatus::Started => State::new(Standing::Begun, "begun, no outcome recorded"),
            CellStatus::Succeeded => Standing::Done.into(),
            CellStatus::Failed => match (self.read)(cell.outcome)? {
                Event::Failed(event) => failed(event.failure.class),
                _ => Standing::Failed.into(),
            },
            CellStatus::Interrupted => Standing::Interrupted.into(),
            CellStatus::Asked if cell.suspended || self.run.ended.is_some() => Standing::Suspended.into(),
            CellStatus::Asked => Standing::Waiting.into(),
            CellStatus::Answered => match (self.read)(cell.outcome)? {
                Event::Expired(_) => State::new(Standing::Done, "expired, with a value"),
                _ => State::new(Standing::Done, "answered"),
            },
            CellStatus::Expired => failed(FailureClass::Expired),
            CellStatus::Timed if self.run.ended.is_some() => Standing::Suspended.into(),
            CellStatus::Timed => Standing::Timed.into(),
            CellStatus::Delayed => match (self.read)(cell.outcome)? {
                Event::Delayed(_) if self.run.ended.is_some() => {
                    State::new(Standing::Stopped, "failed, not tried again")
                }
                Event::Delayed(delayed) => {
                    let (failed, until) = (delayed.failure.class.sentence(), delayed.until);
                    State::new(Standing::Timed, format!("to be tried again at {until}: {failed}"))
                }
                _ => Standing::Timed.into(),
            },
            CellStatus::Superseded => State::new(Standing::NotStarted, "closed, to be asked again"),
            CellStatus::Decided => State::new(Standing::Done, "decided"),
        };
        if cell.rerun {
            // It is as if it had not started: what failed before does not hold anything up.
            return Ok(State::new(Standing::NotStarted, format!("{state}, to run again")));
        }
        Ok(state)
    }

    /// What was decided at a branch or a round of a loop.
    pub(super) fn decision(&self, at: Option<Address>) -> Result<Option<String>, DriveError> {
        let cell = at.and_then(|at| self.run.cell(at)).filter(|cell| cell.status == CellStatus::Decided);
        match cell.map(|cell| (self.read)(cell.outcome)).transpose()? {
            Some(Event::Decided(decided)) => Ok(Some(decided.decision)),
            _ => Ok(None),
        }
    }

    fn children(
        &self,
        at: Option<Address>,
        children: &[(String, BodyId)],
        bounds: &Bounds,
        place: Place,
    ) -> Result<Inside, DriveError> {
        let item = |(key, body): &(String, BodyId)| {
            Ok(Item { key: key.clone(), frames: vec![self.frame(*body, place)?] })
        };
        let items = children.iter().map(item).collect::<Result<_, DriveError>>()?;
        let members = if bounds.mode.quorum().is_some() { self.quorum(at)? } else { None };
        Ok(Inside::Fan(Fan::new(bounds.mode, members, items, Vec::new())))
    }

    fn items(
        &self,
        at: Option<Address>,
        stages: &[BodyId],
        bounds: &Bounds,
    ) -> Result<Option<Inside>, DriveError> {
        let Some((number, scope)) = at.and_then(|at| self.run.scope(at)) else { return Ok(None) };
        let item = |ordinal: &u32| {
            let place = Place { scope: number, ordinal: *ordinal };
            let frames = stages.iter().map(|body| self.frame(*body, place)).collect::<Result<_, _>>()?;
            Ok(Item { key: key(scope, *ordinal), frames })
        };
        let items = scope.order.iter().map(item).collect::<Result<_, DriveError>>()?;
        let chosen =
            at.map(|at| Address { place: Place { scope: number, ordinal: u32::MAX }, step: at.step });
        let members = if bounds.mode.quorum().is_some() { self.quorum(chosen)? } else { None };
        Ok(Some(Inside::Fan(Fan::new(bounds.mode, members, items, left_out(scope)))))
    }

    /// The recorded members of a quorum.
    fn quorum(&self, at: Option<Address>) -> Result<Option<Vec<usize>>, DriveError> {
        let members = self.decision(at)?.map(|members| serde_json::from_str(&members));
        members.transpose().map_err(|error| DriveError::Broken(format!("the members of a quorum: {error}")))
    }

    /// What a catch watches over may also fail in a way that leaves no record of its own; its else then says so.
    fn attempt(&self, catch: graph::Catch, place: Place) -> Result<Inside, DriveError> {
        let body = self.frame(catch.body, place)?;
        let otherwise = catch.or_else.map(|body| self.frame(body, place)).transpose()?;
        let begun = |frame: &Frame| frame.standing().is_some_and(|standing| standing != Standing::NotStarted);
        let otherwise = otherwise.filter(|frame| body.failed() || begun(frame));
        Ok(Inside::Catch(Catch { body, otherwise }))
    }

    fn rounds(&self, at: Option<Address>, repeat: &graph::Repeat) -> Result<Option<Inside>, DriveError> {
        let Some((at, (scope, _))) = at.and_then(|at| Some((at, self.run.scope(at)?))) else {
            return Ok(None);
        };
        let mut rounds = Vec::new();
        for ordinal in 1..=repeat.max.get() {
            let place = Place { scope, ordinal };
            let frame = self.frame(repeat.body, place)?;
            let decision = self.decision(Some(Address { place, step: at.step }))?;
            let again = decision.as_deref() == Some("again");
            let flow = match decision {
                Some(decision) => State::new(Standing::Done, decision),
                None => Standing::NotStarted.into(),
            };
            rounds.push(Round { frame, flow });
            if !again {
                return Ok(Some(Inside::Loop(Loop { rounds, otherwise: None, used_up: false })));
            }
        }
        let otherwise = repeat.or_else.map(|body| self.frame(body, at.place)).transpose()?;
        Ok(Some(Inside::Loop(Loop { rounds, otherwise, used_up: true })))
    }

    fn turns(&self, at: Option<Address>, review: &graph::Review) -> Result<Option<Inside>, DriveError> {
        let Some((at, (scope, _))) = at.and_then(|at| Some((at, self.run.scope(at)?))) else {
            return Ok(None);
        };
        let mut turns = Vec::new();
        for ordinal in 1..=review.max_rounds.get() {
            let place = Place { scope, ordinal };
            let cell = self.run.cell(Address { place, step: at.step });
            let mut question = match cell {
                Some(cell) => self.cell(cell)?,
                None => Standing::NotStarted.into(),
            };
            let answered = cell.filter(|cell| cell.status == CellStatus::Answered && !cell.rerun);
            let answer = answered.map(|cell| self.answer(cell)).transpose()?;
            if let Some(answer) = answer {
                let words = match answer {
                    Answer::Approved => "approved",
                    Answer::Edited => "approved with edits",
                    Answer::ChangesRequested => "changes requested",
                    Answer::Rejected => "rejected",
                };
                question = State::new(Standing::Done, words);
            }
            let revise = review
                .revise
                .filter(|_| answer == Some(Answer::ChangesRequested) && ordinal < review.max_rounds.get());
            let revision = revise.map(|body| self.frame(body, place)).transpose()?;
            let goes_on = revision
                .as_ref()
                .is_some_and(|frame| frame.standing().is_none_or(|standing| standing == Standing::Done));
            turns.push(Turn { question, answer, revision });
            if !goes_on {
                break;
            }
        }
        let way = match (review.end, turns.last().and_then(|turn| turn.answer)) {
            (ReviewEnd::Decide { approved, .. }, Some(Answer::Approved | Answer::Edited)) => Some(approved),
            (ReviewEnd::Decide { rejected, .. }, Some(Answer::Rejected)) => Some(rejected),
            _ => None,
        };
        let way = way.map(|body| self.frame(body, at.place)).transpose()?;
        Ok(Some(Inside::Review(Review { turns, many: review.revise.is_some(), way })))
    }

    fn answer(&self, cell: &Cell) -> Result<Answer, DriveError> {
        #[derive(Deserialize)]
        struct Given {
            decision: String,
        }
        let Event::Answered(answered) = (self.read)(cell.outcome)? else {
            return Err(DriveError::Broken(format!("record {} is not an answer", cell.outcome)));
        };
        let given: Given = serde_json::from_str(answered.answer.get())
            .map_err(|error| DriveError::Broken(format!("the answer in record {}: {error}", cell.outcome)))?;
        Ok(match given.decision.as_str() {
            "approve" => Answer::Approved,
            "edit" => Answer::Edited,
            "reject" => Answer::Rejected,
            _ => Answer::ChangesRequested,
        })
    }
}

fn key(scope: &Scope, ordinal: u32) -> String {
    scope.keys.get(ordinal).unwrap_or_else(|| ordinal.to_string())
}

/// The keys of recorded items that are not in today's list.
fn left_out(scope: &Scope) -> Vec<String> {
    // The members of a quorum are recorded behind all items.
    let recorded = scope.cells.keys().map(|(ordinal, _)| *ordinal).filter(|ordinal| *ordinal != u32::MAX);
    let recorded: BTreeSet<u32> = recorded.collect();
    let today: BTreeSet<u32> = scope.order.iter().copied().collect();
    recorded.difference(&today).map(|ordinal| key(scope, *ordinal)).collect()
}
