//! Today's request of an agent, command or local step, and what the journal says to it.

use super::{
    call::Sent,
    conflict::{Conflict, Doubtful},
    frame::{At, Fault, Slot},
    replay::{Doubt, Now, Verdict, judge},
    state::Walk,
    wording,
};
use crate::compose::COMPOSITION;
use hermes_core::{
    digest::Digest,
    effect::Effect,
    failure::{Failure, FailureClass},
    fingerprint::{Changed, difference, fingerprint},
    fold::{Cell, CellStatus},
    ids::{Address, Seq},
    journal::{CauseKind, Event, Interrupted, Started},
    request::{AgentRequest, FilesRequest, Input, OutputForm, Request, StepRequest},
    value::Val,
};
use hermes_plan::graph::{Kind, OnChange};
use std::sync::Arc;

/// How today's request compares with the recorded one.
pub(super) struct Compared {
    pub(super) same: bool,
    pub(super) version_changed: bool,
    pub(super) changed: Vec<Changed>,
}

impl Walk {
    pub(super) fn effect_of(&self, at: At) -> Effect {
        match &self.node(at.node).kind {
            Kind::Agent(agent) => agent.effect,
            Kind::Step(step) => step.effect,
            Kind::Command(command) => command.effect,
            _ => Effect::Pure,
        }
    }

    /// Whether a call has a record before it begins.
    pub(super) fn announced(&self, at: At) -> bool {
        matches!(self.node(at.node).kind, Kind::Agent(_) | Kind::Command(_))
            || self.effect_of(at) == Effect::Unsafe
    }

    /// Today's request of a call, from its inputs, and what is sent for it.
    pub(super) fn call_request(&self, at: At, values: &[Val]) -> Result<(Request, Sent), Failure> {
        let node = self.node(at.node);
        let inputs = named(node.inputs.iter().map(|input| input.name.as_str()), values);
        match &node.kind {
            Kind::Agent(agent) => {
                let (prompt, template) = self.prompt(at, &agent.prompt, values)?;
                let request = Request::Agent(AgentRequest {
                    composition: COMPOSITION,
                    prompt: prompt.clone(),
                    template,
                    inputs,
                    output: if agent.text {
                        OutputForm::Text
                    } else {
                        OutputForm::Json { schema: node.schema.id() }
                    },
                    tools: agent.tools.clone(),
                    skills: agent.skills.clone(),
                    files: self.declared_files("", &agent.files)?,
                    model: wording::model(agent, values)?,
                    variant: agent.variant.clone(),
                    isolation: agent.isolation,
                    tree: None,
                    version: agent.version,
                });
                Ok((request, Sent::Prompt(prompt)))
            }
            Kind::Step(step) => {
                let (schema, version) = (node.schema.bare_id(), step.version);
                Ok((Request::Step(StepRequest { inputs, schema, version }), Sent::Nothing))
            }
            Kind::Command(command) => {
                let (request, invocation) = self.command_request(command, &node.schema, inputs, values)?;
                Ok((request, Sent::Command(Box::new(invocation))))
            }
            Kind::Files(files) => {
                let (globs, schema) = (files.globs.written().to_vec(), node.schema.bare_id());
                Ok((Request::Files(FilesRequest { globs, schema }), Sent::Nothing))
            }
            _ => Err(Failure::new(FailureClass::RunnerError, "this kind of step makes no call")),
        }
    }

    /// Compares today's request with what the cell records. The stored request is read only when they differ: if
    /// today's code gives it today's fingerprint, nothing has changed.
    pub(super) fn compare(&mut self, cell: &Cell, today: &Request, print: &Digest) -> Compared {
        self.counts.compared += 1;
        let mut compared =
            Compared { same: cell.answers(print), version_changed: false, changed: Vec::new() };
        if compared.same {
            return compared;
        }
        match self.stored_request(cell.request) {
            Ok(Some(stored)) => {
                compared.same = fingerprint(&stored) == *print;
                compared.version_changed = stored.version() != today.version();
                compared.changed = difference(&stored, today);
            }
            Ok(None) => {}
            Err(why) => self.break_off(why),
        }
        compared
    }

    pub(crate) fn stored_request(&self, seq: Seq) -> Result<Option<Request>, String> {
        let record = self.lookup.record(seq)?;
        Ok(match record.event().map_err(|error| error.to_string())? {
            Event::Started(started) => Some(started.request),
            Event::Asked(asked) => Some(asked.request),
            Event::Succeeded(succeeded) => succeeded.request,
            Event::Failed(failed) => failed.request,
            Event::Timed(timed) => Some(timed.request),
            Event::Delayed(delayed) => delayed.request,
            Event::Adopted(adopted) => Some(adopted.request),
            _ => None,
        })
    }

    /// The stricter of the effect a call began with and today's.
    fn strictest_effect(&mut self, at: At, cell: &Cell) -> Effect {
        let today = self.effect_of(at);
        if today == Effect::Unsafe || !self.announced(at) || cell.status == CellStatus::Succeeded {
            return today;
        }
        match self.started(cell) {
            Ok(Some(started)) => today.max(started.effect),
            Ok(None) => today,
            Err(why) => {
                self.break_off(why);
                today
            }
        }
    }

    pub(super) fn started(&self, cell: &Cell) -> Result<Option<Started>, String> {
        match self.lookup.record(cell.request)?.event().map_err(|error| error.to_string())? {
            Event::Started(started) => Ok(Some(started)),
            _ => Ok(None),
        }
    }

    /// Looks at a call all of whose inputs have values.
    pub(super) fn look_at_call(&mut self, at: At) {
        self.note_budgets(at);
        let address = self.address(at);
        let Some(cell) = self.state.cell(address).cloned() else {
            if self.stopped(at.frame) {
                self.skip(at);
            } else if !self.hold_back(at) {
                self.want_call(at);
            }
            return;
        };
        self.note_begun(at.frame);
        let (values, caused) = self.inputs(at);
        let caused = caused || self.state.below_own_cause(&cell) || self.changes.again(address);
        let request = match self.call_request(at, &values) {
            Ok((request, _)) => request,
            // To be run again: that it failed is recorded anew, so that the next retry is about it too.
            Err(_) if cell.rerun && !self.stopped(at.frame) => {
                if !self.hold_back(at) {
                    self.want_call(at);
                }
                return;
            }
            Err(failure) => return self.fail_unrecorded(at, failure),
        };
        let print = fingerprint(&request);
        let compared = self.compare(&cell, &request, &print);
        let now = Now {
            same: compared.same,
            caused,
            version_changed: compared.version_changed,
            effect: self.strictest_effect(at, &cell),
            crash_limit: if self.announced(at) { self.settings.crash_limit } else { None },
        };
        match judge(&cell, now) {
            Verdict::Reuse => self.reuse(at, &cell, caused),
            Verdict::ReuseFailure => self.reuse_failure(at, &cell, caused),
            Verdict::Conflict => {
                let not_kept = self.not_kept(at, &cell).err();
                match self.node(at.node).replay.on_change.filter(|_| now.effect != Effect::Unsafe) {
                    Some(OnChange::Rerun) if self.stopped(at.frame) => return self.skip(at),
                    Some(OnChange::Rerun) => return self.runs_again(at, CauseKind::OnChange),
                    Some(OnChange::Keep) if not_kept.is_none() => {
                        self.keeps(address, print);
                        return self.reuse(at, &cell, caused);
                    }
                    _ => {}
                }
                self.keep_call(at, request, &values);
                self.conflict(Conflict {
                    at: address,
                    path: self.path(at),
                    print,
                    changed: compared.changed,
                    not_kept,
                });
                self.go_on_below_conflict(at, &cell, caused);
            }
            Verdict::InDoubt(doubt) if doubt != Doubt::Crashes || !self.stopped(at.frame) => {
                self.in_doubt(at, &cell, doubt, print);
            }
            _ if self.stopped(at.frame) => {
                self.close_if_begun(at, &cell, "the group it belongs to has failed");
                self.close_if_delayed(at, &cell);
                self.skip(at);
            }
            Verdict::Version => self.runs_again(at, CauseKind::Version),
            Verdict::CloseThenRun => {
                if !self.hold_back(at) {
                    self.close_if_begun(at, &cell, "what it was asked has changed");
                    self.want_call(at);
                }
            }
            Verdict::StayOpen => {
                if !self.hold_back(at) {
                    self.go_on_waiting(at, &cell);
                }
            }
            Verdict::Run | Verdict::InDoubt(_) | Verdict::AskAnew => {
                if !self.hold_back(at) {
                    self.want_call(at);
                }
            }
        }
    }

    /// Takes a recorded success.
    pub(super) fn reuse(&mut self, at: At, cell: &Cell, caused: bool) {
        self.counts.reused += 1;
        self.counts.ok += 1;
        let value = Val::stored(cell.output, Arc::clone(&self.fetch), cell.outcome.0);
        self.settle(at, Slot::Done(value, caused));
    }

    fn reuse_failure(&mut self, at: At, cell: &Cell, caused: bool) {
        let failure = self.lookup.record(cell.outcome).and_then(|record| {
            match record.event().map_err(|error| error.to_string())? {
                Event::Failed(failed) => Ok(failed.failure),
                _ => Err(format!("record {} is not a failure", cell.outcome)),
            }
        });
        match failure {
            Ok(failure) => {
                self.counts.reused += 1;
                self.counts.failed += 1;
                self.settle(at, Slot::Failed(Fault { failure: Arc::new(failure), caused }));
            }
            Err(why) => self.break_off(why),
        }
    }

    /// In a check, what lies below a conflict is compared too, with the value that is stored; otherwise the step and
    /// what depends on it wait for a person.
    pub(super) fn go_on_below_conflict(&mut self, at: At, cell: &Cell, caused: bool) {
        if self.checking {
            let value = Val::stored(cell.output, Arc::clone(&self.fetch), cell.outcome.0);
            self.settle(at, Slot::Done(value, caused));
        } else {
            *self.slot_mut(at) = Slot::Blocked;
        }
    }

    fn in_doubt(&mut self, at: At, cell: &Cell, doubt: Doubt, print: Digest) {
        match self.started(cell) {
            Ok(started) => {
                let (key, title) =
                    started.map_or((cell.fingerprint, None), |started| (started.key, started.title));
                let (address, path, why) = (self.address(at), self.path(at), doubt.why());
                self.doubt(Doubtful { at: address, path, key, why, print, title });
                *self.slot_mut(at) = Slot::Blocked;
            }
            Err(why) => self.break_off(why),
        }
    }

    /// Closes an attempt that nobody will finish. What was left of it was ended before the check.
    fn close_if_begun(&mut self, at: At, cell: &Cell, why: &str) {
        if cell.status != CellStatus::Started {
            return;
        }
        let event = Event::Interrupted(Interrupted { why: why.to_owned() });
        let address = self.address(at);
        self.emit_at_go(address, cell.generation, cell.fingerprint, &event);
    }
}

impl Walk {
    /// What people call the finished call at `at`, where its author said so.
    pub(super) fn title_at(&self, at: Address) -> Option<String> {
        let cell = self.state.cell(at)?;
        // Only agents have titles, and a record that does not read is found out by whoever needs what is in it.
        self.started(cell).ok().flatten()?.title
    }
}

/// Inputs by name and digest.
pub(super) fn named<'a>(names: impl Iterator<Item = &'a str>, values: &[Val]) -> Vec<Input> {
    names.zip(values).map(|(name, value)| Input { name: name.to_owned(), digest: value.digest() }).collect()
}

/// Stored JSON text as it goes into a record.
pub(super) fn raw(text: &str) -> Result<Box<serde_json::value::RawValue>, String> {
    serde_json::value::RawValue::from_string(text.to_owned()).map_err(|error| error.to_string())
}
