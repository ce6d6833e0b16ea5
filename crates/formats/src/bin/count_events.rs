//! Reads a trace and prints how many events, arguments and plain bytes are in it, and what there is of memory.
//!
//! `cargo run --release -p stepscope-formats --bin count_events -- TRACE`
#![allow(clippy::print_stdout, reason = "a program prints")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader};

use stepscope_formats::{
    Event, Limits, MemoryBlock, MemoryChange, MemorySegment, TraceSink, Value, Warning, read_trace,
};

#[derive(Default)]
struct Counts {
    events: u64,
    args: usize,
    /// How long they take in all, and the end of the last one.
    dur_ns: i64,
    end_ns: i64,
    warnings: u64,
    changes: u64,
    segments: u64,
    blocks: u64,
    stacks: u64,
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

    fn stack(&mut self, _: &[u32]) {
        self.stacks += 1;
    }

    fn memory_segment(&mut self, _: &MemorySegment<'_>) {
        self.segments += 1;
    }

    fn memory_block(&mut self, _: &MemoryBlock) {
        self.blocks += 1;
    }

    fn memory_change(&mut self, change: &MemoryChange<'_>) {
        self.changes += 1;
        self.args += change.args.len();
        self.end_ns = self.end_ns.max(change.ts_ns.unwrap_or(0));
    }

    fn scratch_file(&mut self) -> io::Result<File> {
        let path = std::env::temp_dir().join(format!("stepscope-count-events-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        fs::remove_file(path)?;
        Ok(file)
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
    let Counts { events, args, dur_ns, end_ns, warnings, changes, segments, blocks, stacks } = counts;
    println!(
        "{events} events, {args} args, {dur_ns} ns until {end_ns}, {warnings} warnings, {} plain bytes",
        summary.bytes_plain
    );
    if changes + segments > 0 {
        println!("{changes} changes of memory, {segments} segments, {blocks} blocks, {stacks} stacks");
    }
    Ok(())
}
