//! One process of a machine does the heavy work at a time.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use stepscope_gather::{GatherError, Spool};

#[test]
fn one_has_the_turn_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::at(&folder.path().join("spool"), 0);
    let at_work = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let turn = spool.turn(&|| ControlFlow::Continue(())).unwrap();
                    assert_eq!(at_work.fetch_add(1, Ordering::SeqCst), 0);
                    thread::sleep(Duration::from_millis(5));
                    at_work.fetch_sub(1, Ordering::SeqCst);
                    drop(turn);
                }
            });
        }
    });
    let turn = spool.turn(&|| ControlFlow::Continue(())).unwrap();
    let error = spool.turn(&|| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(error, GatherError::Canceled { .. }), "{error}");
    drop(turn);
    spool.turn(&|| ControlFlow::Break(())).unwrap();
}
