//! How a rehearsal is asked for.

use super::{
    Rehearsal,
    endings::made_up,
    part::{Given, violations},
    run::Stage,
    search::Search,
};
use crate::{error::DriveError, ledger::Ledger};
use hermes_core::{data::Data, path::StepPath};
use hermes_plan::{
    AnyPlan, Plan,
    graph::{Graph, Kind, Node},
};
use serde::Serialize;
use serde_json::Value;
use std::{
    future::{Future, IntoFuture},
    path::PathBuf,
    pin::Pin,
    sync::Arc,
};

/// Rehearses plans: runs them with made-up values, and starts nothing.
pub trait Rehearse {
    /// What the plan takes; [`Sampled`] for a plan of which only the graph is known.
    type Input;

    /// Begins a rehearsal: the plan is run by the ordinary engine, over a ledger in memory, again and again, until each of
    /// its endings was seen or a bound is reached. `.await` it.
    ///
    /// In a rehearsed run
    ///
    /// - agents, commands, `files(..)` and local steps that are declared `Unsafe` or `Idempotent` are not called: their
    ///   outputs are values made from their schemas, which stand the step's own checks;
    /// - local steps that are `Pure` (what they are unless declared otherwise) do run, and so do all closures of the plan:
    ///   prompts, tests of arms, `.map(..)`;
    /// - questions and reviews are answered at once, or left to expire, and waits are over at once;
    /// - chosen steps fail.
    ///
    /// The same plan with the same seed is rehearsed the same way. Nothing is written outside the memory of the process.
    ///
    /// The endings are those that the plan shows before it runs: how each step ends, also by failing; each arm of a branch,
    /// and none; how a loop ends; each answer to a review; fan-outs of none, one and several items, with an item that fails;
    /// failures that are caught; questions that expire. What a `then` builds and the deeper levels of a `recursive` part
    /// are run too, but have no endings of their own here.
    ///
    /// ```
    /// use hermes_executor::Rehearse;
    /// use hermes_plan::prelude::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let plan = Plan::new("sorted", |report: Step<String>| {
    ///     let urgent = agent("judge").input("report", report).prompt("Is it urgent?").returns::<bool>();
    ///     branch("urgent", urgent)
    ///         .when("yes", |urgent| *urgent, |_| ask("who").title("Who takes it?").returns::<String>())
    ///         .otherwise(|_| value("later".to_owned()))
    /// })?;
    /// let rehearsal = plan.rehearse("Disk full on host 7".to_owned()).seed(7).await?;
    /// rehearsal.ensure_covered()?;
    /// assert_eq!(rehearsal.covered.len(), 5);
    /// # Ok(()) }
    /// ```
    fn rehearse(&self, input: Self::Input) -> Rehearsing;
}

/// In the place of an input: inputs are made from the plan's schema, as outputs are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled;

impl<I: Data, O: Data> Rehearse for Plan<I, O> {
    type Input = I;

    fn rehearse(&self, input: I) -> Rehearsing {
        Rehearsing::new(self.graph(), false).input(&input)
    }
}

impl Rehearse for AnyPlan {
    type Input = Sampled;

    fn rehearse(&self, _: Sampled) -> Rehearsing {
        Rehearsing::new(self.graph(), true)
    }
}

/// A rehearsal about to begin: say more, then `.await` it.
#[must_use = "a rehearsal begins when this is awaited"]
pub struct Rehearsing {
    graph: Arc<Graph>,
    seed: u64,
    runs: usize,
    inputs: Vec<Value>,
    sampled: bool,
    given: Vec<(String, Vec<Value>)>,
    templates: Option<PathBuf>,
    /// What cannot be said as JSON.
    wrong: Option<String>,
}

impl Rehearsing {
    fn new(graph: &Arc<Graph>, sampled: bool) -> Self {
        let graph = Arc::clone(graph);
        let (inputs, given) = (Vec::new(), Vec::new());
        Self { graph, seed: 0, runs: 200, inputs, sampled, given, templates: None, wrong: None }
    }

    /// Another seed, for other values. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The most runs. It ends sooner where every ending was seen, or was tried for often enough. Default: 200.
    pub fn runs(mut self, most: usize) -> Self {
        self.runs = most;
        self
    }

    /// Another input: each run has one of those given, or of [`Sampled`] ones.
    pub fn input<T: Serialize>(mut self, input: &T) -> Self {
        let input = self.json(input);
        self.inputs.extend(input);
        self
    }

    /// What the step with this path pattern (`drafts[*]/write`) yields, or how its question is answered: one of these each
    /// time. For what cannot be found by sampling.
    pub fn answers<T: Serialize>(
        mut self,
        pattern: impl Into<String>,
        answers: impl IntoIterator<Item = T>,
    ) -> Self {
        let answers = answers.into_iter().filter_map(|answer| self.json(&answer)).collect();
        self.given.push((pattern.into(), answers));
        self
    }

    /// Reads the files of `Template::file(path)` from this folder.
    pub fn templates(mut self, folder: impl Into<PathBuf>) -> Self {
        self.templates = Some(folder.into());
        self
    }

    fn json<T: Serialize>(&mut self, value: &T) -> Option<Value> {
        match serde_json::to_value(value) {
            Ok(value) => Some(value),
            Err(error) => {
                self.wrong
                    .get_or_insert_with(|| format!("a value given to a rehearsal is not JSON: {error}"));
                None
            }
        }
    }

    /// The given values by pattern, checked.
    fn given(&self) -> Result<Given, String> {
        let mut given = Given::new();
        let is_open = |node: &Node| matches!(node.kind, Kind::Then(_) | Kind::Again { .. });
        for (pattern, values) in &self.given {
            pattern.parse::<StepPath>().map_err(|error| error.to_string())?;
            let node = self.graph.nodes().find(|node| node.pattern.to_string() == *pattern);
            match node {
                Some(node) => {
                    let schema = match &node.kind {
                        Kind::Review(review) => &review.answer,
                        kind if made_up(kind) => &node.schema,
                        _ => {
                            return Err(format!(
                                "`.answers(\"{pattern}\", ..)`: the values of this {} are not made up; give those that it \
                                 is made from",
                                node.kind.word()
                            ));
                        }
                    };
                    let wrong = values.iter().find_map(|value| violations(schema, value));
                    if let Some(why) = wrong {
                        return Err(format!("`.answers(\"{pattern}\", ..)`: {why}"));
                    }
                }
                // Perhaps a part has it that is built on the way.
                None if self.graph.nodes().any(is_open) => {}
                None => {
                    let steps = self.graph.nodes().filter(|node| made_up(&node.kind));
                    let steps: Vec<_> = steps.map(|node| node.pattern.to_string()).collect();
                    return Err(format!(
                        "`.answers(\"{pattern}\", ..)`: the plan has no such step; there are {}",
                        steps.join(", ")
                    ));
                }
            }
            given.entry(pattern.clone()).or_default().extend(values.iter().cloned());
        }
        Ok(given)
    }

    async fn rehearse(self) -> Result<Rehearsal, DriveError> {
        if let Some(wrong) = self.wrong {
            return Err(DriveError::Input(wrong));
        }
        let given = Arc::new(self.given().map_err(DriveError::Input)?);
        if let Some(why) = self.inputs.iter().find_map(|input| violations(self.graph.input(), input)) {
            return Err(DriveError::Input(why));
        }
        let Self { graph, inputs, sampled, templates, seed, runs, .. } = self;
        let stage = Stage { graph, given, inputs, sampled, ledger: Ledger::in_memory()?, templates };
        Search::new(&stage, seed, runs).find(&stage).await
    }
}

impl IntoFuture for Rehearsing {
    /// # Errors
    /// When a given value does not fit, a template file has mistakes, or the engine finds one in the plan.
    type Output = Result<Rehearsal, DriveError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.rehearse())
    }
}
