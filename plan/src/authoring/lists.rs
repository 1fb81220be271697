//! Verbs on lists: derived like `map`, so never recorded and always recomputed. Elements are handed on as they are stored;
//! only what a closure looks at is decoded.

use super::{derived::derive, step::Step};
use crate::{
    build::{Use, decode, encode, missing},
    graph::{Compute, ComputeFn, KeepFn, Location},
};
use hermes_core::{
    data::Data,
    digest::Digest,
    failure::{Failure, FailureClass},
    schema::Schema,
    value::{Val, ValueError},
};
use std::{collections::BTreeMap, sync::Arc};

impl<T: Data> Step<Vec<T>> {
    /// The elements that `keep` says yes to, in order. Where the list has keys, what stays keeps them.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("long", |words: Step<Vec<String>>| words.filter(|word| word.len() > 3))?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn filter(self, keep: impl Fn(&T) -> bool + Send + Sync + 'static) -> Step<Vec<T>> {
        let at = Location::caller();
        kept("filter", self.used("list", at), at, move |element| {
            Ok(keep(&*decode::<T>(std::slice::from_ref(element), 0, at)?).then(|| element.clone()))
        })
    }

    /// The first element, if there is one.
    #[track_caller]
    pub fn first(self) -> Step<Option<T>> {
        let at = Location::caller();
        derive("first", vec![self.used("list", at)], at, |_| {
            value(move |inputs| {
                let Some(first) = elements(inputs, 0, at)?.into_iter().next() else { return Ok(Val::null()) };
                if first == Val::null() {
                    let why = "the first element is null, which cannot be told from there being none";
                    return Err(Failure::new(FailureClass::Unencodable, why).located(at));
                }
                Ok(first)
            })
        })
    }

    /// Pairs of the elements of two lists of one length; lists of different lengths are a failure of what needs the pairs.
    #[track_caller]
    pub fn zip<U: Data>(self, other: Step<Vec<U>>) -> Step<Vec<(T, U)>> {
        let at = Location::caller();
        derive("zip", vec![self.used("left", at), other.used("right", at)], at, |_| {
            value(move |inputs| {
                let (left, right) = (elements(inputs, 0, at)?, elements(inputs, 1, at)?);
                if left.len() != right.len() {
                    let why = format!("one has {} elements, the other {}", left.len(), right.len());
                    return Err(Failure::new(FailureClass::UnequalLists, why).located(at));
                }
                let pairs = left.into_iter().zip(right).map(|(left, right)| Val::list(vec![left, right]));
                Ok(Val::list(pairs.collect()))
            })
        })
    }

    /// The elements by what `key` makes of them: groups in the order of their first elements, elements in input order.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("by-length", |words: Step<Vec<String>>| words.group_by(|word| word.len()))?;
    /// # let plan: Plan<Vec<String>, Vec<(usize, Vec<String>)>> = plan;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn group_by<K: Data>(self, key: impl Fn(&T) -> K + Send + Sync + 'static) -> Step<Vec<(K, Vec<T>)>> {
        let at = Location::caller();
        let of_key = Schema::of::<K>();
        derive("group_by", vec![self.used("list", at)], at, |_| {
            value(move |inputs| {
                let mut places: BTreeMap<Digest, usize> = BTreeMap::new();
                let mut groups: Vec<(Val, Vec<Val>)> = Vec::new();
                for element in elements(inputs, 0, at)? {
                    let key = key(&*decode::<T>(std::slice::from_ref(&element), 0, at)?);
                    let key = encode(&key, &of_key, at)?;
                    let place = *places.entry(key.digest()).or_insert_with(|| {
                        groups.push((key, Vec::new()));
                        groups.len() - 1
                    });
                    groups[place].1.push(element);
                }
                let pair = |(key, group)| Val::list(vec![key, Val::list(group)]);
                Ok(Val::list(groups.into_iter().map(pair).collect()))
            })
        })
    }
}

impl<T: Data> Step<Vec<Vec<T>>> {
    /// The elements of all inner lists, one after the other.
    #[track_caller]
    pub fn flatten(self) -> Step<Vec<T>> {
        let at = Location::caller();
        derive("flatten", vec![self.used("list", at)], at, |_| {
            value(move |inputs| {
                let mut flat = Vec::new();
                for inner in elements(inputs, 0, at)? {
                    flat.extend(inner.elements().map_err(|error| unreadable(&error, at))?);
                }
                Ok(Val::list(flat))
            })
        })
    }
}

impl<T: Data> Step<Vec<Option<T>>> {
    /// What is there, in order. Where the list has keys, what stays keeps them.
    #[track_caller]
    pub fn flatten(self) -> Step<Vec<T>> {
        let at = Location::caller();
        kept("flatten", self.used("list", at), at, |element| {
            Ok((*element != Val::null()).then(|| element.clone()))
        })
    }
}

impl<T: Data> Step<Vec<Result<T, Failure>>> {
    /// What succeeded, in order. Where the list has keys, what stays keeps them.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("translate", |pages: Step<Vec<String>>| {
    ///     let pages = parallel_each("pages", pages, |page| {
    ///         agent("page").input("page", page).prompt("Translate.").text()
    ///     })
    ///     .results();
    ///     join((pages.successes(), pages.failures()))
    /// })?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    #[track_caller]
    pub fn successes(self) -> Step<Vec<T>> {
        let at = Location::caller();
        kept("successes", self.used("list", at), at, move |element| {
            element.field("Ok").map_err(|error| unreadable(&error, at))
        })
    }

    /// The failures, in order.
    #[track_caller]
    pub fn failures(self) -> Step<Vec<Failure>> {
        let at = Location::caller();
        derive("failures", vec![self.used("list", at)], at, |_| {
            value(move |inputs| {
                let mut failures = Vec::new();
                for element in elements(inputs, 0, at)? {
                    failures.extend(element.field("Err").map_err(|error| unreadable(&error, at))?);
                }
                Ok(Val::list(failures))
            })
        })
    }
}

impl<A: Data, B: Data> Step<(A, B)> {
    /// Both parts of a pair.
    #[track_caller]
    pub fn split(self) -> (Step<A>, Step<B>) {
        let at = Location::caller();
        (part("split", self, 0, at), part("split", self, 1, at))
    }
}

#[track_caller]
fn part<Pair, T: Data>(verb: &'static str, pair: Step<Pair>, index: usize, at: Location) -> Step<T> {
    derive(verb, vec![pair.used("pair", at)], at, |_| {
        value(move |inputs| elements(inputs, 0, at)?.into_iter().nth(index).ok_or_else(|| missing(index, at)))
    })
}

fn value(compute: impl Fn(&[Val]) -> Result<Val, Failure> + Send + Sync + 'static) -> Compute {
    let compute: ComputeFn = Arc::new(compute);
    Compute::Value(compute)
}

/// A list of what `keep` makes of the elements for which it gives something.
#[track_caller]
fn kept<T: Data>(
    verb: &'static str,
    list: Use,
    at: Location,
    keep: impl Fn(&Val) -> Result<Option<Val>, Failure> + Send + Sync + 'static,
) -> Step<Vec<T>> {
    derive(verb, vec![list], at, |_| {
        let keep: KeepFn = Arc::new(move |inputs| {
            let mut stay = Vec::new();
            for (index, element) in (0..).zip(elements(inputs, 0, at)?) {
                stay.extend(keep(&element)?.map(|value| (index, value)));
            }
            Ok(stay)
        });
        Compute::Kept(keep)
    })
}

fn elements(inputs: &[Val], index: usize, at: Location) -> Result<Vec<Val>, Failure> {
    let list = inputs.get(index).ok_or_else(|| missing(index, at))?;
    list.elements().map_err(|error| unreadable(&error, at))
}

fn unreadable(error: &ValueError, at: Location) -> Failure {
    Failure::new(FailureClass::Undecodable, error.to_string()).located(at)
}
