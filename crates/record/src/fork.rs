//! Processes that fork, as workers of a data loader do: the child begins anew, with rings and a drainer of its own.

use std::cell::RefCell;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::collector::{COLLECTOR, Collector};
use crate::names::{NAMES, Names};
use crate::recording::{OUTPUT, Open};
use crate::thread::{LEFT_ELSEWHERE, NEW_RINGS, RING_COUNT, Ring, WITHOUT_RING};
use crate::watching::{WATCHES, Watches};
use crate::{boundary, drainer, recording, thread};

static IS_PREPARED: AtomicBool = AtomicBool::new(false);

/// Makes sure that forks are prepared for. Nobody waits here: in a child, a thread that had begun with it is not there to
/// finish. So two threads may prepare, and what is called around a fork may be called twice.
#[expect(unsafe_code, reason = "the operating system calls back around a fork")]
pub(crate) fn prepare() {
    if IS_PREPARED.load(Ordering::Acquire) {
        return;
    }
    #[cfg(unix)]
    // SAFETY: the functions live as long as the program, or the library, which is never unloaded.
    unsafe {
        libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child));
    }
    IS_PREPARED.store(true, Ordering::Release);
}

thread_local! {
    /// What the thread that forks holds meanwhile.
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// Every lock, always taken in this order: then no other thread holds one at the moment of the fork.
struct Held {
    _output: MutexGuard<'static, Option<Open>>,
    _collector: MutexGuard<'static, Option<Collector>>,
    _new_rings: MutexGuard<'static, Vec<Ring>>,
    _names: MutexGuard<'static, Option<Names>>,
    _watches: MutexGuard<'static, Watches>,
}

extern "C" fn before() {
    if HELD.with_borrow(Option::is_some) {
        return;
    }
    let held = Held {
        _output: OUTPUT.lock(),
        _collector: COLLECTOR.lock(),
        _new_rings: NEW_RINGS.lock(),
        _names: NAMES.lock(),
        _watches: WATCHES.lock(),
    };
    HELD.set(Some(held));
}

extern "C" fn after_in_parent() {
    HELD.set(None);
}

extern "C" fn after_in_child() {
    if HELD.take().is_none() {
        return;
    }
    thread::forget_after_fork();
    boundary::forget_after_fork();
    drainer::forget_after_fork();
    NEW_RINGS.lock().drain(..).for_each(std::mem::forget);
    RING_COUNT.store(0, Ordering::Relaxed);
    WITHOUT_RING.store(0, Ordering::Relaxed);
    LEFT_ELSEWHERE.store(0, Ordering::Relaxed);
    let mut collector = COLLECTOR.lock();
    if let Some(collector) = &mut *collector {
        collector.forget_after_fork();
    }
    recording::reopen_after_fork(&mut OUTPUT.lock(), &mut collector);
    drop(collector);
    WATCHES.lock().forget_after_fork();
}
