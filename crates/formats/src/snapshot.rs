//! Reads the memory snapshots of PyTorch (`torch.cuda.memory._dump_snapshot`): Python pickles of plain data.
//!
//! A pickle is a program, so it is never given to Python, and the machine here knows no opcode that could load a class or
//! call anything: it builds lists, dicts, texts and numbers. The bytes are looked at twice. The first pass puts them aside,
//! refuses opcodes by name and notes which memo slots are ever fetched. The second keeps only those, and hands out each
//! event and segment when it is finished: what is held are shared values and open containers, not the file.

mod annotations;
mod arena;
mod block;
mod changes;
mod close;
mod fault;
mod hand_out;
mod json;
mod machine;
mod members;
mod memo;
mod number;
mod opcode;
mod path;
mod recognize;
mod result;
mod segments;
mod stacks;
mod teller;
#[cfg(test)]
mod tests;
mod text;
mod window;
mod word;

use std::io::{self, Read};

use stepscope_model::{Content, Note};

use self::arena::Value;
use self::fault::{Damage, Fault, not_a_snapshot};
use self::machine::Machine;
use self::memo::Fetched;
use self::opcode::{Opcode, Opcodes};
use self::teller::Teller;
use crate::error::FormatError;
use crate::event;
use crate::registry::{Confidence, Format, Limits};
use crate::sink::{TraceSink, Warning};
use crate::spool::Spool;

/// Opcodes of the second pass between two reports of progress.
const PROGRESS_OPCODES: u32 = 1 << 18;

/// What `torch.cuda.memory._dump_snapshot` writes, and `torch.cuda.memory_snapshot()` when it is pickled.
pub(crate) struct MemorySnapshot;

impl Format for MemorySnapshot {
    fn name(&self) -> &'static str {
        "memory_snapshot"
    }

    fn yields(&self) -> Content {
        Content::Events
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        recognize::sniff(head)
    }

    fn read(
        &self,
        input: &mut (dyn Read + Send),
        limits: &Limits,
        sink: &mut dyn TraceSink,
    ) -> Result<Vec<Note>, FormatError> {
        let mut spool = Spool::default();
        let FirstPass { fetched, length_bytes, has_bytes_after_stop, refusal } =
            first_pass(input, limits, &mut spool, sink)?;
        if let Some(refusal) = refusal {
            // Nothing is told of a file that is refused. In a damaged one, what looks like an opcode may be none.
            let mut silence = Silence;
            let mut machine = Machine::new(fetched.clone(), limits.max_depth, Teller::new(&mut silence));
            let outcome = second_pass(&mut Opcodes::new(spool.reader()?, limits.max_string_bytes), &mut machine, 0);
            if !matches!(outcome, Err(Fault::Cut | Fault::Broken)) {
                return Err(refusal);
            }
        }
        let mut opcodes = Opcodes::new(spool.reader()?, limits.max_string_bytes);
        let mut machine = Machine::new(fetched, limits.max_depth, Teller::new(sink));
        let outcome = second_pass(&mut opcodes, &mut machine, length_bytes);
        let offset_bytes = opcodes.start_bytes;
        let mut notes = Vec::new();
        notes.extend(opcodes.has_invalid_text.then_some(Note::InvalidUtf8));
        let (result, damage) = match outcome {
            Ok(value) => {
                notes.extend(machine.has_values_left().then_some(Note::ValuesLeftOnTheStack));
                notes.extend(has_bytes_after_stop.then_some(Note::BytesAfterStop));
                (Some(value), None)
            }
            Err(fault) => {
                let damage = fault.damage(offset_bytes)?;
                notes.push(match damage {
                    Damage::Cut => Note::PickleTruncated,
                    Damage::Broken => Note::PickleBroken,
                });
                match machine.close() {
                    Ok(result) => (result, Some(damage)),
                    Err(fault) => return fault.damage(offset_bytes).and_then(|_| Err(not_a_snapshot())),
                }
            }
        };
        notes.extend(machine.finish(result, damage)?);
        Ok(notes)
    }
}

/// What is known after the first pass.
struct FirstPass {
    fetched: Fetched,
    length_bytes: u64,
    has_bytes_after_stop: bool,
    /// Why the file is refused, unless it is damaged before that.
    refusal: Option<FormatError>,
}

/// Puts the bytes aside, looks at every opcode, and notes the memo slots that are fetched.
fn first_pass(
    input: &mut dyn Read,
    limits: &Limits,
    spool: &mut Spool,
    sink: &mut dyn TraceSink,
) -> Result<FirstPass, FormatError> {
    let aside = Aside { input, spool, sink, length_bytes: 0, is_kept: true, is_stopped: false };
    let mut opcodes = Opcodes::new(aside, limits.max_string_bytes);
    let mut fetched = Fetched::default();
    let outcome = loop {
        match opcodes.next() {
            Ok(Opcode::Get(slot)) => {
                if let Err(fault) = fetched.insert(slot) {
                    break Err(fault);
                }
            }
            Ok(Opcode::Stop) => break Ok(()),
            Ok(_) => {}
            Err(fault) => break Err(fault),
        }
    };
    // The second pass comes to the same damage, or to another one before it.
    let is_stop = outcome.is_ok();
    let refusal = match outcome {
        Err(Fault::Io(error)) => return Err(error.into()),
        outcome => outcome.err().and_then(|fault| fault.damage(opcodes.start_bytes).err()),
    };
    opcodes.window.input.is_kept = false;
    let rest_bytes = opcodes.window.skip_rest()?;
    let Aside { length_bytes, is_stopped, .. } = opcodes.window.input;
    if is_stopped {
        return Err(FormatError::Stopped);
    }
    Ok(FirstPass { fetched, length_bytes, has_bytes_after_stop: is_stop && rest_bytes > 0, refusal })
}

/// Runs the pickle; gives its result.
fn second_pass<R: Read>(
    opcodes: &mut Opcodes<R>,
    machine: &mut Machine<'_>,
    length_bytes: u64,
) -> Result<Value, Fault> {
    loop {
        for _ in 0..PROGRESS_OPCODES {
            let offset_bytes = opcodes.window.offset_bytes();
            if let Some(result) = machine.step(opcodes.next()?, offset_bytes)? {
                return Ok(result);
            }
        }
        // Both passes are half of the way.
        if !machine.teller.sink.progress(length_bytes.midpoint(opcodes.window.offset_bytes())) {
            return Err(Fault::Stopped);
        }
    }
}

/// Takes what is told, for finding out where a file is damaged.
struct Silence;

impl TraceSink for Silence {
    fn header(&mut self, _: &str, _: &event::Value<'_>) {}

    fn event(&mut self, _: &event::Event<'_>) {}

    fn warning(&mut self, _: &Warning<'_>) {}

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

/// Reads bytes and puts them aside.
struct Aside<'a> {
    input: &'a mut dyn Read,
    spool: &'a mut Spool,
    sink: &'a mut dyn TraceSink,
    length_bytes: u64,
    /// Whether they are still put aside.
    is_kept: bool,
    /// Whether the sink asked to stop; then the bytes end.
    is_stopped: bool,
}

impl Read for Aside<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_stopped |= !self.sink.progress(self.length_bytes / 2);
        if self.is_stopped {
            return Ok(0);
        }
        let count = self.input.read(buffer)?;
        self.length_bytes += count as u64;
        if self.is_kept {
            self.spool.push(&buffer[..count], &mut || self.sink.scratch_file())?;
        }
        Ok(count)
    }
}
