//! One attempt at a query: the first failure that anything in it met.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::failure::Failure;

/// Shared by everything that belongs to an attempt.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    failure: Mutex<Option<Failure>>,
    failed: Notify,
}

impl Attempt {
    /// Records a failure. The first one counts: those after it follow from it.
    pub(crate) fn fail(&self, failure: &Failure) {
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| failure.clone());
        self.failed.notify_one();
    }

    /// The first failure so far.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for a failure.
    pub(crate) async fn failed(&self) -> Failure {
        loop {
            let notified = self.failed.notified();
            if let Some(failure) = self.failure() {
                return failure;
            }
            notified.await;
        }
    }
}
