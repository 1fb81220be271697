//! Shapes of plans: what is built, and what the reference computes. Every part takes a number and yields one.

use proptest::prelude::*;

/// How a fan-out ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    All,
    Results,
    Options,
    AtLeast,
}

/// A part of a plan. The numbers are names, unique in the whole shape.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Yields what it is given.
    Same,
    /// An agent, which may fail.
    Agent(u32),
    /// A local step, which may fail.
    Step(u32),
    /// A question.
    Ask(u32),
    /// A review, whose first round asks for changes.
    Review(u32),
    /// One after the other.
    Then(Box<Shape>, Box<Shape>),
    /// Beside each other, added up.
    Both(Box<Shape>, Box<Shape>),
    Each {
        name: u32,
        body: Box<Shape>,
        limit: u32,
        ending: Ending,
    },
    /// A fan-out over what another one yields: all of it, or what succeeded. It inherits the keys.
    Chain {
        name: u32,
        first: Box<Shape>,
        second: Box<Shape>,
        keyed: bool,
        thinned: bool,
    },
    Parallel {
        name: u32,
        body: Box<Shape>,
        ending: Ending,
    },
    Pipeline {
        name: u32,
        first: Box<Shape>,
        second: Box<Shape>,
        streaming: bool,
        limit: u32,
        ending: Ending,
    },
    Dag {
        name: u32,
        body: Box<Shape>,
        ending: Ending,
    },
    Branch {
        name: u32,
        yes: Box<Shape>,
        no: Box<Shape>,
    },
    Repeat {
        name: u32,
        body: Box<Shape>,
        or_else: Box<Shape>,
    },
    Catch {
        name: u32,
        body: Box<Shape>,
        or_else: Box<Shape>,
    },
    /// What became of it, or -1.
    Settled {
        name: u32,
        body: Box<Shape>,
    },
    /// Built at run time: one or the other.
    Grown {
        name: u32,
        even: Box<Shape>,
        odd: Box<Shape>,
    },
    Recursive {
        name: u32,
        body: Box<Shape>,
    },
    Call {
        name: u32,
        body: Box<Shape>,
    },
}

pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        1 => Just(Shape::Same),
        4 => Just(Shape::Agent(0)),
        2 => Just(Shape::Step(0)),
        1 => Just(Shape::Ask(0)),
        1 => Just(Shape::Review(0)),
    ];
    leaf.prop_recursive(4, 14, 2, |inner| {
        let part = move || inner.clone().prop_map(Box::new);
        let ending = || prop_oneof![
            2 => Just(Ending::All), 2 => Just(Ending::Results), 2 => Just(Ending::Options), 1 => Just(Ending::AtLeast),
        ];
        let plain = || prop_oneof![Just(Ending::All), Just(Ending::Results), Just(Ending::Options)];
        prop_oneof![
            3 => (part(), part()).prop_map(|(one, two)| Shape::Then(one, two)),
            2 => (part(), part()).prop_map(|(one, two)| Shape::Both(one, two)),
            3 => (part(), 1_u32..4, ending())
                .prop_map(|(body, limit, ending)| Shape::Each { name: 0, body, limit, ending }),
            2 => (part(), part(), any::<bool>(), any::<bool>())
                .prop_map(|(first, second, keyed, thinned)| Shape::Chain { name: 0, first, second, keyed, thinned }),
            2 => (part(), plain()).prop_map(|(body, ending)| Shape::Parallel { name: 0, body, ending }),
            2 => (part(), part(), any::<bool>(), 1_u32..4, plain()).prop_map(
                |(first, second, streaming, limit, ending)| {
                    Shape::Pipeline { name: 0, first, second, streaming, limit, ending }
                }
            ),
            2 => (part(), plain()).prop_map(|(body, ending)| Shape::Dag { name: 0, body, ending }),
            2 => (part(), part()).prop_map(|(yes, no)| Shape::Branch { name: 0, yes, no }),
            2 => (part(), part()).prop_map(|(body, or_else)| Shape::Repeat { name: 0, body, or_else }),
            2 => (part(), part()).prop_map(|(body, or_else)| Shape::Catch { name: 0, body, or_else }),
            1 => part().prop_map(|body| Shape::Settled { name: 0, body }),
            2 => (part(), part()).prop_map(|(even, odd)| Shape::Grown { name: 0, even, odd }),
            1 => part().prop_map(|body| Shape::Recursive { name: 0, body }),
            1 => part().prop_map(|body| Shape::Call { name: 0, body }),
        ]
    })
}

impl Shape {
    /// The same, with names.
    pub(crate) fn numbered(mut self) -> Self {
        self.without_people(false);
        self.number(&mut 0);
        self
    }

    /// Inside a quorum nobody is asked: an item that waits for a person lets others begin, and who is first is then for the
    /// person to say.
    fn without_people(&mut self, quorum: bool) {
        if quorum && matches!(self, Self::Ask(_) | Self::Review(_)) {
            *self = Self::Step(0);
        }
        if let Self::Each { ending: Ending::AtLeast, body, .. } = self {
            // An item without a call needs no place, and is there before all others.
            let rest = std::mem::replace(body, Box::new(Self::Same));
            **body = Self::Then(Box::new(Self::Step(0)), rest);
        }
        let quorum = quorum || matches!(self, Self::Each { ending: Ending::AtLeast, .. });
        for part in self.parts_mut() {
            part.without_people(quorum);
        }
    }

    fn number(&mut self, next: &mut u32) {
        *next += 1;
        let number = *next;
        match self {
            Self::Same => {}
            Self::Agent(name) | Self::Step(name) | Self::Ask(name) | Self::Review(name) => *name = number,
            Self::Then(one, two) | Self::Both(one, two) => {
                one.number(next);
                two.number(next);
            }
            Self::Pipeline { name, first: one, second: two, .. }
            | Self::Chain { name, first: one, second: two, .. }
            | Self::Branch { name, yes: one, no: two }
            | Self::Repeat { name, body: one, or_else: two }
            | Self::Catch { name, body: one, or_else: two }
            | Self::Grown { name, even: one, odd: two } => {
                *name = number;
                one.number(next);
                two.number(next);
            }
            Self::Each { name, body, .. }
            | Self::Parallel { name, body, .. }
            | Self::Dag { name, body, .. }
            | Self::Settled { name, body }
            | Self::Recursive { name, body }
            | Self::Call { name, body } => {
                *name = number;
                body.number(next);
            }
        }
    }

    /// The limits of the fan-outs in it, by name.
    pub(crate) fn limits(&self) -> Vec<(String, u32)> {
        let mut limits = Vec::new();
        self.add_limits(&mut limits);
        limits
    }

    fn add_limits(&self, limits: &mut Vec<(String, u32)>) {
        match self {
            Self::Each { name, limit, ending, .. } => {
                let limit = if *ending == Ending::AtLeast { 1 } else { *limit };
                limits.push((format!("each{name}"), limit));
            }
            Self::Pipeline { name, limit, .. } => limits.push((format!("pipe{name}"), *limit)),
            _ => {}
        }
        for part in self.parts() {
            part.add_limits(limits);
        }
    }

    fn parts_mut(&mut self) -> Vec<&mut Shape> {
        match self {
            Self::Same | Self::Agent(_) | Self::Step(_) | Self::Ask(_) | Self::Review(_) => Vec::new(),
            Self::Then(one, two)
            | Self::Both(one, two)
            | Self::Pipeline { first: one, second: two, .. }
            | Self::Chain { first: one, second: two, .. }
            | Self::Branch { yes: one, no: two, .. }
            | Self::Repeat { body: one, or_else: two, .. }
            | Self::Catch { body: one, or_else: two, .. }
            | Self::Grown { even: one, odd: two, .. } => vec![one, two],
            Self::Each { body, .. }
            | Self::Parallel { body, .. }
            | Self::Dag { body, .. }
            | Self::Settled { body, .. }
            | Self::Recursive { body, .. }
            | Self::Call { body, .. } => vec![body],
        }
    }

    fn parts(&self) -> Vec<&Shape> {
        match self {
            Self::Same | Self::Agent(_) | Self::Step(_) | Self::Ask(_) | Self::Review(_) => Vec::new(),
            Self::Then(one, two)
            | Self::Both(one, two)
            | Self::Pipeline { first: one, second: two, .. }
            | Self::Chain { first: one, second: two, .. }
            | Self::Branch { yes: one, no: two, .. }
            | Self::Repeat { body: one, or_else: two, .. }
            | Self::Catch { body: one, or_else: two, .. }
            | Self::Grown { even: one, odd: two, .. } => vec![one, two],
            Self::Each { body, .. }
            | Self::Parallel { body, .. }
            | Self::Dag { body, .. }
            | Self::Settled { body, .. }
            | Self::Recursive { body, .. }
            | Self::Call { body, .. } => vec![body],
        }
    }
}
