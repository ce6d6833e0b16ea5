//! Hits, times and growth of memory by line, from what happens to the frames of each thread. Knows nothing of Python:
//! a frame is a key, a function is a number.

use std::time::Instant;

use hashbrown::HashMap;

/// What was counted for one line of a function.
pub(crate) struct Count {
    pub(crate) function: u32,
    pub(crate) line: u32,
    pub(crate) hits: u64,
    pub(crate) time_ns: u64,
    pub(crate) growth_bytes: Memory,
}

/// Bytes of the process, and of Python's objects.
pub(crate) type Memory = [i64; 2];

/// What the clock and, if it is asked for, the memory show.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) time: Instant,
    pub(crate) memory: Option<Memory>,
}

/// What happens to a frame.
pub(crate) enum Happening {
    /// It begins, or goes on at this line behind a `yield` or an `await`.
    Enter { resumed_line: Option<u32> },
    /// It comes to a line.
    Line(u32),
    /// It returns, yields, or is left by an exception.
    Leave,
}

/// The counts of all threads. The time of a line is what passes until its frame comes to another line or is left, so
/// it holds the calls that the line makes, and not the time while a generator is suspended.
#[derive(Default)]
pub(crate) struct LineCounts {
    counts: Vec<Count>,
    places: HashMap<(u32, u32), usize>,
    stacks: Vec<Vec<Frame>>,
    total_ns: u64,
}

struct Frame {
    key: usize,
    open: Option<OpenLine>,
}

struct OpenLine {
    place: usize,
    since: Moment,
}

impl LineCounts {
    /// Takes in what happens to a frame of a thread.
    pub(crate) fn happen(&mut self, thread: usize, key: usize, function: u32, happening: &Happening, now: Moment) {
        if self.stacks.len() <= thread {
            self.stacks.resize_with(thread + 1, Vec::new);
        }
        match *happening {
            Happening::Enter { resumed_line } => {
                let open = resumed_line.map(|line| OpenLine { place: self.place(function, line), since: now });
                self.stacks[thread].push(Frame { key, open });
            }
            Happening::Line(line) => {
                let depth = self.close_line(thread, key, now).unwrap_or_else(|| {
                    // It was there before the recording began.
                    self.stacks[thread].push(Frame { key, open: None });
                    self.stacks[thread].len() - 1
                });
                let place = self.place(function, line);
                self.counts[place].hits += 1;
                // The clock is read again, so that the line does not pay for this.
                let since = Moment { time: Instant::now(), memory: now.memory };
                self.stacks[thread][depth].open = Some(OpenLine { place, since });
            }
            Happening::Leave => {
                if let Some(depth) = self.close_line(thread, key, now) {
                    self.stacks[thread].truncate(depth);
                }
            }
        }
    }

    /// Adds what the lines that still run have taken so far, but for the line that a thread is at, if one is named.
    pub(crate) fn settle(&mut self, now: Moment, except_thread: Option<usize>) {
        for (thread, stack) in self.stacks.iter_mut().enumerate() {
            let frames = stack.len() - usize::from(except_thread == Some(thread) && !stack.is_empty());
            for (depth, frame) in stack[..frames].iter_mut().enumerate() {
                if let Some(open) = &mut frame.open {
                    self.total_ns += add(&mut self.counts[open.place], open.since, now, depth);
                    open.since = now;
                }
            }
        }
    }

    /// The line that a thread is at, as its place among the counts.
    pub(crate) fn current_place(&self, thread: usize) -> Option<usize> {
        Some(self.stacks.get(thread)?.last()?.open.as_ref()?.place)
    }

    /// Everything counted so far, in the order of first hits.
    pub(crate) fn counts(&self) -> &[Count] {
        &self.counts
    }

    /// Time in which lines ran, each moment of a thread counted once.
    pub(crate) fn total_ns(&self) -> u64 {
        self.total_ns
    }

    fn place(&mut self, function: u32, line: u32) -> usize {
        *self.places.entry((function, line)).or_insert_with(|| {
            self.counts.push(Count { function, line, hits: 0, time_ns: 0, growth_bytes: [0; 2] });
            self.counts.len() - 1
        })
    }

    /// Ends the line that a frame is at, and gives the frame's depth. Whatever lay above it is gone: nobody has told of
    /// its end, as when another tool took over for a while.
    fn close_line(&mut self, thread: usize, key: usize, now: Moment) -> Option<usize> {
        let stack = &mut self.stacks[thread];
        let depth = stack.iter().rposition(|frame| frame.key == key)?;
        stack.truncate(depth + 1);
        if let Some(open) = stack[depth].open.take() {
            self.total_ns += add(&mut self.counts[open.place], open.since, now, depth);
        }
        Some(depth)
    }
}

/// Adds what a line took to its count; gives the part of it that no line below has counted, which is all or nothing.
fn add(count: &mut Count, since: Moment, now: Moment, depth: usize) -> u64 {
    let time_ns = now.time.saturating_duration_since(since.time).as_nanos() as u64;
    count.time_ns += time_ns;
    if let (Some(before), Some(after)) = (since.memory, now.memory) {
        for (growth, (before, after)) in count.growth_bytes.iter_mut().zip(before.into_iter().zip(after)) {
            *growth += after - before;
        }
    }
    if depth == 0 { time_ns } else { 0 }
}
