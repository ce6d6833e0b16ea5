//! Inputs made to take all time or memory.

use std::time::{Duration, Instant};

use stepscope_formats::{Limits, read_trace};

use crate::dump::{Count, words};

/// Two megabytes of `piece` after each of a few beginnings are read, or refused, in little time.
#[track_caller]
fn check(piece: &str) {
    for start in ["", "[{\"ph\":1},", "{\"traceEvents\":[", "{\"traceEvents\":[{\"ph\":\"", "{\"a\":"] {
        check_long(start, piece, 2 << 20, Duration::from_secs(5));
    }
}

/// About `length` bytes of `piece` after `start` are read, or refused, within `limit`.
#[track_caller]
fn check_long(start: &str, piece: &str, length: usize, limit: Duration) {
    let text = start.to_owned() + &piece.repeat(length / piece.len());
    let begin = Instant::now();
    let mut count = Count::default();
    let outcome = read_trace(text.as_bytes(), &Limits::default(), &mut count);
    let took = begin.elapsed();
    let outcome = outcome.map_or_else(|error| error.to_string(), |summary| words(&summary.notes).join(" "));
    eprintln!("{took:9.2?} {start}{piece:.20}: {} events, {} lost, {outcome}", count.events, count.losses);
    assert!(took < limit, "{start}{piece:.20} took {took:?}");
}

#[test]
fn twenty_megabytes() {
    for piece in ["[", "{\"a\":", "\"", "{\"ph\":\"", ",{\"ph\":["] {
        check_long("", piece, 20 << 20, Duration::from_secs(30));
        check_long("{\"traceEvents\":[", piece, 20 << 20, Duration::from_secs(30));
    }
}

#[test]
fn brackets() {
    for piece in ["[", "{", "]", "}", ",", "],", "[{\"ph\":1},", "],\"ph\":1,"] {
        check(piece);
    }
}

#[test]
fn keys_and_quotes() {
    for piece in ["\"", "{\"a\":", "{\"ph\":\"", "{\"ph\":\"\\\"", "\"ph\":", "\"traceEvents\":[", "\"traceEvents\""] {
        check(piece);
    }
}

#[test]
fn nesting() {
    check(",{\"ph\":[");
    check("{\"ph\":");
    // Each level of what is broken at its end could be an event of its own.
    check(&format!("{}!", r#"{"ph":["#.repeat(127)));
    check(&format!("{}{}!", r#"{"ph":[1,"#.repeat(120), "1,".repeat(500_000)));
}

#[test]
fn other_bytes() {
    for piece in [" ", "\\", "é", "1,", "{\"ph\":1},"] {
        check(piece);
    }
}
