//! What a reader says about a trace, whatever its format: header entries, events, and what was not right.

use std::borrow::Cow;
use std::fs::File;
use std::io;

use stepscope_model::warning::WarningCode;

use crate::event::{Event, Value};
use crate::function::FunctionTotals;
use crate::memory::{Frame, MemoryBlock, MemoryChange, MemorySegment};
use crate::track::{Program, Track};

/// Takes what a reader finds, in the order of the file.
///
/// Every element of the event list arrives exactly once: as an `event` or a `memory_change`, or as a `warning` whose code is
/// a loss. A profile of functions has a list of these instead, whose elements arrive as a `function` or as a loss.
pub trait TraceSink {
    /// An entry of the header, before or after the events; a later one of the same key replaces the earlier.
    fn header(&mut self, key: &str, value: &Value<'_>);

    /// One event.
    fn event(&mut self, event: &Event<'_>);

    /// One function of a profile that adds up calls.
    fn function(&mut self, _function: &FunctionTotals) {}

    /// A track that events refer to by number, told before the first of them.
    fn track(&mut self, _track: &Track<'_>) {}

    /// A program that was compiled for a device.
    fn program(&mut self, _program: &Program<'_>) {}

    /// A frame that stacks refer to by number, told before the first of them; numbers are dense from 0.
    fn frame(&mut self, _frame: &Frame<'_>) {}

    /// A stack that others refer to by number: its frames, innermost first. Numbers are dense from 0.
    fn stack(&mut self, _frames: &[u32]) {}

    /// A segment of an allocator, after its blocks.
    fn memory_segment(&mut self, _segment: &MemorySegment<'_>) {}

    /// A block of a segment.
    fn memory_block(&mut self, _block: &MemoryBlock) {}

    /// A change of the memory in use.
    fn memory_change(&mut self, _change: &MemoryChange<'_>) {}

    /// A file that is gone when it is closed, for what a reader looks at twice and cannot hold.
    fn scratch_file(&mut self) -> io::Result<File> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "there is no folder for temporary files"))
    }

    /// Something that was not right. A code that is a loss stands for one element of the event list.
    fn warning(&mut self, warning: &Warning<'_>);

    /// Called now and then with the plain bytes read so far; `false` stops reading.
    fn progress(&mut self, plain_bytes: u64) -> bool;
}

/// Something that was not right with the input.
#[derive(Debug)]
pub struct Warning<'a> {
    /// What.
    pub code: WarningCode,
    /// Place of the element among the elements of the event list, when it is about one.
    pub position: Option<u64>,
    /// Where in the plain bytes.
    pub offset_bytes: u64,
    /// What was seen there; short.
    pub detail: Cow<'a, str>,
}
