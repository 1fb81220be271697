//! What a plan of some shape yields, computed by hand: recursion over the shape, no engine.

use super::shape::{Ending, Shape};

/// A part failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed;

pub(crate) type Outcome = Result<i64, Failed>;

/// What an agent or step says to a number.
pub(crate) fn says(name: &str, input: i64) -> i64 {
    let hash = blake3::hash(format!("{name} {input}").as_bytes());
    i64::from(hash.as_bytes()[0]) % 12
}

/// Whether an agent or step fails on a number, in a world with this seed.
pub(crate) fn fails(seed: Option<u64>, name: &str, input: i64) -> bool {
    let Some(seed) = seed else { return false };
    let hash = blake3::hash(format!("{seed} {name} {input}").as_bytes());
    hash.as_bytes()[0] < 40
}

/// The items of a fan-out over a number.
pub(crate) fn items(input: i64) -> Vec<i64> {
    (0..=input.rem_euclid(4)).map(|index| input + index).collect()
}

/// How many of them have to succeed, where the first are enough.
pub(crate) const ENOUGH: u32 = 1;
/// What takes the place of an item that failed.
pub(crate) const MISSING: i64 = 7;
/// The most rounds of a loop, and levels of a recursive part.
pub(crate) const MOST: u32 = 3;

/// Numbers made of numbers stay small.
pub(crate) fn small(number: i64) -> i64 {
    number.rem_euclid(50)
}

pub(crate) fn sum(numbers: &[i64]) -> i64 {
    // The order counts.
    small(numbers.iter().fold(0, |sum, number| small(sum * 3 + number)))
}

pub(crate) struct Reference {
    seed: Option<u64>,
    /// Inside a quorum nothing fails: which members there are would else depend on time.
    sheltered: bool,
}

impl Reference {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed: Some(seed), sheltered: false }
    }

    pub(crate) fn healthy() -> Self {
        Self { seed: None, sheltered: false }
    }

    fn call(&self, name: &str, input: i64) -> Outcome {
        let seed = self.seed.filter(|_| !self.sheltered);
        if fails(seed, name, input) { Err(Failed) } else { Ok(says(name, input)) }
    }

    fn ended(ending: Ending, results: Vec<Outcome>) -> Outcome {
        let numbers = match ending {
            Ending::All => results.into_iter().collect::<Result<Vec<_>, _>>()?,
            Ending::Results | Ending::Options => {
                results.into_iter().map(|result| result.unwrap_or(MISSING)).collect()
            }
            Ending::AtLeast => results.into_iter().flatten().take(ENOUGH as usize).collect(),
        };
        Ok(sum(&numbers))
    }

    pub(crate) fn eval(&self, shape: &Shape, input: i64) -> Outcome {
        match shape {
            Shape::Same => Ok(input),
            Shape::Agent(name) => self.call(&format!("agent{name}"), input),
            Shape::Step(name) => self.call(&format!("step{name}"), input),
            Shape::Ask(name) => Ok(says(&format!("ask{name}"), input)),
            Shape::Review(name) => self.call(&format!("revise{name}"), input),
            Shape::Then(one, two) => self.eval(two, self.eval(one, input)?),
            Shape::Both(one, two) => match (self.eval(one, input), self.eval(two, input)) {
                (Ok(one), Ok(two)) => Ok(sum(&[one, two])),
                _ => Err(Failed),
            },
            Shape::Each { body, ending, .. } => {
                let sheltered = Self { sheltered: self.sheltered || *ending == Ending::AtLeast, ..*self };
                Self::ended(
                    *ending,
                    items(input).into_iter().map(|item| sheltered.eval(body, item)).collect(),
                )
            }
            Shape::Chain { first, second, thinned, .. } => {
                let firsts: Vec<_> = items(input).into_iter().map(|item| self.eval(first, item)).collect();
                let firsts: Vec<i64> = match thinned {
                    true => firsts.into_iter().flatten().collect(),
                    false => firsts.into_iter().collect::<Result<_, _>>()?,
                };
                // Of one item that fails, the others are let finish.
                let seconds: Vec<_> = firsts.into_iter().map(|item| self.eval(second, item)).collect();
                Self::ended(Ending::All, seconds)
            }
            Shape::Parallel { body, ending, .. } => {
                Self::ended(*ending, [1, 2].map(|more| self.eval(body, small(input + more))).to_vec())
            }
            Shape::Pipeline { first, second, ending, .. } => {
                let stages = |item| self.eval(second, small(self.eval(first, item)? + item));
                Self::ended(*ending, items(input).into_iter().map(stages).collect())
            }
            Shape::Dag { body, ending, .. } => {
                let mut results: Vec<Outcome> = Vec::new();
                for item in items(input) {
                    let result = match results.last() {
                        Some(Err(Failed)) => Err(Failed),
                        Some(Ok(before)) => self.eval(body, small(item + before)),
                        None => self.eval(body, item),
                    };
                    results.push(result);
                }
                Self::ended(*ending, results)
            }
            Shape::Branch { yes, no, .. } => {
                self.eval(if input % 2 == 0 { yes } else { no }, small(input + 1))
            }
            Shape::Repeat { body, or_else, .. } => {
                let mut state = input;
                for _ in 0..MOST {
                    state = self.eval(body, state)?;
                    if state % 3 == 0 {
                        return Ok(state);
                    }
                }
                self.eval(or_else, state)
            }
            Shape::Catch { body, or_else, .. } => {
                self.eval(body, input).or_else(|Failed| self.eval(or_else, small(input + 5)))
            }
            Shape::Settled { body, .. } => Ok(self.eval(body, input).unwrap_or(-1)),
            Shape::Grown { even, odd, .. } => {
                self.eval(if input % 2 == 0 { even } else { odd }, small(input + 2))
            }
            Shape::Recursive { body, .. } => self.level(body, input, 1),
            Shape::Call { body, .. } => self.eval(body, small(input + 3)),
        }
    }

    fn level(&self, body: &Shape, input: i64, depth: u32) -> Outcome {
        let number = self.eval(body, input)?;
        if number % 2 == 0 {
            Ok(number)
        } else if depth == MOST {
            // A level too deep.
            Err(Failed)
        } else {
            Ok(small(self.level(body, small(number + 1), depth + 1)? + 1))
        }
    }
}
