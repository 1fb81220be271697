//! What people do to runs: read what waits for them, answer. None of it needs a plan, none of it walks;
//! what follows is derived by the next walk.

use super::handle::Executor;
use crate::{error::AnswerError, ledger::LedgerError};
use hermes_core::{
    digest::Digest,
    fold::{CellStatus, RunStatus, Summary},
    ids::{Address, RunId, RunNo, Seq},
    journal::{Answered, Event, Kind, Record},
    people::{Actor, Need, NeedKind},
    schema::{Schema, Violation},
    value::Val,
};
use serde::Serialize;
use std::{
    future::{Future, IntoFuture},
    pin::Pin,
};

pub(super) type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An answer about to be given: say who gives it, then `.await` it.
#[must_use = "an answer is given when this is awaited"]
pub struct Answering {
    executor: Executor,
    run: RunId,
    need: Need,
    answer: Result<Val, String>,
    by: Actor,
    key: Option<String>,
}

impl Answering {
    /// Who gives it. What a client says of itself is recorded as claimed.
    pub fn by(mut self, actor: Actor) -> Self {
        self.by = actor;
        self
    }

    /// The key under which giving the same answer again changes nothing.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl IntoFuture for Answering {
    /// The position of the answer's record.
    type Output = Result<Seq, AnswerError>;
    type IntoFuture = Pending<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.give() })
    }
}

impl Executor {
    /// What waits for people in a run, oldest first.
    ///
    /// # Errors
    /// When the ledger fails.
    pub fn needs(&self, run: &RunId) -> Result<Vec<Need>, LedgerError> {
        Ok(self.shared.services.ledger.needs(Some(run))?.into_iter().map(|(_, need)| need).collect())
    }

    /// The open question at `path`.
    ///
    /// # Errors
    /// When no question is open there: it was answered, the run has ended, or it has not come to it yet.
    pub fn question(&self, run: &RunId, path: &str) -> Result<Need, AnswerError> {
        let number =
            self.shared.services.ledger.find(run)?.ok_or_else(|| AnswerError::NoSuchRun(run.clone()))?;
        let needs = self.needs(run)?;
        let is_question = |need: &&Need| matches!(need.kind, NeedKind::Review { .. });
        if let Some(need) = needs.iter().filter(is_question).find(|need| need.path == path) {
            return Ok(need.clone());
        }
        if let Some(need) = needs.iter().find(|need| need.path == path) {
            return Err(AnswerError::NotAQuestion { path: need.path.clone() });
        }
        let state = self.shared.services.ledger.state(number)?;
        let closed = |status| matches!(status, CellStatus::Answered | CellStatus::Expired);
        let closed = state
            .cells()
            .find(|(at, cell)| closed(cell.status) && state.path(*at).to_string() == path)
            .map(|(_, cell)| cell.outcome);
        if let Some(by) = closed {
            let record = self.shared.services.ledger.record(number, by)?;
            let path = path.to_owned();
            return Err(match record.header.kind {
                Kind::Expired => AnswerError::Expired { path },
                _ => AnswerError::Late { path },
            });
        }
        if ended(&state.summary) {
            return Err(AnswerError::Ended { run: run.clone() });
        }
        let open: Vec<_> = needs.iter().filter(is_question).map(|need| need.path.as_str()).collect();
        let open = if open.is_empty() { "none".to_owned() } else { open.join(", ") };
        Err(AnswerError::NotOpen { run: run.clone(), path: path.to_owned(), open })
    }

    /// What a question shows: names and values, in order.
    ///
    /// # Errors
    /// When the ledger fails.
    pub fn shown(&self, need: &Need) -> Result<Vec<(String, serde_json::Value)>, LedgerError> {
        let NeedKind::Review { shown, .. } = &need.kind else { return Ok(Vec::new()) };
        let mut values = Vec::with_capacity(shown.len());
        for (name, blob) in shown {
            values.push((name.clone(), self.blob_json(blob)?));
        }
        Ok(values)
    }

    /// The choices of a question that has some.
    ///
    /// # Errors
    /// When the ledger fails.
    pub fn choices(&self, need: &Need) -> Result<Option<serde_json::Value>, LedgerError> {
        match &need.kind {
            NeedKind::Review { choices: Some(blob), .. } => self.blob_json(blob).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn blob_json(&self, blob: &Digest) -> Result<serde_json::Value, LedgerError> {
        let bytes = self.shared.services.ledger.blob(blob)?.unwrap_or_default();
        serde_json::from_slice(&bytes)
            .map_err(|error| LedgerError::damaged(format!("blob {} is not JSON: {error}", blob.short())))
    }

    /// Answers an open question. One commit: durable once awaited.
    pub fn answer(&self, run: &RunId, need: &Need, answer: &(impl Serialize + ?Sized)) -> Answering {
        Answering {
            executor: self.clone(),
            run: run.clone(),
            need: need.clone(),
            answer: Val::encode(answer).map_err(|error| error.to_string()),
            by: Actor::default(),
            key: None,
        }
    }
}

pub(super) fn ended(summary: &Summary) -> bool {
    summary.head().is_some_and(|head| {
        matches!(head.status, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled)
    })
}

impl Answering {
    fn give(self) -> Result<Seq, AnswerError> {
        let shared = &self.executor.shared;
        let services = &shared.services;
        let run = services.ledger.find(&self.run)?.ok_or_else(|| AnswerError::NoSuchRun(self.run.clone()))?;
        let path = self.need.path.clone();
        let NeedKind::Review { question, schema, choices, many, .. } = &self.need.kind else {
            return Err(AnswerError::NotAQuestion { path });
        };
        let invalid = |why: String| AnswerError::Invalid {
            path: path.clone(),
            violations: vec![Violation { place: "/".to_owned(), why }],
        };
        let answer = self.answer.clone().map_err(&invalid)?;
        let json = answer.json().map_err(|error| invalid(error.to_string()))?;
        let schema = self.executor.blob_json(schema)?;
        let schema = Schema::from_json(schema)
            .map_err(|error| LedgerError::damaged(format!("the schema of `{path}` is none: {error}")))?;
        if let Err(violations) = schema.validate(&json) {
            return Err(AnswerError::Invalid { path, violations });
        }
        let blank = |decision: &str, words: &str| {
            json.get("decision").is_some_and(|given| given == decision)
                && json.get(words).and_then(|text| text.as_str()).is_some_and(|text| text.trim().is_empty())
        };
        if blank("request_changes", "feedback") {
            return Err(invalid("feedback must not be blank: say what should be different".to_owned()));
        }
        if blank("reject", "reason") {
            return Err(invalid("the reason must not be blank: say why it is rejected".to_owned()));
        }
        if let Some(choices) = choices {
            let list = Val::from_json(self.executor.blob_json(choices)?);
            Self::is_choice(&answer, &list, *many).map_err(&invalid)?;
        }
        let at = self.address(run)?;
        let text = answer.text().map_err(|error| invalid(error.to_string()))?;
        let raw = serde_json::value::RawValue::from_string(text.to_string());
        let event = Event::Answered(Answered {
            question: self.need.id,
            answer: raw.map_err(|error| invalid(error.to_string()))?,
            by: self.by.clone(),
            key: self.key.clone(),
        });
        let record = Record::new(at, 0, *question, answer.digest(), &event);
        let now = services.clock.now();
        let (lapsed, result) = services.ledger.transact_at(run, now, |summary| {
            let Some(open) = summary.needs().get(&(self.need.id, 0)) else {
                return Err(if ended(summary) {
                    AnswerError::Ended { run: self.run.clone() }
                } else {
                    AnswerError::Late { path: path.clone() }
                });
            };
            match &open.kind {
                NeedKind::Review { question: today, .. } if *today == *question => {}
                _ => return Err(AnswerError::Changed { path: path.clone() }),
            }
            Ok((crate::ledger::Append { records: vec![record], blobs: Vec::new(), now }, ()))
        })?;
        shared.tell_lapsed(&self.run, &lapsed);
        match result {
            Ok((seq, ())) => {
                shared.tell_answer(&self.run, self.need.id, seq, answer.digest());
                Ok(seq)
            }
            Err(refused @ (AnswerError::Late { .. } | AnswerError::Ended { .. })) => {
                self.given_before(run, at, &answer, refused)
            }
            Err(error) => Err(error),
        }
    }

    fn is_choice(answer: &Val, list: &Val, many: bool) -> Result<(), String> {
        let choices: Vec<Digest> =
            list.elements().map_err(|error| error.to_string())?.iter().map(Val::digest).collect();
        let chosen = if many {
            answer.elements().map_err(|error| error.to_string())?.iter().map(Val::digest).collect()
        } else {
            vec![answer.digest()]
        };
        match chosen.iter().find(|digest| !choices.contains(digest)) {
            Some(_) => Err("it is not among the choices".to_owned()),
            None => Ok(()),
        }
    }

    /// Where the question's cell is.
    fn address(&self, run: RunNo) -> Result<Address, AnswerError> {
        Ok(self.executor.shared.services.ledger.record(run, self.need.id)?.header.at)
    }

    /// The question is not open any more: the same answer under the same key was given before, also where the run has ended
    /// since; or something else was.
    fn given_before(
        &self,
        run: RunNo,
        at: Address,
        answer: &Val,
        refused: AnswerError,
    ) -> Result<Seq, AnswerError> {
        let path = self.need.path.clone();
        let ledger = &self.executor.shared.services.ledger;
        let state = ledger.state(run)?;
        let cell = state
            .cell(at)
            .filter(|cell| cell.request == self.need.id && cell.status != CellStatus::Superseded);
        let Some(cell) = cell else {
            return Err(match refused {
                AnswerError::Late { path } => AnswerError::Changed { path },
                refused => refused,
            });
        };
        let record = ledger.record(run, cell.outcome)?;
        match record.event() {
            Ok(Event::Answered(given)) if given.key.is_some() && given.key == self.key => {
                if record.header.output == answer.digest() {
                    Ok(cell.outcome)
                } else {
                    Err(AnswerError::Conflicting { path })
                }
            }
            Ok(Event::Expired(_)) => Err(AnswerError::Expired { path }),
            _ => Err(refused),
        }
    }
}
