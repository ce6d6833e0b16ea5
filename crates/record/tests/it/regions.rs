//! Sums of regions, as the program itself asks for them.

use std::thread;
use std::time::Duration;

use stepscope_record::{Scope, Totals, enter_named, leave_named, switch, totals};

fn of(scope: Scope, name: &str) -> Totals {
    totals(scope).into_iter().find(|(text, _)| &**text == name).map(|(_, totals)| totals).expect("a region of the name")
}

#[test]
fn self_time_leaves_out_what_is_inside() {
    let scope = Scope::new();
    let (outer, inner) = (scope.name("outer"), scope.name("inner"));
    enter_named(outer, 0);
    for _ in 0..3 {
        enter_named(inner, 0);
        thread::sleep(Duration::from_millis(5));
        leave_named(inner, 0, None);
    }
    thread::sleep(Duration::from_millis(5));
    leave_named(outer, 0, None);
    let (outer, inner) = (of(scope, "outer"), of(scope, "inner"));
    assert_eq!((outer.count, inner.count), (1, 3));
    assert_eq!(outer.self_ns, outer.total_ns - inner.total_ns);
    assert_eq!(inner.self_ns, inner.total_ns);
    assert!(outer.last_is_outermost && !inner.last_is_outermost);
    assert!(inner.total_ns >= 15_000_000 && outer.self_ns >= 5_000_000, "{outer:?} {inner:?}");
    assert!(inner.shortest_ns <= inner.longest_ns && inner.longest_ns < inner.total_ns);
    assert_eq!(stepscope_record::last_outermost(scope).as_deref(), Some("outer"));
}

#[test]
fn a_region_can_be_entered_again_before_it_is_left() {
    let scope = Scope::new();
    let name = scope.name("recursive");
    assert!(enter_named(name, 0), "the first region of the thread");
    for _ in 1..10 {
        assert!(!enter_named(name, 0));
    }
    for _ in 0..10 {
        leave_named(name, 0, None);
    }
    // One that was never entered changes nothing.
    leave_named(name, 0, None);
    let sums = of(scope, "recursive");
    assert_eq!(sums.count, 10);
    assert_eq!(sums.self_ns, sums.longest_ns, "the outermost one covers all others");
}

#[test]
fn tasks_nest_for_themselves() {
    let scope = Scope::new();
    let (one, other) = (scope.name("one"), scope.name("other"));
    // Two tasks of one thread take turns: neither lies in the other.
    enter_named(one, 0x1000);
    enter_named(other, 0x2000);
    thread::sleep(Duration::from_millis(2));
    leave_named(one, 0x1000, None);
    leave_named(other, 0x2000, None);
    for name in ["one", "other"] {
        let sums = of(scope, name);
        assert_eq!(sums.self_ns, sums.total_ns, "{name}");
        assert!(sums.last_is_outermost, "{name}");
    }
}

#[test]
fn regions_may_be_left_out_of_order() {
    let scope = Scope::new();
    let (one, other) = (scope.name("one"), scope.name("other"));
    enter_named(one, 0);
    enter_named(other, 0);
    leave_named(one, 0, None);
    leave_named(other, 0, None);
    assert_eq!((of(scope, "one").count, of(scope, "other").count), (1, 1));
}

#[test]
fn regions_that_are_left_elsewhere_are_counted() {
    let scope = Scope::new();
    let name = scope.name("wanders");
    enter_named(name, 0);
    thread::scope(|threads| {
        threads.spawn(|| leave_named(name, 0, None));
    });
    enter_named(name, 0x1000);
    leave_named(name, 0x2000, None);
    assert!(totals(scope).is_empty());
    assert_eq!(stepscope_record::recording::counts().lost_elsewhere, 2);
}

#[test]
fn every_thread_counts() {
    let scope = Scope::new();
    let name = scope.name("work");
    thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                for _ in 0..1000 {
                    enter_named(name, 0);
                    leave_named(name, 0, Some(2));
                }
            });
        }
    });
    let sums = of(scope, "work");
    assert_eq!((sums.count, sums.samples, sums.samples_ns), (8000, Some(16_000), sums.total_ns));
    let percentile = sums.durations.percentile(50).expect("some durations");
    assert!(sums.shortest_ns <= percentile + percentile / 64 + 1 && percentile <= sums.longest_ns + 1);
}

#[test]
fn what_is_switched_off_is_not_recorded() {
    let scope = Scope::new();
    let name = scope.name("sometimes");
    let enter_and_leave = || {
        enter_named(name, 0);
        leave_named(name, 0, None);
    };
    enter_and_leave();
    switch(false);
    enter_and_leave();
    switch(true);
    assert_eq!(of(scope, "sometimes").count, 1);
}

#[test]
fn a_ring_that_is_full_drops_and_counts() {
    let scope = Scope::new();
    let name = scope.name("many");
    // More than a ring holds, faster than it is emptied.
    let count = 2_000_000_u64;
    for _ in 0..count {
        enter_named(name, 0);
        leave_named(name, 0, None);
    }
    let recorded = of(scope, "many").count;
    let counts = stepscope_record::recording::counts();
    assert_eq!(recorded + counts.lost_ring_full, count);
    assert!(recorded > 0);
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_read_where_an_outermost_region_begins_and_ends() {
    stepscope_record::measure_boundaries();
    let scope = Scope::new();
    let name = scope.name("allocates");
    enter_named(name, 0);
    let block = vec![1_u8; 64 << 20];
    thread::sleep(Duration::from_millis(150));
    assert_eq!(block.iter().map(|&byte| usize::from(byte)).sum::<usize>(), block.len());
    leave_named(name, 0, None);
    let sums = of(scope, "allocates");
    let readings = stepscope_record::readings_between(sums.last_start_ns, sums.last_end_ns);
    let resident = &readings["process_rss_bytes"];
    let grown = resident.last().unwrap().1 - resident.first().unwrap().1;
    assert!((60e6..80e6).contains(&grown), "{resident:?}");
    assert!(readings["process_peak_rss_bytes"].last().unwrap().1 >= resident.last().unwrap().1);
    assert!(readings["process_cpu_seconds"].last().unwrap().1 > 0.0);
}
