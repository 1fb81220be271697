//! Starting, resuming and retrying runs.

use super::{
    handle::Executor,
    live::{Shared, Stays},
    run::Run,
};
use crate::{
    constants,
    drive::{bounded, same_plan},
    error::DriveError,
    ledger::{Append, LedgerError},
    schemas::unseen,
    services::Services,
};
use hermes_core::{
    budget::Budget,
    data::Data,
    digest::Digest,
    fold::{CellStatus, RunStatus},
    ids::{RunId, RunNo, StepNo},
    journal::{Budgeted, CauseKind, Caused, Event, Forked, Named, Record, RunStarted},
    path::StepPath,
    people::Actor,
    value::Val,
};
use hermes_plan::{Plan, graph::Graph};
use std::{
    collections::BTreeSet,
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
};

use crate::walk::ROOT;

type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A run about to start: give it an id with [`Start::id`], then `.await` it.
#[must_use = "a run starts when this is awaited"]
pub struct Start<O> {
    executor: Executor,
    graph: Arc<Graph>,
    input: Result<Val, String>,
    id: Option<String>,
    fork: Option<RunId>,
    afresh: Vec<String>,
    budget: Option<Budget>,
    output: PhantomData<fn() -> O>,
}

impl<O> Start<O> {
    /// The run's id: the same id again is the same run. Without one it gets an id of its own.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Forks it: a new run that takes over, instead of making it again, what the run `parent` has got at the same path for the
    /// same request, answers of people too. Its input may differ. Where each outcome is from stands in its record; it counts
    /// as costing nothing. Only where the run is new: one that the ledger has goes on as it was begun.
    pub fn fork_of(mut self, parent: &RunId) -> Self {
        self.fork = Some(parent.clone());
        self
    }

    /// What the run may spend in all. It is recorded, so that a resume knows it; given again for the same run, it takes the
    /// place of what was recorded, and of what it was raised to. Where it bounds money or tokens, each agent has to say what one
    /// call of it costs at most (`.budget(..)`), or the start is refused.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Takes nothing over at this path, or at any that this pattern names, nor inside a group that it names. May be said several
    /// times.
    pub fn afresh(mut self, steps: impl Into<String>) -> Self {
        self.afresh.push(steps.into());
        self
    }
}

impl<O: Data> IntoFuture for Start<O> {
    type Output = Result<Run<O>, DriveError>;
    type IntoFuture = Pending<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let shared = &self.executor.shared;
            let services = &shared.services;
            let input = self.input.map_err(DriveError::Input)?;
            services.can_run(&self.graph)?;
            if let Some(budget) = &self.budget {
                if budget.leaves_nothing() {
                    return Err(DriveError::EmptyBudget);
                }
                bounded(&self.graph, budget)?;
            }
            let id = match self.id {
                Some(id) => RunId::new(id)?,
                None => services.new_id(self.graph.name())?,
            };
            let fork = forked(services, &self.graph, self.fork, self.afresh)?;
            let run = match services.ledger.find(&id)? {
                Some(run) => {
                    budget_again(shared, &id, run, self.budget)?;
                    run
                }
                None => match create(services, &id, &self.graph, &input, (self.budget, fork)) {
                    // Somebody has begun it at the same moment: the same id is the same run.
                    Err(DriveError::Writing(error)) if matches!(*error, LedgerError::RunExists { .. }) => {
                        let found = services.ledger.find(&id)?;
                        found.ok_or_else(|| DriveError::NoSuchRun(id.to_string()))?
                    }
                    created => created?,
                },
            };
            let input = Some(input);
            let published = Shared::drive(shared, &id, run, &self.graph, input, Stays::No)?.published;
            Ok(Run { shared: Arc::clone(shared), id, graph: self.graph, published, output: PhantomData })
        })
    }
}

/// From which run it is forked, once it is known that it can be.
fn forked(
    services: &Services,
    graph: &Graph,
    parent: Option<RunId>,
    afresh: Vec<String>,
) -> Result<Option<Forked>, DriveError> {
    let Some(run) = parent else {
        return if afresh.is_empty() { Ok(None) } else { Err(DriveError::NoFork) };
    };
    for path in &afresh {
        let parsed = path.parse::<StepPath>();
        parsed.map_err(|error| DriveError::NotAPath { path: path.clone(), why: error.to_string() })?;
    }
    let Some(number) = services.ledger.find(&run)? else {
        return Err(DriveError::NoSuchRun(run.to_string()));
    };
    same_plan(&services.ledger.state(number)?, graph, &run)?;
    Ok(Some(Forked { run, afresh }))
}

/// Writes the beginning of a run.
fn create(
    services: &Services,
    id: &RunId,
    graph: &Graph,
    input: &Val,
    (budget, forked): (Option<Budget>, Option<Forked>),
) -> Result<RunNo, DriveError> {
    let text = input.text().map_err(|error| DriveError::Input(error.to_string()))?;
    let raw = serde_json::value::RawValue::from_string(text.to_string());
    let start = Event::RunStarted(RunStarted {
        id: id.clone(),
        plan: graph.name().to_owned(),
        input: raw.map_err(|error| DriveError::Input(error.to_string()))?,
        input_schema: graph.input().bare_id(),
        output_schema: graph.output().bare_id(),
        layout: hermes_plan::layout::Layout::new(graph).text(),
        forked,
    });
    let steps: Vec<_> = graph
        .nodes()
        .filter(|node| !node.pattern.is_empty())
        .map(|node| (node.pattern.to_string(), node.kind.word().to_owned()))
        .collect();
    let mut records = vec![Record::new(ROOT, 0, Digest::ZERO, input.digest(), &start)];
    if !steps.is_empty() {
        let schemas = unseen(graph, &mut BTreeSet::new());
        let constants = constants::unseen(graph, &mut BTreeSet::new());
        let named = Event::Named(Named { first: StepNo(1), steps, schemas, constants });
        records.push(Record::new(ROOT, 0, Digest::ZERO, Digest::ZERO, &named));
    }
    records.extend(budget.map(budgeted));
    Ok(services.ledger.create(id, services.append(records))?)
}

fn budgeted(budget: Budget) -> Record {
    Record::new(ROOT, 0, Digest::ZERO, Digest::ZERO, &Event::Budgeted(Budgeted { budget }))
}

/// Gives a run that there is another budget.
fn budget_again(shared: &Shared, id: &RunId, run: RunNo, budget: Option<Budget>) -> Result<(), DriveError> {
    let Some(budget) = budget else { return Ok(()) };
    let services = &shared.services;
    let state = services.ledger.state(run)?;
    if state.budget == Some(budget) || state.ended.is_some() {
        return Ok(());
    }
    services.ledger.commit(run, services.append(vec![budgeted(budget)]))?;
    shared.tell_decision(id);
    Ok(())
}

impl Executor {
    /// Starts a run of `plan` with `input`. Durable once awaited. With the id of a run that the ledger has, it goes on
    /// with that run; the input must then be the same.
    pub fn start<I: Data, O: Data>(&self, plan: &Plan<I, O>, input: I) -> Start<O> {
        let graph = Arc::clone(plan.graph());
        let input = Val::encode_as(&input, graph.input()).map_err(|error| error.to_string());
        self.start_graph(graph, input)
    }

    /// The same without the plan's types.
    pub(crate) fn start_graph<O: Data>(&self, graph: Arc<Graph>, input: Result<Val, String>) -> Start<O> {
        let (fork, afresh, budget) = (None, Vec::new(), None);
        Start { executor: self.clone(), graph, input, id: None, fork, afresh, budget, output: PhantomData }
    }

    /// Goes on with a run, with the input it was started with.
    ///
    /// # Errors
    /// When the ledger has no such run, or it does not fit the plan.
    #[expect(
        clippy::unused_async,
        reason = "awaited like `start` and `retry`; a ledger elsewhere will need it"
    )]
    pub async fn resume<I: Data, O: Data>(
        &self,
        plan: &Plan<I, O>,
        id: impl Into<String>,
    ) -> Result<Run<O>, DriveError> {
        let id = RunId::new(id)?;
        let Some(run) = self.shared.services.ledger.find(&id)? else {
            return Err(DriveError::NoSuchRun(id.to_string()));
        };
        let graph = Arc::clone(plan.graph());
        let published = Shared::drive(&self.shared, &id, run, &graph, None, Stays::No)?.published;
        Ok(Run { shared: Arc::clone(&self.shared), id, graph, published, output: PhantomData })
    }

    /// Goes on with a completed run whose plan has grown since: the new steps run, what is recorded is reused.
    ///
    /// # Errors
    /// When the ledger has no such run, it does not fit the plan, it is being driven, or it has not completed.
    pub async fn extend<I: Data, O: Data>(
        &self,
        plan: &Plan<I, O>,
        id: impl Into<String>,
    ) -> Result<Run<O>, DriveError> {
        let id = RunId::new(id)?;
        let services = &self.shared.services;
        let Some(run) = services.ledger.find(&id)? else {
            return Err(DriveError::NoSuchRun(id.to_string()));
        };
        if self.shared.is_live(&id) {
            return Err(DriveError::Live(id));
        }
        services.can_run(plan.graph())?;
        let status = services.ledger.state(run)?.summary.head().map(|head| head.status);
        if status != Some(RunStatus::Completed) {
            return Err(DriveError::NotCompleted(id));
        }
        let event = Event::Caused(Caused { kind: CauseKind::Extend, by: Actor::default(), why: None });
        let record = Record::new(ROOT, 0, Digest::ZERO, Digest::ZERO, &event);
        let append = Append { records: vec![record], blobs: Vec::new(), now: services.clock.now() };
        services.ledger.commit(run, append)?;
        self.resume(plan, id.as_str()).await
    }

    /// Tries everything that failed, expired or was cancelled again, then goes on with the run. What succeeded is reused.
    ///
    /// # Errors
    /// When the ledger has no such run, it does not fit the plan, or it is being driven.
    pub async fn retry<I: Data, O: Data>(
        &self,
        plan: &Plan<I, O>,
        id: impl Into<String>,
    ) -> Result<Run<O>, DriveError> {
        let id = RunId::new(id)?;
        let services = &self.shared.services;
        let Some(run) = services.ledger.find(&id)? else {
            return Err(DriveError::NoSuchRun(id.to_string()));
        };
        if self.shared.is_live(&id) {
            return Err(DriveError::Live(id));
        }
        services.can_run(plan.graph())?;
        let now = services.clock.now();
        services.ledger.lapse(run, now)?;
        let state = services.ledger.state(run)?;
        let failed = state
            .cells()
            .any(|(_, cell)| matches!(cell.status, CellStatus::Failed | CellStatus::Expired) && !cell.rerun);
        let ended = state
            .summary
            .head()
            .is_some_and(|head| matches!(head.status, RunStatus::Failed | RunStatus::Cancelled));
        if failed || ended {
            let event = Event::Caused(Caused { kind: CauseKind::Retry, by: Actor::default(), why: None });
            let record = Record::new(ROOT, 0, Digest::ZERO, Digest::ZERO, &event);
            let append = Append { records: vec![record], blobs: Vec::new(), now };
            services.ledger.commit(run, append)?;
        }
        self.resume(plan, id.as_str()).await
    }
}
