//! Checking a store against itself: journals against what was derived from them, blobs against their digests.

use super::{LedgerError, Store, fetch::value};
use hermes_core::{
    digest::Digest,
    fold::{Head, RunState},
    ids::RunNo,
    journal::Record,
    people::Need,
};
use std::collections::BTreeMap;

/// What does not hold, in words.
pub(super) fn verify(store: &dyn Store) -> Result<Vec<String>, LedgerError> {
    let mut wrong = Vec::new();
    let mut heads: BTreeMap<RunNo, Head> = store.heads()?.into_iter().collect();
    let mut needs: BTreeMap<RunNo, Vec<Need>> = BTreeMap::new();
    for (run, need) in store.needs(None)? {
        needs.entry(run).or_default().push(need);
    }
    for (id, run) in store.runs()? {
        let Some(head) = heads.remove(&run) else {
            wrong.push(format!("run `{id}` has no head"));
            continue;
        };
        if head.id != id {
            wrong.push(format!("run number {run} is listed as `{id}`, and its head says `{}`", head.id));
        }
        journal(store, run, &head, &needs.remove(&run).unwrap_or_default(), &mut wrong);
    }
    wrong.extend(
        heads.iter().map(|(run, head)| format!("the head of run number {run} (`{}`) has no run", head.id)),
    );
    wrong.extend(needs.keys().map(|run| format!("run number {run} has needs, and there is no such run")));
    store.blobs(&mut |digest, bytes| {
        if Digest::of_bytes(bytes) != digest {
            wrong.push(format!("blob {digest} does not have the content it is named for"));
        }
    })?;
    Ok(wrong)
}

/// One run against its journal. A journal that does not read is a finding about that run, not the end of the check.
fn journal(store: &dyn Store, run: RunNo, head: &Head, needs: &[Need], wrong: &mut Vec<String>) {
    let id = &head.id;
    let mut state = RunState::default();
    let mut last = Ok(());
    let mut positions = Vec::new();
    let read = store.records(run, &mut |seq, record| {
        if last.is_ok() {
            last = state.apply(seq, &record);
        }
        if record.body.is_empty() {
            positions.push(seq);
        } else if let Err(why) = reads(&record) {
            wrong.push(format!("run `{id}`: record {seq}: {why}"));
        }
        Ok(())
    });
    if let Err(error) = read {
        wrong.push(format!("run `{id}`: {error}"));
        return;
    }
    // The long bodies that folding leaves out.
    for seq in positions {
        match store.body(run, seq) {
            Ok(record) => {
                if let Err(why) = reads(&record) {
                    wrong.push(format!("run `{id}`: record {seq}: {why}"));
                }
            }
            Err(error) => wrong.push(format!("run `{id}`: {error}")),
        }
    }
    if let Err(error) = last {
        wrong.push(format!("run `{id}`: {error}"));
        return;
    }
    if state.summary.head() != Some(head) {
        wrong.push(format!("the head of run `{id}` is not what its journal says"));
    }
    let folded: Vec<_> = state.summary.needs().values().cloned().collect();
    if folded != needs {
        wrong.push(format!("the needs of run `{id}` are not what its journal says"));
    }
}

/// That a record's body reads, and holds the value that its header names.
fn reads(record: &Record) -> Result<(), String> {
    record.event().map_err(|error| error.to_string())?;
    value(record).map(drop)
}
