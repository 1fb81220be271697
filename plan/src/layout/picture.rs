//! A picture of boxes in boxes with arrows between them: what Mermaid and DOT have in common.

/// A whole picture.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) title: String,
    pub(super) items: Vec<Item>,
    pub(super) arrows: Vec<Arrow>,
}

/// A box, or a group of them.
#[derive(Debug)]
pub(super) enum Item {
    /// A box.
    Box { id: BoxId, shape: Shape, lines: Vec<String> },
    /// A group with a title.
    Group { id: GroupId, lines: Vec<String>, items: Vec<Item> },
}

/// A box's number, from 1, in the order in which boxes are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BoxId(pub(super) u32);

/// A group's number, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupId(pub(super) u32);

/// What kind of box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Work.
    Step,
    /// Something a person answers.
    Person,
    /// A value that is handed in or out.
    Value,
}

/// An arrow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrow {
    pub(super) from: BoxId,
    pub(super) to: End,
    /// The verbs on the way; empty for none.
    pub(super) label: String,
    /// Order without data.
    pub(super) dashed: bool,
}

/// Where an arrow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// At a box.
    Box(BoxId),
    /// At a group; the box in it is for formats that cannot name groups.
    Group(GroupId, BoxId),
}
