//! Processes that fork while they record.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use stepscope_record::sensors::Group;
use stepscope_record::{Scope, enter_named, leave_named, recording, totals};

use crate::segments::read;

#[test]
#[expect(unsafe_code, reason = "forks")]
fn a_child_records_for_itself_into_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording::start(folder.path(), 1 << 30).unwrap();
    let scope = Scope::new();
    let (before, inside) = (scope.name("before"), scope.name("inside"));
    // Threads that are in the middle of something when the process forks.
    let others: Vec<_> = (0..2)
        .map(|_| {
            thread::spawn(move || {
                for _ in 0..200 {
                    enter_named(before, 0);
                    thread::sleep(Duration::from_micros(100));
                    leave_named(before, 0, None);
                }
            })
        })
        .collect();
    enter_named(before, 0);
    let children: Vec<i32> = (0..4)
        .map(|_| {
            thread::sleep(Duration::from_millis(3));
            // SAFETY: the child uses nothing of the other threads and leaves by `_exit`.
            let child = unsafe { libc::fork() };
            if child == 0 {
                for _ in 0..1000 {
                    enter_named(inside, 0);
                    leave_named(inside, 0, None);
                }
                let is_right =
                    totals(scope).iter().map(|(name, totals)| (&**name, totals.count)).eq([("inside", 1000)]);
                // The parent's region, which the parent measures: nothing is lost here.
                leave_named(before, 0, None);
                let is_right = is_right && recording::counts().lost_elsewhere == 0;
                recording::stop();
                // SAFETY: ends the child.
                unsafe { libc::_exit(i32::from(!is_right)) };
            }
            child
        })
        .collect();
    for child in children {
        let mut status = -1;
        // SAFETY: waits for a child of this process.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0, "a child counted something else, or crashed");
    }
    for thread in others {
        thread.join().unwrap();
    }
    leave_named(before, 0, None);
    recording::stop();
    let (counts, processes) = read(&path);
    assert_eq!((counts["before"], counts["inside"], processes), (401, 4000, 5));
}

/// Threads that wait for a lock when the process forks are not there in the child: nobody may hand the lock to them.
#[test]
#[expect(unsafe_code, reason = "forks")]
fn a_child_never_waits_for_threads_that_stayed_behind() {
    let scope = Scope::new();
    let name = scope.name("busy");
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    enter_named(name, 0);
                    leave_named(name, 0, None);
                    assert!(totals(scope).len() <= 1);
                    stepscope_record::unwatch(stepscope_record::watch(&[(Group::Cpu, Duration::from_millis(1))]));
                }
            });
        }
        for _ in 0..200 {
            // SAFETY: the child uses nothing of the other threads and leaves by `_exit`.
            let child = unsafe { libc::fork() };
            if child == 0 {
                enter_named(name, 0);
                leave_named(name, 0, None);
                let is_right = totals(scope).len() == 1;
                // SAFETY: ends the child.
                unsafe { libc::_exit(i32::from(!is_right)) };
            }
            let mut status = -1;
            // SAFETY: waits for a child of this process.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!(status, 0);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
