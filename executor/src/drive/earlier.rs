//! Outcomes of other runs on the same ledger, for what takes them over.

use crate::{ledger::Ledger, walk::Earlier};
use hermes_core::{
    digest::Digest,
    fold::{CellStatus, RunState},
    ids::{Address, RunId, RunNo, Seq},
    journal::{Event, Kind, Record},
    path::StepPath,
    value::Val,
};
use std::{collections::BTreeMap, sync::OnceLock};

/// The run that another one was forked from, read once.
#[derive(Default)]
pub(super) struct Parent(OnceLock<Result<Known, String>>);

struct Known {
    number: RunNo,
    state: RunState,
    steps: BTreeMap<String, Address>,
}

impl Known {
    fn read(ledger: &Ledger, id: &RunId) -> Result<Self, String> {
        let number = ledger.find(id).map_err(|error| error.to_string())?;
        let number = number.ok_or_else(|| format!("the ledger no longer has the run `{id}`"))?;
        let state = ledger.state(number).map_err(|error| error.to_string())?;
        let steps = state.cells().map(|(at, _)| (state.path(at).to_string(), at)).collect();
        Ok(Self { number, state, steps })
    }
}

impl Parent {
    /// What the step at this path has come to there, if that was asked for with the same fingerprint.
    pub(super) fn outcome(
        &self,
        ledger: &Ledger,
        id: &RunId,
        path: &StepPath,
        print: &Digest,
    ) -> Result<Option<Earlier>, String> {
        let known = self.0.get_or_init(|| Known::read(ledger, id)).as_ref().map_err(String::clone)?;
        let path = path.to_string();
        let Some(cell) = known.steps.get(&path).and_then(|at| known.state.cell(*at)) else { return Ok(None) };
        let done = matches!(cell.status, CellStatus::Succeeded | CellStatus::Answered) && !cell.rerun;
        if !done || !cell.answers(print) {
            return Ok(None);
        }
        let record = ledger.record(known.number, cell.outcome).map_err(|error| error.to_string())?;
        earlier(ledger, (known.number, id.clone(), cell.outcome), path, &record).map(Some)
    }
}

/// What any run has really got under this fingerprint.
pub(super) fn memo(ledger: &Ledger, print: &Digest) -> Result<Option<Earlier>, String> {
    let say = |error: crate::ledger::LedgerError| error.to_string();
    let Some((run, seq)) = ledger.memo(print).map_err(say)? else { return Ok(None) };
    let record = ledger.record(run, seq).map_err(say)?;
    let note = ledger.record(run, Seq(seq.0 + 1)).map_err(say)?;
    if record.header.kind != Kind::Succeeded || record.header.fingerprint != *print {
        return Err(format!("record {seq} of run number {run} is not what it is noted as"));
    }
    let Ok(Event::Memoised(memoised)) = note.event() else {
        return Err(format!("record {seq} of run number {run} has no note behind it"));
    };
    let start = ledger.record(run, Seq(1)).map_err(say)?;
    let Ok(Event::RunStarted(start)) = start.event() else {
        return Err(format!("run number {run} does not begin with its start"));
    };
    earlier(ledger, (run, start.id, seq), memoised.path, &record).map(Some)
}

fn earlier(
    ledger: &Ledger,
    (number, run, outcome): (RunNo, RunId, Seq),
    path: String,
    record: &Record,
) -> Result<Earlier, String> {
    let receipt = match record.event().map_err(|error| error.to_string())? {
        Event::Succeeded(succeeded) => succeeded.receipt,
        Event::Adopted(adopted) => adopted.receipt,
        _ => None,
    };
    let value = Val::stored(record.header.output, ledger.fetcher(number), outcome.0);
    Ok(Earlier { run, path, outcome, value, receipt })
}
