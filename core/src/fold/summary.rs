//! The small part of a run's state that lists are made of: its head, and what waits for a person.
//! Cheap enough to be kept up to date with every record, also for runs nobody drives.

use super::IllegalEvent;
use crate::{
    budget::Unit,
    ids::{RunId, Seq},
    journal::{Asked, CauseKind, EndKind, Event, Group, Kind, Record},
    people::{Need, NeedKind},
    timestamp::Timestamp,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a run stands, as far as its journal says. Whether it is *driven* is a fact of the live process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// Not ended: running, waiting for people, or interrupted.
    #[default]
    Open,
    /// Stopped for a person to decide.
    Parked,
    /// Ended with an output.
    Completed,
    /// Ended with a failure.
    Failed,
    /// Ended because somebody cancelled it.
    Cancelled,
}

/// One line of the list of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The run's id.
    pub id: RunId,
    /// The plan's name.
    pub plan: String,
    /// Where it stands.
    pub status: RunStatus,
    /// When it began: milliseconds since 1970, UTC.
    pub started: i64,
    /// The time of its last record.
    pub updated: i64,
    /// The position of its last record.
    pub records: u64,
    /// Calls begun.
    pub calls: u64,
    /// Outcomes recorded as succeeded, answers included.
    pub succeeded: u64,
    /// Outcomes recorded as failed.
    pub failed: u64,
    /// What waits for a person.
    pub needs: u64,
}

/// A run's head and needs, folded record by record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    head: Option<Head>,
    needs: BTreeMap<(Seq, u32), Need>,
    suspended: BTreeMap<(Seq, u32), Need>,
    /// How the run ended, while it is ended: what it is again when it is no longer parked.
    ended: Option<RunStatus>,
    /// Whether somebody has cancelled the run, and that is not recorded as its end.
    cancelled: bool,
}

impl Summary {
    /// The head; `None` before the first record.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// What waits for a person, oldest first, by record and position in it.
    pub fn needs(&self) -> &BTreeMap<(Seq, u32), Need> {
        &self.needs
    }

    /// Whether somebody has cancelled the run, which has not ended: it can only end as cancelled.
    pub fn cancelled(&self) -> bool {
        self.cancelled
    }

    /// The open questions whose time is over at `now`, oldest first: whoever writes next records that first.
    pub fn lapsed(&self, now: Timestamp) -> Vec<Seq> {
        let lapsed = self.needs.iter().filter(|(_, need)| is_over(need, now));
        lapsed.map(|((seq, _), _)| *seq).collect()
    }

    /// Takes in one more record.
    ///
    /// # Errors
    /// When it cannot follow.
    pub fn apply(&mut self, seq: Seq, record: &Record) -> Result<(), IllegalEvent> {
        let illegal = |why: &str| IllegalEvent::new(seq, record.header.kind, why);
        if record.header.kind == Kind::RunStarted {
            let Event::RunStarted(start) = record.event()? else {
                return Err(illegal("a body of another kind"));
            };
            if self.head.is_some() || seq != Seq(1) {
                return Err(illegal("a run begins once, with its first record"));
            }
            self.head = Some(Head {
                id: start.id,
                plan: start.plan,
                status: RunStatus::Open,
                started: record.header.time,
                updated: record.header.time,
                records: 1,
                calls: 0,
                succeeded: 0,
                failed: 0,
                needs: 0,
            });
            return Ok(());
        }
        let Some(head) = self.head.as_mut() else { return Err(illegal("the run has not begun")) };
        if seq.0 != head.records + 1 {
            return Err(illegal("a record is missing before it"));
        }
        if record.header.time < head.updated {
            return Err(illegal("its time is before that of the record before it"));
        }
        head.records = seq.0;
        head.updated = record.header.time;
        match record.header.kind {
            Kind::Started => head.calls += 1,
            Kind::Succeeded | Kind::Given | Kind::Adopted => head.succeeded += 1,
            Kind::Failed => head.failed += 1,
            Kind::Asked
            | Kind::Answered
            | Kind::Superseded
            | Kind::Parked
            | Kind::DecisionMade
            | Kind::Caused
            | Kind::Ended
            | Kind::Expired
            | Kind::InputAccepted
            | Kind::CancelAsked
            | Kind::Memoised
            | Kind::Raised
            | Kind::Reassigned => self.people(seq, record)?,
            _ => {}
        }
        if let Some(head) = self.head.as_mut() {
            head.needs = self.needs.len() as u64;
        }
        Ok(())
    }

    /// The records that change what waits for people, or the status.
    fn people(&mut self, seq: Seq, record: &Record) -> Result<(), IllegalEvent> {
        let illegal = |why: &str| IllegalEvent::new(seq, record.header.kind, why);
        let Some(head) = self.head.as_mut() else { return Err(illegal("the run has not begun")) };
        let unparked = self.ended.unwrap_or(RunStatus::Open);
        match record.event()? {
            Event::Asked(asked) => {
                self.needs.insert((seq, 0), question(seq, record, asked));
            }
            Event::Answered(answer) => {
                if self.needs.remove(&(answer.question, 0)).is_none() {
                    return Err(illegal("the question it answers is not open"));
                }
                head.succeeded += 1;
            }
            Event::Expired(expired) => {
                if self.needs.remove(&(expired.question, 0)).is_none() {
                    return Err(illegal("the question it closes is not open"));
                }
                *(if expired.value.is_some() { &mut head.succeeded } else { &mut head.failed }) += 1;
            }
            Event::Reassigned(reassigned) => {
                let need = self.needs.get_mut(&(reassigned.question, 0));
                // Where there is none, it was answered, or expired, at the same moment.
                if let Some(NeedKind::Review { assignee, .. }) = need.map(|need| &mut need.kind) {
                    *assignee = reassigned.assignee;
                }
            }
            Event::Superseded(closed) => match self.needs.remove(&(closed.question, 0)) {
                Some(need) if closed.suspended => {
                    self.suspended.insert((closed.question, 0), need);
                }
                Some(_) => {}
                None if self.suspended.remove(&(closed.question, 0)).is_some() => {}
                // Answered, or expired, at the same moment: there is nothing to rest.
                None if closed.suspended => {}
                None => return Err(illegal("the question it closes is not open")),
            },
            Event::Parked(parked) => {
                self.needs.retain(|_, need| matches!(need.kind, NeedKind::Review { .. }));
                head.status = if parked.groups.is_empty() { unparked } else { RunStatus::Parked };
                for (index, group) in (0..).zip(parked.groups) {
                    self.needs.insert((seq, index), parked_need(seq, record.header.time, group));
                }
            }
            Event::DecisionMade(made) => {
                let count = self.needs.len();
                self.needs.retain(|_, need| about(&need.kind) != Some(made.about));
                if self.needs.len() == count {
                    return Err(illegal("nothing waits for this decision"));
                }
                if self.needs.values().all(|need| matches!(need.kind, NeedKind::Review { .. })) {
                    head.status = unparked;
                }
            }
            Event::Caused(caused) => {
                if caused.kind == CauseKind::Retry {
                    self.cancelled = false;
                    // What rested past its time is asked anew, with a time of its own.
                    let now = Timestamp::from_millis(record.header.time);
                    self.suspended.retain(|_, need| !is_over(need, now));
                    self.needs.append(&mut self.suspended);
                }
                self.ended = None;
                if head.status != RunStatus::Parked {
                    head.status = RunStatus::Open;
                }
            }
            Event::CancelAsked(asked) if asked.steps.is_none() => {
                // From here on it is never anything else, though its calls have still to end.
                self.cancelled = true;
                head.status = RunStatus::Cancelled;
                self.rest(RunStatus::Cancelled);
            }
            Event::InputAccepted(_) => {
                self.ended = None;
                if head.status != RunStatus::Parked {
                    head.status = RunStatus::Open;
                }
            }
            Event::Raised(raised) => {
                self.needs.retain(|_, need| match need.kind {
                    NeedKind::Budget { unit, limit, .. } => {
                        need.path != raised.path || raised.to.limit(unit).is_none_or(|to| to <= limit)
                    }
                    _ => true,
                });
                if self.needs.values().all(|need| matches!(need.kind, NeedKind::Review { .. }))
                    && head.status == RunStatus::Parked
                {
                    head.status = unparked;
                }
            }
            Event::Ended(ended) => {
                head.status = match ended.end {
                    EndKind::Completed { .. } => RunStatus::Completed,
                    EndKind::Failed { .. } => RunStatus::Failed,
                    EndKind::Cancelled { .. } => RunStatus::Cancelled,
                };
                let status = head.status;
                self.cancelled = false;
                self.rest(status);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Summary {
    /// The run has ended so: what is to be decided no longer is, and open questions rest.
    fn rest(&mut self, status: RunStatus) {
        self.ended = Some(status);
        self.needs.retain(|_, need| matches!(need.kind, NeedKind::Review { .. }));
        self.suspended.append(&mut self.needs);
    }
}

/// Whether a question takes no answer any more at `now`.
fn is_over(need: &Need, now: Timestamp) -> bool {
    matches!(need.kind, NeedKind::Review { expires: Some(expires), .. } if expires <= now)
}

/// What a decision about this need names; `None` for questions.
pub(super) fn about(kind: &NeedKind) -> Option<crate::digest::Digest> {
    match kind {
        NeedKind::Review { .. } => None,
        NeedKind::Conflict { difference, .. } | NeedKind::Dropped { difference, .. } => Some(*difference),
        NeedKind::InDoubt { key, .. } => Some(*key),
        NeedKind::Budget { about, .. } => Some(*about),
    }
}

fn question(seq: Seq, record: &Record, asked: Asked) -> Need {
    let title = match &asked.request {
        crate::request::Request::Ask(ask) => ask.title.clone(),
        _ => asked.path.clone(),
    };
    Need {
        id: seq,
        path: asked.path,
        title,
        since: record.header.time,
        kind: NeedKind::Review {
            question: record.header.fingerprint,
            schema: asked.schema,
            choices: asked.choices,
            many: asked.many,
            shown: asked.shown,
            assignee: asked.assignee,
            expires: asked.expires.map(|expiry| expiry.at),
        },
    }
}

fn parked_need(seq: Seq, time: i64, group: Group) -> Need {
    let (path, title, kind) = match group {
        Group::Conflict {
            path, difference, count, fields, examples, not_kept, schema, input, title, ..
        } => {
            let names: Vec<_> = fields.iter().map(|changed| changed.field.to_string()).collect();
            let words = format!("{} changed since it was recorded", names.join(", "));
            let kind = NeedKind::Conflict { difference, count, fields, examples, not_kept, schema, input };
            (path, titled(title, words), kind)
        }
        Group::Dropped { path, difference, count, proposed, .. } => {
            let words = match &proposed {
                Some(step) => format!("finished, and no longer in the plan; is it `{step}` now?"),
                None => "finished, and no longer in the plan".to_owned(),
            };
            (path, words, NeedKind::Dropped { difference, count, proposed })
        }
        Group::InDoubt { path, key, why, schema, title, .. } => {
            (path, titled(title, why.clone()), NeedKind::InDoubt { key, why, schema })
        }
        Group::Budget { path, unit, limit, spent, reserved, asked, about } => {
            let (bound, used) = (unit.show(limit), unit.show(spent));
            let words = match &asked {
                Some(asked) if unit == Unit::Time => {
                    format!("its budget is {bound}, {used} are spent, and `{}` is to be called", asked.path)
                }
                Some(asked) => format!(
                    "its budget is {bound}, {used} are spent, and `{}` asks for {}",
                    asked.path,
                    unit.show(asked.amount)
                ),
                None => format!("its budget was {bound}, and {used} were spent"),
            };
            (path, words, NeedKind::Budget { unit, limit, spent, reserved, asked, about })
        }
    };
    Need { id: seq, path, title, since: time, kind }
}

/// What a person reads first: the author's title for the step, where there is one, before what happened to it.
fn titled(title: Option<String>, words: String) -> String {
    title.map_or(words.clone(), |title| format!("{title}: {words}"))
}
