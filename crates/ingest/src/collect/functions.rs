//! The functions of a profile: from the reader to the tables `functions` and `function_calls`.

use std::sync::Arc;

use stepscope_formats::FunctionTotals;

use crate::error::IngestError;
use crate::spill::row::{Field, row};
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Sorted, Sorter};
use crate::spill::strings::{Strings, Text};
use crate::write::rows::{Rows, SourceText as _};

row! {
    /// A function; its callers follow, and then the texts that the table of strings had no room for.
    FunctionHead {
        name: Option<Text>,
        file: Option<Text>,
        line: i64,
        calls: i64,
        primitive_calls: i64,
        tottime_ns: i64,
        cumtime_ns: i64,
        callers: u32,
    }
}

row! {
    /// One caller of a function.
    CallerHead {
        name: Option<Text>,
        file: Option<Text>,
        line: i64,
        calls: i64,
        primitive_calls: Option<i64>,
        tottime_ns: Option<i64>,
        cumtime_ns: Option<i64>,
    }
}

/// Functions on their way into a store, by their place in the file.
#[derive(Debug)]
pub(crate) struct Functions(Sorter<u64>);

impl Functions {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self(Sorter::new(scratch))
    }

    /// Takes the next function.
    pub(crate) fn push(&mut self, totals: &FunctionTotals, strings: &mut Strings) -> Result<(), IngestError> {
        let mut behind = Vec::new();
        let mut text = |text: &str| Some(strings.text(text, &mut behind));
        let head = FunctionHead {
            name: text(&totals.function.name),
            file: text(&totals.function.file),
            line: totals.function.line,
            calls: totals.calls,
            primitive_calls: totals.primitive_calls,
            tottime_ns: totals.tottime_ns,
            cumtime_ns: totals.cumtime_ns,
            callers: totals.callers.len() as u32,
        };
        let callers = totals.callers.iter().map(|caller| CallerHead {
            name: text(&caller.caller.name),
            file: text(&caller.caller.file),
            line: caller.caller.line,
            calls: caller.calls,
            primitive_calls: caller.primitive_calls,
            tottime_ns: caller.tottime_ns,
            cumtime_ns: caller.cumtime_ns,
        });
        let callers: Vec<CallerHead> = callers.collect();
        self.0.push_with(totals.position, |out| {
            head.put(out);
            for caller in callers {
                caller.put(out);
            }
            out.extend_from_slice(&behind);
        })
    }

    /// All of them.
    pub(crate) fn finish(self) -> Result<Sorted<u64>, IngestError> {
        self.0.finish()
    }
}

/// Writes the rows of both tables.
pub(crate) fn write(
    functions: &Sorted<u64>,
    mut function_rows: Rows<'_>,
    mut call_rows: Rows<'_>,
) -> Result<(), IngestError> {
    let mut reader = functions.reader()?;
    while let Some((position, mut bytes)) = reader.next()? {
        let head = FunctionHead::take(&mut bytes);
        let (mut callers, behind) = bytes.split_at((head.callers as usize * CallerHead::BYTES).min(bytes.len()));
        let position = position as i64;
        function_rows
            .i64(position)
            .source_text(head.name, behind)
            .source_text(head.file, behind)
            .i64(head.line)
            .i64(head.calls)
            .i64(head.primitive_calls)
            .i64(head.tottime_ns)
            .i64(head.cumtime_ns)
            .end_row()?;
        while !callers.is_empty() {
            let caller = CallerHead::take(&mut callers);
            call_rows
                .i64(position)
                .source_text(caller.name, behind)
                .source_text(caller.file, behind)
                .i64(caller.line)
                .i64(caller.calls)
                .i64(caller.primitive_calls)
                .i64(caller.tottime_ns)
                .i64(caller.cumtime_ns)
                .end_row()?;
        }
    }
    function_rows.finish()?;
    Ok(call_rows.finish()?)
}
