//! Items that need each other: who waits for whom, what they are given, and what becomes of those that need what has failed.

use super::{
    frame::{At, Fan, Fault, ItemKeys, ItemNeeds},
    guard::guarded,
    state::Walk,
};
use hermes_core::{
    failure::{Failure, FailureClass},
    path::{Mark, StepPath},
    value::Val,
};
use hermes_plan::graph::Needs;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Items named in a failure.
const NAMED: usize = 8;

/// By item, the items it needs, each once; or why that cannot be had.
pub(super) fn needs_of(needs: &Needs, items: &[Val], keys: &ItemKeys) -> Result<Vec<Vec<u32>>, Failure> {
    let invalid = |why: String| Failure::new(FailureClass::InvalidNeeds, why).located(needs.at);
    let names: Vec<Arc<str>> = (0..).zip(items).map(|(index, _)| keys.get(index)).collect();
    let places: BTreeMap<&str, u32> = names.iter().zip(0..).map(|(name, index)| (&**name, index)).collect();
    let mut all = Vec::with_capacity(items.len());
    for (item, name) in items.iter().zip(&names) {
        let wanted = guarded(needs.at, || (needs.of)(item)).map_err(|failure| failure.located(needs.at))?;
        let mut needed = BTreeSet::new();
        for key in wanted {
            let place = places.get(key.as_str()).ok_or_else(|| {
                invalid(format!("the item `{name}` needs `{key}`, which is not the key of an item"))
            })?;
            needed.insert(*place);
        }
        all.push(needed.into_iter().collect());
    }
    match circle(&all) {
        None => Ok(all),
        Some(circle) => {
            let shown: Vec<_> =
                circle.iter().take(NAMED).map(|item| format!("`{}`", names[*item as usize])).collect();
            let more = if circle.len() > NAMED { " -> .." } else { "" };
            Err(invalid(format!("items need each other in a circle: {}{more}", shown.join(" -> "))))
        }
    }
}

/// Items that need each other in a circle, from one of them round to it again.
fn circle(needs: &[Vec<u32>]) -> Option<Vec<u32>> {
    let order = Order::new(needs);
    if order.done == needs.len() {
        return None;
    }
    // Whoever is left needs somebody who is left: following that leads round.
    let left = |item: &u32| order.missing[*item as usize] > 0;
    let mut item = (0..).zip(&order.missing).find(|(_, missing)| **missing > 0)?.0;
    let mut seen: Vec<u32> = Vec::new();
    loop {
        if let Some(start) = seen.iter().position(|before| *before == item) {
            seen.push(item);
            return Some(seen.split_off(start));
        }
        seen.push(item);
        item = needs[item as usize].iter().copied().find(left)?;
    }
}

/// What is left once everything that can be ordered was.
struct Order {
    missing: Vec<usize>,
    done: usize,
}

impl Order {
    fn new(needs: &[Vec<u32>]) -> Self {
        let mut missing: Vec<usize> = needs.iter().map(Vec::len).collect();
        let by = needed_by(needs);
        let mut free: Vec<usize> = (0..needs.len()).filter(|item| missing[*item] == 0).collect();
        let mut done = 0;
        while let Some(item) = free.pop() {
            done += 1;
            for other in &by[item] {
                let other = *other as usize;
                missing[other] -= 1;
                if missing[other] == 0 {
                    free.push(other);
                }
            }
        }
        Self { missing, done }
    }
}

fn needed_by(needs: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut by = vec![Vec::new(); needs.len()];
    for (item, needed) in (0..).zip(needs) {
        for other in needed {
            by[*other as usize].push(item);
        }
    }
    by
}

impl ItemNeeds {
    pub(super) fn new(of: Vec<Vec<u32>>) -> Self {
        let missing = of.iter().map(|needed| u32::try_from(needed.len()).unwrap_or(u32::MAX)).collect();
        Self { by: needed_by(&of), missing, of }
    }
}

impl Walk {
    /// An item has ended: those that waited for it alone begin, or are skipped with it.
    pub(super) fn item_met(&mut self, at: At, index: u32) {
        let mut ended = vec![index];
        while let Some(index) = ended.pop() {
            let Some(fan) = self.fan_mut(at) else { return };
            let Some(needs) = &mut fan.needs else { return };
            let mut free = Vec::new();
            for item in &needs.by[index as usize] {
                let missing = &mut needs.missing[*item as usize];
                *missing -= 1;
                if *missing == 0 {
                    free.push(*item);
                }
            }
            for item in free {
                match self.needed(at, item) {
                    Ok((needed, caused)) => {
                        let Some(fan) = self.fan(at) else { return };
                        let value = fan.items[item as usize].clone();
                        let caused = caused || fan.caused;
                        self.open_item(at, 0, item, vec![value, needed], caused);
                    }
                    Err(fault) => {
                        self.counts.skipped += 1;
                        let Some(fan) = self.fan_mut(at) else { return };
                        fan.results[item as usize] = Some(Err(fault));
                        fan.open -= 1;
                        if let Some(quorum) = &mut fan.quorum {
                            quorum.failed += 1;
                        }
                        ended.push(item);
                    }
                }
            }
        }
    }

    /// What the items that `item` needs have yielded, with their keys; or why it cannot begin.
    fn needed(&self, at: At, item: u32) -> Result<(Val, bool), Fault> {
        let mut values = Vec::new();
        let mut caused = false;
        let Some(fan) = self.fan(at) else { return Ok((Val::list(values), caused)) };
        let needed = fan.needs.as_ref().map_or(&[][..], |needs| &needs.of[item as usize]);
        for index in needed {
            let key = fan.keys.get(*index);
            match &fan.results[*index as usize] {
                Some(Ok((value, below))) => {
                    caused |= below;
                    values.push(super::fan::with_key(&key, value.clone()));
                }
                Some(Err(fault)) => {
                    let message = format!("it needs `{key}`: {}", fault.failure.class.sentence());
                    let failure = Failure::new(FailureClass::DependencyFailed, message);
                    let failure = failure.at(|| self.item_path(at, fan, item).to_string());
                    return Err(Fault { failure: Arc::new(failure), caused: fault.caused });
                }
                None => {}
            }
        }
        Ok((Val::list(values), caused))
    }

    fn item_path(&self, at: At, fan: &Fan, item: u32) -> StepPath {
        let mut segments = self.path(at).segments().to_vec();
        if let Some(last) = segments.last_mut() {
            last.mark = Mark::Key(fan.keys.get(item).to_string());
        }
        StepPath::new(segments)
    }
}
