//! Replay: what today's request means for what the journal says. Page "resume table", as one pure function.

use hermes_core::{
    digest::Digest,
    effect::Effect,
    fold::{Cell, CellStatus},
};

/// What is known about a step when it is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// Whether today's fingerprint counts as the recorded one.
    pub(crate) same: bool,
    /// Whether an open cause lies at or above it.
    pub(crate) caused: bool,
    /// Whether the author gave it another version since.
    pub(crate) version_changed: bool,
    /// The stricter of its effects then and now.
    pub(crate) effect: Effect,
    /// How many attempts in a row may end with the process before a person is asked.
    pub(crate) crash_limit: Option<u32>,
}

/// What to do about a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Take the recorded outcome.
    Reuse,
    /// Take the recorded failure.
    ReuseFailure,
    /// Run it (again).
    Run,
    /// Close the attempt that nobody will finish, then run it under a new key.
    CloseThenRun,
    /// Open a cause for the changed version, then run it.
    Version,
    /// A finished step differs and nothing explains it.
    Conflict,
    /// A person has to say what became of it.
    InDoubt(Doubt),
    /// The question stays open, or the wait goes on, for a moment or for the next attempt.
    StayOpen,
    /// Close the question, then ask anew.
    AskAnew,
}

/// Why a step is in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It began, is unsafe, and nobody knows how it ended.
    Began,
    /// It failed, is unsafe, and may have acted.
    MayHaveActed,
    /// Its attempts ended with the process too often in a row.
    Crashes,
}

impl Doubt {
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Began => "it began, it is unsafe to run twice, and nobody knows how it ended",
            Self::MayHaveActed => {
                "it failed, it is unsafe to run twice, and it may have acted before it failed"
            }
            Self::Crashes => "its attempts ended with the process several times in a row",
        }
    }
}

/// The resume table.
pub(crate) fn judge(cell: &Cell, now: Now) -> Verdict {
    let safe = now.effect != Effect::Unsafe;
    let crashed = |ended: u32| now.crash_limit.is_some_and(|limit| ended >= limit);
    match cell.status {
        CellStatus::Succeeded | CellStatus::Answered | CellStatus::Decided => {
            if cell.rerun {
                Verdict::Run
            } else if now.same {
                Verdict::Reuse
            } else if now.caused && safe {
                Verdict::Run
            } else if now.version_changed && safe {
                Verdict::Version
            } else {
                Verdict::Conflict
            }
        }
        CellStatus::Failed => {
            if !cell.rerun && now.same {
                Verdict::ReuseFailure
            } else if !safe && cell.may_have_acted {
                Verdict::InDoubt(Doubt::MayHaveActed)
            } else {
                Verdict::Run
            }
        }
        CellStatus::Delayed => {
            if !safe && cell.may_have_acted {
                Verdict::InDoubt(Doubt::MayHaveActed)
            } else if now.same && !cell.rerun {
                Verdict::StayOpen
            } else {
                Verdict::Run
            }
        }
        CellStatus::Started => {
            if cell.rerun {
                if now.same { Verdict::Run } else { Verdict::CloseThenRun }
            } else if !safe {
                Verdict::InDoubt(Doubt::Began)
            } else if crashed(cell.lost + 1) {
                Verdict::InDoubt(Doubt::Crashes)
            } else if now.same {
                Verdict::Run
            } else {
                Verdict::CloseThenRun
            }
        }
        CellStatus::Interrupted => {
            if cell.lost == 0 {
                Verdict::Run
            } else if !safe {
                Verdict::InDoubt(Doubt::Began)
            } else if crashed(cell.lost) && !cell.rerun {
                Verdict::InDoubt(Doubt::Crashes)
            } else {
                Verdict::Run
            }
        }
        CellStatus::Expired if now.same && !cell.rerun => Verdict::ReuseFailure,
        CellStatus::Asked | CellStatus::Timed if now.same && !cell.rerun => Verdict::StayOpen,
        CellStatus::Asked => Verdict::AskAnew,
        CellStatus::Superseded | CellStatus::Expired | CellStatus::Timed => Verdict::Run,
    }
}

/// The digest under which a decision, made from `from`, is accepted by hand.
pub(crate) fn decision_digest(from: &Digest, decision: &Digest) -> Digest {
    let mut writer = hermes_core::digest::DigestWriter::new("hermes decision");
    writer.digest(from);
    writer.digest(decision);
    writer.finish()
}
