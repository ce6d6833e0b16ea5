//! Reads a trace and prints how many events, arguments and plain bytes are in it.
//!
//! `cargo run --release -p stepscope-formats --example count_events -- TRACE`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::fs::File;
use std::io::BufReader;

use stepscope_formats::{Event, Limits, TraceSink, Value, Warning, read_trace};

#[derive(Default)]
struct Counts {
    events: u64,
    args: usize,
    /// How long they take in all, and the end of the last one.
    dur_ns: i64,
    end_ns: i64,
    warnings: u64,
}

impl TraceSink for Counts {
    fn header(&mut self, _: &str, _: &Value<'_>) {}

    fn event(&mut self, event: &Event<'_>) {
        self.events += 1;
        self.args += event.args.len();
        let dur_ns = event.dur.ns.unwrap_or(0);
        self.dur_ns = self.dur_ns.saturating_add(dur_ns);
        self.end_ns = self.end_ns.max(event.start.ns.unwrap_or(0).saturating_add(dur_ns));
    }

    fn warning(&mut self, _: &Warning<'_>) {
        self.warnings += 1;
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: count_events TRACE")?;
    let mut counts = Counts::default();
    let summary = read_trace(BufReader::with_capacity(1 << 18, File::open(path)?), &Limits::default(), &mut counts)?;
    let Counts { events, args, dur_ns, end_ns, warnings } = counts;
    println!(
        "{events} events, {args} args, {dur_ns} ns until {end_ns}, {warnings} warnings, {} plain bytes",
        summary.bytes_plain
    );
    Ok(())
}
