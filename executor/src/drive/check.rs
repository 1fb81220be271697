//! The check before the go: what recorded outcomes reach is walked, and only what people decided, or have to decide, is
//! written.

use crate::{
    error::DriveError,
    ledger::Append,
    program::Program,
    services::Services,
    sweep::sweep_all,
    walk::{Lookup, ROOT, Settings, Walk, cancelled_call, renamed},
};
use hermes_core::{
    budget::Budget,
    digest::Digest,
    fold::{RunState, RunStatus},
    ids::{RunId, RunNo, Seq},
    journal::{EndKind, Ended, Event, Group, InputAccepted, Parked, Record},
    people::{Decision, NeedKind},
    value::Val,
};
use hermes_plan::graph::{Graph, Kind};
use std::{collections::BTreeSet, sync::Arc};

use super::{Ending, JournalLookup, RawOutcome};

/// What a check came to.
pub(super) enum Checked {
    Ended(Box<RawOutcome>),
    Goes(Box<Walk>),
}

/// What one look at a run found: what has to be written before the next, or what the run stands at.
pub(super) enum Found {
    /// These records carry out what people decided, or what the plan says; then it is looked at again.
    Append(Vec<Record>),
    /// There is something to decide first.
    Differs(Box<Walk>),
    /// The run has ended, with this record.
    Ended(Box<Walk>, Seq),
    /// The run can go on.
    Goes(Box<Walk>),
}

/// What a run is held against.
pub(super) struct Check<'a> {
    pub(super) services: &'a Arc<Services>,
    pub(super) id: &'a RunId,
    pub(super) program: Arc<Program>,
    pub(super) input: Option<Val>,
}

impl<'a> Check<'a> {
    pub(super) fn new(
        services: &'a Arc<Services>,
        id: &'a RunId,
        graph: Arc<Graph>,
        input: Option<Val>,
    ) -> Result<Self, DriveError> {
        let templates = services.templates.of(&graph, &|_| None)?;
        Ok(Self { services, id, program: Arc::new(Program::new(graph, templates)), input })
    }

    /// Walks everything that recorded outcomes reach, and writes nothing.
    pub(super) fn look(
        &self,
        state: RunState,
        lookup: Arc<dyn Lookup>,
        keep_met: bool,
    ) -> Result<Found, DriveError> {
        let services = self.services;
        fits(&state, &self.program.graph, self.id)?;
        let renames = renamed(&state, &self.program.graph);
        if !renames.is_empty() {
            return Ok(Found::Append(renames));
        }
        let retries = services.stand_in.is_none();
        let settings = Settings { crash_limit: services.crash_limit, nonce: services.nonce, retries };
        let mut walk = Walk::new(Arc::clone(&self.program), state, self.id.to_string(), lookup, settings);
        if keep_met {
            walk.keep_met();
        }
        if services.stand_in.is_some() {
            walk.without_budgets();
        }
        if let Some(input) = &self.input {
            walk.check_input(input);
        }
        walk.turn();
        services.count_compared(walk.counts().compared);
        if let Some(why) = walk.broken() {
            return Err(DriveError::Broken(why.to_owned()));
        }
        if !walk.state().decisions.is_empty() || !walk.state().directed.is_empty() {
            let mut records = accepted_inputs(services, walk.state())?;
            records.extend(walk.apply_decisions());
            records.push(parked(Vec::new()));
            return Ok(Found::Append(records));
        }
        if walk.differs() {
            return Ok(Found::Differs(Box::new(walk)));
        }
        if walk.state().summary.head().is_some_and(|head| head.status == RunStatus::Parked) {
            return Ok(Found::Append(vec![parked(Vec::new())]));
        }
        match walk.state().ended {
            Some(_) if !walk.changes().is_empty() => Ok(Found::Append(walk.changes())),
            Some(ended) => Ok(Found::Ended(Box::new(walk), ended)),
            None => Ok(Found::Goes(Box::new(walk))),
        }
    }
}

/// Walks everything that recorded outcomes reach, and writes only what people decided, or what they have to decide.
pub(super) fn check(
    services: &Arc<Services>,
    id: &RunId,
    run: RunNo,
    graph: Arc<Graph>,
    input: Option<Val>,
) -> Result<Checked, DriveError> {
    let ledger = &services.ledger;
    let check = Check::new(services, id, graph, input)?;
    let mut swept = false;
    loop {
        let now = services.clock.now();
        ledger.lapse(run, now)?;
        let state = ledger.state(run)?;
        if !swept {
            fits(&state, &check.program.graph, id)?;
            sweep_what_is_left(services, run, &state)?;
            swept = true;
        }
        let closed = cancelled_before(services, run, &state)?;
        if !closed.is_empty() {
            ledger.commit(run, Append { records: closed, blobs: Vec::new(), now })?;
            continue;
        }
        let lookup = Arc::new(JournalLookup::new(Arc::clone(services), run));
        match check.look(state, lookup, false)? {
            Found::Append(records) => {
                ledger.commit(run, Append { records, blobs: Vec::new(), now })?;
            }
            Found::Differs(walk) => {
                let (groups, blobs) = walk.groups();
                if !already_parked(walk.state(), &groups) {
                    ledger.commit(run, Append { records: vec![parked(groups)], blobs, now })?;
                }
                return Ok(Checked::Ended(Box::new(outcome(services, run, Ending::Parked, &walk)?)));
            }
            Found::Ended(walk, ended) => {
                return recorded_end(services, run, &walk, ended).map(|end| Checked::Ended(Box::new(end)));
            }
            Found::Goes(walk) => {
                if let Some(budget) = &walk.state().budget {
                    bounded(&check.program.graph, budget)?;
                }
                return Ok(Checked::Goes(walk));
            }
        }
    }
}

/// What somebody had cancelled when the process ended, as the records that say so: nothing of it is left any more.
fn cancelled_before(services: &Services, run: RunNo, state: &RunState) -> Result<Vec<Record>, DriveError> {
    let mut records = Vec::new();
    for (at, cell) in state.begun_or_delayed() {
        let Some(asked) = cell.cancelled else { continue };
        let record = services.ledger.record(run, asked)?;
        let event = record.event().map_err(|error| DriveError::Broken(error.to_string()))?;
        if let Event::CancelAsked(asked) = event {
            records.push(cancelled_call(state, at, cell, &asked));
        }
    }
    if let Some(by) = state.cancelled.clone() {
        let end = Event::Ended(Ended { end: EndKind::Cancelled { by } });
        records.push(Record::new(ROOT, 0, Digest::ZERO, Digest::ZERO, &end));
    }
    Ok(records)
}

/// The inputs that were accepted in the place of the run's.
fn accepted_inputs(services: &Services, state: &RunState) -> Result<Vec<Record>, DriveError> {
    let mut records = Vec::new();
    for made in state.decisions.iter().filter(|made| made.decision == Decision::Accept) {
        let Some(blob) = made.input else { continue };
        let bytes = services.ledger.blob(&blob)?.unwrap_or_default();
        let broken = |why: String| DriveError::Broken(format!("the accepted input does not read: {why}"));
        let text = String::from_utf8(bytes).map_err(|error| broken(error.to_string()))?;
        let json = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let digest = Val::from_json(json).digest();
        let input =
            serde_json::value::RawValue::from_string(text).map_err(|error| broken(error.to_string()))?;
        let event = Event::InputAccepted(InputAccepted { input, by: made.by.clone(), why: made.why.clone() });
        records.push(Record::new(ROOT, 0, digest, digest, &event));
    }
    Ok(records)
}

/// Ends what is left of calls that began and have no outcome. Before anything is written: of each call only the last
/// attempt is looked at, and that must not be a new one while an older one is left.
fn sweep_what_is_left(services: &Services, run: RunNo, state: &RunState) -> Result<(), DriveError> {
    let mut cookies = Vec::new();
    for (_, cell) in state.begun() {
        let record = services.ledger.record(run, cell.request)?;
        if let Event::Started(started) =
            record.event().map_err(|error| DriveError::Broken(error.to_string()))?
        {
            cookies.push(started.cookie);
        }
    }
    let killed = sweep_all(cookies.iter().map(String::as_str));
    if killed > 0 {
        tracing::info!(killed, %run, "ended what was left of interrupted attempts");
    }
    Ok(())
}

/// Refuses a budget of the run that an agent stands in without a bound on what a call of it costs.
pub(crate) fn bounded(graph: &Graph, budget: &Budget) -> Result<(), DriveError> {
    let lacking: Vec<_> = graph
        .nodes()
        .filter_map(|node| match &node.kind {
            Kind::Agent(agent) => Some((agent.lacks(budget)?, format!("`{}` ({})", node.pattern, node.at))),
            _ => None,
        })
        .collect();
    match lacking.first() {
        None => Ok(()),
        Some((unit, _)) => Err(DriveError::Unbounded {
            unit: *unit,
            steps: lacking.iter().filter(|(lacks, _)| lacks == unit).map(|(_, step)| step.clone()).collect(),
        }),
    }
}

/// Refuses a run that was begun with another plan.
pub(crate) fn same_plan(state: &RunState, graph: &Graph, id: &RunId) -> Result<(), DriveError> {
    match state
        .start
        .as_ref()
        .filter(|start| start.plan != graph.name() && !graph.old_names().contains(&start.plan))
    {
        None => Ok(()),
        Some(start) => Err(DriveError::OtherPlan {
            run: id.clone(),
            recorded: start.plan.clone(),
            given: graph.name().to_owned(),
        }),
    }
}

/// Refuses a run of another plan, or of one that yields another type.
fn fits(state: &RunState, graph: &Graph, id: &RunId) -> Result<(), DriveError> {
    let Some(start) = &state.start else {
        return Err(DriveError::Broken("the journal does not begin with the run's start".to_owned()));
    };
    same_plan(state, graph, id)?;
    if start.output_schema != graph.output().bare_id() {
        return Err(DriveError::OtherOutput { run: id.clone(), given: graph.output().label().to_owned() });
    }
    Ok(())
}

pub(super) fn parked(groups: Vec<Group>) -> Record {
    Record::new(ROOT, 0, Digest::ZERO, Digest::ZERO, &Event::Parked(Parked { groups }))
}

/// Whether the run is parked for exactly these groups: then nothing needs to be written again.
pub(super) fn already_parked(state: &RunState, groups: &[Group]) -> bool {
    let listed: BTreeSet<Digest> = state
        .summary
        .needs()
        .values()
        .filter_map(|need| match need.kind {
            NeedKind::Conflict { difference, .. } | NeedKind::Dropped { difference, .. } => Some(difference),
            NeedKind::InDoubt { key, .. } => Some(key),
            NeedKind::Budget { about, .. } => Some(about),
            NeedKind::Review { .. } => None,
        })
        .collect();
    let wanted: BTreeSet<Digest> = groups
        .iter()
        .map(|group| match group {
            Group::Conflict { difference, .. } | Group::Dropped { difference, .. } => *difference,
            Group::InDoubt { key, .. } => *key,
            Group::Budget { about, .. } => *about,
        })
        .collect();
    listed == wanted
}

pub(super) fn outcome(
    services: &Services,
    run: RunNo,
    ending: Ending,
    walk: &Walk,
) -> Result<RawOutcome, DriveError> {
    let records = services.ledger.records(run)?;
    Ok(RawOutcome { ending, counts: walk.counts(), until: walk.next_instant(), records })
}

/// What an ended run ended with: nothing is dispatched for it until it is retried.
fn recorded_end(services: &Services, run: RunNo, walk: &Walk, ended: Seq) -> Result<RawOutcome, DriveError> {
    let record = services.ledger.record(run, ended)?;
    let Event::Ended(end) = record.event().map_err(|error| DriveError::Broken(error.to_string()))? else {
        return Err(DriveError::Broken(format!("record {ended} is not the run's end")));
    };
    let ending = match (end.end, walk.end()) {
        (EndKind::Completed { .. }, Some(Ok((value, _)))) => Ending::Completed(value.clone()),
        (EndKind::Completed { .. }, _) => {
            return Err(DriveError::PlanGrew { steps: walk.unrecorded() });
        }
        (EndKind::Failed { failure }, _) => Ending::Failed(failure),
        (EndKind::Cancelled { by }, _) => Ending::Cancelled(by),
    };
    outcome(services, run, ending, walk)
}
