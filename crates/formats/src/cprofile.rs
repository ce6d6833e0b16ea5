//! Reads the statistics of Python's `cProfile` and `profile` (`*.prof`, `*.pstats`).
//!
//! Such a file is one dict in Python's marshal format: `{(file, line, function): (primitive calls, calls, own time,
//! cumulative time, callers)}`, where callers is `{(file, line, function): (calls, primitive calls, own time, cumulative
//! time)}`, or just the number of calls. The format has no marks to go on from, so what follows a broken function is
//! lost; what came before is kept.

mod marshal;

use std::io::Read;

use stepscope_model::warning::{BAD_TIME, BAD_VALUE, BROKEN_EVENT, CUT_EVENT, EVENT_TOO_LONG, GARBAGE, WarningCode};
use stepscope_model::{Content, Note};

use self::marshal::{FLAG_REF, Marshal, Stop, Value, unexpected};
use crate::error::FormatError;
use crate::function::{CallerTotals, Function, FunctionTotals};
use crate::looks_like::LooksLike;
use crate::registry::{Confidence, Format, Limits};
use crate::sink::{TraceSink, Warning};

/// Functions between two reports of progress.
const PROGRESS_FUNCTIONS: u64 = 1024;

/// Bytes of one function with its callers: a caller takes ten times as much memory as the least that is written of it.
const MAX_FUNCTION_BYTES: usize = 8 << 20;

/// What `cProfile.Profile.dump_stats` and `pstats.Stats.dump_stats` write.
pub(crate) struct CProfile;

impl Format for CProfile {
    fn name(&self) -> &'static str {
        "cprofile"
    }

    fn yields(&self) -> Content {
        Content::FunctionTotals
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let is = |place: usize, types: &[u8]| head.get(place).is_some_and(|code| types.contains(&(code & !FLAG_REF)));
        if !is(0, b"{") || !(head.len() == 1 || is(1, b"()0")) {
            return Confidence::No;
        }
        let mut input = head;
        let mut marshal = Marshal::new(&mut input, usize::MAX);
        match begin(&mut marshal).and_then(|()| key(&mut marshal)) {
            Ok(Some(_)) => Confidence::Certain,
            // Without the flag, it might as well be two letters of some text.
            Ok(None) if head.len() == 2 || head[0] & FLAG_REF != 0 => Confidence::Certain,
            Err(Stop::Cut) => Confidence::Possible,
            _ => Confidence::No,
        }
    }

    fn read(
        &self,
        input: &mut (dyn Read + Send),
        limits: &Limits,
        sink: &mut dyn TraceSink,
    ) -> Result<Vec<Note>, FormatError> {
        let max_bytes = limits.max_event_bytes.min(MAX_FUNCTION_BYTES) as u64;
        let marshal = Marshal::new(input, limits.max_string_bytes);
        Profile { marshal, sink, max_bytes, position: 0, offset_bytes: 0 }.read()
    }
}

/// A profile that is being read.
struct Profile<'a> {
    marshal: Marshal<'a>,
    sink: &'a mut dyn TraceSink,
    max_bytes: u64,
    /// Place of the current function, and where it starts.
    position: u64,
    offset_bytes: u64,
}

impl Profile<'_> {
    fn read(mut self) -> Result<Vec<Note>, FormatError> {
        let stop = self.functions().err();
        let mut notes = Vec::new();
        match stop {
            None => {}
            Some(Stop::Asked) => return Err(FormatError::Stopped),
            Some(Stop::Io(error)) => return Err(error.into()),
            Some(Stop::Broken(_)) if self.position == 0 => return Err(FormatError::Unrecognized(LooksLike::Marshal)),
            Some(Stop::Cut) => {
                notes.push(Note::MarshalTruncated);
                if self.marshal.offset_bytes() > self.offset_bytes {
                    self.warn(CUT_EVENT, "");
                }
            }
            Some(Stop::Broken(what)) => {
                notes.push(Note::MarshalBroken);
                self.warn(BROKEN_EVENT, &what);
            }
            Some(Stop::TooLong) => {
                notes.push(Note::MarshalBroken);
                self.warn(EVENT_TOO_LONG, "");
            }
        }
        let offset_bytes = self.marshal.offset_bytes();
        if self.marshal.skip_rest()? > 0 && notes.is_empty() {
            let detail = "bytes after the profile".into();
            self.sink.warning(&Warning { code: GARBAGE, position: None, offset_bytes, detail });
        }
        if self.marshal.has_invalid_text {
            notes.insert(0, Note::InvalidUtf8);
        }
        Ok(notes)
    }

    fn functions(&mut self) -> Result<(), Stop> {
        begin(&mut self.marshal)?;
        loop {
            self.offset_bytes = self.marshal.offset_bytes();
            if self.position.is_multiple_of(PROGRESS_FUNCTIONS) && !self.sink.progress(self.offset_bytes) {
                return Err(Stop::Asked);
            }
            let Some(function) = key(&mut self.marshal)? else { return Ok(()) };
            self.function(function)?;
            self.position += 1;
        }
    }

    fn function(&mut self, function: Function) -> Result<(), Stop> {
        let marshal = &mut self.marshal;
        match marshal.value()? {
            Value::Tuple { length: 5, .. } => {}
            other => return Err(unexpected(&other, "the values of a function")),
        }
        let (primitive_calls, calls) = (marshal.int()?, marshal.int()?);
        let (tottime, cumtime) = (marshal.seconds()?, marshal.seconds()?);
        let callers = self.callers()?;
        let (Some(tottime_ns), Some(cumtime_ns)) = (nanoseconds(tottime), nanoseconds(cumtime)) else {
            self.warn(BAD_TIME, &format!("{tottime:e} s and {cumtime:e} s"));
            return Ok(());
        };
        let has_times = |caller: &CallerTotals| caller.tottime_ns.is_some() && caller.cumtime_ns.is_some();
        if !callers.iter().all(|caller| caller.primitive_calls.is_none() || has_times(caller)) {
            self.warn(BAD_VALUE, "the time of a caller");
        }
        let (position, offset_bytes) = (self.position, self.offset_bytes);
        self.sink.function(&FunctionTotals {
            position,
            offset_bytes,
            function,
            calls,
            primitive_calls,
            tottime_ns,
            cumtime_ns,
            callers,
        });
        Ok(())
    }

    fn callers(&mut self) -> Result<Vec<CallerTotals>, Stop> {
        let marshal = &mut self.marshal;
        begin(marshal)?;
        let mut callers = Vec::new();
        while let Some(caller) = key(marshal)? {
            callers.push(match marshal.value()? {
                Value::Int(calls) => {
                    CallerTotals { caller, calls, primitive_calls: None, tottime_ns: None, cumtime_ns: None }
                }
                // Calls and primitive calls stand the other way round than those of the function.
                Value::Tuple { length: 4, .. } => CallerTotals {
                    caller,
                    calls: marshal.int()?,
                    primitive_calls: Some(marshal.int()?),
                    tottime_ns: nanoseconds(marshal.seconds()?),
                    cumtime_ns: nanoseconds(marshal.seconds()?),
                },
                other => return Err(unexpected(&other, "the values of a caller")),
            });
            if marshal.offset_bytes() - self.offset_bytes > self.max_bytes {
                return Err(Stop::TooLong);
            }
        }
        Ok(callers)
    }

    /// Warns about the current function.
    fn warn(&mut self, code: WarningCode, detail: &str) {
        let (position, offset_bytes) = (Some(self.position), self.offset_bytes);
        self.sink.warning(&Warning { code, position, offset_bytes, detail: detail.into() });
    }
}

/// The beginning of a dict.
fn begin(marshal: &mut Marshal<'_>) -> Result<(), Stop> {
    match marshal.value()? {
        Value::Dict => Ok(()),
        other => Err(unexpected(&other, "a dict")),
    }
}

/// A key of a dict of functions; `None` at its end.
fn key(marshal: &mut Marshal<'_>) -> Result<Option<Function>, Stop> {
    match marshal.value()? {
        Value::End => Ok(None),
        value => marshal.function_of(value).map(Some),
    }
}

/// A time in nanoseconds, if it is one.
fn nanoseconds(seconds: f64) -> Option<i64> {
    let nanoseconds = (seconds * 1e9).round();
    (nanoseconds.abs() < 9e18).then_some(nanoseconds as i64)
}
