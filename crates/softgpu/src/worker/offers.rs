//! What runners offer to idle threads.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::job::Job;

/// Dispatches that idle threads can help with.
#[derive(Debug)]
pub(super) struct Offers {
    jobs: Mutex<VecDeque<Arc<Job>>>,
    changed: Condvar,
}

impl Offers {
    pub(super) fn new() -> Self {
        Self {
            jobs: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn offer(&self, job: &Arc<Job>) {
        self.lock().push_back(Arc::clone(job));
        self.changed.notify_all();
    }

    pub(super) fn withdraw(&self, job: &Arc<Job>) {
        self.lock().retain(|offered| !Arc::ptr_eq(offered, job));
    }

    /// Waits for a dispatch with workgroups left. The caller is counted as a worker of it only once
    /// it calls [`Job::work`]; a job that ended meanwhile has none left to take.
    pub(super) fn next(&self) -> Arc<Job> {
        let mut jobs = self.lock();
        loop {
            if let Some(job) = jobs.iter().find(|job| job.has_more()) {
                return Arc::clone(job);
            }
            jobs = self
                .changed
                .wait(jobs)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
