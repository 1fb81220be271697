//! Local steps on the blocking pool. A thread takes job after job, so that many short steps do not cost a thread switch
//! each; while jobs are left, it first asks for one more thread, so that a long step never keeps others from starting.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

type Job = Box<dyn FnOnce() + Send>;

/// The jobs of one run that no thread has taken yet.
#[derive(Clone, Default)]
pub(super) struct Pool(Arc<Mutex<Jobs>>);

#[derive(Default)]
struct Jobs {
    queue: VecDeque<Job>,
    /// Whether a thread was asked for and has not looked at the queue yet.
    coming: bool,
}

impl Pool {
    pub(super) fn add(&self, job: impl FnOnce() + Send + 'static) {
        let mut jobs = self.jobs();
        jobs.queue.push_back(Box::new(job));
        self.call_for_thread(jobs);
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call_for_thread(&self, mut jobs: MutexGuard<'_, Jobs>) {
        if jobs.coming || jobs.queue.is_empty() {
            return;
        }
        jobs.coming = true;
        drop(jobs);
        let pool = self.clone();
        tokio::task::spawn_blocking(move || pool.work());
    }

    fn work(&self) {
        self.jobs().coming = false;
        loop {
            let mut jobs = self.jobs();
            let Some(job) = jobs.queue.pop_front() else { return };
            self.call_for_thread(jobs);
            job();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, mpsc};

    #[tokio::test]
    async fn a_long_job_never_keeps_others_from_starting() {
        let pool = Pool::default();
        let barrier = Arc::new(Barrier::new(8));
        let (done, wait) = mpsc::channel();
        for _ in 0..8 {
            let (barrier, done) = (Arc::clone(&barrier), done.clone());
            // None of the eight ends before all have begun.
            pool.add(move || {
                barrier.wait();
                done.send(()).unwrap();
            });
        }
        let count = tokio::task::spawn_blocking(move || wait.iter().take(8).count()).await.unwrap();
        assert_eq!(count, 8);
    }
}
