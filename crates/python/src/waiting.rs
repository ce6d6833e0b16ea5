//! Waits for work without holding Python: other threads go on, and Ctrl-C is heard.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use stepscope_workspace::CancelFlag;

/// How often a waiting thread looks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Does something on a thread of its own. Meanwhile `look` is called now and then; what it raises, and a signal, cancel
/// the work.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    cancel: &CancelFlag,
    work: impl FnOnce() -> T + Send,
    mut look: impl FnMut() -> PyResult<()>,
) -> PyResult<T> {
    let (done, bell) = (Mutex::new(None), Condvar::new());
    let take = |timeout: Duration| {
        let done = done.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = bell.wait_timeout_while(done, timeout, |done| done.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    };
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let answer = work();
            *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            bell.notify_one();
        });
        loop {
            if let Some(answer) = py.detach(|| take(LOOK_EVERY)) {
                return Ok(answer);
            }
            // A worker that has ended without an answer has panicked.
            if worker.is_finished() && done.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
                return Err(PyRuntimeError::new_err("a bug in Stepscope: a thread panicked"));
            }
            if let Err(error) = py.check_signals().and_then(|()| look()) {
                cancel.cancel();
                py.detach(|| worker.join().ok());
                return Err(error);
            }
        }
    })
}
