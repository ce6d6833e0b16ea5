//! Questions end when nobody waits for their answers any more.

use std::time::{Duration, Instant};

use crate::harness::{Outside, app, small_trace, status};

const ENDLESS: &str = r#"{"statement": "SELECT sum(a.value * b.value) FROM generate_series(1, 1000000) AS a CROSS JOIN generate_series(1, 1000000) AS b"}"#;

#[test]
fn a_hundred_questions_that_nobody_waits_for_leave_nothing_behind() {
    let outside = Outside::new(app(&small_trace()));
    let endless = outside.text("POST /api/runs/job/sql HTTP/1.1", &["Content-Type: application/json"], ENDLESS);
    for _ in 0..10 {
        let waiting: Vec<_> = (0..10).map(|_| outside.connect(endless.as_bytes())).collect();
        std::thread::sleep(Duration::from_millis(100));
        drop(waiting);
    }
    // More than are worked on at one time: if one of them were stuck for each that was asked, nobody would answer.
    let asked = Instant::now();
    let answer = outside.send(outside.text("GET /api/runs/job/analyses/ops HTTP/1.1", &[], "").as_bytes());
    assert_eq!(status(&answer), 200, "{answer}");
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
}

#[test]
fn a_server_stops_while_questions_are_worked_on() {
    let outside = Outside::new(app(&small_trace()));
    let endless = outside.text("POST /api/runs/job/sql HTTP/1.1", &["Content-Type: application/json"], ENDLESS);
    let waiting = outside.connect(endless.as_bytes());
    std::thread::sleep(Duration::from_millis(100));
    let stopped = Instant::now();
    drop(outside);
    assert!(stopped.elapsed() < Duration::from_secs(10), "{:?}", stopped.elapsed());
    drop(waiting);
}
