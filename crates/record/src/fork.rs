//! Processes that fork, as workers of a data loader do: the child begins anew, with rings and a drainer of its own.

use std::sync::Once;

use parking_lot::lock_api::RawMutex as _;

use crate::collector::COLLECTOR;
use crate::names::NAMES;
use crate::recording::OUTPUT;
use crate::thread::{NEW_RINGS, RING_COUNT, WITHOUT_RING};
use crate::{boundary, drainer, recording, thread, watching};

static ONCE: Once = Once::new();

/// Makes sure that forks are prepared for.
#[expect(unsafe_code, reason = "the operating system calls back around a fork")]
pub(crate) fn prepare_once() {
    ONCE.call_once(|| {
        #[cfg(unix)]
        // SAFETY: the functions live as long as the program, or the library, which is never unloaded.
        unsafe {
            libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child));
        }
    });
}

/// Takes every lock, always in this order, so that no other thread holds one at the moment of the fork.
extern "C" fn before() {
    std::mem::forget(OUTPUT.lock());
    std::mem::forget(COLLECTOR.lock());
    std::mem::forget(NEW_RINGS.lock());
    std::mem::forget(NAMES.lock());
    std::mem::forget(watching::WATCHES.lock());
}

extern "C" fn after_in_parent() {
    unlock();
}

extern "C" fn after_in_child() {
    unlock();
    thread::forget_after_fork();
    boundary::forget_after_fork();
    drainer::forget_after_fork();
    NEW_RINGS.lock().drain(..).for_each(std::mem::forget);
    RING_COUNT.store(0, std::sync::atomic::Ordering::Relaxed);
    WITHOUT_RING.store(0, std::sync::atomic::Ordering::Relaxed);
    let mut collector = COLLECTOR.lock();
    if let Some(collector) = &mut *collector {
        collector.forget_after_fork();
    }
    recording::reopen_after_fork(&mut OUTPUT.lock(), &mut collector);
    drop(collector);
    watching::WATCHES.lock().forget_after_fork();
}

#[expect(unsafe_code, reason = "a lock that is taken in one function is given back in another")]
fn unlock() {
    // SAFETY: `before` took each of them on this thread and forgot the guard.
    unsafe {
        watching::WATCHES.raw().unlock();
        NAMES.raw().unlock();
        NEW_RINGS.raw().unlock();
        COLLECTOR.raw().unlock();
        OUTPUT.raw().unlock();
    }
}
