//! What an author says of a step for the sake of runs that were begun with an earlier form of the plan.

use hermes_core::path::{Mark, Segment, StepPath};

/// What becomes of a finished step whose request differs from today's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnChange {
    /// It runs again, and what depends on it, without anybody being asked.
    Rerun,
    /// Its output is kept, where it is valid for today's type, without anybody being asked.
    Keep,
}

/// What an author says of a step for replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// The name that it had before, in the same place.
    pub renamed_from: Option<String>,
    /// What becomes of it when its request has changed; `None` asks a person.
    pub on_change: Option<OnChange>,
    /// Whether it takes over what any run has got for the same request.
    pub memo: bool,
}

/// A step, or a group with all that is in it, that stood under another path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The pattern of its path before.
    pub old: StepPath,
    /// The pattern of its path today.
    pub new: StepPath,
}

impl Rename {
    /// The path of today for what was recorded under this one; `None` where the renaming is not about it.
    pub fn today(&self, recorded: &StepPath) -> Option<StepPath> {
        let (old, new) = (self.old.segments(), self.new.segments());
        let ((old_last, old_before), (new_last, new_before)) = (old.split_last()?, new.split_last()?);
        let (at, before) = recorded.segments().get(..old.len())?.split_last()?;
        // A name without a mark also means its items and rounds.
        let marked = old_last.mark == Mark::Plain && matches!(at.mark, Mark::Any | Mark::Plain);
        if before != old_before || at.name != old_last.name || !(marked || at.mark == old_last.mark) {
            return None;
        }
        let mark = if new_last.mark == Mark::Plain { at.mark.clone() } else { new_last.mark.clone() };
        let mut segments = new_before.to_vec();
        segments.push(Segment { name: new_last.name.clone(), mark });
        segments.extend_from_slice(&recorded.segments()[old.len()..]);
        Some(StepPath::new(segments))
    }

    /// The paths that renamings lead to from a recorded one, those of the fewest first.
    pub fn reachable(recorded: &StepPath, renames: &[Rename]) -> Vec<StepPath> {
        let mut found = vec![recorded.clone()];
        let mut next = 0;
        while let Some(path) = found.get(next).cloned() {
            for today in renames.iter().filter_map(|rename| rename.today(&path)) {
                // A renaming of a name to itself with more below it would never end.
                if found.len() <= renames.len() * 2 && !found.contains(&today) {
                    found.push(today);
                }
            }
            next += 1;
        }
        found.remove(0);
        found
    }
}
