//! One record more: the only place where a run's state changes.

use super::{Cell, CellStatus, IllegalEvent, Keys, RunState, state::Scope};
use crate::{
    ids::{Address, Seq, StepNo},
    journal::{CauseKind, Event, Frozen, FrozenKeys, Header, Kind, Named, Record},
    path::StepPath,
    timestamp::Timestamp,
};
use std::collections::{BTreeMap, btree_map::Entry};

impl RunState {
    /// Takes in the record at `seq`.
    ///
    /// # Errors
    /// When it cannot follow what stands before it. The state is then not to be used.
    pub fn apply(&mut self, seq: Seq, record: &Record) -> Result<(), IllegalEvent> {
        self.step(seq, record).map_err(|mut error| {
            if error.seq == Seq(0) {
                error.seq = seq;
                error.kind = record.header.kind;
            }
            error
        })
    }

    fn step(&mut self, seq: Seq, record: &Record) -> Result<(), IllegalEvent> {
        self.summary.apply(seq, record)?;
        let header = &record.header;
        let illegal = |why: &str| IllegalEvent::new(seq, header.kind, why);
        match header.kind {
            // The frequent ones need only their header.
            Kind::Started => return self.started(seq, header),
            Kind::Succeeded => return self.outcome(seq, header, CellStatus::Succeeded, false),
            Kind::Refused => return self.refused(seq, header),
            _ => {}
        }
        match record.event()? {
            Event::RunStarted(start) => {
                self.input = header.output;
                self.start = Some(start);
                // The plan itself is step 0: its cell holds the input's digest, so that another input is a difference
                // like any other.
                self.steps.push((StepPath::default(), "plan".to_owned()));
                self.numbers.insert(StepPath::default(), StepNo(0));
                let input = Header { fingerprint: header.output, ..*header };
                self.decided(seq, &input)?;
            }
            Event::Named(named) => self.named(seq, header, named)?,
            Event::Opened(opened) => {
                if opened.scope.0 as usize != self.scopes.len() || self.opened.contains_key(&header.at) {
                    return Err(illegal("the scope it opens is not the next one"));
                }
                self.known(seq, header)?;
                self.opened.insert(header.at, opened.scope);
                self.scopes.push(Scope::new(Some(header.at), Keys::Rounds));
            }
            Event::Frozen(frozen) => self.frozen(seq, header, frozen)?,
            Event::Decided(_) => self.decided(seq, header)?,
            Event::Failed(failed) => {
                self.outcome(seq, header, CellStatus::Failed, failed.may_have_acted)?;
            }
            Event::Interrupted(_) => {
                let (cell, _) = self.entry(seq, header, CellStatus::Interrupted)?;
                if cell.status != CellStatus::Started {
                    return Err(illegal("no attempt is open there"));
                }
                cell.status = CellStatus::Interrupted;
                cell.lost += 1;
            }
            Event::Asked(asked) => self.asked(seq, header, asked.expires.map(|expiry| expiry.at))?,
            Event::Timed(timed) => self.timed(seq, header, timed.until)?,
            Event::Caused(caused) => self.caused(seq, header, &caused.kind)?,
            Event::CausesClosed(closed) => {
                for cause in closed.causes {
                    if !self.causes.remove(&cause) {
                        return Err(illegal("a cause it closes is not open"));
                    }
                }
            }
            Event::Memoised(_) | Event::Late(_) => self.known(seq, header)?,
            Event::Ended(_) => {
                self.ended = Some(seq);
                self.cancelled = None;
            }
            Event::Delayed(delayed) => self.delayed(seq, header, &delayed)?,
            Event::CancelAsked(asked) => self.cancel_asked(seq, header, asked)?,
            event @ (Event::Answered(_) | Event::Expired(_) | Event::Superseded(_)) => {
                self.question_closed(seq, header, event)?;
            }
            event => self.said(seq, header, event)?,
        }
        Ok(())
    }

    pub(super) fn known(&self, seq: Seq, header: &Header) -> Result<(), IllegalEvent> {
        let illegal = |why: &str| IllegalEvent::new(seq, header.kind, why);
        if header.at.step.0 as usize >= self.steps.len() {
            return Err(illegal("its step has no name"));
        }
        if header.at.place.scope.0 as usize >= self.scopes.len() {
            return Err(illegal("its scope was never opened"));
        }
        Ok(())
    }

    /// The cell at the header's address, made with `status` where there is none, and whether it was.
    pub(super) fn entry(
        &mut self,
        seq: Seq,
        header: &Header,
        status: CellStatus,
    ) -> Result<(&mut Cell, bool), IllegalEvent> {
        self.known(seq, header)?;
        let Address { place, step } = header.at;
        let cells = &mut self.scopes[place.scope.0 as usize].cells;
        Ok(match cells.entry((place.ordinal, step)) {
            Entry::Occupied(entry) => (entry.into_mut(), false),
            Entry::Vacant(entry) => (entry.insert(Cell::new(status, header.fingerprint, seq)), true),
        })
    }

    /// A decision is a cell of its own, so that causes and acceptances have something to hold on to.
    pub(super) fn decided(&mut self, seq: Seq, header: &Header) -> Result<(), IllegalEvent> {
        let (cell, _) = self.entry(seq, header, CellStatus::Decided)?;
        cell.status = CellStatus::Decided;
        cell.fingerprint = header.fingerprint;
        cell.output = header.output;
        cell.outcome = seq;
        cell.request = seq;
        cell.accepted.clear();
        cell.rerun = false;
        Ok(())
    }

    fn named(&mut self, seq: Seq, header: &Header, named: Named) -> Result<(), IllegalEvent> {
        let illegal = |why: String| IllegalEvent::new(seq, header.kind, why);
        if named.first.0 as usize != self.steps.len() {
            return Err(illegal("its numbers do not follow those given before".to_owned()));
        }
        for kept in named.schemas {
            self.schemas.entry(kept.id).or_insert(seq);
        }
        for kept in named.constants {
            self.constants.entry(kept.digest).or_insert(seq);
        }
        for (number, (pattern, kind)) in (named.first.0..).zip(named.steps) {
            let pattern: StepPath = pattern.parse().map_err(|error| illegal(format!("{error}")))?;
            if self.numbers.insert(pattern.clone(), StepNo(number)).is_some() {
                return Err(illegal(format!("`{pattern}` has a number already")));
            }
            self.steps.push((pattern, kind));
        }
        Ok(())
    }

    fn started(&mut self, seq: Seq, header: &Header) -> Result<(), IllegalEvent> {
        let caused = !self.causes.is_empty();
        let (cell, fresh) = self.entry(seq, header, CellStatus::Started)?;
        if cell.status == CellStatus::Succeeded && !caused {
            return Err(IllegalEvent::new(seq, header.kind, "it is finished, and no cause is open"));
        }
        let same = cell.fingerprint == header.fingerprint && cell.generation == header.generation;
        if cell.status == CellStatus::Started && !fresh {
            cell.lost += 1;
        }
        cell.attempts = if same { cell.attempts + 1 } else { 1 };
        cell.tried_anew(same);
        cell.status = CellStatus::Started;
        cell.fingerprint = header.fingerprint;
        cell.generation = header.generation;
        cell.request = seq;
        cell.rerun = false;
        cell.may_have_acted = false;
        cell.accepted.clear();
        Ok(())
    }

    /// A paid answer is kept, whatever becomes of its attempt.
    fn refused(&mut self, seq: Seq, header: &Header) -> Result<(), IllegalEvent> {
        let (cell, fresh) = self.entry(seq, header, CellStatus::Started)?;
        if fresh || cell.status != CellStatus::Started || cell.fingerprint != header.fingerprint {
            return Err(IllegalEvent::new(seq, header.kind, "no attempt of this request is open there"));
        }
        cell.refused.push(seq);
        Ok(())
    }

    pub(super) fn outcome(
        &mut self,
        seq: Seq,
        header: &Header,
        status: CellStatus,
        may_have_acted: bool,
    ) -> Result<(), IllegalEvent> {
        let caused = !self.causes.is_empty();
        let (cell, fresh) = self.entry(seq, header, status)?;
        if !fresh && cell.status == CellStatus::Succeeded && !caused {
            return Err(IllegalEvent::new(seq, header.kind, "it is finished, and no cause is open"));
        }
        if fresh || !matches!(cell.status, CellStatus::Started | CellStatus::Timed | CellStatus::Delayed) {
            // A local step: one record is both request and outcome.
            cell.request = seq;
            cell.accepted.clear();
        }
        cell.status = status;
        cell.fingerprint = header.fingerprint;
        cell.generation = header.generation;
        cell.output = header.output;
        cell.outcome = seq;
        cell.lost = 0;
        cell.rerun = false;
        cell.may_have_acted = may_have_acted;
        cell.cancelled = None;
        Ok(())
    }

    fn asked(&mut self, seq: Seq, header: &Header, expires: Option<Timestamp>) -> Result<(), IllegalEvent> {
        let (cell, fresh) = self.entry(seq, header, CellStatus::Asked)?;
        if !fresh && cell.status == CellStatus::Asked {
            return Err(IllegalEvent::new(seq, header.kind, "a question is open there"));
        }
        cell.status = CellStatus::Asked;
        cell.fingerprint = header.fingerprint;
        cell.generation = header.generation;
        cell.request = seq;
        cell.outcome = seq;
        cell.accepted.clear();
        cell.rerun = false;
        cell.suspended = false;
        cell.instant = expires;
        Ok(())
    }

    fn timed(&mut self, seq: Seq, header: &Header, until: Timestamp) -> Result<(), IllegalEvent> {
        let caused = !self.causes.is_empty();
        let (cell, fresh) = self.entry(seq, header, CellStatus::Timed)?;
        if !fresh && cell.status == CellStatus::Succeeded && !caused {
            return Err(IllegalEvent::new(seq, header.kind, "it is finished, and no cause is open"));
        }
        cell.status = CellStatus::Timed;
        cell.fingerprint = header.fingerprint;
        cell.generation = header.generation;
        cell.request = seq;
        cell.outcome = seq;
        cell.accepted.clear();
        cell.rerun = false;
        cell.instant = Some(until);
        Ok(())
    }

    fn caused(&mut self, seq: Seq, header: &Header, kind: &CauseKind) -> Result<(), IllegalEvent> {
        self.causes.insert(seq);
        self.ended = None;
        if *kind == CauseKind::Extend {
            return Ok(());
        }
        if *kind == CauseKind::Retry {
            self.cancelled = None;
            let open = self.summary.needs();
            for cell in self.scopes.iter_mut().flat_map(|scope| scope.cells.values_mut()) {
                cell.suspended = false;
                if cell.status == CellStatus::Asked && !open.contains_key(&(cell.request, 0)) {
                    // It rested past its time.
                    cell.status = CellStatus::Superseded;
                }
                if matches!(
                    cell.status,
                    CellStatus::Failed | CellStatus::Interrupted | CellStatus::Expired | CellStatus::Delayed
                ) {
                    cell.cause = Some(seq);
                    cell.rerun = true;
                }
            }
            return Ok(());
        }
        if self.cell(header.at).is_none() {
            return Err(IllegalEvent::new(seq, header.kind, "nothing is recorded at its step"));
        }
        let cell = self.open_cause(seq, header)?;
        if *kind == CauseKind::Set {
            // Its outcome follows, and is not to be made.
            cell.rerun = false;
        }
        if *kind == CauseKind::InDoubt {
            // A person vouches for what came before.
            cell.lost = 0;
            cell.may_have_acted = false;
        }
        Ok(())
    }

    /// The cell at the header's address, with a cause of its own that asks it to run again.
    pub(super) fn open_cause(&mut self, seq: Seq, header: &Header) -> Result<&mut Cell, IllegalEvent> {
        self.causes.insert(seq);
        self.ended = None;
        let (cell, _) = self.entry(seq, header, CellStatus::Decided)?;
        cell.cause = Some(seq);
        cell.rerun = true;
        Ok(cell)
    }

    /// An outcome that nobody called for: the request stays the one that was recorded.
    pub(super) fn given(&mut self, seq: Seq, header: &Header) -> Result<(), IllegalEvent> {
        if self.cell(header.at).is_none() {
            return Err(IllegalEvent::new(seq, header.kind, "nothing is recorded at its step"));
        }
        let request = self.cell(header.at).map(|cell| cell.request);
        self.outcome(seq, header, CellStatus::Succeeded, false)?;
        let (cell, _) = self.entry(seq, header, CellStatus::Succeeded)?;
        cell.request = request.unwrap_or(seq);
        Ok(())
    }

    /// A plan step keeps its number, and what is recorded under it, under another path.
    pub(super) fn renamed(&mut self, seq: Seq, header: &Header, pattern: &str) -> Result<(), IllegalEvent> {
        let illegal = |why: String| IllegalEvent::new(seq, header.kind, why);
        self.known(seq, header)?;
        let pattern: StepPath = pattern.parse().map_err(|error| illegal(format!("{error}")))?;
        let step = header.at.step;
        if let Some(other) = self.numbers.get(&pattern).copied()
            && other != step
            && self.cells().any(|(at, _)| at.step == other)
        {
            return Err(illegal(format!("`{pattern}` has records of its own")));
        }
        let old = std::mem::replace(&mut self.steps[step.0 as usize].0, pattern.clone());
        self.numbers.remove(&old);
        self.numbers.insert(pattern, step);
        Ok(())
    }

    fn frozen(&mut self, seq: Seq, header: &Header, frozen: Frozen) -> Result<(), IllegalEvent> {
        let illegal = |why: &str| IllegalEvent::new(seq, header.kind, why);
        self.known(seq, header)?;
        let number = frozen.scope.0 as usize;
        if number == self.scopes.len() {
            if self.opened.insert(header.at, frozen.scope).is_some() {
                return Err(illegal("its fan-out has another scope already"));
            }
            self.scopes.push(Scope::new(Some(header.at), Keys::Positions(0)));
        } else if self.opened.get(&header.at) != Some(&frozen.scope) {
            return Err(illegal("its scope is that of another group"));
        }
        let scope = &mut self.scopes[number];
        if frozen.offset == 0 {
            scope.order.clear();
            scope.items.clear();
        }
        if frozen.offset as usize != scope.order.len() || frozen.items.len() != frozen.keys.len() {
            return Err(illegal("its chunks do not follow each other"));
        }
        let first = frozen.offset as usize;
        let keys = match (frozen.keys, &mut scope.keys) {
            (FrozenKeys::Positions { count }, Keys::Positions(known)) => {
                scope.order.extend(frozen.offset..frozen.offset + count);
                *known = (*known).max(frozen.offset + count);
                Vec::new()
            }
            (FrozenKeys::Positions { count }, _) => {
                (first..first + count as usize).map(|i| i.to_string()).collect()
            }
            (FrozenKeys::Named { keys }, Keys::Named(_)) => keys,
            (FrozenKeys::Named { keys }, Keys::Positions(known)) => {
                scope.keys = Keys::Named((0..*known).map(|i| i.to_string()).collect());
                keys
            }
            (FrozenKeys::Named { .. }, Keys::Rounds) => return Err(illegal("its scope is that of a loop")),
        };
        if let Keys::Named(known) = &mut scope.keys {
            // A map by key only where keys were there before: the first freeze appends.
            let before: BTreeMap<String, u32> = if first == known.len() {
                BTreeMap::new()
            } else {
                (0..).zip(known.iter()).map(|(ordinal, key)| (key.clone(), ordinal)).collect()
            };
            for key in keys {
                let ordinal = before.get(&key).copied().unwrap_or_else(|| {
                    known.push(key);
                    u32::try_from(known.len() - 1).unwrap_or(u32::MAX)
                });
                scope.order.push(ordinal);
            }
        }
        scope.items.extend(frozen.items);
        scope.frozen = frozen.last;
        if frozen.last {
            self.decided(seq, header)?;
        }
        Ok(())
    }
}
