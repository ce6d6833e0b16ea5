//! Scanning and the sink are on different threads: stops, errors and panics end both.

use std::io::{self, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use stepscope_formats::{Event, FormatError, Limits, TraceSink, Value, Warning, read_trace};

use crate::dump::Count;

const EVENT: &str = r#"{"ph": "X", "args": {"a": 1}},"#;

/// More than all buffers hold.
const EVENT_COUNT: usize = 2_000_000;

/// Gives the same event again and again, then does something else.
struct Events {
    count: usize,
    at: usize,
    last: fn() -> io::Result<usize>,
}

impl Read for Events {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.count == 0 {
            return (self.last)();
        }
        let rest = &EVENT.as_bytes()[self.at..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        if self.at == EVENT.len() {
            (self.at, self.count) = (0, self.count - 1);
        }
        Ok(count)
    }
}

fn trace(count: usize, last: fn() -> io::Result<usize>) -> impl io::BufRead + Send {
    BufReader::new(b"[".chain(Events { count, at: 0, last }))
}

/// Ends by `progress`, or by a panic, at an event.
struct Ending {
    seen: u64,
    stop_at: u64,
    panic_at: u64,
}

impl TraceSink for Ending {
    fn header(&mut self, _: &str, _: &Value<'_>) {}

    fn event(&mut self, _: &Event<'_>) {
        assert_ne!(self.seen, self.panic_at, "the sink panics");
        self.seen += 1;
    }

    fn warning(&mut self, _: &Warning<'_>) {}

    fn progress(&mut self, _: u64) -> bool {
        self.seen < self.stop_at
    }
}

#[test]
fn a_sink_that_stops_sees_nothing_more() {
    for stop_at in [0, 1, 100_000, 1_000_000] {
        let mut sink = Ending { seen: 0, stop_at, panic_at: u64::MAX };
        let outcome = read_trace(trace(EVENT_COUNT, || Ok(0)), &Limits::default(), &mut sink);
        assert!(matches!(outcome, Err(FormatError::Stopped)));
        assert!(sink.seen < EVENT_COUNT as u64 / 2 + 500_000, "{}", sink.seen);
    }
}

#[test]
fn a_panic_of_the_sink_arrives() {
    for panic_at in [0, 1, 12_345, EVENT_COUNT as u64 - 1] {
        let mut sink = Ending { seen: 0, stop_at: u64::MAX, panic_at };
        let read = || read_trace(trace(EVENT_COUNT, || Ok(0)), &Limits::default(), &mut sink);
        assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
        assert_eq!(sink.seen, panic_at);
    }
}

#[test]
fn an_error_of_the_input_comes_after_the_events_before_it() {
    for count in [1, 1000, 100_000] {
        let mut sink = Count::default();
        let input = trace(count, || Err(io::Error::other("gone")));
        let outcome = read_trace(input, &Limits::default(), &mut sink);
        assert!(matches!(outcome, Err(FormatError::Io(_))), "{outcome:?}");
        // The events of the last block are not scanned.
        assert!(sink.events <= count as u64 && sink.events + 20_000 > count as u64, "{} of {count}", sink.events);
    }
}

#[test]
fn a_panic_of_the_input_arrives() {
    let mut sink = Count::default();
    let read = || read_trace(trace(100_000, || panic!("the input panics")), &Limits::default(), &mut sink);
    assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
}

#[test]
fn long_events_arrive_among_short_ones() {
    let long = format!(r#"{{"ph": "X", "args": {{"a": [{}0]}}}},"#, "1, ".repeat(3 << 20));
    let text = format!("[{}{long}{long}{}{long}]", EVENT.repeat(50_000), EVENT.repeat(50_000));
    let mut sink = Count::default();
    read_trace(text.as_bytes(), &Limits::default(), &mut sink).unwrap();
    assert_eq!((sink.events, sink.warnings), (100_003, 0));
}
