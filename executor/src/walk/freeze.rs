//! Freezing a fan-out: its items and their keys at the moment its list is known, and how they are written down.

use super::{
    dag::needs_of,
    emit::Then,
    frame::{At, ItemKeys},
    guard::guarded,
    state::Walk,
};
use hermes_core::{
    digest::{Digest, DigestWriter},
    failure::{Failure, FailureClass},
    fold,
    ids::ScopeNo,
    journal::{Event, Frozen, FrozenKeys},
    value::Val,
};
use hermes_plan::graph::{Keys, Kind};
use std::{collections::BTreeMap, sync::Arc};

/// The most bytes of a key.
const KEY_LIMIT: usize = 1024;
/// Items in one record of a frozen fan-out.
const CHUNK: usize = 4096;

/// The items and keys of a fan-out.
pub(super) struct Freeze {
    pub(super) from: Digest,
    pub(super) items: Vec<Val>,
    pub(super) keys: ItemKeys,
    /// By item, the items it needs, where items need each other.
    pub(super) needs: Option<Vec<Vec<u32>>>,
}

impl Freeze {
    /// The digest of the keys, and of what items need of each other: the decision.
    pub(super) fn digest(&self) -> Digest {
        let keys = self.keys_digest();
        let Some(needs) = &self.needs else { return keys };
        let mut writer = DigestWriter::new("hermes needs");
        writer.digest(&keys);
        for needed in needs {
            writer.list(needed.len());
            for index in needed {
                writer.u64(u64::from(*index));
            }
        }
        writer.finish()
    }

    fn keys_digest(&self) -> Digest {
        match &self.keys {
            // Keys that are read back from the journal are names: those of positions mean the same as positions.
            ItemKeys::Named(keys) if !(0..).zip(keys.iter()).all(|(at, key)| is_position(key, at)) => {
                keys_digest(keys.iter().map(|key| &**key))
            }
            ItemKeys::Positions | ItemKeys::Named(_) => {
                let mut writer = DigestWriter::new("hermes positions");
                writer.u64(self.items.len() as u64);
                writer.finish()
            }
        }
    }

    /// The ordinals of today's items where some keys have one already, as the fold will give them.
    pub(super) fn ordinals(&self, known: &fold::Keys) -> Option<Vec<u32>> {
        let known: Vec<String> = match (known, &self.keys) {
            (fold::Keys::Positions(_), ItemKeys::Positions) | (fold::Keys::Rounds, _) => return None,
            (fold::Keys::Positions(count), ItemKeys::Named(_)) => {
                (0..*count).map(|i| i.to_string()).collect()
            }
            (fold::Keys::Named(keys), _) => keys.clone(),
        };
        let mut next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        let known: BTreeMap<String, u32> = known.into_iter().zip(0..).collect();
        let ordinals = (0..u32::try_from(self.items.len()).unwrap_or(u32::MAX)).map(|index| {
            known.get(&*self.keys.get(index)).copied().unwrap_or_else(|| {
                next += 1;
                next - 1
            })
        });
        Some(ordinals.collect())
    }
}

/// The digest of a decision that is a word.
pub(super) fn decision_text(decision: &str) -> Digest {
    let mut writer = DigestWriter::new("hermes decision text");
    writer.text(decision);
    writer.finish()
}

impl Walk {
    /// Today's items and keys of a fan-out.
    pub(super) fn freeze(&self, at: At) -> Result<Freeze, Failure> {
        let node = self.node(at.node);
        let (keys, needs) = match &node.kind {
            Kind::Each { keys, needs, .. } => (keys, needs),
            Kind::Pipeline { keys, .. } => (keys, &None),
            _ => return Err(Failure::new(FailureClass::Undecodable, "not a fan-out over a list")),
        };
        let (values, _) = self.inputs(at);
        let list = values.into_iter().next().unwrap_or_else(Val::null);
        let items = list
            .elements()
            .map_err(|error| Failure::new(FailureClass::Undecodable, error.to_string()).located(node.at))?;
        let keys = match keys {
            Keys::Position => ItemKeys::Positions,
            Keys::By { key, at: place } => {
                let mut names: Vec<Arc<str>> = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let name = guarded(*place, || key(item)).map_err(|failure| failure.located(place))?;
                    let why = if name.is_empty() {
                        "is empty".to_owned()
                    } else if name.len() > KEY_LIMIT {
                        format!("has {} bytes; a key has at most {KEY_LIMIT}", name.len())
                    } else {
                        names.push(name.into());
                        continue;
                    };
                    let message = format!("the key of item {index} {why}");
                    return Err(Failure::new(FailureClass::InvalidKey, message).located(place));
                }
                let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
                for (index, name) in names.iter().enumerate() {
                    if let Some(first) = seen.insert(name, index) {
                        let message = format!("items {first} and {index} both have the key `{name}`");
                        return Err(Failure::new(FailureClass::DuplicateKey, message).located(place));
                    }
                }
                ItemKeys::Named(names.into())
            }
            Keys::Inherited(source) => self.keys_of(self.seen_from(at.frame, *source)),
        };
        let needs = needs.as_ref().map(|needs| needs_of(needs, &items, &keys)).transpose()?;
        Ok(Freeze { from: list.digest(), items, keys, needs })
    }

    /// Asks for the records that freeze a fan-out; its items may begin when the last is durable.
    pub(super) fn emit_freeze(&mut self, at: At, scope: ScopeNo, freeze: &Freeze) {
        let address = self.address(at);
        let decision = freeze.digest();
        let count = freeze.items.len();
        let mut offset = 0;
        loop {
            let end = (offset + CHUNK).min(count);
            let keys = match &freeze.keys {
                ItemKeys::Positions => {
                    FrozenKeys::Positions { count: u32::try_from(end - offset).unwrap_or(u32::MAX) }
                }
                ItemKeys::Named(keys) => {
                    FrozenKeys::Named { keys: keys[offset..end].iter().map(ToString::to_string).collect() }
                }
            };
            let last = end == count;
            let event = Event::Frozen(Frozen {
                scope,
                offset: u32::try_from(offset).unwrap_or(u32::MAX),
                keys,
                items: freeze.items[offset..end].iter().map(Val::digest).collect(),
                last,
            });
            let then = if last { Then::Decided(at) } else { Then::Nothing };
            self.emit(address, 0, freeze.from, decision, &event, then);
            if last {
                return;
            }
            offset = end;
        }
    }
}

/// Whether a key is how this position is written.
fn is_position(key: &str, position: u32) -> bool {
    key.parse() == Ok(position) && key == position.to_string()
}

/// The digest of a list of keys.
pub(super) fn keys_digest<'a>(keys: impl ExactSizeIterator<Item = &'a str>) -> Digest {
    let mut writer = DigestWriter::new("hermes keys");
    writer.list(keys.len());
    for key in keys {
        writer.text(key);
    }
    writer.finish()
}
