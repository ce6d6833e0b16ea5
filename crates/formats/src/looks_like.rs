//! What an input is that no format reads, so that the refusal can say what to do instead.

use std::fmt;

use memchr::memmem;

/// What an unknown input looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooksLike {
    /// An execution trace of PyTorch, the graph of operators without times of the device.
    ExecutionTrace,
    /// The JSON output of AMD's `rocprofv3`.
    Rocprof,
    /// A profile for speedscope.
    Speedscope,
    /// A JSON list of something else than events.
    JsonList,
    /// Some other JSON.
    Json,
    /// A profile of `line_profiler`.
    LineProfile,
    /// Data of Python's `marshal` that is no profile, or a profile of Python 2.
    Marshal,
    /// A tar archive.
    Tar,
    /// A zip archive.
    Zip,
    /// Data compressed with something else than gzip.
    OtherCompression,
    /// An export of Nsight Systems to `SQLite`.
    NsightSystems,
    /// Some other `SQLite` database.
    Sqlite,
    /// An event file of `TensorBoard`.
    EventFile,
    /// A protobuf trace of Perfetto.
    Perfetto,
    /// A table of Parquet or Arrow.
    Table,
    /// Some other binary data.
    Binary,
    /// A memory recording of `mprof`.
    Mprof,
    /// Collapsed stacks, as `py-spy` writes them with `--format raw`.
    CollapsedStacks,
    /// Some other text.
    Text,
}

impl LooksLike {
    /// What an input that begins with `head` looks like.
    #[must_use]
    pub(crate) fn of(head: &[u8]) -> Self {
        let text = head.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(head).trim_ascii_start();
        let holds = |what: &str| memmem::find(head, what.as_bytes()).is_some();
        let is_binary = head.iter().take(4096).any(|&byte| byte == 0 || (byte < 0x20 && !byte.is_ascii_whitespace()));
        match head {
            [0x80, 0..=5, ..] if holds("line_profiler") && holds("LineStats") => return Self::LineProfile,
            [b'P', b'K', 3 | 5, ..] => return Self::Zip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [b'B', b'Z', b'h', ..] | [0xfd, b'7', b'z', b'X', b'Z', ..] => {
                return Self::OtherCompression;
            }
            _ if head.starts_with(b"SQLite format 3\0") => {
                let is_nsys = holds("CUPTI_ACTIVITY") || holds("NVTX_EVENTS") || holds("TARGET_INFO");
                return if is_nsys { Self::NsightSystems } else { Self::Sqlite };
            }
            _ if head.starts_with(b"PAR1") || head.starts_with(b"ARROW1") => return Self::Table,
            _ if head.get(257..262) == Some(b"ustar") => return Self::Tar,
            [b'{' | 0xfb, b'(' | 0xa8 | 0xa9 | b')', ..] if is_binary => return Self::Marshal,
            _ if is_binary => return Self::of_binary(head),
            _ => {}
        }
        match text {
            [b'{', ..] if holds("\"schema\"") && holds("\"nodes\"") => Self::ExecutionTrace,
            [b'{', ..] if holds("\"rocprofiler-sdk-tool\"") => Self::Rocprof,
            [b'{', ..] if holds("speedscope.app") => Self::Speedscope,
            [b'{', ..] => Self::Json,
            [b'[', ..] => Self::JsonList,
            _ if std::str::from_utf8(&head[..head.len().min(1024)]).is_err_and(|error| error.error_len().is_some()) => {
                Self::Binary
            }
            _ if text.starts_with(b"CMDLINE ") || text.starts_with(b"MEM ") => Self::Mprof,
            _ if is_collapsed(text) => Self::CollapsedStacks,
            _ => Self::Text,
        }
    }

    /// Protobufs have no mark of their own: the first field of both is a message, and what follows tells which.
    fn of_binary(head: &[u8]) -> Self {
        if memmem::find(&head[..head.len().min(64)], b"brain.Event:").is_some() {
            return Self::EventFile;
        }
        let Some(packet) = head.strip_prefix(&[0x0a]).and_then(after_varint) else { return Self::Binary };
        match packet {
            // Fields of a TracePacket: clock_snapshot, timestamp, trusted_packet_sequence_id, sequence_flags, and
            // compressed_packets.
            [0x32 | 0x40 | 0x50 | 0x68, ..] | [0x92, 0x03, ..] => Self::Perfetto,
            _ => Self::Binary,
        }
    }

    /// What to do about it: one sentence, lowercase, without a final period.
    #[must_use]
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::ExecutionTrace => {
                "open the profiler trace of the same run instead; an execution trace has the operators, but not what ran when"
            }
            Self::Rocprof => {
                "record with PyTorch's profiler, or let rocprofv3 write `--output-format pftrace json` as a Chrome trace"
            }
            Self::Speedscope => "open it in speedscope; Stepscope reads the Chrome traces of PyTorch's profiler",
            Self::JsonList | Self::Json => {
                "a Chrome trace is an object with a list `traceEvents`, or a list of events with `ph` and `ts`"
            }
            Self::LineProfile => "show it with `python -m line_profiler FILE`; Stepscope records lines by itself",
            Self::Marshal => "record with Python 3: `python -m cProfile -o script.prof script.py`",
            Self::Tar | Self::Zip => "unpack it and open the traces inside",
            Self::OtherCompression => "unpack it first; Stepscope reads plain and gzip files",
            Self::NsightSystems | Self::Sqlite => {
                "record with PyTorch's profiler; Nsight Systems databases are not supported"
            }
            Self::EventFile => "open it in TensorBoard; profiles are in `plugins/profile` beside it",
            Self::Perfetto => "open it at ui.perfetto.dev; write a Chrome trace with `prof.export_chrome_trace(path)`",
            Self::Table => "open the store by its folder, the one that holds `runs`",
            Self::Binary => {
                "pass the file that the profiler wrote; PyTorch writes one with `prof.export_chrome_trace(path)`"
            }
            Self::Mprof => "plot it with `mprof plot FILE`; memory over time is in the traces of PyTorch's profiler",
            Self::CollapsedStacks => {
                "open it in speedscope, or record with `python -m cProfile -o script.prof script.py`"
            }
            Self::Text => "pass the `.json` or `.json.gz` file that the profiler wrote",
        }
    }
}

impl fmt::Display for LooksLike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ExecutionTrace => "a PyTorch execution trace",
            Self::Rocprof => "the JSON output of rocprofv3",
            Self::Speedscope => "a speedscope profile",
            Self::JsonList => "a JSON list of something other than events",
            Self::Json => "JSON of another kind",
            Self::LineProfile => "a line_profiler profile",
            Self::Marshal => "Python marshal data that is not a Python 3 profile",
            Self::Tar => "a tar archive",
            Self::Zip => "a zip archive",
            Self::OtherCompression => "data compressed with something other than gzip",
            Self::NsightSystems => "an SQLite export of Nsight Systems",
            Self::Sqlite => "an SQLite database",
            Self::EventFile => "a TensorBoard event file",
            Self::Perfetto => "a Perfetto protobuf",
            Self::Table => "a Parquet or Arrow table",
            Self::Binary => "binary data",
            Self::Mprof => "an mprof file",
            Self::CollapsedStacks => "collapsed stacks",
            Self::Text => "text",
        })
    }
}

/// What follows the length of a field.
fn after_varint(bytes: &[u8]) -> Option<&[u8]> {
    let last = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    Some(&bytes[last + 1..])
}

/// Whether the first lines are frames separated by semicolons, each followed by a count.
fn is_collapsed(text: &[u8]) -> bool {
    let is_stack = |line: &[u8]| {
        let count = line.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
        line.contains(&b';') && count.len() < line.len() && !count.is_empty() && count.iter().all(u8::is_ascii_digit)
    };
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty());
    lines.next().is_some_and(is_stack) && lines.next().is_none_or(is_stack)
}

#[cfg(test)]
mod tests {
    use super::LooksLike;

    #[track_caller]
    fn check(head: &[u8], want: LooksLike) {
        assert_eq!(LooksLike::of(head), want, "{}", head.escape_ascii());
    }

    #[test]
    fn kinds() {
        check(b"PK\x03\x04", LooksLike::Zip);
        check(b"\x28\xb5\x2f\xfd\0", LooksLike::OtherCompression);
        check(b"\x80\x05\x95\xfd\0\x8c\x1bline_profiler.line_profiler\x94\x8c\x09LineStats", LooksLike::LineProfile);
        check(b"SQLite format 3\0", LooksLike::Sqlite);
        check(b"SQLite format 3\0\0CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL", LooksLike::NsightSystems);
        check(b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\x40\x1a\x0dbrain.Event:2", LooksLike::EventFile);
        check(b"\x0a\x0b\x50\x01\x68\x01\xda\x03\x04", LooksLike::Perfetto);
        check(b"\x0a\x0b\x0d\x01\x02", LooksLike::Binary);
        check(b"PAR1\x15\x04", LooksLike::Table);
        check(b"{\xa9\x03\xda\x01~\0", LooksLike::Marshal);
        check(b" {\"schema\": \"1.0.1\", \"pid\": 1, \"nodes\": [", LooksLike::ExecutionTrace);
        check(b"{\"rocprofiler-sdk-tool\": [{", LooksLike::Rocprof);
        check(b"{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\"", LooksLike::Speedscope);
        check(b"{\"a\": 1}", LooksLike::Json);
        check(b"[[1, 2]]", LooksLike::JsonList);
        check(b"CMDLINE python train.py\nMEM 1.2", LooksLike::Mprof);
        check(b"main (a.py:1);work (a.py:7) 12\nmain (a.py:1);rest (a.py:9) 3\n", LooksLike::CollapsedStacks);
        check(b"import os; x = 1\nprint(x)\n", LooksLike::Text);
        check(b"\xff\xfe\xe0 nothing known", LooksLike::Binary);
    }
}
