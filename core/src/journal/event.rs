//! The body of each kind of record. Wire names are explicit and fixed; no `flatten`, no `untagged`.

use super::{
    Adopted, Budgeted, CancelAsked, Delayed, Directed, Driven, Given, InputAccepted, Late, Memoised, Raised,
    Renamed,
};
use crate::{
    budget::{Asking, Budget, Unit},
    digest::Digest,
    effect::Effect,
    failure::Failure,
    fingerprint::Changed,
    ids::{Address, RunId, ScopeNo, Seq, StepNo},
    people::{Actor, Decision},
    receipt::Receipt,
    request::Request,
    timestamp::Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A record's content, decoded.
#[derive(Clone, Debug)]
pub enum Event {
    /// See [`RunStarted`].
    RunStarted(RunStarted),
    /// See [`Named`].
    Named(Named),
    /// See [`Opened`].
    Opened(Opened),
    /// See [`Frozen`].
    Frozen(Frozen),
    /// See [`Decided`].
    Decided(Decided),
    /// See [`Started`].
    Started(Started),
    /// See [`Succeeded`].
    Succeeded(Succeeded),
    /// See [`Failed`].
    Failed(Failed),
    /// See [`Refused`].
    Refused(Refused),
    /// See [`Interrupted`].
    Interrupted(Interrupted),
    /// See [`Asked`].
    Asked(Asked),
    /// See [`Answered`].
    Answered(Answered),
    /// See [`Superseded`].
    Superseded(Superseded),
    /// See [`Caused`].
    Caused(Caused),
    /// See [`CausesClosed`].
    CausesClosed(CausesClosed),
    /// See [`Parked`].
    Parked(Parked),
    /// See [`DecisionMade`].
    DecisionMade(DecisionMade),
    /// See [`Accepted`].
    Accepted(Accepted),
    /// See [`Dropped`].
    Dropped(Dropped),
    /// See [`Ended`].
    Ended(Ended),
    /// See [`Timed`].
    Timed(Timed),
    /// See [`Expired`].
    Expired(Expired),
    /// See [`Reassigned`].
    Reassigned(Reassigned),
    /// See [`Directed`].
    Directed(Directed),
    /// See [`Given`].
    Given(Given),
    /// See [`Renamed`].
    Renamed(Renamed),
    /// See [`InputAccepted`].
    InputAccepted(InputAccepted),
    /// See [`Adopted`].
    Adopted(Adopted),
    /// See [`Delayed`].
    Delayed(Delayed),
    /// See [`Late`].
    Late(Late),
    /// See [`CancelAsked`].
    CancelAsked(CancelAsked),
    /// See [`Memoised`].
    Memoised(Memoised),
    /// See [`Budgeted`].
    Budgeted(Budgeted),
    /// See [`Raised`].
    Raised(Raised),
    /// See [`Driven`].
    Driven(Driven),
}

/// A run began. Its input's digest is the header's output digest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run's id.
    pub id: RunId,
    /// The plan's name.
    pub plan: String,
    /// The input, as stored JSON.
    pub input: Box<RawValue>,
    /// The structural id of the input's schema.
    pub input_schema: Digest,
    /// The structural id of the output's schema.
    pub output_schema: Digest,
    /// The plan's layout, as text.
    pub layout: String,
    /// The run whose outcomes it takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Forked>,
}

/// From which run another one was forked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// The run whose outcomes are taken over, where path and fingerprint are the same.
    pub run: RunId,
    /// Paths, or patterns of paths, at and in which nothing is taken over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub afresh: Vec<String>,
}

/// Plan steps were given numbers, counting on from those already given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Named {
    /// The number of the first of them.
    pub first: StepNo,
    /// The patterns of their paths, and their kinds (`agent`, `parallel each` …).
    pub steps: Vec<(String, String)>,
    /// The schemas that requests of recorded steps name from here on, where no earlier record has them: so that it can be
    /// told later how a schema changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemas: Vec<KeptSchema>,
    /// The constants of the plan that requests name from here on, in the same way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<KeptValue>,
}

/// A value by the digest under which requests name it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptValue {
    /// Its digest.
    pub digest: Digest,
    /// The value.
    pub value: Box<RawValue>,
}

/// A schema by the id under which requests name it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptSchema {
    /// Its structural id: bare or not, as the kind of step has it.
    pub id: Digest,
    /// The schema.
    pub schema: Box<RawValue>,
}

/// A loop or review at the header's address was given a scope, so that its rounds have places.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opened {
    /// The scope's number: the next one free.
    pub scope: ScopeNo,
}

/// The keys of a fan-out, or how many there are where the author gave none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum FrozenKeys {
    /// Keys by position: `0`, `1`, …
    Positions {
        /// How many items this chunk adds.
        count: u32,
    },
    /// Keys that `key_by` made, or that another fan-out handed on.
    Named {
        /// The keys this chunk adds.
        keys: Vec<String>,
    },
}

impl FrozenKeys {
    /// How many items this chunk adds.
    pub fn len(&self) -> usize {
        match self {
            Self::Positions { count } => *count as usize,
            Self::Named { keys } => keys.len(),
        }
    }

    /// Whether it adds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A chunk of a frozen fan-out. The header's fingerprint is the digest of the list it was made from, its output digest
/// that of the keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frozen {
    /// The scope's number: the next one free, or that of the fan-out when it is frozen anew.
    pub scope: ScopeNo,
    /// The position of the first item of this chunk.
    pub offset: u32,
    /// The keys.
    pub keys: FrozenKeys,
    /// The digests of the items.
    pub items: Vec<Digest>,
    /// Whether this is the last chunk.
    pub last: bool,
}

/// A branch's arm, a loop's flow or what a `then` has built. The header's fingerprint is the digest of the value it was made from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// The arm's label, or `again` or `done`, or a [`Structure`](super::Structure) as JSON.
    pub decision: String,
}

/// A call is about to begin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Started {
    /// What it depends on.
    pub request: Request,
    /// Its declared effect.
    pub effect: Effect,
    /// The idempotency key.
    pub key: Digest,
    /// The value of the environment variable that its processes carry.
    pub cookie: String,
    /// Which attempt of its generation it is, from 1.
    pub attempt: u32,
    /// The runner it goes to, by name; `None` for the default runner, and for local steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// What people call this copy of the step, where its author said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it may cost at most, and what is reserved for it: of agents whose author said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Budget>,
}

/// An agent's answer was refused, and its attempt takes another turn: durable before that turn begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// The attempt that gave it: the number in its [`Started`].
    pub attempt: u32,
    /// Which turn of the attempt it was, from 1.
    pub turn: u32,
    /// The raw answer.
    pub raw: String,
    /// What is wrong with it, as the next turn is told.
    pub violations: Vec<String>,
    /// Who gave it, and what this turn cost.
    pub receipt: Receipt,
}

/// A step succeeded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Succeeded {
    /// The stored JSON: the value, for everybody, for ever.
    pub output: Box<RawValue>,
    /// The request, where no `Started` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// How it came about; `None` for local steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

/// A step failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// How.
    pub failure: Failure,
    /// Whether it may have acted before it failed.
    #[serde(default)]
    pub may_have_acted: bool,
    /// The request, where no `Started` has it. Neither has it where it could not be made, because the prompt could not:
    /// the header's fingerprint is then zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// What the call cost over all its turns, where it failed because its last answer was refused too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

/// An attempt that nobody will finish was closed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Interrupted {
    /// Why it will not be finished.
    pub why: String,
}

/// A question was opened. Its id is this record's position.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// What it depends on.
    pub request: Request,
    /// The path it is asked at.
    pub path: String,
    /// The blob that holds the answer's schema.
    pub schema: Digest,
    /// The blob that holds the list of choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Digest>,
    /// Whether several choices may be named.
    #[serde(default)]
    pub many: bool,
    /// What the person is shown: names, and the blobs that hold the values.
    pub shown: Vec<(String, Digest)>,
    /// Whom it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// When it expires, and what then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Expiry>,
}

/// When a question expires, and what then: fixed when it opens, so that whoever writes next can record it, also without
/// the plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expiry {
    /// From when on it takes no answer.
    pub at: Timestamp,
    /// The value it then has, as stored JSON; without one it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Box<RawValue>>,
}

/// A wait began: its instant is fixed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timed {
    /// What it depends on.
    pub request: Request,
    /// When it is over.
    pub until: Timestamp,
}

/// A question expired. The header's fingerprint is that of the question, its output digest that of the value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expired {
    /// The record that opened the question.
    pub question: Seq,
    /// The value it has now, as stored JSON; without one it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Box<RawValue>>,
}

/// An open question was given to somebody else.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reassigned {
    /// The record that opened the question.
    pub question: Seq,
    /// Whom it is for now; `None` for anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
}

/// A question was answered. The header's fingerprint is that of the question, its output digest that of the answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// The record that opened the question.
    pub question: Seq,
    /// The answer, as stored JSON.
    pub answer: Box<RawValue>,
    /// Who gave it.
    pub by: Actor,
    /// The key under which giving it again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// An open question was closed because what it asks has changed, or because its group has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Superseded {
    /// The record that opened the question.
    pub question: Seq,
    /// Whether it only rests because its frame failed: `retry` opens it again under the same id.
    #[serde(default)]
    pub suspended: bool,
    /// Why.
    pub why: String,
}

/// Why finished work at or below a step may run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum CauseKind {
    /// A person asked for this step to run again.
    Rerun,
    /// All recorded failures are tried again.
    Retry,
    /// The author gave the step another version.
    Version,
    /// A person let an in-doubt call run again.
    InDoubt,
    /// A person asked for a question to be asked again.
    AskAgain,
    /// A person gave the step's outcome by hand.
    Set,
    /// The run goes on with another input.
    Input,
    /// A completed run goes on with a plan that has grown. About the whole run.
    Extend,
    /// The plan says of the step that it runs again whenever its request changes.
    OnChange,
}

/// A cause was opened, at the header's address. [`CauseKind::Retry`] is about the whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Caused {
    /// What it is.
    pub kind: CauseKind,
    /// Who opened it.
    pub by: Actor,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Causes were closed: everything downstream of them is recorded as reused or run again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CausesClosed {
    /// The records that opened them.
    pub causes: Vec<Seq>,
}

/// One thing to decide, of those a run is parked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "group", rename_all = "snake_case")]
pub enum Group {
    /// Copies of one plan step whose requests differ.
    Conflict {
        /// The plan step.
        step: StepNo,
        /// The pattern of its path.
        path: String,
        /// The id of this difference.
        difference: Digest,
        /// How many copies differ.
        count: u64,
        /// The fields.
        fields: Vec<Changed>,
        /// Up to three paths.
        examples: Vec<String>,
        /// Why it cannot be kept, where it cannot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_kept: Option<String>,
        /// The blob that holds the schema of an output given by hand, where one can be given: of one copy of a call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Digest>,
        /// The blob that holds the new input, where the run's input differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Digest>,
        /// What people call it, where it is one copy and its author said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A finished plan step that the plan no longer has.
    Dropped {
        /// The plan step.
        step: StepNo,
        /// The pattern of its path.
        path: String,
        /// The id of this difference.
        difference: Digest,
        /// How many copies are finished.
        count: u64,
        /// A step of today's plan of the same kind and request, which it may be under another name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proposed: Option<String>,
    },
    /// A call that began and whose end nobody knows.
    InDoubt {
        /// Where.
        at: Address,
        /// Its path.
        path: String,
        /// The idempotency key it began under.
        key: Digest,
        /// Why it is not simply run again.
        why: String,
        /// The blob that holds the schema of an output given by hand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Digest>,
        /// What people call it, where its author said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A budget that is used up, or was overspent. Amounts are in its unit.
    Budget {
        /// The path of what it bounds; empty for the run, the pattern of a step for the bound of its calls, `#name` for a
        /// shared budget.
        path: String,
        /// The unit.
        unit: Unit,
        /// The bound.
        limit: u64,
        /// What was spent; of a step, by the call that spent most.
        spent: u64,
        /// What is reserved for calls that are under way.
        reserved: u64,
        /// The first call that has no room in it; `None` where it was overspent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<Asking>,
        /// The id of this need.
        about: Digest,
    },
}

/// The run stopped for a person to decide. Replaces what an earlier one listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parked {
    /// What to decide; none when the run goes on because nothing differs any longer.
    pub groups: Vec<Group>,
}

/// A person decided about one group of a [`Parked`] record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DecisionMade {
    /// The difference, or the key of the in-doubt call, that it answers.
    pub about: Digest,
    /// What was decided.
    pub decision: Decision,
    /// The blob that holds the new input, where that was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
    /// Who decided.
    pub by: Actor,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The stored outcome at the header's address counts as the answer to the request with the header's fingerprint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Accepted {}

/// What is stored for the header's plan step was forgotten: it no longer counts as finished work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dropped {}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum EndKind {
    /// With an output, whose digest is the header's.
    Completed {
        /// Steps that failed without failing the run.
        failed: u64,
    },
    /// With a failure.
    Failed {
        /// The failure.
        failure: Failure,
    },
    /// Because somebody cancelled it.
    Cancelled {
        /// Who.
        by: Actor,
    },
}

/// The run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// How.
    pub end: EndKind,
}
