//! Faults on order: every place where something can go wrong says that it was reached, and one of them goes wrong once.

use super::answers;
use hermes_workflows::{
    executor::{BoxFuture, CallWatch, Expect, RunnerIdentity},
    prelude::*,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What a panic and an error of an ordered fault say.
pub(crate) const SAYS: &str = "a fault on order";

/// How a place goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It returns an error.
    Fails,
    /// It panics.
    Panics,
    /// It never ends, and its time limit ends it.
    TimesOut,
}

impl Fault {
    /// In a word.
    pub(crate) fn does(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Panics => "panics",
            Self::TimesOut => "times out",
        }
    }
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    Agent,
    /// A local step.
    Step,
    /// A closure that is called whenever a walk needs it, and so is not counted: of `map`, `key_by` and the like.
    Closure,
}

/// A place where something can go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) stands: Stands,
    /// The path of the step that fails with it.
    pub(crate) blames: String,
    pub(crate) faults: Vec<Fault>,
}

impl Place {
    /// What the failure is called.
    pub(crate) fn class(&self, fault: Fault) -> FailureClass {
        match (fault, self.stands) {
            (Fault::Fails, Stands::Agent) => FailureClass::RunnerError,
            (Fault::Fails, _) => FailureClass::Rejected,
            (Fault::Panics, _) => FailureClass::Panicked,
            (Fault::TimesOut, _) => FailureClass::TimedOut,
        }
    }
}

#[derive(Default)]
struct Inner {
    ordered: Option<(String, Fault)>,
    /// The places by name, and how often each was reached.
    reached: BTreeMap<String, (Place, u64)>,
}

/// What all places of a plan, and its runner, share. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Faults {
    inner: Arc<Mutex<Inner>>,
    /// What the agent of a name says, where that decides which way the plan takes.
    says: Option<(&'static str, String)>,
}

impl Faults {
    /// The same, where the agents of this name begin every answer with these words.
    pub(crate) fn saying(agent: &'static str, words: &str) -> Self {
        Self { says: Some((agent, words.to_owned())), ..Self::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything, and orders a fault.
    pub(crate) fn order(&self, fault: Option<(&str, Fault)>) {
        let ordered = fault.map(|(name, fault)| (name.to_owned(), fault));
        *self.inner() = Inner { ordered, ..Inner::default() };
    }

    /// Whether the fault that was ordered is still to come.
    pub(crate) fn pending(&self) -> bool {
        self.inner().ordered.is_some()
    }

    /// The places reached so far.
    pub(crate) fn places(&self) -> BTreeMap<String, Place> {
        self.inner().reached.iter().map(|(name, (place, _))| (name.clone(), place.clone())).collect()
    }

    /// How often each place was reached that is counted.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        let inner = self.inner();
        let counted = inner.reached.iter().filter(|(_, (place, _))| place.stands != Stands::Closure);
        counted.map(|(name, (_, count))| (name.clone(), *count)).collect()
    }

    fn reach(&self, name: &str, place: Place) -> Option<Fault> {
        let mut inner = self.inner();
        inner.reached.entry(name.to_owned()).or_insert((place, 0)).1 += 1;
        inner.ordered.take_if(|(ordered, _)| ordered == name).map(|(_, fault)| fault)
    }

    fn step(&self, path: &str, faults: &[Fault]) -> Option<Fault> {
        let place = Place { stands: Stands::Step, blames: path.to_owned(), faults: faults.to_vec() };
        self.reach(path, place)
    }

    /// In a closure of a local step that can only panic.
    pub(crate) fn run(&self, path: &str) {
        assert_ne!(self.step(path, &[Fault::Panics]), Some(Fault::Panics), "{SAYS}");
    }

    /// In a closure of a local step that may fail.
    pub(crate) fn try_run(&self, path: &str) -> Result<(), String> {
        match self.step(path, &[Fault::Fails, Fault::Panics]) {
            Some(Fault::Panics) => panic!("{SAYS}"),
            Some(_) => Err(SAYS.to_owned()),
            None => Ok(()),
        }
    }

    /// In a local step that is a future with a time limit, and may fail.
    pub(crate) async fn run_async(&self, path: &str) -> Result<(), String> {
        match self.step(path, &[Fault::Fails, Fault::Panics, Fault::TimesOut]) {
            Some(Fault::Fails) => Err(SAYS.to_owned()),
            Some(Fault::Panics) => panic!("{SAYS}"),
            Some(Fault::TimesOut) => std::future::pending().await,
            None => Ok(()),
        }
    }

    /// In a closure that no step of its own stands for: the step at `blames` needs what it gives.
    pub(crate) fn closure(&self, name: &str, blames: &str) {
        let place = Place { stands: Stands::Closure, blames: blames.to_owned(), faults: vec![Fault::Panics] };
        assert_ne!(self.reach(name, place), Some(Fault::Panics), "{SAYS}");
    }
}

/// Answers every agent, in process, with a value of the right form that depends on everything the agent was told.
impl Runner for Faults {
    fn identity(&self) -> RunnerIdentity {
        RunnerIdentity { name: "faults".to_owned(), version: None }
    }

    fn run(&self, call: AgentCall, _: CallWatch) -> BoxFuture<'_, Result<AgentReply, RunnerError>> {
        Box::pin(async move {
            let mut faults = vec![Fault::Fails, Fault::Panics];
            faults.extend(call.timeout.map(|_| Fault::TimesOut));
            let place = Place { stands: Stands::Agent, blames: call.path.clone(), faults };
            match self.reach(&call.path, place) {
                Some(Fault::Fails) => Err(RunnerError::new(RunnerErrorKind::Failed, SAYS)),
                Some(Fault::Panics) => panic!("{SAYS}"),
                Some(Fault::TimesOut) => std::future::pending().await,
                None => Ok(match &call.expect {
                    Expect::Text => {
                        let said = self.says.as_ref().filter(|(agent, _)| call.path.ends_with(agent));
                        let words = said.map_or(&call.path, |(_, words)| words);
                        AgentReply::text(answers::text(words, &call.text))
                    }
                    Expect::Json(schema) => AgentReply::json(answers::sample(
                        schema.json(),
                        &answers::text(&call.path, &call.text),
                    )),
                }),
            }
        })
    }
}
