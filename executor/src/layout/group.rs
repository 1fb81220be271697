//! An unrolled run as a tree: a frame a copy of a body, a line a step or group in it. What a group's members make of it,
//! and what stops with it.

use super::standing::{Standing, State};
use hermes_core::{failure::FailureClass, ids::Seq};
use hermes_plan::graph::{BodyId, FanMode, NodeId};

/// One copy of a body.
pub(crate) struct Frame {
    pub(super) body: BodyId,
    pub(super) lines: Vec<Line>,
}

/// One copy of a step or group.
pub(super) struct Line {
    pub(super) node: NodeId,
    pub(super) state: State,
    pub(super) inside: Inside,
    /// The record that has its title, where it may have one.
    pub(super) titled: Option<Seq>,
    /// Whether its failure is a value, which fails nothing around it.
    pub(super) handled: bool,
}

/// What is unrolled below a line.
pub(super) enum Inside {
    /// Nothing: a step, or a group that has not begun.
    Nothing,
    Fan(Fan),
    Loop(Loop),
    /// The arm that was taken.
    Arm(Frame),
    Catch(Catch),
    /// What was built at run time.
    Grown(Vec<Built>),
    Review(Review),
}

/// The items of a fan-out.
pub(super) struct Fan {
    pub(super) mode: FanMode,
    /// Who the members of a quorum are, once that is decided.
    members: Option<Vec<usize>>,
    pub(super) items: Vec<Item>,
    /// Keys of items that were there once and are not in today's list.
    pub(super) left_out: Vec<String>,
}

/// An item: a frame a stage.
pub(super) struct Item {
    pub(super) key: String,
    pub(super) frames: Vec<Frame>,
}

/// A step that was built at run time, with all its copies.
pub(super) struct Built {
    pub(super) line: String,
    pub(super) copies: Vec<State>,
    /// The position of the group it stands in.
    pub(super) inside: Option<usize>,
}

/// What a catch watches over, and what comes instead.
pub(super) struct Catch {
    pub(super) body: Frame,
    /// The else: there once what it watches over has failed.
    pub(super) otherwise: Option<Frame>,
}

/// The rounds of a loop, from 1.
pub(super) struct Loop {
    pub(super) rounds: Vec<Round>,
    /// What yields the output when the rounds are used up.
    pub(super) otherwise: Option<Frame>,
    pub(super) used_up: bool,
}

/// A round of a loop.
pub(super) struct Round {
    pub(super) frame: Frame,
    /// `again`, `done`, or not decided yet.
    pub(super) flow: State,
}

/// The rounds of a review, from 1.
pub(super) struct Review {
    pub(super) turns: Vec<Turn>,
    /// Whether changes can be requested: without that there is one round.
    pub(super) many: bool,
    /// The way that the decision opened.
    pub(super) way: Option<Frame>,
}

/// A round of a review.
pub(super) struct Turn {
    pub(super) question: State,
    pub(super) answer: Option<Answer>,
    /// The revision that the answer asked for.
    pub(super) revision: Option<Frame>,
}

/// What a review was answered with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Approved,
    Edited,
    ChangesRequested,
    Rejected,
}

impl Frame {
    /// A frame of these lines: if one of them has failed, the others that have not started will not.
    pub(super) fn new(body: BodyId, lines: Vec<Line>) -> Self {
        let mut frame = Self { body, lines };
        if frame.failed() {
            frame.stop(Standing::Skipped);
        }
        frame
    }

    pub(super) fn failed(&self) -> bool {
        self.lines.iter().any(|line| !line.handled && line.state.standing.fails())
    }

    /// `None` where the frame has no step of its own.
    pub(super) fn standing(&self) -> Option<Standing> {
        Standing::of(self.lines.iter().map(Line::counts_as))
    }

    /// Nothing in it that has not started will; it is `to` instead.
    pub(super) fn stop(&mut self, to: Standing) {
        self.lines.iter_mut().for_each(|line| line.stop(to));
    }
}

fn stop(state: &mut State, to: Standing) {
    match state.standing {
        Standing::NotStarted => state.standing = to,
        Standing::Interrupted => *state = State::new(Standing::Stopped, Standing::Interrupted.word()),
        _ => {}
    }
}

impl Line {
    pub(super) fn group(node: NodeId, inside: Inside, handled: bool) -> Self {
        let state = inside.state().unwrap_or_else(|| Standing::NotStarted.into());
        Self { node, state, inside, handled, titled: None }
    }

    /// What it counts as in what it stands in: a failure that was handled is an outcome.
    pub(super) fn counts_as(&self) -> Standing {
        match self.state.standing {
            Standing::Failed | Standing::Cancelled | Standing::NeverBegan | Standing::Skipped
                if self.handled =>
            {
                Standing::Done
            }
            standing => standing,
        }
    }

    fn stop(&mut self, to: Standing) {
        if self.state.standing.settled() {
            return;
        }
        self.inside.frames(&mut |frame| frame.stop(to));
        match &mut self.inside {
            Inside::Loop(rounds) => rounds.rounds.iter_mut().for_each(|round| stop(&mut round.flow, to)),
            Inside::Review(review) => {
                review.turns.iter_mut().for_each(|turn| stop(&mut turn.question, to));
            }
            _ => {}
        }
        match self.inside.state() {
            Some(state) => self.state = state,
            None => stop(&mut self.state, to),
        }
    }
}

impl Inside {
    fn frames(&mut self, each: &mut impl FnMut(&mut Frame)) {
        match self {
            Self::Nothing | Self::Grown(_) => {}
            Self::Fan(fan) => fan.items.iter_mut().flat_map(|item| &mut item.frames).for_each(each),
            Self::Loop(Loop { rounds, otherwise, .. }) => {
                rounds.iter_mut().map(|round| &mut round.frame).chain(otherwise).for_each(each);
            }
            Self::Arm(frame) => each(frame),
            Self::Catch(Catch { body, otherwise }) => std::iter::once(body).chain(otherwise).for_each(each),
            Self::Review(review) => {
                let revisions = review.turns.iter_mut().filter_map(|turn| turn.revision.as_mut());
                revisions.chain(&mut review.way).for_each(each);
            }
        }
    }

    /// What the members make of the group; `None` where nothing is unrolled.
    fn state(&self) -> Option<State> {
        match self {
            // Of what was built, whoever reads the journal knows more.
            Self::Nothing | Self::Grown(_) => None,
            Self::Fan(fan) => Some(fan.state()),
            Self::Loop(rounds) => Some(rounds.state()),
            Self::Arm(frame) => Some(frame.standing().unwrap_or(Standing::Done).into()),
            Self::Catch(catch) => Some(catch.state()),
            Self::Review(review) => Some(review.state()),
        }
    }
}

impl Item {
    pub(super) fn standing(&self) -> Standing {
        Standing::of(self.frames.iter().filter_map(Frame::standing)).unwrap_or(Standing::Done)
    }
}

impl Fan {
    /// A fan-out of these items. An item that has failed does not go on to its next stage; if the fan-out fails fast,
    /// nothing more starts in it at all.
    pub(super) fn new(
        mode: FanMode,
        members: Option<Vec<usize>>,
        mut items: Vec<Item>,
        left_out: Vec<String>,
    ) -> Self {
        let mut tripped = false;
        for item in &mut items {
            if item.frames.iter().any(Frame::failed) {
                tripped |= mode == FanMode::FailFast;
                item.frames.iter_mut().for_each(|frame| frame.stop(Standing::Skipped));
            }
        }
        // Enough have succeeded: nothing new starts.
        if tripped || members.is_some() {
            items
                .iter_mut()
                .flat_map(|item| &mut item.frames)
                .for_each(|frame| frame.stop(Standing::Skipped));
        }
        Self { mode, members, items, left_out }
    }

    pub(super) fn standings(&self) -> impl Iterator<Item = Standing> {
        self.items.iter().map(Item::standing)
    }

    fn state(&self) -> State {
        let Some(standing) = Standing::of(self.standings()) else {
            return State::new(Standing::Done, "done, no items");
        };
        if let Some(members) = &self.members {
            let standings = members.iter().filter_map(|member| self.items.get(*member)).map(Item::standing);
            return match Standing::of(standings) {
                Some(Standing::Done) => {
                    State::new(Standing::Done, format!("done, {} of {}", members.len(), self.items.len()))
                }
                Some(standing) => standing.into(),
                None => Standing::Done.into(),
            };
        }
        let collects = self.mode != FanMode::FailFast;
        let failed = |standing: Standing| standing.fails() || standing == Standing::NeverBegan;
        let over = |standing: Standing| standing == Standing::Done || failed(standing);
        if !collects || !self.standings().all(over) {
            return standing.into();
        }
        match self.standings().filter(|standing| failed(*standing)).count() {
            0 => Standing::Done.into(),
            count => State::new(Standing::Done, format!("done, {count} of {} failed", self.items.len())),
        }
    }
}

impl Catch {
    fn state(&self) -> State {
        if !self.body.failed() {
            return self.body.standing().unwrap_or(Standing::Done).into();
        }
        let caught = || State::new(Standing::Done, "done, with its failure caught");
        match self.otherwise.as_ref().map(Frame::standing) {
            None | Some(None | Some(Standing::Done)) => caught(),
            Some(Some(Standing::NotStarted)) => Standing::Begun.into(),
            Some(Some(standing)) => standing.into(),
        }
    }
}

impl Round {
    pub(super) fn state(&self) -> State {
        match self.frame.standing() {
            None => self.flow.clone(),
            Some(Standing::Done) if self.flow.standing == Standing::Done => self.flow.clone(),
            Some(Standing::Done) => match self.flow.standing {
                Standing::NotStarted => Standing::Begun.into(),
                _ => Standing::Stopped.into(),
            },
            Some(standing) => standing.into(),
        }
    }
}

impl Loop {
    fn state(&self) -> State {
        let rounds = self.rounds.len();
        for (before, round) in self.rounds.iter().enumerate() {
            match round.state().standing {
                Standing::Done => {}
                // The rounds before it are something.
                Standing::NotStarted if before > 0 => return Standing::Begun.into(),
                standing => return standing.into(),
            }
        }
        if !self.used_up {
            return State::new(Standing::Done, format!("done in round {rounds}"));
        }
        let Some(otherwise) = &self.otherwise else { return failed(FailureClass::RoundsUsedUp) };
        match otherwise.standing().unwrap_or(Standing::Done) {
            Standing::Done => State::new(Standing::Done, "done, with its rounds used up"),
            Standing::NotStarted => Standing::Begun.into(),
            standing => standing.into(),
        }
    }
}

impl Turn {
    /// The state of the round: the answer, and how far what it asked for is.
    pub(super) fn state(&self) -> State {
        match self.revision.as_ref().and_then(Frame::standing) {
            Some(standing) if standing != Standing::Done => {
                State::new(standing, format!("changes requested, {}", standing.word()))
            }
            _ => self.question.clone(),
        }
    }
}

impl Review {
    /// The state of a review that was decided, as far as the way that opened is.
    fn decided(&self, words: String) -> State {
        match self.way.as_ref().and_then(Frame::standing) {
            None | Some(Standing::Done) => State::new(Standing::Done, words),
            Some(Standing::NotStarted) => State::new(Standing::Begun, words),
            Some(standing) => State::new(standing, format!("{words}, {}", standing.word())),
        }
    }

    fn state(&self) -> State {
        let Some(last) = self.turns.last() else { return Standing::NotStarted.into() };
        let round = if self.many { format!(" in round {}", self.turns.len()) } else { String::new() };
        match last.answer {
            Some(Answer::Approved) => self.decided(format!("approved{round}")),
            Some(Answer::Edited) => self.decided(format!("approved with edits{round}")),
            Some(Answer::Rejected) => self.decided(format!("rejected{round}")),
            // Nobody revises it any more.
            Some(Answer::ChangesRequested) if last.revision.is_none() => failed(FailureClass::NotApproved),
            Some(Answer::ChangesRequested) => match last.state().standing {
                Standing::NotStarted | Standing::Done => Standing::Begun.into(),
                standing => standing.into(),
            },
            None => match last.question.standing {
                Standing::NotStarted if self.turns.len() > 1 => Standing::Begun.into(),
                Standing::Waiting => State::new(Standing::Waiting, format!("waiting for an answer{round}")),
                _ => last.question.clone(),
            },
        }
    }
}

/// A failure, in the words of its class.
pub(super) fn failed(class: FailureClass) -> State {
    match class {
        FailureClass::Cancelled => Standing::Cancelled.into(),
        class => State::new(Standing::Failed, format!("failed: {}", class.sentence())),
    }
}
