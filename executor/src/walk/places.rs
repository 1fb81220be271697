//! Places: the hard bound of a `limit`. An item takes a place with its first call and gives it back when it ends or waits
//! only for people; places go to items that had one before, then in input order. A parent that waits for its children
//! holds no permit, so nested limits cannot lock each other out.

use super::{
    frame::{At, FrameId, Hold, PoolId, Slot},
    pools::{Pool, Wish},
    state::Walk,
};

impl Walk {
    /// Wants a call for `at`: it becomes ready once every limited item around it has a place.
    pub(super) fn want_call(&mut self, at: At) {
        *self.slot_mut(at) = Slot::Ready;
        for id in self.chain(at.frame) {
            self.frame_mut(id).active += 1;
        }
        self.admit(at);
    }

    /// A decision is to be made durable: till then the items around it are as busy as with a call, and keep their places.
    pub(super) fn decision_wanted(&mut self, at: At) {
        for id in self.chain(at.frame) {
            self.frame_mut(id).active += 1;
        }
    }

    /// The frame and those around it, innermost first.
    fn chain(&self, frame: FrameId) -> Vec<FrameId> {
        let mut chain = vec![frame];
        let mut id = frame;
        while let Some((group, _)) = self.frame(id).parent {
            id = group.frame;
            chain.push(id);
        }
        chain
    }

    /// Takes the places that are missing, outermost first; where one is not free, the call waits with its item.
    fn admit(&mut self, at: At) {
        for id in self.chain(at.frame).into_iter().rev() {
            let Some((wish, pool)) = self.wish(id) else { continue };
            let hold = self.frame(id).hold;
            match hold {
                Hold::Held => continue,
                Hold::None if self.pools.get(pool).is_some_and(Pool::take) => {
                    let frame = self.frame_mut(id);
                    frame.hold = Hold::Held;
                    frame.begun = true;
                    continue;
                }
                Hold::None | Hold::Queued => {}
            }
            if let Some(pool) = self.pools.get(pool) {
                pool.want(wish);
            }
            let frame = self.frame_mut(id);
            frame.hold = Hold::Queued;
            frame.parked.push(at);
            return;
        }
        self.ready.push_back(at);
    }

    /// How an item would wish for a place, and where; `None` where it needs none.
    fn wish(&self, id: FrameId) -> Option<(Wish, PoolId)> {
        let frame = self.frame(id);
        let (group, index) = frame.parent?;
        let fan = self.fan(group)?;
        Some((Wish { fresh: !frame.begun, rank: fan.rank, index, frame: id }, fan.pool?))
    }

    /// Gives free places to items that want one.
    fn hand_on(&mut self, pool: PoolId) {
        while let Some(id) = self.pools.get(pool).and_then(Pool::next) {
            let frame = self.frame_mut(id);
            frame.hold = Hold::Held;
            frame.begun = true;
            for at in std::mem::take(&mut frame.parked) {
                self.admit(at);
            }
        }
    }

    /// Takes an item's place, or its wish for one, away from it.
    pub(super) fn give_back(&mut self, id: FrameId) {
        let Some((wish, pool)) = self.wish(id) else { return };
        let hold = std::mem::replace(&mut self.frame_mut(id).hold, Hold::None);
        let Some(places) = self.pools.get(pool) else { return };
        match hold {
            Hold::Held => places.give_back(),
            Hold::Queued => places.forget(wish),
            Hold::None => return,
        }
        self.hand_on(pool);
    }

    /// Lets the item's next stage keep its place.
    pub(super) fn hand_over(&mut self, from: FrameId, to: FrameId) {
        let before = self.frame_mut(from);
        let (held, begun) = (before.hold == Hold::Held, before.begun);
        if held {
            before.hold = Hold::None;
            self.handed_over.push(to);
        }
        let next = self.frame_mut(to);
        next.begun |= begun;
        if held {
            next.hold = Hold::Held;
        }
    }

    /// Notes that the journal has work of a frame: the items around it had places.
    pub(super) fn note_begun(&mut self, frame: FrameId) {
        // Later on an item may stand in a queue, under the rank it had.
        let mut id = Some(frame).filter(|_| self.checking);
        while let Some(frame) = id {
            let frame = self.frame_mut(frame);
            if frame.begun {
                return;
            }
            frame.begun = true;
            id = frame.parent.map(|(group, _)| group.frame);
        }
    }

    /// Gives the items that the journal has work of their places back, before any other can ask for one. What turns out to
    /// want no call gives it away again.
    pub(super) fn restore_places(&mut self) {
        let begun = self.frames().filter(|(_, frame)| frame.begun && frame.hold == Hold::None);
        let mut wishes: Vec<_> = begun.filter_map(|(id, _)| self.wish(id)).collect();
        wishes.sort_unstable();
        for (wish, pool) in wishes {
            if self.pools.get(pool).is_some_and(Pool::take) {
                self.frame_mut(wish.frame).hold = Hold::Held;
                self.handed_over.push(wish.frame);
            }
        }
    }

    /// Takes their places from items that went on to a stage in which they want no call now.
    pub(super) fn take_idle_places(&mut self) {
        for id in std::mem::take(&mut self.handed_over) {
            let idle = self.frames[id.0 as usize].as_ref().is_some_and(|frame| frame.active == 0);
            if idle {
                self.give_back(id);
            }
        }
    }

    /// A call that was wanted is over, or a decision is durable: items around it that want no other give their places back.
    pub(super) fn call_over(&mut self, chain: &[FrameId]) {
        for id in chain {
            if self.frames[id.0 as usize].is_none() {
                continue;
            }
            let frame = self.frame_mut(*id);
            frame.active = frame.active.saturating_sub(1);
            if frame.active == 0 {
                self.give_back(*id);
            }
        }
    }

    /// A call that was wanted will not be made.
    pub(super) fn call_dropped(&mut self, at: At) {
        let chain = self.chain(at.frame);
        self.call_over(&chain);
    }

    /// The frames around a call, to be handed to [`Walk::call_over`] once what it sets free has been looked at.
    pub(super) fn frames_around(&self, at: At) -> Vec<FrameId> {
        self.chain(at.frame)
    }

    /// An item whose last step has an outcome gives its place back before that outcome is durable.
    pub(super) fn free_place_early(&mut self, at: At) {
        let frame = self.frame(at.frame);
        // Of a quorum it may be the last that is needed: then no other is to begin.
        let decides =
            frame.parent.and_then(|(group, _)| self.fan(group)).is_some_and(|fan| fan.quorum.is_some());
        if frame.unsettled == 1 && frame.hold == Hold::Held && !decides && !self.runs_ahead(at.frame) {
            self.give_back(at.frame);
        }
    }
}
