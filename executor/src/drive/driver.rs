//! The driver of one run: checks, then goes; writes what the walk asks for, starts calls as permits are free, and ends
//! when nothing more can move.

use crate::{
    error::DriveError,
    ledger::{Append, Lapsed, LedgerError},
    pacing::Lease,
    services::Services,
    walk::{At, CallEnd, ROOT, Then, Walk},
    watch::RunEvent,
};
use hermes_core::{
    digest::Digest,
    failure::{Failure, FailureClass},
    fold::RunStatus,
    ids::{RunId, RunNo, Seq},
    journal::{CancelAsked, CausesClosed, EndKind, Ended, Event, Record, Refused},
    path::StepPath,
    people::Actor,
    value::Val,
};
use hermes_plan::graph::Graph;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{
    Ending, RawOutcome,
    blocking::Claim,
    call::joined,
    cancel::Awaited,
    check::{Checked, already_parked, check, outcome, parked},
    pool::Pool,
};

/// Rows handed to the writer and not durable yet: beyond that, nothing new is dispatched.
const UNCOMMITTED: usize = 1024;

/// What others tell a live run.
pub(crate) enum Control {
    /// A question was answered, durably.
    Answered { question: Seq, seq: Seq, answer: Digest },
    /// A question expired, durably.
    Lapsed(Lapsed),
    /// A decision was made, durably: the run is to be looked at anew.
    Decided,
    /// Cancel the run, and say when it is done.
    Cancel { by: Actor, done: oneshot::Sender<()> },
    /// Cancel the calls that are named so, and say how many they were when they have ended.
    CancelSteps { steps: StepPath, asked: CancelAsked, done: oneshot::Sender<usize> },
}

pub(super) enum Message {
    Finished(At, CallEnd),
    /// An answer was refused; the call waits to hear as which record it is durable.
    Refused(At, Refused, oneshot::Sender<Seq>),
    Durable(Result<Seq, Arc<LedgerError>>),
}

/// What a drive is about.
pub(crate) struct Drive {
    pub(crate) services: Arc<Services>,
    pub(crate) id: RunId,
    pub(crate) run: RunNo,
    pub(crate) graph: Arc<Graph>,
    /// The input that was given with `start`.
    pub(crate) input: Option<Val>,
    pub(crate) control: mpsc::UnboundedReceiver<Control>,
    /// Whoever listens to it wants the run driven also while only time can move it.
    pub(crate) stay: Arc<watch::Sender<()>>,
}

pub(super) struct Driver {
    pub(super) services: Arc<Services>,
    pub(super) id: RunId,
    pub(super) run: RunNo,
    pub(super) walk: Walk,
    pub(super) pool: Pool,
    pub(super) messages: mpsc::UnboundedSender<Message>,
    inbox: mpsc::UnboundedReceiver<Message>,
    control: mpsc::UnboundedReceiver<Control>,
    stay: Arc<watch::Sender<()>>,
    /// Hears when the pace of a runner changes.
    pace: watch::Receiver<()>,
    /// What follows from appends that are not durable yet, in order.
    pending: VecDeque<Vec<(Then, Option<RunEvent>)>>,
    pending_rows: usize,
    pub(super) permits: BTreeMap<At, OwnedSemaphorePermit>,
    pub(super) tokens: BTreeMap<At, CancellationToken>,
    /// Calls that were cancelled before they began.
    pub(super) never_begin: BTreeSet<At>,
    /// The places of calls with their runners.
    pub(super) leases: BTreeMap<At, Lease>,
    /// Blocking steps on their threads.
    pub(super) blocking: BTreeMap<At, Arc<Claim>>,
    /// Why somebody has cancelled calls that have not ended.
    pub(super) whys: BTreeMap<At, Failure>,
    pub(super) awaited: Vec<Awaited>,
    /// Whether the limits that the journal knows of were passed on.
    pub(super) recalled: bool,
    /// Calls whose next turn waits for a refused answer to be durable.
    turns: BTreeMap<At, oneshot::Sender<Seq>>,
    pub(super) cancelled: Option<Actor>,
    cancel_done: Vec<oneshot::Sender<()>>,
    /// A decision was made: nothing new is dispatched, and once nothing runs the run is checked again.
    anew: bool,
}

/// Drives a run until it ends, or until nothing but a person can move it.
pub(crate) async fn drive(drive: Drive) -> Result<RawOutcome, DriveError> {
    let Drive { services, id, run, graph, input, mut control, stay } = drive;
    loop {
        let checked = {
            let (services, id, graph) = (Arc::clone(&services), id.clone(), Arc::clone(&graph));
            let input = input.clone();
            tokio::task::spawn_blocking(move || check(&services, &id, run, graph, input))
        };
        let checked = checked.await.map_err(|error| DriveError::Broken(joined(error)))??;
        let walk = match checked {
            Checked::Ended(outcome) => return Ok(*outcome),
            Checked::Goes(walk) => *walk,
        };
        let (messages, inbox) = mpsc::unbounded_channel();
        let driver = Driver {
            services: Arc::clone(&services),
            id: id.clone(),
            run,
            walk,
            pool: Pool::default(),
            messages,
            inbox,
            control,
            stay: Arc::clone(&stay),
            pace: services.pacing.changes(),
            pending: VecDeque::new(),
            pending_rows: 0,
            permits: BTreeMap::new(),
            tokens: BTreeMap::new(),
            never_begin: BTreeSet::new(),
            leases: BTreeMap::new(),
            blocking: BTreeMap::new(),
            whys: BTreeMap::new(),
            awaited: Vec::new(),
            recalled: false,
            turns: BTreeMap::new(),
            cancelled: None,
            cancel_done: Vec::new(),
            anew: false,
        };
        match driver.go().await? {
            Went::Ended(outcome) => return Ok(outcome),
            Went::Anew(back) => control = back,
        }
    }
}

/// What comes of a run in which nothing moves at this moment.
enum Settled {
    Ends(Ending),
    GoesOn,
    WaitsForTime,
}

enum Went {
    Ended(RawOutcome),
    Anew(mpsc::UnboundedReceiver<Control>),
}

impl Drop for Driver {
    /// Nobody will take in what comes of calls that are still under way: they are told to end.
    fn drop(&mut self) {
        for token in self.tokens.values() {
            token.cancel();
        }
    }
}

impl Driver {
    async fn go(mut self) -> Result<Went, DriveError> {
        self.walk.go();
        loop {
            self.tick()?;
            self.walk.turn();
            if let Some(why) = self.walk.broken() {
                return Err(DriveError::Broken(why.to_owned()));
            }
            self.anew |= self.walk.outdated();
            self.recall_limits();
            self.dispatch();
            self.cancel_what_was_asked();
            if self.flush()? {
                continue;
            }
            if self.idle() {
                match self.settle()? {
                    Settled::Ends(ending) => {
                        for done in self.cancel_done.drain(..) {
                            // Whoever asked has stopped waiting: the cancellation holds all the same.
                            let _ = done.send(());
                        }
                        return Ok(Went::Ended(outcome(&self.services, self.run, ending, &self.walk)?));
                    }
                    Settled::GoesOn if self.anew => {
                        let (_, closed) = mpsc::unbounded_channel();
                        return Ok(Went::Anew(std::mem::replace(&mut self.control, closed)));
                    }
                    Settled::GoesOn => continue,
                    Settled::WaitsForTime => {}
                }
            }
            self.wait().await?;
        }
    }

    /// Takes in how late it is: waits are over, and the time of questions.
    fn tick(&mut self) -> Result<(), DriveError> {
        let now = self.services.clock.now();
        self.walk.tick(now);
        if self.walk.lapses() {
            for Lapsed { question, seq, value } in self.services.ledger.lapse(self.run, now)? {
                self.walk.closed(question, seq, value);
            }
            self.walk.lapsed();
        }
        Ok(())
    }

    /// Whether nothing runs, nothing is being written and nothing can be dispatched.
    fn idle(&self) -> bool {
        self.pending.is_empty()
            && self.walk.calls_under_way().next().is_none()
            && (self.halted() || !self.wants_dispatch())
    }

    /// Whether nothing new is to be dispatched.
    fn halted(&self) -> bool {
        self.anew || self.cancelled.is_some()
    }

    /// Starts calls while permits are free.
    fn dispatch(&mut self) {
        while !self.halted() && self.wants_dispatch() && self.pending_rows < UNCOMMITTED {
            let Ok(permit) = Arc::clone(&self.services.permits).try_acquire_owned() else { return };
            if !self.dispatch_one(permit) {
                return;
            }
        }
    }

    fn dispatch_one(&mut self, permit: OwnedSemaphorePermit) -> bool {
        self.walk.measure(self.services.clock.now());
        let Some(at) = self.next_call() else { return false };
        self.permits.insert(at, permit);
        if !self.walk.waits_for_record(at) {
            self.begin(at);
        }
        true
    }

    fn cancel_what_was_asked(&mut self) {
        for at in self.walk.take_cancels() {
            match self.tokens.get(&at) {
                Some(token) => token.cancel(),
                // Its record is still being written: it will not begin.
                None if self.walk.call_mut(at).is_some_and(|call| call.under_way) => {
                    self.never_begin.insert(at);
                }
                None => {}
            }
        }
    }

    /// Hands what the walk wants written to the ledger. True when it is durable already: where nothing else runs or
    /// queues, the commit is made right here, without a hop to the writer's thread and back.
    fn flush(&mut self) -> Result<bool, DriveError> {
        let emits = self.walk.take_emits();
        if emits.is_empty() {
            return Ok(false);
        }
        let watched = self.services.watched();
        let mut append = self.append(Vec::with_capacity(emits.len()));
        let mut thens = Vec::with_capacity(emits.len());
        for emit in emits {
            let event = watched.then(|| self.event(&emit.record, &emit.then));
            append.records.push(emit.record);
            append.blobs.extend(emit.blobs);
            thens.push((emit.then, event));
        }
        let alone = self.pending.is_empty()
            && !self.walk.wants_dispatch()
            && self.walk.calls_under_way().all(|at| self.only_waits_for_its_record(at));
        if alone {
            let first = self.services.ledger.commit(self.run, append)?;
            self.durable(thens, first);
            return Ok(true);
        }
        self.pending_rows += thens.len();
        self.pending.push_back(thens);
        let messages = self.messages.clone();
        self.services.ledger.submit(self.run, append, move |result| {
            let _ = messages.send(Message::Durable(result));
        });
        Ok(false)
    }

    /// Records at the time the walk knows of: what has expired by then is recorded already.
    fn append(&self, records: Vec<Record>) -> Append {
        Append { records, blobs: Vec::new(), now: self.walk.time() }
    }

    /// Whether a call under way has not begun: its `Started` is only now being written.
    fn only_waits_for_its_record(&self, at: At) -> bool {
        self.walk.waits_for_record(at) && !self.tokens.contains_key(&at)
    }

    fn event(&self, record: &Record, then: &Then) -> RunEvent {
        RunEvent::new(&self.id, &self.walk, record, then)
    }

    fn durable(&mut self, thens: Vec<(Then, Option<RunEvent>)>, first: Seq) {
        for (seq, (then, event)) in (first.0..).zip(thens) {
            if let Some(event) = event {
                self.services.tell(event.at(Seq(seq)));
            }
            if let Then::Refused(at) = &then
                && let Some(go_on) = self.turns.remove(at)
            {
                // A call that was cancelled meanwhile does not listen any longer.
                let _ = go_on.send(Seq(seq));
            }
            let settles = match &then {
                Then::Settle(at, _) | Then::GivenUp(at, _) => Some(*at),
                _ => None,
            };
            let begins = self.walk.durable(then, Seq(seq));
            if let Some(at) = settles {
                self.outcome_durable(at);
            }
            if let Some(at) = begins {
                if self.never_begin.remove(&at) || self.halted() {
                    // It is durable as started, and never began.
                    let failure = Failure::new(FailureClass::Cancelled, "before it began");
                    let end = CallEnd::Failed { failure, may_have_acted: false };
                    let end = self.as_cancelled(at, end);
                    self.permits.remove(&at);
                    self.leases.remove(&at);
                    self.walk.finished(at, end);
                } else {
                    self.begin(at);
                }
            }
        }
    }

    /// Waits for the next thing that happens, and takes in everything that has happened by then.
    async fn wait(&mut self) -> Result<(), DriveError> {
        let wants = !self.halted() && self.wants_dispatch() && self.pending_rows < UNCOMMITTED;
        let permits = Arc::clone(&self.services.permits);
        let (clock, opening) = (self.services.clock.clone(), self.next_opening());
        let next = self.walk.next_instant().into_iter().chain(opening).min();
        let paced = self.walk.paced().next().is_some();
        let time = async {
            match next {
                Some(next) => clock.reaches(next).await,
                None => std::future::pending().await,
            }
        };
        let (stay, stays) = (Arc::clone(&self.stay), self.stays());
        tokio::select! {
            Some(message) = self.inbox.recv() => {
                self.take(message)?;
                while let Ok(message) = self.inbox.try_recv() {
                    self.take(message)?;
                }
            }
            Some(control) = self.control.recv() => self.obey(control),
            Ok(permit) = permits.acquire_owned(), if wants => {
                self.dispatch_one(permit);
            }
            // What is being written is durable in a moment, and then it is looked at how late it is.
            () = time, if self.pending.is_empty() => {}
            Ok(()) = self.pace.changed(), if paced => {}
            // Whoever wanted to wait for the time no longer does.
            () = stay.closed(), if stays => {}
        }
        Ok(())
    }

    fn take(&mut self, message: Message) -> Result<(), DriveError> {
        match message {
            Message::Refused(at, refused, go_on) => {
                self.turns.insert(at, go_on);
                self.walk.refused(at, refused);
            }
            Message::Finished(at, end) => {
                // Till when another attempt waits, counts from now.
                self.tick()?;
                self.turns.remove(&at);
                self.walk.measure(self.services.clock.now());
                self.permits.remove(&at);
                self.tokens.remove(&at);
                self.blocking.remove(&at);
                let end = self.paced(at, end);
                let end = self.as_cancelled(at, end);
                self.walk.finished(at, end);
                if let Some(why) = self.walk.broken() {
                    return Err(DriveError::Broken(why.to_owned()));
                }
            }
            Message::Durable(result) => {
                let first = result.map_err(DriveError::Writing)?;
                if let Some(thens) = self.pending.pop_front() {
                    self.pending_rows -= thens.len();
                    self.durable(thens, first);
                }
            }
        }
        Ok(())
    }

    fn obey(&mut self, control: Control) {
        match control {
            Control::Answered { question, seq, answer } => self.walk.closed(question, seq, Some(answer)),
            Control::Lapsed(Lapsed { question, seq, value }) => self.walk.closed(question, seq, value),
            Control::Decided => self.anew = true,
            Control::Cancel { by, done } => {
                self.cancel_done.push(done);
                self.cancel_run(by);
            }
            Control::CancelSteps { steps, asked, done } => self.cancel_steps(&steps, asked, done),
        }
    }

    /// Whether somebody wants the run driven also while only time can move it.
    fn stays(&self) -> bool {
        self.stay.receiver_count() > 0
    }

    /// Nothing moves any more: writes down why, and says how the drive ends.
    fn settle(&mut self) -> Result<Settled, DriveError> {
        if let Some(by) = self.cancelled.clone() {
            self.close(EndKind::Cancelled { by: by.clone() }, Digest::ZERO)?;
            return Ok(Settled::Ends(Ending::Cancelled(by)));
        }
        while let Ok(control) = self.control.try_recv() {
            self.obey(control);
        }
        self.walk.turn();
        if self.cancelled.is_some() || !self.walk.nothing_asked() || !self.idle() {
            return Ok(Settled::GoesOn);
        }
        if self.anew {
            return Ok(Settled::GoesOn);
        }
        if self.walk.give_places_away() {
            return Ok(Settled::GoesOn);
        }
        match self.walk.end().cloned() {
            Some(Ok((value, _))) if !self.walk.overspent() => {
                let end = EndKind::Completed { failed: self.walk.counts().failed };
                let closed = self.close(end, value.digest())?;
                Ok(if closed { Settled::Ends(Ending::Completed(value)) } else { Settled::GoesOn })
            }
            Some(Err(fault)) if !self.walk.undecided() => {
                let failure = Failure::clone(&fault.failure);
                let closed = self.close(EndKind::Failed { failure: failure.clone() }, Digest::ZERO)?;
                Ok(if closed { Settled::Ends(Ending::Failed(failure)) } else { Settled::GoesOn })
            }
            _ if self.walk.waits_to_call() => Ok(Settled::WaitsForTime),
            _ if !self.walk.undecided()
                && !self.walk.overspent()
                && self.stays()
                && self.walk.next_instant().is_some() =>
            {
                Ok(Settled::WaitsForTime)
            }
            _ => {
                let (mut records, mut stored) = (self.causes_closed(), Vec::new());
                let ending = if self.walk.undecided() || self.walk.overspent() {
                    let (groups, blobs) = self.walk.groups();
                    stored = blobs;
                    if !already_parked(self.walk.state(), &groups) {
                        records.push(parked(groups));
                    }
                    Ending::Parked
                } else if self.walk.open_questions() || self.walk.open_waits() {
                    Ending::Waiting
                } else {
                    return Err(DriveError::Stuck);
                };
                if !records.is_empty() {
                    let append = Append { blobs: stored, ..self.append(records) };
                    self.services.ledger.commit(self.run, append)?;
                }
                Ok(Settled::Ends(ending))
            }
        }
    }

    fn causes_closed(&self) -> Vec<Record> {
        let causes = self.walk.closable_causes();
        if causes.is_empty() {
            return Vec::new();
        }
        let event = Event::CausesClosed(CausesClosed { causes });
        vec![Record::new(ROOT, 0, Digest::ZERO, Digest::ZERO, &event)]
    }

    /// Writes how the run ended. False where somebody has cancelled it at the same moment: then it ends as that.
    fn close(&mut self, end: EndKind, output: Digest) -> Result<bool, DriveError> {
        let cancels = matches!(end, EndKind::Cancelled { .. });
        let mut records = if cancels { Vec::new() } else { self.causes_closed() };
        records.push(Record::new(ROOT, 0, Digest::ZERO, output, &Event::Ended(Ended { end })));
        let event = self
            .services
            .watched()
            .then(|| RunEvent::new(&self.id, &self.walk, &records[records.len() - 1], &Then::Nothing));
        let count = records.len() as u64;
        let append = self.append(records);
        let ledger = &self.services.ledger;
        // It was not when this drive began.
        let closed = ledger.transact(self.run, |summary| {
            let cancelled = summary.head().is_some_and(|head| head.status == RunStatus::Cancelled);
            if cancelled && !cancels { Err(()) } else { Ok((append, ())) }
        })?;
        let Ok((first, ())) = closed else {
            self.cancelled = Some(self.who_cancelled()?);
            return Ok(false);
        };
        if let Some(event) = event {
            self.services.tell(event.at(Seq(first.0 + count - 1)));
        }
        Ok(true)
    }
}
