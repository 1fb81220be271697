//! The plans under construction on this thread, innermost last. Author code runs while they lie here, so nothing in this
//! file, and nothing given to it, may call author code.

use super::draft::Draft;
use crate::graph::PlanId;
use std::cell::RefCell;

thread_local! {
    static DRAFTS: RefCell<Vec<Draft>> = const { RefCell::new(Vec::new()) };
}

/// A plan under construction: it is taken from the stack when this is dropped, also by a panic.
pub(crate) struct Opened {
    depth: usize,
}

/// Puts a draft on the stack.
pub(crate) fn open(draft: Draft) -> Opened {
    DRAFTS.with_borrow_mut(|drafts| {
        drafts.push(draft);
        Opened { depth: drafts.len() - 1 }
    })
}

impl Opened {
    /// Drafts hold author closures, whose drop may be anything: they are dropped after the borrow has ended.
    fn take(&self) -> Vec<Draft> {
        let taken = DRAFTS.try_with(|drafts| {
            let mut drafts = drafts.borrow_mut();
            let at = self.depth.min(drafts.len());
            drafts.split_off(at)
        });
        taken.unwrap_or_default()
    }

    /// Takes it from the stack.
    pub(crate) fn close(self) -> Option<Draft> {
        self.take().into_iter().next()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// Works on the innermost plan.
///
/// # Panics
/// Outside any plan, at the author's line: there is nobody to collect the mistake.
#[track_caller]
pub(crate) fn current<R>(what: impl FnOnce() -> String, work: impl FnOnce(&mut Draft) -> R) -> R {
    let done = DRAFTS.with_borrow_mut(|drafts| drafts.last_mut().map(work));
    match done {
        Some(done) => done,
        None => panic!(
            "{} was called outside any plan; call it inside the function that you give to `Plan::new(name, f)`, \
             or inside one that it calls",
            what()
        ),
    }
}

/// Works on the plan with this id, if it is still under construction on this thread.
pub(crate) fn in_plan<R>(plan: PlanId, work: impl FnOnce(&mut Draft) -> R) -> Option<R> {
    DRAFTS
        .try_with(|drafts| drafts.borrow_mut().iter_mut().rev().find(|draft| draft.id() == plan).map(work))
        .ok()
        .flatten()
}
