//! Blocking steps: a thread cannot be stopped. Whoever is first, the value or who gives it up, decides what the step comes to;
//! a value that is second is late, and its thread has kept its permit.

use super::call::{Bounds, bounded, joined as joined_error};
use crate::{
    services::Services,
    walk::{At, CallEnd, guarded},
    watch::RunEvent,
};
use hermes_core::{
    digest::Digest,
    failure::{Failure, FailureClass},
    ids::{Address, RunNo},
    journal::{Event, Kind, Late, Record},
    value::Val,
};
use hermes_plan::graph::{ComputeFn, Location};
use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};
use std::time::Duration;
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    task::{JoinError, spawn_blocking},
};
use tokio_util::sync::CancellationToken;

/// Who decides what a blocking step comes to.
#[derive(Default)]
pub(super) struct Claim {
    taken: AtomicBool,
    begun: AtomicBool,
    /// The permit, once the run no longer holds it: it is free when the thread lets go of this.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Claim {
    /// True for the first who asks.
    pub(super) fn take(&self) -> bool {
        !self.taken.swap(true, Ordering::AcqRel)
    }

    /// Leaves the permit to the thread.
    pub(super) fn keep(&self, permit: Option<OwnedSemaphorePermit>) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }

    /// Gives the step up, if its value is not there yet: how it ends then.
    pub(super) fn give_up(&self) -> Option<CallEnd> {
        let failure = Failure::new(FailureClass::Cancelled, "");
        let may_have_acted = self.begun.load(Ordering::Acquire);
        self.take().then_some(CallEnd::Failed { failure, may_have_acted })
    }
}

/// A blocking step on its thread.
pub(super) struct Blocking {
    pub(super) run: ComputeFn,
    pub(super) values: Vec<Val>,
    pub(super) place: Location,
    pub(super) claim: Arc<Claim>,
    pub(super) late: LateTo,
}

impl Blocking {
    /// Computes its value; `None` where somebody else has decided what it comes to.
    pub(super) fn compute(self) -> Option<Result<Val, Failure>> {
        let Self { run, values, place, claim, late } = self;
        if claim.taken.load(Ordering::Acquire) {
            return None;
        }
        claim.begun.store(true, Ordering::Release);
        let result = guarded(place, || run(&values));
        if claim.take() {
            return Some(result);
        }
        if let Ok(value) = result {
            late.write(&value);
        }
        None
    }
}

/// Runs a blocking step on a thread of its own, and gives it up after `limit`, or when it is cancelled.
pub(super) async fn within(
    limit: Duration,
    blocking: Blocking,
    claim: &Claim,
    cancel: &CancellationToken,
) -> Result<Val, Failure> {
    let (begins, begun) = oneshot::channel();
    let mut call = spawn_blocking(move || {
        // Whoever waits for it may have been cancelled.
        let _ = begins.send(());
        blocking.compute()
    });
    // Its time begins when its thread does.
    tokio::select! {
        biased;
        _ = begun => {}
        () = cancel.cancelled() => {}
    }
    let given_up = || Failure::new(FailureClass::Cancelled, "before it began");
    let taken = |joined: Result<Option<Result<Val, Failure>>, JoinError>| match joined {
        Ok(result) => result.unwrap_or_else(|| Err(given_up())),
        Err(error) => Err(Failure::new(FailureClass::Panicked, joined_error(error))),
    };
    match bounded(&mut call, Bounds::timeout(Some(limit)), cancel).await {
        Err((cut, _)) if claim.take() => Err(cut.failure()),
        // Its value was there, perhaps at the same moment.
        Ok(joined) | Err((_, Some(joined))) => taken(joined),
        Err((_, None)) => taken(call.await),
    }
}

/// Where a value is written that came too late: perhaps nobody drives the run any more, or the executor is gone.
pub(super) struct LateTo {
    pub(super) services: Weak<Services>,
    pub(super) run: RunNo,
    pub(super) at: Address,
    pub(super) generation: u32,
    pub(super) print: Digest,
    pub(super) attempt: u32,
}

impl LateTo {
    fn write(self, value: &Val) {
        let Self { services, run, at, generation, print, attempt } = self;
        // An executor that is gone has let its ledger go: nothing can be written.
        let Some(services) = services.upgrade() else { return };
        let Ok(text) = value.text() else { return };
        let Ok(output) = serde_json::value::RawValue::from_string(text.to_string()) else { return };
        let event = Event::Late(Late { attempt, output, receipt: None });
        let record = Record::new(at, generation, print, value.digest(), &event);
        match services.ledger.commit(run, services.append(vec![record])) {
            Ok(seq) => {
                let state = services.ledger.state(run).ok().filter(|_| services.watched());
                if let Some((start, path)) = state.and_then(|state| {
                    let path = state.path(at).to_string();
                    Some((state.start?, path))
                }) {
                    services.tell(RunEvent { run: start.id, seq, kind: Kind::Late, path });
                }
            }
            Err(error) => tracing::warn!(%run, "a value that came too late is not kept: {error}"),
        }
    }
}

impl super::driver::Driver {
    /// Where the value of the call at `at` goes if it comes too late.
    pub(super) fn late_to(&mut self, at: At) -> Option<LateTo> {
        let address = self.walk.address(at);
        let call = self.walk.call_mut(at)?;
        Some(LateTo {
            services: Arc::downgrade(&self.services),
            run: self.run,
            at: address,
            generation: call.generation,
            print: call.fingerprint,
            attempt: call.attempt,
        })
    }
}
