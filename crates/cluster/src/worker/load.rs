//! How many queries a worker works for, and whether it takes more.
//!
//! The limit counts queries, not parts of them: a query has a part for each of its stages on every worker, and all must
//! run at one time. A limit of parts would refuse a query of many stages for ever.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::failure::{Code, Failure};

/// Shared by everything in a worker.
#[derive(Debug)]
pub(crate) struct Load {
    most: usize,
    is_draining: AtomicBool,
    taken: AtomicU64,
    /// Parts that are open, by query.
    queries: Mutex<HashMap<String, usize>>,
}

impl Load {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, is_draining: AtomicBool::new(false), taken: AtomicU64::new(0), queries: Mutex::default() }
    }

    /// From now on no query is taken.
    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Refuses everything while the worker ends.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_draining.load(Ordering::Relaxed) {
            return Err(Failure::refusal(Code::WorkerDraining, "the worker ends soon and takes no more queries"));
        }
        Ok(())
    }

    /// Queries that were taken so far.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Queries that run.
    pub(crate) fn queries(&self) -> usize {
        self.lock().len()
    }

    /// Takes a part of a query, if the query is known or there is room for another.
    pub(crate) fn take(self: &Arc<Self>, query: &str) -> Result<Part, Failure> {
        let mut queries = self.lock();
        if !queries.contains_key(query) {
            self.check()?;
            if queries.len() >= self.most {
                let message = format!("the worker runs {} queries, which is all that it takes", queries.len());
                return Err(Failure::refusal(Code::WorkerBusy, message));
            }
            self.taken.fetch_add(1, Ordering::Relaxed);
        }
        *queries.entry(query.to_owned()).or_default() += 1;
        Ok(Part { load: Arc::clone(self), query: query.to_owned() })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, usize>> {
        self.queries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of a query; it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Part {
    load: Arc<Load>,
    query: String,
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut queries = self.load.lock();
        if let Some(parts) = queries.get_mut(&self.query) {
            *parts -= 1;
            if *parts == 0 {
                queries.remove(&self.query);
            }
        }
    }
}

static PANICS: AtomicU64 = AtomicU64::new(0);

/// Counts the panics of this process from now on.
pub(crate) fn count_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            shown(panic);
        }));
    });
}

/// Panics so far.
pub(crate) fn panics() -> u64 {
    PANICS.load(Ordering::SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_counted_and_parts_are_not() -> Result<(), Failure> {
        let load = Arc::new(Load::new(2));
        let (first, second) = (load.take("a")?, load.take("a")?);
        let other = load.take("b")?;
        assert_eq!(load.take("c").map_err(|failure| failure.code).err(), Some(Code::WorkerBusy));
        drop(other);
        drop(load.take("c")?);
        load.drain();
        assert_eq!(load.take("d").map_err(|failure| failure.code).err(), Some(Code::WorkerDraining));
        // What has begun may go on.
        drop(load.take("a")?);
        drop((first, second));
        assert_eq!(load.queries(), 0);
        Ok(())
    }
}
