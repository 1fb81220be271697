//! Places: the hard bound of a `limit`. An item takes a place with its first call and gives it back when it ends or waits
//! only for people; places go to items that had one before, then in input order. A parent that waits for its children
//! holds no permit, so nested limits cannot lock each other out.

use super::{
    frame::{At, Fan, FrameId, Hold, Slot},
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
            let frame = self.frame(id);
            let Some((group, index)) = frame.parent else { continue };
            let (hold, begun) = (frame.hold, frame.begun);
            let Some(fan) = self.fan_mut(group) else { continue };
            let Some(limit) = fan.limit else { continue };
            match hold {
                Hold::Held => {}
                Hold::None if fan.used < limit && fan.queue.is_empty() => {
                    fan.used += 1;
                    let frame = self.frame_mut(id);
                    frame.hold = Hold::Held;
                    frame.begun = true;
                }
                Hold::None | Hold::Queued => {
                    fan.queue.insert((!begun, index, id));
                    let frame = self.frame_mut(id);
                    frame.hold = Hold::Queued;
                    frame.parked.push(at);
                    return;
                }
            }
        }
        self.ready.push_back(at);
    }

    /// Gives free places to items that want one.
    fn hand_on(&mut self, group: At) {
        while let Some(fan) = self.fan_mut(group)
            && fan.limit.is_some_and(|limit| fan.used < limit)
            && let Some((_, _, id)) = fan.queue.pop_first()
        {
            fan.used += 1;
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
        let frame = self.frame_mut(id);
        let hold = std::mem::replace(&mut frame.hold, Hold::None);
        let (parent, begun) = (frame.parent, frame.begun);
        let Some((group, index)) = parent else { return };
        let release = |fan: &mut Fan| match hold {
            Hold::Held => fan.used = fan.used.saturating_sub(1),
            Hold::Queued => {
                fan.queue.remove(&(!begun, index, id));
            }
            Hold::None => {}
        };
        if hold != Hold::None
            && let Some(fan) = self.fan_mut(group)
        {
            release(fan);
            self.hand_on(group);
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
        if frame.unsettled == 1 && frame.hold == Hold::Held {
            self.give_back(at.frame);
        }
    }
}
