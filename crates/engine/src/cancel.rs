//! A flag that ends a running query.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared between whoever waits for a query and whoever may want it to end: a signal handler, another thread.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Ends the queries that hold the flag within a few hundredths of a second. Safe in a signal handler.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody wants the query to end.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes the flag usable again, for the next query of a shell.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
