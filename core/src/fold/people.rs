//! What people do to a run: questions that are closed, decisions, what is asked for by path, another input, budgets.

use super::{CellStatus, IllegalEvent, RunState};
use crate::{
    ids::Seq,
    journal::{Event, Header},
};

impl RunState {
    /// A question has an answer, has expired, or was closed without one.
    pub(super) fn question_closed(
        &mut self,
        seq: Seq,
        header: &Header,
        event: Event,
    ) -> Result<(), IllegalEvent> {
        let illegal = |why: &str| IllegalEvent::new(seq, header.kind, why);
        match event {
            Event::Answered(answered) => {
                let (cell, _) = self.entry(seq, header, CellStatus::Asked)?;
                if cell.status != CellStatus::Asked || cell.request != answered.question {
                    return Err(illegal("the question it answers is not open there"));
                }
                cell.status = CellStatus::Answered;
                cell.output = header.output;
                cell.outcome = seq;
            }
            Event::Expired(expired) => {
                let (cell, _) = self.entry(seq, header, CellStatus::Asked)?;
                if cell.status != CellStatus::Asked || cell.request != expired.question {
                    return Err(illegal("the question it closes is not open there"));
                }
                cell.status =
                    if expired.value.is_some() { CellStatus::Answered } else { CellStatus::Expired };
                cell.output = header.output;
                cell.outcome = seq;
            }
            Event::Superseded(closed) => {
                let (cell, _) = self.entry(seq, header, CellStatus::Asked)?;
                if cell.status != CellStatus::Asked || cell.request != closed.question {
                    if closed.suspended {
                        // Answered, or expired, at the same moment: there is nothing to rest.
                        return Ok(());
                    }
                    return Err(illegal("the question it closes is not open there"));
                }
                if closed.suspended {
                    cell.suspended = true;
                } else {
                    cell.status = CellStatus::Superseded;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// People, or the plan in their place, have said something of the run.
    pub(super) fn said(&mut self, seq: Seq, header: &Header, event: Event) -> Result<(), IllegalEvent> {
        match event {
            Event::DecisionMade(made) => self.decisions.push(made),
            Event::Directed(directed) => self.directed.push(directed),
            Event::Parked(_) => {
                self.decisions.clear();
                self.directed.clear();
            }
            Event::Given(_) => self.given(seq, header)?,
            Event::Adopted(_) => self.outcome(seq, header, CellStatus::Succeeded, false)?,
            Event::Renamed(renamed) => self.renamed(seq, header, &renamed.pattern)?,
            Event::InputAccepted(accepted) => {
                self.input = header.output;
                self.input_at = seq;
                if let Some(start) = &mut self.start {
                    start.input = accepted.input;
                }
                let input = Header { fingerprint: header.output, ..*header };
                self.decided(seq, &input)?;
                self.open_cause(seq, header)?.rerun = false;
            }
            Event::Accepted(_) => {
                let fingerprint = header.fingerprint;
                let (cell, _) = self.entry(seq, header, CellStatus::Decided)?;
                if !cell.accepted.contains(&fingerprint) {
                    cell.accepted.push(fingerprint);
                }
            }
            Event::Dropped(_) => {
                self.known(seq, header)?;
                self.dropped.insert(header.at.step);
            }
            Event::Budgeted(budgeted) => {
                self.budget = Some(budgeted.budget);
                // It says anew what the run may spend.
                self.raised.remove("");
            }
            Event::Raised(raised) => {
                let known = self.raised.entry(raised.path).or_default();
                *known = known.and(raised.to.raised(*known));
            }
            // Whom a question is for stands with the needs.
            Event::Started(_)
            | Event::Succeeded(_)
            | Event::Reassigned(_)
            | Event::Refused(_)
            | Event::Driven(_) => {}
            _ => return Err(IllegalEvent::new(seq, header.kind, "nothing is known of what it does")),
        }
        Ok(())
    }
}
