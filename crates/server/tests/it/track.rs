//! The spans of a track: exact as long as they fit, merged when they are too many, never lost.

use std::fmt::Write as _;

use crate::harness::{Inside, rows, small_trace};

/// The number of the track of a kind.
fn track(inside: &Inside, kind: &str) -> i64 {
    let timeline = inside.json("/api/runs/job/timeline?rank=0&window=0");
    let tracks = timeline["tracks"].as_array().unwrap();
    tracks.iter().find(|track| track["kind"] == kind).unwrap()["track"].as_i64().unwrap()
}

#[test]
fn few_spans_are_exact() {
    let inside = Inside::new(&small_trace());
    let span = |depth, start: i64, dur: i64, class: &str, name: &str| {
        (depth, start * 1000, dur * 1000, dur * 1000, 1, class.to_owned(), name.to_owned())
    };
    let thread = track(&inside, "thread");
    let want = [
        span(0, 1, 90, "python", "train.py(3): step"),
        span(1, 0, 100, "annotation", "ProfilerStep#1"),
        span(2, 10, 50, "cpu_exec", "aten::mm"),
        span(3, 20, 5, "runtime", "cudaLaunchKernel"),
    ];
    assert_eq!(rows(&inside, &format!("/api/runs/job/timeline/tracks/{thread}?rank=0&window=0")), want);
    let stream = track(&inside, "stream");
    let (kernel, copy) = (span(0, 40, 30, "kernel", "gemm"), span(0, 80, 10, "memcpy", "Memcpy HtoD"));
    let part = |query: &str| rows(&inside, &format!("/api/runs/job/timeline/tracks/{stream}?rank=0&window=0&{query}"));
    assert_eq!(part(""), [kernel.clone(), copy.clone()]);
    assert_eq!(part("from=50000&to=60000&width=100"), [kernel]);
    assert_eq!(part("from=71000&to=100000&width=100"), [copy]);
    assert_eq!(part("from=91000&to=100000&width=100"), []);
}

#[test]
fn many_spans_are_merged_and_none_is_lost() {
    const SPANS: i64 = 30_000;
    let mut events = String::new();
    // A kernel of 1 µs every 2 µs, one lone kernel after a long gap, and one that is long enough to stay apart.
    for place in 0..SPANS {
        write!(events, r#"{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":1,"args":{{"device":0,"stream":7}}}},"#, 2 * place).unwrap();
    }
    for (name, ts, dur) in [("alone", 500_000, 1), ("long", 700_000, 200_000)] {
        write!(events, r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":{dur},"args":{{"device":0,"stream":7}}}},"#).unwrap();
    }
    let inside = Inside::new(&format!(r#"{{"traceEvents": [{}]}}"#, events.trim_end_matches(',')));
    let stream = track(&inside, "stream");
    let all = rows(
        &inside,
        &format!("/api/runs/job/timeline/tracks/{stream}?rank=0&window=0&from=0&to=1000000000&width=1000"),
    );
    assert!(all.len() <= 1000, "{} rows", all.len());
    assert_eq!(all.iter().map(|row| row.4).sum::<i64>(), SPANS + 2);
    assert_eq!(all.iter().map(|row| row.3).sum::<i64>(), (SPANS + 1) * 1000 + 200_000_000);
    let alone = all.iter().find(|row| row.6 == "alone").unwrap();
    assert_eq!((alone.1, alone.2, alone.4), (500_000_000, 1_000, 1));
    let long = all.iter().find(|row| row.6 == "long").unwrap();
    assert_eq!((long.2, long.3, long.4), (200_000_000, 200_000_000, 1));
    // Half of the time of a bucket is busy.
    let first = &all[0];
    assert!((first.3 as f64 / first.2 as f64 - 0.5).abs() < 0.01, "{first:?}");
    // Closer up they are exact.
    let near =
        rows(&inside, &format!("/api/runs/job/timeline/tracks/{stream}?rank=0&window=0&from=0&to=100000&width=1000"));
    assert_eq!(near.len(), 50);
    assert!(near.iter().all(|row| row.4 == 1));
}
