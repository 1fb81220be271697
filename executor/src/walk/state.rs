//! The walk: a run's frames, and the queue of what is to be looked at next. It decides; it starts nothing.
//!
//! A walk first *checks*: it goes through everything that recorded outcomes reach and writes nothing. `go` then lets it
//! ask for records and calls. All of it is driven by `turn`, which works the queue off.

use super::{
    accounts::Accounts,
    adopt::Earlier,
    branch::Taken,
    call::CallState,
    changes::Changes,
    conflict::{Conflict, Doubtful},
    emit::Emit,
    failing::Failing,
    frame::{At, Fan, Frame, FrameId, FrameResult, Group, Hold, Phase, Slot},
    met::Met,
    pools::Pools,
    programs::Programs,
    today::Today,
};
use crate::program::{Program, RESULT};
use hermes_core::{
    digest::Digest,
    failure::FailureClass,
    fold::{RunState, Spending},
    ids::{Address, Place, RunId, ScopeNo, Seq, StepNo},
    journal::Record,
    path::{Mark, Segment, StepPath},
    schema::Schema,
    timestamp::Timestamp,
    value::{Fetch, Val},
};
use hermes_plan::{
    PlanErrors, ReadyTemplates,
    graph::{BodyId, Graph, Kind, Node, NodeId},
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

/// Reads what the walk does not keep in memory: the run's journal, template files, and what commands declare to read.
pub(crate) trait Lookup: Send + Sync {
    /// The whole record at `seq`.
    fn record(&self, seq: Seq) -> Result<Record, String>;
    /// The outcome that the run `parent` has at this path under this fingerprint.
    fn parent(&self, parent: &RunId, path: &StepPath, print: &Digest) -> Result<Option<Earlier>, String>;
    /// The outcome that any run really got under this fingerprint, of a step that says `.memo()`.
    fn memo(&self, print: &Digest) -> Result<Option<Earlier>, String>;
    /// Loads stored values when they are needed.
    fn fetch(&self) -> Arc<dyn Fetch>;
    /// What the run has spent, as far as it is durable.
    fn spending(&self) -> Result<Spending, String>;
    /// The template files that a part uses which was built on the way.
    fn templates(
        &self,
        graph: &Graph,
        outer: &dyn Fn(NodeId) -> Option<Schema>,
    ) -> Result<ReadyTemplates, PlanErrors>;
    /// The digest of a file, by its path in a directory below the executor's; zero where there is none.
    fn file(&self, directory: &str, path: &str) -> Result<Digest, String>;
    /// What a variable of the executor's own environment holds.
    fn variable(&self, name: &str) -> Option<String>;
    /// Hears what becomes of a step, for a rehearsal: not all of it has a record.
    fn note(&self, node: &Node, noted: Noted);
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    Done,
    Failed(FailureClass),
    /// A catch has caught a failure.
    Caught,
    /// An item of a fan-out has failed.
    ItemFailed,
}

/// What is to be looked at next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// A step all of whose needs have settled.
    Look(At),
    /// A frame all of whose steps have settled.
    Ended(FrameId),
    /// A loop or review that a check held back in the middle.
    GoOn(At),
}

/// A decision from when it is asked for until it is durable; and whether a cause lies above it.
pub(super) enum Decision {
    Arm(Taken, bool),
    Structure(BodyId, bool),
    Members,
}

/// How many steps came out how, in this walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Recorded steps that succeeded, reused ones included.
    pub ok: u64,
    /// Recorded steps that failed, reused failures included.
    pub failed: u64,
    /// Steps that did not start because something they need failed.
    pub skipped: u64,
    /// Recorded outcomes that were reused.
    pub reused: u64,
    /// Agent calls that were started.
    pub calls: u64,
    /// Fingerprints that were computed and compared with the journal.
    pub compared: u64,
}

/// The settings of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) crash_limit: Option<u32>,
    /// Tells the cookies of this executor from those of every other: two ledgers may have a run of one id.
    pub(crate) nonce: u64,
    /// Whether failed calls are tried again by themselves; not in a rehearsal.
    pub(crate) retries: bool,
}

/// A run being walked.
pub(crate) struct Walk {
    pub(super) programs: Programs,
    pub(super) state: RunState,
    pub(super) run: String,
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) fetch: Arc<dyn Fetch>,
    pub(super) settings: Settings,
    pub(super) frames: Vec<Option<Frame>>,
    pub(super) free: Vec<FrameId>,
    pub(super) closed: Vec<FrameId>,
    pub(super) work: VecDeque<Work>,
    pub(super) checking: bool,
    pub(super) held: Vec<At>,
    /// Whether a frame has failed since what is held back was looked at.
    pub(super) failed: bool,
    pub(super) ready: VecDeque<At>,
    pub(super) calls: BTreeMap<At, CallState>,
    /// Decisions that are not durable yet.
    pub(super) decided: BTreeMap<At, Decision>,
    /// The open questions, and till when they are open.
    pub(super) questions: BTreeMap<Seq, (At, Option<Timestamp>)>,
    /// The open questions that expire, the next one first.
    pub(super) expiring: BTreeSet<(Timestamp, Seq)>,
    /// Answers to questions whose opening the walk has not heard of; without a value, they expired.
    pub(super) early: BTreeMap<Seq, (Seq, Option<Digest>)>,
    /// The waits that go on, the next one first.
    pub(super) timers: BTreeSet<(Timestamp, At)>,
    /// The calls that have failed and are tried again.
    pub(super) failing: Failing,
    /// The run's time, as far as it was handed in: it never goes back.
    pub(super) time: Timestamp,
    pub(super) conflicts: Vec<Conflict>,
    pub(super) doubts: Vec<Doubtful>,
    /// What a check found to be written once the walk goes.
    pub(super) later: Vec<Emit>,
    /// What the plan says of finished steps that differ.
    pub(super) changes: Changes,
    /// The input that was given, where it is another than the run's.
    pub(super) other_input: Option<Val>,
    pub(super) emits: Vec<Emit>,
    pub(super) cancels: Vec<At>,
    /// What a check met, where somebody wants to know.
    pub(super) met: Option<BTreeMap<Address, Met>>,
    /// What was made of steps that differ, where somebody wants to know.
    pub(super) today: BTreeMap<Address, Today>,
    pub(super) pools: Pools,
    pub(super) accounts: Accounts,
    /// Items that kept their place when they went on to their next stage.
    pub(super) handed_over: Vec<FrameId>,
    /// How many fan-outs have begun.
    pub(super) ranks: u32,
    pub(super) next_scope: u32,
    pub(super) counts: Counts,
    pub(super) end: Option<FrameResult>,
    /// Whether the journal says something that only a walk of its own can take in.
    pub(super) outdated: bool,
    /// What made it impossible to go on reading the journal.
    pub(super) broken: Option<String>,
}

impl Walk {
    pub(crate) fn new(
        program: Arc<Program>,
        state: RunState,
        run: String,
        lookup: Arc<dyn Lookup>,
        settings: Settings,
    ) -> Self {
        let fetch = lookup.fetch();
        let programs = Programs::new(program, &state);
        let next_scope = u32::try_from(state.scopes.len()).unwrap_or(u32::MAX);
        let input = Val::stored(state.input, Arc::clone(&fetch), state.input_at.0);
        let accepted = state.cell(ROOT).is_some_and(|plan| state.below_own_cause(plan));
        let time = Timestamp::from_millis(state.summary.head().map_or(0, |head| head.updated));
        let mut walk = Self {
            programs,
            state,
            run,
            lookup,
            fetch,
            settings,
            frames: Vec::new(),
            free: Vec::new(),
            closed: Vec::new(),
            later: Vec::new(),
            work: VecDeque::new(),
            checking: true,
            held: Vec::new(),
            failed: false,
            ready: VecDeque::new(),
            calls: BTreeMap::new(),
            decided: BTreeMap::new(),
            questions: BTreeMap::new(),
            expiring: BTreeSet::new(),
            early: BTreeMap::new(),
            timers: BTreeSet::new(),
            failing: Failing::default(),
            time,
            conflicts: Vec::new(),
            doubts: Vec::new(),
            changes: Changes::default(),
            other_input: None,
            emits: Vec::new(),
            cancels: Vec::new(),
            met: None,
            today: BTreeMap::new(),
            pools: Pools::default(),
            accounts: Accounts::default(),
            handed_over: Vec::new(),
            ranks: 0,
            next_scope,
            counts: Counts::default(),
            end: None,
            outdated: false,
            broken: None,
        };
        let plan = walk.open_frame(BodyId::PLAN, Place::ROOT, None, vec![input], false);
        if accepted {
            walk.input_caused(plan);
        }
        walk
    }

    /// Lets the walk write and call, after a check that found nothing to decide.
    pub(crate) fn go(&mut self) {
        self.checking = false;
        self.name_steps();
        self.restore_places();
        self.write_changes();
        self.emits.append(&mut self.later);
        for at in std::mem::take(&mut self.held) {
            self.look_again(at);
        }
    }

    /// Works the queue off.
    pub(crate) fn turn(&mut self) {
        loop {
            while let Some(work) = self.work.pop_front() {
                if self.broken.is_some() {
                    return;
                }
                match work {
                    Work::Look(at) => self.look(at),
                    Work::Ended(frame) => self.frame_ended(frame),
                    Work::GoOn(at) => self.go_on(at),
                }
            }
            if !std::mem::take(&mut self.failed) {
                break;
            }
            if self.checking {
                self.let_go_of_what_will_not_start();
            } else {
                self.give_up_stopped();
            }
        }
        self.take_idle_places();
    }

    /// A check meets a failure later than the run did: what was held back before it, and stands where it stops everything,
    /// is looked at again.
    fn let_go_of_what_will_not_start(&mut self) {
        let (stopped, held): (Vec<At>, Vec<At>) =
            std::mem::take(&mut self.held).into_iter().partition(|at| self.stopped(at.frame));
        self.held = held;
        for at in stopped {
            self.look_again(at);
        }
    }

    fn look_again(&mut self, at: At) {
        if matches!(self.slot(at), Slot::Held) {
            *self.slot_mut(at) = Slot::Waiting(0);
            self.work.push_back(Work::Look(at));
        } else {
            self.work.push_back(Work::GoOn(at));
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// How the plan ended, once it has.
    pub(crate) fn end(&self) -> Option<&FrameResult> {
        self.end.as_ref()
    }

    /// Why the journal cannot be read any further.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Whether the run is to be checked anew.
    pub(crate) fn outdated(&self) -> bool {
        self.outdated
    }

    pub(crate) fn state(&self) -> &RunState {
        &self.state
    }

    pub(crate) fn open_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    pub(crate) fn take_emits(&mut self) -> Vec<Emit> {
        if !self.emits.is_empty() {
            self.write_time();
        }
        std::mem::take(&mut self.emits)
    }

    pub(crate) fn take_cancels(&mut self) -> Vec<At> {
        std::mem::take(&mut self.cancels)
    }

    // ---- frames and slots

    #[expect(
        clippy::expect_used,
        reason = "a frame outlives everything that names it: it ends when all has settled"
    )]
    pub(crate) fn frame(&self, id: FrameId) -> &Frame {
        self.frames[id.0 as usize].as_ref().expect("a live frame")
    }

    #[expect(
        clippy::expect_used,
        reason = "a frame outlives everything that names it: it ends when all has settled"
    )]
    pub(super) fn frame_mut(&mut self, id: FrameId) -> &mut Frame {
        self.frames[id.0 as usize].as_mut().expect("a live frame")
    }

    pub(crate) fn frames(&self) -> impl Iterator<Item = (FrameId, &Frame)> {
        (0..).zip(&self.frames).filter_map(|(id, frame)| Some((FrameId(id), frame.as_ref()?)))
    }

    pub(crate) fn slot(&self, at: At) -> &Slot {
        &self.frame(at.frame).slots[self.tables(at.node).local(at.node)]
    }

    pub(super) fn slot_mut(&mut self, at: At) -> &mut Slot {
        let local = self.tables(at.node).local(at.node);
        &mut self.frame_mut(at.frame).slots[local]
    }

    /// The copy of `node` that `frame` sees: in itself, or in the frame around it that has it.
    pub(super) fn seen_from(&self, frame: FrameId, node: NodeId) -> At {
        let body = self.node(node).body;
        let mut id = frame;
        loop {
            let frame = self.frame(id);
            match frame.parent {
                Some((group, _)) if frame.body != body => id = group.frame,
                _ => return At { frame: id, node },
            }
        }
    }

    pub(super) fn fan_mut(&mut self, at: At) -> Option<&mut Fan> {
        match self.slot_mut(at) {
            Slot::Group(group) => match &mut **group {
                Group::Fan(fan) => Some(fan),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn fan(&self, at: At) -> Option<&Fan> {
        match self.slot(at) {
            Slot::Group(group) => match &**group {
                Group::Fan(fan) => Some(fan),
                _ => None,
            },
            _ => None,
        }
    }

    /// Makes a copy of `body`, with `params` for its placeholders, and queues what can be looked at.
    pub(super) fn open_frame(
        &mut self,
        body: BodyId,
        place: Place,
        parent: Option<(At, u32)>,
        params: Vec<Val>,
        caused: bool,
    ) -> FrameId {
        let program = self.program_of_body(body);
        let plan = program.graph.body(body);
        let id = self.free.pop().unwrap_or(FrameId(u32::try_from(self.frames.len()).unwrap_or(u32::MAX)));
        let mut slots = Vec::with_capacity(plan.nodes.len());
        let mut params = plan.params.iter().copied().zip(params);
        let mut next_param = params.next();
        for node in &plan.nodes {
            slots.push(match next_param.take() {
                Some((param, value)) if param == *node => {
                    next_param = params.next();
                    Slot::Done(value, caused)
                }
                other => {
                    next_param = other;
                    let kind = &program.graph.node(*node).kind;
                    // A placeholder that was given no value would be a fault of ours; it stays unread.
                    match kind {
                        Kind::Placeholder(_) => Slot::Skipped,
                        Kind::Constant(value) => Slot::Done(value.clone(), false),
                        _ => Slot::Waiting(0),
                    }
                }
            });
        }
        let frame = Frame {
            body,
            place,
            parent,
            slots,
            unsettled: 0,
            failed: false,
            caused: caused || parent.is_some_and(|(group, _)| self.frame(group.frame).caused),
            waiters: BTreeMap::new(),
            keys: Vec::new(),
            active: 0,
            hold: Hold::None,
            begun: false,
            parked: Vec::new(),
        };
        if id.0 as usize == self.frames.len() {
            self.frames.push(Some(frame));
        } else {
            self.frames[id.0 as usize] = Some(frame);
        }
        let mut unsettled = 0;
        for node in &plan.nodes {
            let at = At { frame: id, node: *node };
            if self.slot(at).settled() {
                continue;
            }
            unsettled += 1;
            let mut missing = 0;
            for dep in program.deps(*node) {
                let source = self.seen_from(id, *dep);
                if !self.slot(source).settled() {
                    missing += 1;
                    if source.frame != id {
                        self.frame_mut(source.frame).waiters.entry(*dep).or_default().push(at);
                    }
                }
            }
            *self.slot_mut(at) = Slot::Waiting(missing);
            if missing == 0 {
                self.work.push_back(Work::Look(at));
            }
        }
        if program.outer_result(body) {
            let source = self.seen_from(id, plan.result);
            if !self.slot(source).settled() {
                unsettled += 1;
                let waiter = At { frame: id, node: RESULT };
                self.frame_mut(source.frame).waiters.entry(plan.result).or_default().push(waiter);
            }
        }
        self.frame_mut(id).unsettled = unsettled;
        if unsettled == 0 {
            self.work.push_back(Work::Ended(id));
        }
        id
    }

    pub(super) fn close_frame(&mut self, id: FrameId) {
        if let Some(frame) = self.frames[id.0 as usize].take() {
            self.forget_part(frame.body);
        }
        self.closed.push(id);
    }

    /// Lets the indices of closed frames be used again, once nothing names them any longer.
    pub(super) fn reclaim(&mut self) {
        self.free.append(&mut self.closed);
    }

    // ---- addresses and paths

    pub(crate) fn address(&self, at: At) -> Address {
        Address { place: self.frame(at.frame).place, step: self.number(at.node) }
    }

    /// The keys around a frame, outermost first: one for each frame that is a copy of an item or round.
    fn keys_around(&self, frame: FrameId) -> Vec<String> {
        let mut keys = Vec::new();
        let mut id = frame;
        while let Some((group, index)) = self.frame(id).parent {
            if let Slot::Group(kind) = self.slot(group) {
                match &**kind {
                    Group::Fan(fan) if fan.scope.is_some() => keys.push(fan.keys.get(index).to_string()),
                    Group::Loop(state) if !state.in_else => keys.push(state.round.to_string()),
                    Group::Review(turn) if turn.phase != Phase::Deciding => {
                        keys.push(turn.round.to_string());
                    }
                    _ => {}
                }
            }
            id = group.frame;
        }
        keys.reverse();
        keys
    }

    /// The path of a concrete step, for display and for its idempotency key.
    pub(crate) fn path(&self, at: At) -> StepPath {
        let node = self.node(at.node);
        let keys = self.keys_around(at.frame);
        if node.pattern.is_empty() {
            return self.frame_path(at.frame);
        }
        node.pattern.fill(keys)
    }

    /// The path of a question of a review: its name with the round.
    pub(crate) fn round_path(&self, at: At, round: u32) -> StepPath {
        let path = self.path(at);
        let mut segments = path.segments().to_vec();
        if let Some(last) = segments.last_mut() {
            *last = Segment { name: last.name.clone(), mark: Mark::Key(round.to_string()) };
        }
        StepPath::new(segments)
    }

    /// The path of what a frame is a copy of.
    fn frame_path(&self, frame: FrameId) -> StepPath {
        match self.frame(frame).parent {
            Some((group, index)) => {
                let path = self.path(group);
                match self.fan(group) {
                    Some(fan) => {
                        let mut segments = path.segments().to_vec();
                        if let Some(last) = segments.last_mut() {
                            last.mark = Mark::Key(fan.keys.get(index).to_string());
                        }
                        StepPath::new(segments)
                    }
                    None => path,
                }
            }
            None => StepPath::default(),
        }
    }

    pub(super) fn scope_place(scope: ScopeNo, ordinal: u32) -> Place {
        Place { scope, ordinal }
    }

    pub(super) fn break_off(&mut self, why: impl std::fmt::Display) {
        self.broken.get_or_insert_with(|| why.to_string());
    }
}

/// The address of what concerns the run as a whole.
pub(crate) const ROOT: Address = Address { place: Place::ROOT, step: StepNo(0) };
