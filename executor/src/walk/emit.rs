//! What the walk asks to be written, and what follows once it is durable.

use super::{
    frame::{At, Fault},
    state::Walk,
};
use hermes_core::{
    digest::Digest,
    ids::{Address, Seq},
    journal::{Event, Record},
    timestamp::Timestamp,
    value::Val,
};

/// A record to be written.
pub(crate) struct Emit {
    pub(crate) record: Record,
    pub(crate) blobs: Vec<Vec<u8>>,
    pub(crate) then: Then,
}

/// What follows once a record is durable.
pub(crate) enum Then {
    Nothing,
    /// The step has this outcome.
    Settle(At, Outcome),
    /// The decision stands: what is below it may begin.
    Decided(At),
    /// The question is open, under the record's position, and till then.
    Asked(At, Option<Timestamp>),
    /// The wait has begun, and is over then.
    Timed(At, Timestamp),
    /// The wait is over.
    Over(At, Val, bool),
    /// The attempt has failed, and the next is due then.
    Delayed(At, Timestamp),
    /// No other attempt is made: the step has failed.
    GivenUp(At, Fault),
    /// The call may begin.
    Call(At),
    /// The question has an answer that was taken over.
    Answer(At, Val),
    /// The refused answer is kept: the call's next turn may begin.
    Refused(At),
}

/// A recorded outcome.
pub(crate) enum Outcome {
    Done(Val, bool),
    Failed(Fault),
}

impl Walk {
    /// Asks for a record.
    pub(super) fn emit(
        &mut self,
        at: Address,
        generation: u32,
        fingerprint: Digest,
        output: Digest,
        event: &Event,
        then: Then,
    ) {
        self.emit_with(at, generation, fingerprint, output, event, Vec::new(), then);
    }

    /// Asks for a record that nothing waits for; in a check, for when the walk goes.
    pub(super) fn emit_at_go(&mut self, at: Address, generation: u32, fingerprint: Digest, event: &Event) {
        let record = Record::new(at, generation, fingerprint, Digest::ZERO, event);
        let emit = Emit { record, blobs: Vec::new(), then: Then::Nothing };
        if self.checking { self.later.push(emit) } else { self.emits.push(emit) }
    }

    #[expect(clippy::too_many_arguments, reason = "the header's fields, the body, and what follows")]
    pub(super) fn emit_with(
        &mut self,
        at: Address,
        generation: u32,
        fingerprint: Digest,
        output: Digest,
        event: &Event,
        blobs: Vec<Vec<u8>>,
        then: Then,
    ) {
        if let Then::Decided(at) = then {
            self.decision_wanted(at);
        }
        let record = Record::new(at, generation, fingerprint, output, event);
        self.emits.push(Emit { record, blobs, then });
    }

    /// Goes on from a record that is durable at `seq`. Calls that may begin are for whoever dispatches.
    pub(crate) fn durable(&mut self, then: Then, seq: Seq) -> Option<At> {
        match then {
            Then::Nothing | Then::Refused(_) => {}
            Then::Settle(at, outcome) => self.call_settled(at, outcome),
            Then::Decided(at) => self.decision_stands(at),
            Then::Asked(at, expires) => self.question_open(at, seq, expires),
            Then::Timed(at, until) => self.wait_begun(at, until),
            Then::Answer(at, value) => self.answer_taken_over(at, value),
            Then::Over(at, value, caused) => self.wait_over(at, value, caused),
            Then::Delayed(at, until) => self.delay_begun(at, until),
            Then::GivenUp(at, fault) => self.given_up(at, fault),
            Then::Call(at) => return Some(at),
        }
        None
    }
}
