//! Where records become a transaction: numbered, stamped, and folded into the heads and needs of their runs. No thread, no
//! lock and no clock is here, and nothing is written.

use super::{CommitBatch, LedgerError, Store, append::Prepared};
use hermes_core::{
    fold::{IllegalEvent, Summary},
    ids::{RunId, RunNo, Seq},
    journal::{Event, Kind, Record},
};
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

/// The run that an append is for.
#[derive(Debug)]
pub(super) enum Target {
    Run(RunNo),
    New(RunId),
}

/// A transaction in the making.
#[derive(Debug, Default)]
pub(super) struct Staged {
    batch: CommitBatch,
    runs: BTreeSet<RunNo>,
    needs: BTreeSet<(RunNo, Seq, u32)>,
    /// Why nothing of it may be written.
    broken: Option<LedgerError>,
}

/// The runs that are written to, each with its summary as of its last staged record.
#[derive(Debug, Default)]
pub(super) struct Desk {
    summaries: BTreeMap<RunNo, Summary>,
    /// The number of the next new run, once known.
    next: Option<u64>,
    /// How often everything here was forgotten.
    epoch: u64,
}

impl Desk {
    /// The run's summary; folded from its journal where it is not known yet.
    pub(super) fn summary(&mut self, store: &dyn Store, run: RunNo) -> Result<&mut Summary, LedgerError> {
        Ok(match self.summaries.entry(run) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(fold(store, run)?),
        })
    }

    /// Takes over a summary that a reader folded, unless something happened since `epoch`.
    pub(super) fn offer(&mut self, epoch: u64, run: RunNo, summary: &Summary) {
        if epoch == self.epoch {
            self.summaries.entry(run).or_insert_with(|| summary.clone());
        }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Forgets everything: after a failed commit only the store knows what is durable.
    pub(super) fn forget(&mut self) {
        *self = Self { epoch: self.epoch + 1, ..Self::default() };
    }

    /// Adds an append to a transaction: the run's number, and the position of its first record. Where it is refused,
    /// nothing has changed.
    pub(super) fn stage(
        &mut self,
        store: &dyn Store,
        staged: &mut Staged,
        target: Target,
        append: Prepared,
    ) -> Result<(RunNo, Seq), LedgerError> {
        if let Some(why) = &staged.broken {
            return Err(why.clone());
        }
        match target {
            Target::Run(run) => match self.extend(store, staged, run, append) {
                Err(error @ LedgerError::Illegal { .. }) => {
                    // A summary that is not what is staged would number the next records wrongly.
                    staged.broken = self.restore(store, staged, run).err();
                    Err(error)
                }
                extended => Ok((run, extended?)),
            },
            Target::New(id) => {
                let new = |(other, _): &(RunId, RunNo)| *other == id;
                if staged.batch.runs.iter().any(new) || store.open_run(&id)?.is_some() {
                    return Err(LedgerError::RunExists { ledger: store.name(), run: id });
                }
                let number = match self.next {
                    Some(next) => next,
                    None => store.next_run()?.0,
                };
                let run = RunNo(number);
                self.summaries.insert(run, Summary::default());
                let first = self.extend(store, staged, run, append).and_then(|first| {
                    // Without a head it would be a run that no list shows.
                    let head = self.summaries.get(&run).and_then(Summary::head);
                    if head.is_some_and(|head| head.id == id) { Ok(first) } else { Err(misfit(store, run)) }
                });
                if first.is_err() {
                    self.summaries.remove(&run);
                    staged.drop_run(run);
                } else {
                    self.next = Some(number + 1);
                    staged.batch.runs.push((id, run));
                }
                Ok((run, first?))
            }
        }
    }

    fn extend(
        &mut self,
        store: &dyn Store,
        staged: &mut Staged,
        run: RunNo,
        append: Prepared,
    ) -> Result<Seq, LedgerError> {
        let summary = self.summary(store, run)?;
        let (last, mut time) = summary.head().map_or((0, i64::MIN), |head| (head.records, head.updated));
        time = time.max(append.now);
        let mut records = append.records;
        let mut touched = BTreeSet::new();
        for (record, seq) in records.iter_mut().zip(last + 1..) {
            record.header.time = time;
            apply(summary, Seq(seq), record, &mut touched).map_err(|why| LedgerError::Illegal {
                ledger: store.name(),
                run: run.0,
                why,
            })?;
        }
        if !records.is_empty() {
            staged.runs.insert(run);
            staged.needs.extend(touched.into_iter().map(|(seq, position)| (run, seq, position)));
        }
        let memos = records.iter().zip(last..).filter(|(record, _)| record.header.kind == Kind::Memoised);
        staged
            .batch
            .memos
            .extend(memos.map(|(record, before)| (record.header.fingerprint, run, Seq(before))));
        let numbered = records.into_iter().zip(last + 1..).map(|(record, seq)| (run, Seq(seq), record));
        staged.batch.rows.extend(numbered);
        staged.batch.blobs.extend(append.blobs);
        Ok(Seq(last + 1))
    }

    /// Makes the summary anew after a refused append has marked it: from the store, and what is staged already.
    fn restore(&mut self, store: &dyn Store, staged: &Staged, run: RunNo) -> Result<(), LedgerError> {
        self.summaries.remove(&run);
        let new = staged.batch.runs.iter().any(|(_, number)| *number == run);
        let rows = staged.batch.rows.iter().filter(|(number, ..)| *number == run);
        let mut summary = if new { Summary::default() } else { fold(store, run)? };
        for (_, seq, record) in rows {
            summary.apply(*seq, record).map_err(|error| stored(store, run, &error))?;
        }
        self.summaries.insert(run, summary);
        Ok(())
    }

    /// Completes the transaction with the heads and needs of the runs it writes to.
    pub(super) fn seal(&self, staged: Staged) -> Result<CommitBatch, LedgerError> {
        let Staged { mut batch, runs, needs, broken } = staged;
        if let Some(why) = broken {
            return Err(why);
        }
        let head = |run: RunNo| Some((run, self.summaries.get(&run)?.head()?.clone()));
        batch.heads = runs.into_iter().filter_map(head).collect();
        let need = |(run, seq, position): (RunNo, Seq, u32)| {
            let need = self.summaries.get(&run).and_then(|summary| summary.needs().get(&(seq, position)));
            (run, seq, position, need.cloned())
        };
        batch.needs = needs.into_iter().map(need).collect();
        Ok(batch)
    }
}

impl Staged {
    /// Takes back what a run that is refused after all has staged. Its blobs may stay: they are what they are.
    fn drop_run(&mut self, run: RunNo) {
        self.batch.rows.retain(|(number, ..)| *number != run);
        self.batch.memos.retain(|(_, number, _)| *number != run);
        self.runs.remove(&run);
        self.needs.retain(|(number, ..)| *number != run);
    }
}

/// Takes one record into a summary, and notes which needs it opens or closes.
fn apply(
    summary: &mut Summary,
    seq: Seq,
    record: &Record,
    touched: &mut BTreeSet<(Seq, u32)>,
) -> Result<(), IllegalEvent> {
    match record.header.kind {
        Kind::Asked => {
            summary.apply(seq, record)?;
            touched.insert((seq, 0));
        }
        Kind::Answered => {
            summary.apply(seq, record)?;
            if let Event::Answered(answered) = record.event()? {
                touched.insert((answered.question, 0));
            }
        }
        Kind::Reassigned => {
            summary.apply(seq, record)?;
            if let Event::Reassigned(reassigned) = record.event()? {
                touched.insert((reassigned.question, 0));
            }
        }
        // These may touch any number of needs, and are rare.
        Kind::Expired
        | Kind::Superseded
        | Kind::Parked
        | Kind::DecisionMade
        | Kind::Caused
        | Kind::CancelAsked
        | Kind::Raised
        | Kind::Ended => {
            let keys = |summary: &Summary| summary.needs().keys().copied().collect::<BTreeSet<_>>();
            let before = keys(summary);
            summary.apply(seq, record)?;
            touched.extend(before.symmetric_difference(&keys(summary)));
        }
        _ => summary.apply(seq, record)?,
    }
    Ok(())
}

/// A run's summary, from its journal.
fn fold(store: &dyn Store, run: RunNo) -> Result<Summary, LedgerError> {
    let mut summary = Summary::default();
    store.records(run, &mut |seq, record| {
        summary.apply(seq, &record).map_err(|error| stored(store, run, &error))
    })?;
    if summary.head().is_none() {
        return Err(no_run(store, run));
    }
    Ok(summary)
}

/// The error for a stored record that cannot stand where it does.
pub(super) fn stored(store: &dyn Store, run: RunNo, error: &IllegalEvent) -> LedgerError {
    LedgerError::stored(store.name(), error.newer, format!("run number {run}: {error}"))
}

pub(super) fn no_run(store: &dyn Store, run: RunNo) -> LedgerError {
    LedgerError::NoSuchRun { ledger: store.name(), run: format!("number {run}") }
}

fn misfit(store: &dyn Store, run: RunNo) -> LedgerError {
    let why = IllegalEvent {
        seq: Seq(1),
        kind: Kind::RunStarted,
        why: "a new run's first record must begin it, under the id it is made with".to_owned(),
        newer: false,
    };
    LedgerError::Illegal { ledger: store.name(), run: run.0, why }
}
