//! A picture of boxes in boxes with arrows between them: what Mermaid and DOT have in common.

use super::{dot, mermaid};

/// A whole picture.
#[derive(Debug)]
pub struct Picture {
    /// Its title.
    pub title: String,
    /// What is in it, in the order in which it is drawn.
    pub items: Vec<Item>,
    /// The arrows between the boxes.
    pub arrows: Vec<Arrow>,
}

/// A box, or a group of them.
#[derive(Debug)]
pub enum Item {
    /// A box.
    Box {
        /// Its number.
        id: BoxId,
        /// What kind of box it is.
        shape: Shape,
        /// Its text.
        lines: Vec<String>,
        /// Where it stands, in the picture of a run.
        state: Option<State>,
    },
    /// A group with a title.
    Group {
        /// Its number.
        id: GroupId,
        /// Its title.
        lines: Vec<String>,
        /// What is in it.
        items: Vec<Item>,
    },
}

/// A box's number, from 1, in the order in which boxes are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoxId(pub u32);

/// A group's number, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupId(pub u32);

/// Where a box stands, in the picture of a run: drawn as a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It is done.
    Done,
    /// It has failed, or was cancelled.
    Failed,
    /// It runs, or has begun.
    Running,
    /// It waits for a person or a moment.
    Waiting,
    /// It has not started, or will not.
    Idle,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Done, Self::Failed, Self::Running, Self::Waiting, Self::Idle];

    /// Its name, and the colour it is drawn in.
    pub(super) fn drawn(self) -> (&'static str, &'static str) {
        match self {
            Self::Done => ("done", "#d6f0d6"),
            Self::Failed => ("failed", "#f6cfcf"),
            Self::Running => ("running", "#cfe2f6"),
            Self::Waiting => ("waiting", "#f8ecc4"),
            Self::Idle => ("idle", "#eeeeee"),
        }
    }
}

impl Picture {
    /// The picture as a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        mermaid::write(self)
    }

    /// The picture as a Graphviz graph in DOT.
    pub fn dot(&self) -> String {
        dot::write(self)
    }
}

/// What kind of box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Work.
    Step,
    /// Something a person answers.
    Person,
    /// A value that is handed in or out.
    Value,
}

/// An arrow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    /// Where it begins.
    pub from: BoxId,
    /// Where it ends.
    pub to: End,
    /// The verbs on the way; empty for none.
    pub label: String,
    /// Order without data.
    pub dashed: bool,
}

/// Where an arrow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// At a box.
    Box(BoxId),
    /// At a group; the box in it is for formats that cannot name groups.
    Group(GroupId, BoxId),
}

impl Item {
    /// Whether a box of this state is in it.
    pub(super) fn has(&self, wanted: State) -> bool {
        match self {
            Self::Box { state, .. } => *state == Some(wanted),
            Self::Group { items, .. } => items.iter().any(|item| item.has(wanted)),
        }
    }
}
