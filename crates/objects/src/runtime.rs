//! The one thread that requests run on.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::watch::Watch;

/// How often a caller that waits is asked whether it goes on.
const ASKED_EACH: Duration = Duration::from_millis(50);

/// A runtime with one thread. Callers wait on a channel instead of inside of it, so that they may be in another one.
#[derive(Debug)]
pub(crate) struct RequestThread {
    /// Only taken when it ends.
    runtime: Option<tokio::runtime::Runtime>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The caller ended it.
    Canceled,
    /// The task ended without an answer.
    Lost,
}

impl RequestThread {
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("stepscope-objects")
            .enable_all()
            .build()?;
        Ok(Self { runtime: Some(runtime) })
    }

    /// Waits for a task, and asks `watch` meanwhile, with the bytes that the task has counted in `done`.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        watch: Watch<'_>,
        done: &AtomicU64,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Stop> {
        let Some(runtime) = &self.runtime else { return Err(Stop::Lost) };
        let (sender, receiver) = sync_channel(1);
        let running = runtime.spawn(async move {
            // Whoever canceled does not listen any more.
            let _ = sender.send(task.await);
        });
        loop {
            match receiver.recv_timeout(ASKED_EACH) {
                Ok(answer) => {
                    let _ = watch(done.load(Ordering::Relaxed));
                    return Ok(answer);
                }
                Err(RecvTimeoutError::Timeout) if watch(done.load(Ordering::Relaxed)).is_break() => {
                    running.abort();
                    return Err(Stop::Canceled);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Stop::Lost),
            }
        }
    }
}

impl Drop for RequestThread {
    fn drop(&mut self) {
        // A runtime must not wait for its threads inside of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
