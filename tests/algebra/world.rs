//! Who performs calls and answers questions: the same each time, failing where the seed says so, and counting.

use super::{
    reference::{fails, says},
    shape::Shape,
};
use hermes_workflows::prelude::*;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

/// The seed of the world that runs: closures of local steps cannot be handed one without changing the plan.
static CURRENT: Mutex<Option<u64>> = Mutex::new(None);

#[derive(Default)]
struct Seen {
    /// How often each call succeeded, by path and input.
    succeeded: BTreeMap<(String, i64), u32>,
    called: Vec<String>,
    inputs: BTreeMap<String, i64>,
    under_way: BTreeSet<String>,
    broken_limits: Vec<String>,
}

#[derive(Clone)]
pub(crate) struct World {
    seed: Option<u64>,
    limits: Arc<Vec<(String, u32)>>,
    seen: Arc<Mutex<Seen>>,
}

/// A call that is over when this is dropped.
struct Over<'a>(&'a World, &'a str);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).under_way.remove(self.1);
    }
}

/// What a local step does.
pub(crate) fn step(name: &str, number: i64, sheltered: bool) -> Result<i64, String> {
    let seed = current().filter(|_| !sheltered);
    if fails(seed, name, number) { Err("on order".to_owned()) } else { Ok(says(name, number)) }
}

fn current() -> Option<u64> {
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the person says.
pub(crate) fn answer(executor: &Executor, need: &Need) -> serde_json::Value {
    let last = need.path.rsplit('/').next().unwrap();
    if let Some(name) = last.strip_prefix("review") {
        let round = name.split_once('[').unwrap().1;
        return if round == "1]" {
            json!({"decision": "request_changes", "feedback": "more"})
        } else {
            json!({"decision": "approve"})
        };
    }
    let NeedKind::Review { shown, .. } = &need.kind else { panic!("{need:?}") };
    let text = executor.ledger().blob(&shown[0].1).unwrap().unwrap();
    let number: i64 = serde_json::from_slice(&text).unwrap();
    json!(says(last, number))
}

impl World {
    pub(crate) fn new(shape: &Shape, seed: u64) -> Self {
        Self::with(shape, Some(seed))
    }

    pub(crate) fn healthy(shape: &Shape) -> Self {
        Self::with(shape, None)
    }

    fn with(shape: &Shape, seed: Option<u64>) -> Self {
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = seed;
        Self { seed, limits: Arc::new(shape.limits()), seen: Arc::default() }
    }

    pub(crate) fn runner(&self) -> FnRunner {
        let world = self.clone();
        FnRunner::new(move |call: AgentCall| {
            let world = world.clone();
            async move {
                let number: i64 = serde_json::from_str(&call.inputs[0].1).unwrap();
                let name = call.path.rsplit('/').next().unwrap().to_owned();
                world.begins(&call.path, number);
                // A call that is cancelled is dropped where it stands.
                let _over = Over(&world, &call.path);
                // Others get their chance.
                for _ in 0..says(&name, number) % 4 {
                    tokio::task::yield_now().await;
                }
                let seed = world.seed.filter(|_| !call.text.ends_with("calmly"));
                let failed = fails(seed, &name, number);
                world.ends(&call.path, number, failed);
                if failed {
                    return Err(RunnerError::new(RunnerErrorKind::Failed, "on order"));
                }
                Ok(AgentReply::json(json!(says(&name, number))))
            }
        })
    }

    fn begins(&self, path: &str, input: i64) {
        let mut seen = self.seen.lock().unwrap();
        seen.called.push(path.to_owned());
        seen.inputs.insert(path.to_owned(), input);
        seen.under_way.insert(path.to_owned());
        for (name, limit) in self.limits.iter() {
            // Items of one copy of the group: the path up to its name, and the key behind it.
            let mut items: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for call in &seen.under_way {
                let mark = format!("{name}[");
                let Some(at) = call.find(&mark).filter(|at| *at == 0 || call.as_bytes()[at - 1] == b'/')
                else {
                    continue;
                };
                let key = call[at + mark.len()..].split(']').next().unwrap_or_default();
                items.entry(call[..at].to_owned()).or_default().insert(key.to_owned());
            }
            if let Some((group, keys)) = items.iter().find(|(_, keys)| keys.len() > *limit as usize) {
                let broken = format!("{group}{name}: {keys:?} at once, limit {limit}");
                seen.broken_limits.push(broken);
                seen.broken_limits.truncate(3);
            }
        }
    }

    fn ends(&self, path: &str, input: i64, failed: bool) {
        let mut seen = self.seen.lock().unwrap();
        if !failed {
            *seen.succeeded.entry((path.to_owned(), input)).or_default() += 1;
        }
    }

    /// No limit was exceeded, and nothing succeeded twice.
    pub(crate) fn check(&self, when: &str) {
        let seen = self.seen.lock().unwrap();
        assert!(seen.broken_limits.is_empty(), "{when}: {:?}", seen.broken_limits);
        let twice: Vec<_> = seen.succeeded.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "succeeded twice: {twice:?}");
    }

    /// The input of the last call of this path.
    pub(crate) fn input_of(&self, path: &str) -> Option<i64> {
        self.seen.lock().unwrap().inputs.get(path).copied()
    }

    pub(crate) fn called(&self) -> Vec<String> {
        self.seen.lock().unwrap().called.clone()
    }
}
