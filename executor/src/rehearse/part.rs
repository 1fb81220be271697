//! The part that one rehearsed run plays: which seeds its values come from, which steps fail in it, how its questions are
//! answered. And the stand-in that plays it.

use super::{
    endings::{What, made_up},
    sample::{Dice, sample, text},
};
use crate::{
    stand_in::StandIn,
    walk::{CallEnd, Noted, guarded},
};
use hermes_core::{
    command::CommandOutput,
    digest::Digest,
    failure::{Failure, FailureClass},
    files::{FileEntry, FileSet, FileText},
    path::StepPath,
    schema::Schema,
    value::Val,
};
use hermes_plan::graph::{CommandEnd, Files, Kind, Node};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How many samples are made before a step is given up that has checks.
const TRIES: u64 = 48;

/// Values that the author gave, by the pattern of their step.
pub(super) type Given = BTreeMap<String, Vec<Value>>;

/// How a part lets a step fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fails {
    /// The first copy that a run comes to.
    First,
    /// Each copy.
    All,
}

/// How a part answers a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Says {
    pub(super) decision: &'static str,
    /// In each round; otherwise in the first, and the others approve.
    pub(super) always: bool,
}

/// What one run plays.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) seed: u64,
    /// Other seeds, by pattern; the plan's input is the empty one.
    pub(super) seeds: BTreeMap<String, u64>,
    pub(super) fails: BTreeMap<String, Fails>,
    pub(super) says: BTreeMap<String, Says>,
    /// Each copy of a step gets the same values, and all texts have this form: each round of a loop goes like the one before.
    pub(super) steady: Option<usize>,
    /// How long the lists of these steps are, by pattern; the plan's input is the empty one.
    pub(super) lengths: BTreeMap<String, usize>,
    /// Questions that nobody answers.
    pub(super) silent: BTreeSet<String>,
}

impl Part {
    fn dice(&self, pattern: &str, path: &str, again: u64) -> Dice {
        let seed = self.seeds.get(pattern).copied().unwrap_or(self.seed);
        let path = if self.steady.is_some() { pattern } else { path };
        Dice::new(seed, path, again).fixed(self.steady, self.lengths.get(pattern).copied())
    }

    /// One of two ways, where there are two.
    pub(super) fn coin(&self, pattern: &str, path: &str) -> bool {
        self.dice(pattern, path, 0).below(2) == 0
    }

    /// How many orders it has beside its seeds.
    pub(super) fn orders(&self) -> usize {
        self.fails.len() + self.says.len() + self.silent.len()
    }

    /// A value of `schema` that stands what `wrong` tells; or why there is none.
    pub(super) fn value(
        &self,
        (pattern, path): (&str, &str),
        given: &Given,
        make: &dyn Fn(&mut Dice) -> Value,
        wrong: &dyn Fn(&Value) -> Option<String>,
    ) -> Result<Value, String> {
        if let Some(values) = given.get(pattern).filter(|values| !values.is_empty()) {
            let mut dice = self.dice(pattern, path, 0);
            let value = dice.one(values).cloned().unwrap_or_default();
            return match wrong(&value) {
                Some(why) => Err(format!("a value given with `.answers(..)` is refused: {why}")),
                None => Ok(value),
            };
        }
        let mut last = String::new();
        for again in 0..TRIES {
            let value = make(&mut self.dice(pattern, path, again));
            match wrong(&value) {
                None => return Ok(value),
                Some(why) => last = why,
            }
        }
        Err(format!(
            "none of {TRIES} sampled values is accepted, the last one because {last}; give one with `.answers(..)`"
        ))
    }
}

/// What was seen in a run.
#[derive(Default)]
pub(super) struct Seen {
    /// Steps and groups that ended, and how.
    pub(super) noted: BTreeSet<(String, What)>,
    pub(super) reached: BTreeSet<String>,
    /// Why a call was made to fail for want of a value.
    pub(super) why: BTreeMap<String, String>,
    failed: BTreeSet<String>,
}

/// Plays a part.
pub(super) struct Player {
    pub(super) part: Part,
    pub(super) given: Arc<Given>,
    seen: Mutex<Seen>,
}

impl Player {
    pub(super) fn new(part: Part, given: Arc<Given>) -> Self {
        Self { part, given, seen: Mutex::default() }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the call is to fail now.
    fn fails(&self, pattern: &str) -> bool {
        match self.part.fails.get(pattern) {
            Some(Fails::All) => true,
            Some(Fails::First) => self.seen().failed.insert(pattern.to_owned()),
            None => false,
        }
    }

    fn made(&self, pattern: &str, path: &str, node: &Node) -> Result<CallEnd, String> {
        let schema = &node.schema;
        if let Kind::Files(files) = &node.kind {
            return self.files(pattern, path, files, schema);
        }
        let make = |dice: &mut Dice| match &node.kind {
            Kind::Agent(agent) if agent.text => Value::String(text(dice)),
            Kind::Command(command) => match command.output {
                CommandEnd::Output => command_output(dice),
                CommandEnd::Stdout => Value::String(text(dice)),
                CommandEnd::Json => sample(schema.json(), dice),
            },
            _ => sample(schema.json(), dice),
        };
        let value = self.part.value((pattern, path), &self.given, &make, &|value| wrong(node, value))?;
        Ok(CallEnd::Done(Val::from_json(value), None))
    }

    fn files(&self, pattern: &str, path: &str, files: &Files, schema: &Schema) -> Result<CallEnd, String> {
        let mut texts = Vec::new();
        let make = |dice: &mut Dice| {
            let count = 1 + dice.below(3);
            (0..count).map(|_| Value::String(text(dice))).collect()
        };
        let none = Given::new();
        // The author gives the whole value; its contents are then nobody's.
        if self.given.contains_key(pattern) {
            let wrong = |value: &Value| violations(schema, value);
            let value = self.part.value((pattern, path), &self.given, &make, &wrong)?;
            return Ok(CallEnd::Done(Val::from_json(value), None));
        }
        let contents = self.part.value((pattern, path), &none, &make, &|_| None)?;
        for (index, value) in contents.as_array().into_iter().flatten().enumerate() {
            let text = value.as_str().unwrap_or_default().to_owned();
            let (path, hash) = (format!("rehearsed-{index}.txt"), Digest::of_bytes(text.as_bytes()));
            texts.push(FileText { path, hash, text });
        }
        if files.texts {
            let value = Val::encode_as(&texts, schema).map_err(|error| error.to_string())?;
            return Ok(CallEnd::Taken(value, Vec::new()));
        }
        let blobs = texts.iter().map(|file| file.text.clone().into_bytes()).collect();
        let entry =
            |file: FileText| FileEntry { size: file.text.len() as u64, path: file.path, hash: file.hash };
        let set = FileSet { files: texts.into_iter().map(entry).collect() };
        let value = Val::encode_as(&set, schema).map_err(|error| error.to_string())?;
        Ok(CallEnd::Taken(value, blobs))
    }
}

impl StandIn for Player {
    fn instead(&self, path: &StepPath, node: &Node) -> Option<CallEnd> {
        let (pattern, path) = (node.pattern.to_string(), path.to_string());
        if self.fails(&pattern) {
            let class = match &node.kind {
                Kind::Command(_) => FailureClass::CommandFailed,
                Kind::Files(_) => FailureClass::FilesNotTaken,
                Kind::Step(_) => FailureClass::Rejected,
                _ => FailureClass::RunnerError,
            };
            let failure = Failure::new(class, "a rehearsed failure").located(node.at);
            return Some(CallEnd::Failed { failure, may_have_acted: false });
        }
        if !made_up(&node.kind) {
            return None;
        }
        Some(self.made(&pattern, &path, node).unwrap_or_else(|why| {
            let failure = Failure::new(FailureClass::InvalidOutput, why.clone()).located(node.at);
            self.seen().why.insert(pattern, why);
            CallEnd::Failed { failure, may_have_acted: false }
        }))
    }

    fn note(&self, node: &Node, noted: Noted) {
        if node.pattern.is_empty() {
            return;
        }
        let pattern = node.pattern.to_string();
        let what = match noted {
            Noted::Done => What::Done,
            Noted::Failed(FailureClass::NoArm) => What::NoArm,
            Noted::Failed(FailureClass::TooFew) => What::TooFew,
            Noted::Failed(_) => What::Fails,
            Noted::Caught => What::Caught,
            Noted::ItemFailed => What::ItemFails,
        };
        let mut seen = self.seen();
        seen.reached.insert(pattern.clone());
        seen.noted.insert((pattern, what));
    }
}

/// What is wrong with a value for `schema`.
pub(super) fn violations(schema: &Schema, value: &Value) -> Option<String> {
    let violations = schema.validate(value).err()?;
    Some(violations.iter().take(3).map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// What is wrong with a made-up output: by its schema, its type, and the author's checks.
fn wrong(node: &Node, value: &Value) -> Option<String> {
    if let Some(why) = violations(&node.schema, value) {
        return Some(why);
    }
    let value = Val::from_json(value.clone());
    let (decode, checks) = match &node.kind {
        Kind::Agent(agent) => (&agent.check, agent.checks.as_slice()),
        Kind::Step(step) => (&step.check, &[][..]),
        Kind::Command(command) => (&command.check, &[][..]),
        _ => return None,
    };
    if let Err(failure) = guarded(node.at, || decode(std::slice::from_ref(&value))) {
        return Some(failure.message);
    }
    checks.iter().find_map(|check| match guarded(check.at, || (check.test)(&value)) {
        Ok(why) => why,
        Err(failure) => Some(failure.message),
    })
}

/// How a command may end: well more often than not.
fn command_output(dice: &mut Dice) -> Value {
    let code = [0, 0, 1, 2].get(dice.below(4)).copied();
    let output = CommandOutput { code, stdout: text(dice), stderr: text(dice), ..CommandOutput::default() };
    serde_json::to_value(output).unwrap_or_default()
}
