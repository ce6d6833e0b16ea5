//! What the recorder writes and a reader reads back: frames, and the records in them.
//!
//! A segment is a file of frames, appended by one process or by several, in any order: the process that wrote a frame
//! comes first in its payload. A frame that is damaged costs its own spans and readings, and the names that were new in
//! it.
//!
//! ```text
//! frame    MAGIC, length of the payload (u32), lower half of its xxh3-128 (u64), payload; little endian
//! payload  process id, then records up to the end
//! record   kind (one byte), then its fields
//! ```
//!
//! Integers in a payload are varints (seven bits a byte, the lowest first), signed ones zigzag; texts are a length and
//! UTF-8; a float is its eight bytes.

/// What every frame begins with.
pub const MAGIC: [u8; 4] = *b"SSG1";

/// Bytes of a frame before its payload.
pub const FRAME_HEAD_BYTES: usize = 16;

/// Longest payload that is written and read.
pub const MAX_PAYLOAD_BYTES: usize = 4 << 20;

/// One record. Names, tracks and series are numbered by the process that wrote them; the number comes before its use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SegmentRecord<'a> {
    /// Who records: written once by each process, first.
    Process {
        /// What the process is called.
        name: &'a str,
        /// Its rank in the job, if it has one.
        rank: Option<u64>,
        /// Processes in the job, if known.
        world_size: Option<u64>,
    },
    /// The name of regions.
    Name {
        /// Its number.
        id: u64,
        /// The text.
        text: &'a str,
    },
    /// A thread, or an asynchronous task on it.
    Track {
        /// Its number.
        id: u64,
        /// The operating system's number of the thread.
        thread: u64,
        /// The task, from 1; 0 is the thread itself.
        task: u64,
        /// What the thread is called.
        name: &'a str,
    },
    /// The spans that follow are on this track, and their times are relative to this one.
    Spans {
        /// The track.
        track: u64,
        /// Unix time in nanoseconds.
        base_ns: i64,
    },
    /// A region that was left.
    Span {
        /// Its name.
        name: u64,
        /// When it was entered, relative to the end of the span before (of the first one: to the base).
        start_after_ns: i64,
        /// How long it took.
        dur_ns: u64,
        /// Samples that were worked on, if the program said so.
        samples: Option<u64>,
    },
    /// The name of a series of readings.
    Series {
        /// Its number.
        id: u64,
        /// The text.
        text: &'a str,
    },
    /// A reading of a series.
    Reading {
        /// The series.
        series: u64,
        /// Unix time in nanoseconds.
        at_ns: i64,
        /// What was read.
        value: f64,
    },
    /// Regions that could not be kept since the recording began; later records replace earlier ones of the process.
    Dropped {
        /// How many.
        regions: u64,
    },
    /// The process ended its recording by itself.
    End,
}

/// Why a payload could not be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRecord;

const PROCESS: u8 = 1;
const NAME: u8 = 2;
const TRACK: u8 = 3;
const SPANS: u8 = 4;
const SPAN: u8 = 5;
const SPAN_WITH_SAMPLES: u8 = 6;
const SERIES: u8 = 7;
const READING: u8 = 8;
const DROPPED: u8 = 9;
const END: u8 = 10;

impl SegmentRecord<'_> {
    /// Appends the record to a payload.
    pub fn put(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Process { name, rank, world_size } => {
                out.push(PROCESS);
                put_text(out, name);
                put_optional(out, rank);
                put_optional(out, world_size);
            }
            Self::Name { id, text } => {
                out.push(NAME);
                put(out, id);
                put_text(out, text);
            }
            Self::Track { id, thread, task, name } => {
                out.push(TRACK);
                put(out, id);
                put(out, thread);
                put(out, task);
                put_text(out, name);
            }
            Self::Spans { track, base_ns } => {
                out.push(SPANS);
                put(out, track);
                put_signed(out, base_ns);
            }
            Self::Span { name, start_after_ns, dur_ns, samples } => {
                out.push(if samples.is_some() { SPAN_WITH_SAMPLES } else { SPAN });
                put(out, name);
                put_signed(out, start_after_ns);
                put(out, dur_ns);
                if let Some(samples) = samples {
                    put(out, samples);
                }
            }
            Self::Series { id, text } => {
                out.push(SERIES);
                put(out, id);
                put_text(out, text);
            }
            Self::Reading { series, at_ns, value } => {
                out.push(READING);
                put(out, series);
                put_signed(out, at_ns);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Self::Dropped { regions } => {
                out.push(DROPPED);
                put(out, regions);
            }
            Self::End => out.push(END),
        }
    }
}

/// The process that wrote a payload; `payload` is then its records.
pub fn take_process_id(payload: &mut &[u8]) -> Result<u64, BadRecord> {
    take(payload)
}

/// Starts a payload.
pub fn put_process_id(out: &mut Vec<u8>, process_id: u32) {
    put(out, u64::from(process_id));
}

/// The next record of a payload; `None` at its end.
pub fn take_record<'a>(payload: &mut &'a [u8]) -> Result<Option<SegmentRecord<'a>>, BadRecord> {
    let Some((&kind, rest)) = payload.split_first() else { return Ok(None) };
    *payload = rest;
    let record = match kind {
        PROCESS => SegmentRecord::Process {
            name: take_text(payload)?,
            rank: take_optional(payload)?,
            world_size: take_optional(payload)?,
        },
        NAME => SegmentRecord::Name { id: take(payload)?, text: take_text(payload)? },
        TRACK => SegmentRecord::Track {
            id: take(payload)?,
            thread: take(payload)?,
            task: take(payload)?,
            name: take_text(payload)?,
        },
        SPANS => SegmentRecord::Spans { track: take(payload)?, base_ns: take_signed(payload)? },
        SPAN | SPAN_WITH_SAMPLES => SegmentRecord::Span {
            name: take(payload)?,
            start_after_ns: take_signed(payload)?,
            dur_ns: take(payload)?,
            samples: if kind == SPAN { None } else { Some(take(payload)?) },
        },
        SERIES => SegmentRecord::Series { id: take(payload)?, text: take_text(payload)? },
        READING => SegmentRecord::Reading {
            series: take(payload)?,
            at_ns: take_signed(payload)?,
            value: f64::from_le_bytes(take_bytes(payload, 8)?.try_into().map_err(|_| BadRecord)?),
        },
        DROPPED => SegmentRecord::Dropped { regions: take(payload)? },
        END => SegmentRecord::End,
        _ => return Err(BadRecord),
    };
    Ok(Some(record))
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, (value.wrapping_shl(1) ^ (value >> 63)).cast_unsigned());
}

/// One more than the value; 0 is none.
fn put_optional(out: &mut Vec<u8>, value: Option<u64>) {
    put(out, value.map_or(0, |value| value.saturating_add(1)));
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn take(payload: &mut &[u8]) -> Result<u64, BadRecord> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = payload.split_first().ok_or(BadRecord)?;
        *payload = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(BadRecord)
}

fn take_signed(payload: &mut &[u8]) -> Result<i64, BadRecord> {
    let value = take(payload)?;
    Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

fn take_optional(payload: &mut &[u8]) -> Result<Option<u64>, BadRecord> {
    Ok(take(payload)?.checked_sub(1))
}

fn take_bytes<'a>(payload: &mut &'a [u8], length: usize) -> Result<&'a [u8], BadRecord> {
    let (bytes, rest) = payload.split_at_checked(length).ok_or(BadRecord)?;
    *payload = rest;
    Ok(bytes)
}

fn take_text<'a>(payload: &mut &'a [u8]) -> Result<&'a str, BadRecord> {
    let length = usize::try_from(take(payload)?).map_err(|_| BadRecord)?;
    std::str::from_utf8(take_bytes(payload, length)?).map_err(|_| BadRecord)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDS: [SegmentRecord<'static>; 11] = [
        SegmentRecord::Process { name: "python train.py", rank: Some(0), world_size: None },
        SegmentRecord::Name { id: 0, text: "" },
        SegmentRecord::Name { id: u64::MAX, text: "vorwärts" },
        SegmentRecord::Track { id: 1, thread: 4711, task: 0, name: "MainThread" },
        SegmentRecord::Spans { track: 1, base_ns: 1_763_242_348_000_000_001 },
        SegmentRecord::Span { name: 128, start_after_ns: i64::MIN, dur_ns: 127, samples: None },
        SegmentRecord::Span { name: 1, start_after_ns: i64::MAX, dur_ns: u64::MAX, samples: Some(32) },
        SegmentRecord::Series { id: 3, text: "cpu_percent" },
        SegmentRecord::Reading { series: 3, at_ns: -1, value: 99.5 },
        SegmentRecord::Dropped { regions: 7 },
        SegmentRecord::End,
    ];

    #[test]
    fn records_come_back_as_they_were_put() {
        let mut payload = Vec::new();
        put_process_id(&mut payload, 4711);
        for record in RECORDS {
            record.put(&mut payload);
        }
        let mut rest = payload.as_slice();
        assert_eq!(take_process_id(&mut rest), Ok(4711));
        for record in RECORDS {
            assert_eq!(take_record(&mut rest), Ok(Some(record)));
        }
        assert_eq!(take_record(&mut rest), Ok(None));
    }

    #[test]
    fn a_record_that_is_cut_is_refused() {
        for record in RECORDS {
            let mut payload = Vec::new();
            record.put(&mut payload);
            for length in 1..payload.len() {
                assert_eq!(take_record(&mut &payload[..length]), Err(BadRecord), "{record:?} cut at {length}");
            }
        }
        assert_eq!(take_record(&mut [0xff].as_slice()), Err(BadRecord));
    }
}
