//! What becomes of a run when its plan is edited, by the rules alone: no engine, one map of what is recorded.

use super::{
    build::{item_prompt, prompt},
    spec::{Spec, reruns, says},
};
use std::collections::{BTreeMap, BTreeSet};

/// What is recorded of a step.
#[derive(Clone, Debug)]
struct Recorded {
    /// The requests that it answers.
    answers: BTreeSet<String>,
    output: String,
    version: Option<u32>,
    /// Whether it is to run again.
    rerun: bool,
    /// Whether a cause is open at it.
    caused: bool,
}

/// A value, and whether a cause lies above it.
#[derive(Clone, Debug)]
struct Known<T> {
    value: T,
    caused: bool,
}

/// A run: what is recorded of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    steps: BTreeMap<String, Recorded>,
    /// The input it goes by, and the one that was set aside for it.
    input: Vec<String>,
    kept: Option<Vec<String>>,
    /// Whether another input was accepted.
    input_caused: bool,
    /// The items its fan-out was frozen for.
    frozen: Option<Vec<String>>,
}

/// What a preview says of a step that is not simply reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Conflict,
    Dropped,
    Run,
    Unknown,
}

/// One look at a run, with a plan: what becomes of each step.
#[derive(Default)]
struct Look {
    fates: BTreeMap<String, Fate>,
    calls: Vec<String>,
    /// What today's plan asks of the steps that conflict.
    conflicts: BTreeMap<String, String>,
    /// Steps of the plan, by path.
    there: BTreeSet<String>,
}

/// What today's plan asks of a step.
struct Asked {
    path: String,
    request: String,
    says: String,
    version: Option<u32>,
    on_change: Option<bool>,
    caused: bool,
}

impl Run {
    /// One that has just begun.
    pub(crate) fn started(items: &[String]) -> Self {
        Self { input: items.to_vec(), ..Self::default() }
    }

    /// The same with only these steps recorded.
    pub(crate) fn only(&mut self, finished: &[String], frozen: bool) {
        self.steps.retain(|path, _| finished.contains(path));
        self.frozen = self.frozen.take().filter(|_| frozen);
    }

    /// What the first check finds.
    pub(crate) fn preview(&self, spec: &Spec) -> BTreeMap<String, Fate> {
        let mut run = self.renamed(spec);
        run.look(spec, false).fates
    }

    /// Drives it to its end: everything that is called, in order.
    pub(crate) fn drive(&mut self, spec: &Spec, seed: u64) -> Vec<String> {
        *self = self.renamed(spec);
        let mut called = Vec::new();
        loop {
            let look = self.clone().look(spec, false);
            if look.fates.values().any(|fate| matches!(fate, Fate::Conflict | Fate::Dropped)) {
                self.decide(spec, seed, &look);
                continue;
            }
            let look = self.look(spec, true);
            called.extend(look.calls);
            if !look.fates.values().any(|fate| matches!(fate, Fate::Conflict | Fate::Unknown)) {
                break;
            }
        }
        // It is complete: its causes are closed.
        self.input_caused = false;
        for step in self.steps.values_mut() {
            step.caused = false;
        }
        called.sort();
        called
    }

    /// What is recorded under old names counts as what has them now.
    fn renamed(&self, spec: &Spec) -> Self {
        let mut run = self.clone();
        let mut give = |old: String, new: String| {
            if !run.steps.contains_key(&new)
                && let Some(step) = run.steps.remove(&old)
            {
                run.steps.insert(new, step);
            }
        };
        for agent in &spec.agents {
            if let Some(was) = &agent.was {
                give(was.clone(), agent.name.clone());
            }
        }
        if let (name, Some(was)) = &spec.fan {
            let items: Vec<_> = self.frozen.iter().flatten().chain(&spec.items).collect();
            for item in items {
                give(format!("{was}[{item}]/item"), format!("{name}[{item}]/item"));
            }
        }
        run
    }

    fn decide(&mut self, spec: &Spec, seed: u64, look: &Look) {
        for (path, fate) in &look.fates {
            if !matches!(fate, Fate::Conflict | Fate::Dropped) {
                continue;
            }
            if *fate == Fate::Dropped {
                self.steps.remove(path);
                continue;
            }
            if path == "input" {
                if reruns(seed, "input") {
                    self.input.clone_from(&spec.items);
                    self.input_caused = true;
                } else {
                    self.kept = Some(spec.items.clone());
                }
                continue;
            }
            let step = self.steps.get_mut(path).unwrap();
            if reruns(seed, &pattern(path)) {
                (step.rerun, step.caused) = (true, true);
            } else {
                step.answers.insert(look.conflicts[path].clone());
            }
        }
    }

    fn look(&mut self, spec: &Spec, goes: bool) -> Look {
        let mut look = Look::default();
        if spec.items != self.input && self.kept.as_ref() != Some(&spec.items) {
            look.fates.insert("input".to_owned(), Fate::Conflict);
        }
        self.walk(spec, goes, &mut |run, asked| run.one(asked, goes, &mut look));
        if !goes {
            for path in self.steps.keys() {
                if Self::lacks(spec, path) {
                    look.fates.insert(path.clone(), Fate::Dropped);
                } else if !look.there.contains(path) && !self.left_out(path) {
                    look.fates.insert(path.clone(), Fate::Unknown);
                }
            }
        } else if look.fates.values().all(|fate| *fate != Fate::Conflict) {
            look.fates.retain(|_, fate| *fate != Fate::Run);
        }
        look
    }

    fn lacks(spec: &Spec, path: &str) -> bool {
        match path.split_once('[') {
            Some((fan, _)) => fan != spec.fan.0,
            None => !spec.agents.iter().any(|agent| agent.name == path),
        }
    }

    /// Whether it is of an item that is gone, as far as that is known.
    fn left_out(&self, path: &str) -> bool {
        let item = path.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let known = self.frozen.as_ref() == Some(&self.input);
        item.is_some_and(|(item, _)| known && !self.input.iter().any(|one| one == item))
    }

    /// One step: its output, if it is known then.
    fn one(&mut self, asked: &Asked, goes: bool, look: &mut Look) -> Option<Known<String>> {
        let Asked { path, request, version, on_change, caused, .. } = asked;
        look.there.insert(path.clone());
        let known = |step: &Recorded, caused: bool| Some(Known { value: step.output.clone(), caused });
        let call = |run: &mut Self, opens: bool, look: &mut Look| {
            if !goes {
                look.fates.insert(path.clone(), Fate::Run);
                return None;
            }
            look.calls.push(path.clone());
            let before = run.steps.get(path).is_some_and(|step| step.caused);
            let caused_here = before || opens;
            let answers = BTreeSet::from([request.clone()]);
            let (output, version) = (asked.says.clone(), *version);
            let step =
                Recorded { answers, output: output.clone(), version, rerun: false, caused: caused_here };
            run.steps.insert(path.clone(), step);
            Some(Known { value: output, caused: *caused || caused_here })
        };
        let Some(step) = self.steps.get(path).cloned() else { return call(self, false, look) };
        let below = *caused || step.caused;
        if step.rerun {
            call(self, false, look)
        } else if step.answers.contains(request) {
            known(&step, below)
        } else if below {
            call(self, false, look)
        } else if step.version != *version || *on_change == Some(true) {
            call(self, true, look)
        } else if *on_change == Some(false) {
            self.steps.get_mut(path).unwrap().answers.insert(request.clone());
            known(&step, below)
        } else {
            look.fates.insert(path.clone(), Fate::Conflict);
            look.conflicts.insert(path.clone(), request.clone());
            if goes { None } else { known(&step, below) }
        }
    }

    /// Goes through the plan in its order; `one` says what a step yields, if that is known.
    fn walk(
        &mut self,
        spec: &Spec,
        goes: bool,
        one: &mut dyn FnMut(&mut Self, &Asked) -> Option<Known<String>>,
    ) {
        let input = Known { value: self.input.clone(), caused: self.input_caused };
        // A check does not freeze: it does not know the items then.
        let frozen = self.frozen.as_ref() == Some(&input.value);
        let reached = goes || frozen;
        let mut fan = reached.then(|| Known { value: Vec::new(), caused: input.caused });
        if goes {
            self.frozen = Some(input.value.clone());
        }
        for item in input.value.iter().filter(|_| reached) {
            let (prompt, json) = (item_prompt(spec.each), serde_json::to_string(item).unwrap());
            let asked = Asked {
                path: format!("{}[{item}]/item", spec.fan.0),
                request: format!("{prompt} {json}"),
                says: says(&format!("{prompt} {json}")),
                version: None,
                on_change: None,
                caused: input.caused,
            };
            let made = one(self, &asked);
            fan = fan.zip(made).map(|(mut fan, made)| {
                fan.value.push(made.value);
                fan.caused |= made.caused;
                fan
            });
        }
        let mut outputs: BTreeMap<u32, Option<Known<String>>> = BTreeMap::new();
        for agent in &spec.agents {
            let needs = agent.needs.iter().map(|need| {
                let output = outputs[need].clone()?;
                Some((format!("in{need}"), Known { value: vec![output.value], caused: output.caused }))
            });
            let mut inputs: Vec<_> = needs.collect();
            inputs.extend(agent.input.then(|| Some(("items".to_owned(), input.clone()))));
            inputs.extend(agent.fan.then(|| fan.clone().map(|fan| ("fan".to_owned(), fan))));
            let inputs: Option<Vec<_>> = inputs.into_iter().collect();
            let output = inputs.and_then(|inputs| {
                let caused = inputs.iter().any(|(_, input)| input.caused);
                let values: Vec<_> = inputs.into_iter().map(|(name, input)| (name, input.value)).collect();
                let (prompt, json) = (prompt(agent), serde_json::to_string(&values).unwrap());
                let asked = Asked {
                    path: agent.name.clone(),
                    request: format!("{prompt} {json} {} {} {:?}", agent.text, agent.tool, agent.version),
                    says: says(&format!("{prompt} {json}")),
                    version: agent.version,
                    on_change: agent.on_change,
                    caused,
                };
                one(self, &asked)
            });
            outputs.insert(agent.id, output);
        }
    }
}

/// The pattern of a path.
pub(crate) fn pattern(path: &str) -> String {
    match (path.split_once('['), path.split_once(']')) {
        (Some((before, _)), Some((_, after))) => format!("{before}[*]{after}"),
        _ => path.to_owned(),
    }
}
