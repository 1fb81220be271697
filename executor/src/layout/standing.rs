//! Where a line of a run stands, in words, and what its members make of a group.

use std::fmt;

#[cfg(test)]
mod tests;

/// Where a step or a group stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Done,
    Failed,
    Cancelled,
    Running,
    /// A call began and has no outcome, or some of a group is done and nothing of it runs.
    Begun,
    Interrupted,
    Waiting,
    /// Its moment has not come.
    Timed,
    /// Its question rests, because what it belongs to has failed.
    Suspended,
    /// A part is done, and the rest will not start.
    Stopped,
    /// Will not start: something around it has failed.
    Skipped,
    /// The run has ended, and the journal has no word of it: it could not be made, or the plan did not have it then.
    NeverBegan,
    NotStarted,
}

impl Standing {
    pub(super) const ALL: [Self; 13] = [
        Self::Done,
        Self::Failed,
        Self::Cancelled,
        Self::Running,
        Self::Begun,
        Self::Interrupted,
        Self::Waiting,
        Self::Timed,
        Self::Suspended,
        Self::Stopped,
        Self::Skipped,
        Self::NeverBegan,
        Self::NotStarted,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Running => "running",
            Self::Begun => "begun",
            Self::Interrupted => "interrupted",
            Self::Waiting => "waiting for an answer",
            Self::Timed => "waiting for its time",
            Self::Suspended => "suspended",
            Self::Stopped => "stopped",
            Self::Skipped => "skipped",
            Self::NeverBegan => "never began",
            Self::NotStarted => "not started",
        }
    }

    /// Whether it fails what it belongs to.
    pub(super) fn fails(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled)
    }

    /// Whether nothing more will come of it.
    pub(super) fn settled(self) -> bool {
        !matches!(
            self,
            Self::Running | Self::Begun | Self::Interrupted | Self::Waiting | Self::Timed | Self::NotStarted
        )
    }

    /// What these make of the group they belong to; `None` of none.
    pub(super) fn of(members: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut has = [false; Self::ALL.len()];
        let mut members = members.into_iter().peekable();
        let first = *members.peek()?;
        let mut alike = true;
        for member in members {
            alike &= member == first;
            has[member as usize] = true;
        }
        let any = |which: &[Self]| which.iter().any(|one| has[*one as usize]);
        let first_of = |which: &[Self]| which.iter().copied().find(|one| has[*one as usize]);
        Some(if alike {
            first
        } else if let Some(open) = first_of(&[Self::Running, Self::Waiting, Self::Timed]) {
            open
        } else if any(&[Self::Begun, Self::Interrupted, Self::NotStarted]) {
            Self::Begun
        } else {
            // Of what is left, more than one kind: it is not all done.
            first_of(&[Self::Failed, Self::Cancelled, Self::NeverBegan]).unwrap_or(Self::Stopped)
        })
    }

    /// How many stand where: `9998 done, 2 failed`.
    pub(super) fn counts(members: impl IntoIterator<Item = Self>) -> String {
        let mut counts = [0_usize; Self::ALL.len()];
        for member in members {
            counts[member as usize] += 1;
        }
        let counted = Self::ALL.iter().zip(counts).filter(|(_, count)| *count > 0);
        counted.map(|(standing, count)| format!("{count} {}", standing.word())).collect::<Vec<_>>().join(", ")
    }
}

/// A standing, and more exact words for it where there are some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) standing: Standing,
    pub(super) words: Option<String>,
}

impl State {
    pub(super) fn new(standing: Standing, words: impl Into<String>) -> Self {
        Self { standing, words: Some(words.into()) }
    }
}

impl From<Standing> for State {
    fn from(standing: Standing) -> Self {
        Self { standing, words: None }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words.as_deref().unwrap_or_else(|| self.standing.word()))
    }
}
