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
    /// A Python pickle, such as a memory snapshot of PyTorch.
    Pickle,
    /// Data of Python's `marshal` that is no profile, or a profile of Python 2.
    Marshal,
    /// A tar archive.
    Tar,
    /// A zip archive.
    Zip,
    /// Data compressed with something else than gzip.
    OtherCompression,
    /// An `SQLite` database, such as an export of Nsight Systems.
    Sqlite,
    /// Binary data, such as an `XPlane` protobuf.
    Binary,
    /// Text.
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
            [0x80, 0..=5, ..] => return Self::Pickle,
            [b'P', b'K', 3 | 5, ..] => return Self::Zip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [b'B', b'Z', b'h', ..] | [0xfd, b'7', b'z', b'X', b'Z', ..] => {
                return Self::OtherCompression;
            }
            _ if head.starts_with(b"SQLite format 3\0") => return Self::Sqlite,
            _ if head.get(257..262) == Some(b"ustar") => return Self::Tar,
            [b'{' | 0xfb, b'(' | 0xa8 | 0xa9 | b')', ..] if is_binary => return Self::Marshal,
            _ if is_binary => return Self::Binary,
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
            _ => Self::Text,
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
            Self::Pickle => "a memory snapshot is not a trace; `prof.export_chrome_trace(path)` writes one",
            Self::Marshal => "`python -m cProfile -o script.prof script.py` of Python 3 writes a profile that is read",
            Self::Tar | Self::Zip => "unpack it and open the traces inside",
            Self::OtherCompression => "unpack it first; Stepscope reads plain and gzip files",
            Self::Sqlite => "record with PyTorch's profiler; databases of Nsight Systems are not read",
            Self::Binary => {
                "binary formats such as XPlane are not read; `prof.export_chrome_trace(path)` writes a trace that is"
            }
            Self::Text => "give the `.json` or `.json.gz` file that the profiler wrote",
        }
    }
}

impl fmt::Display for LooksLike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ExecutionTrace => "a PyTorch execution trace",
            Self::Rocprof => "the JSON output of rocprofv3",
            Self::Speedscope => "a speedscope profile",
            Self::JsonList => "a JSON list of something else than events",
            Self::Json => "JSON of another kind",
            Self::Pickle => "a Python pickle",
            Self::Marshal => "marshal data of Python that is no profile of Python 3",
            Self::Tar => "a tar archive",
            Self::Zip => "a zip archive",
            Self::OtherCompression => "data compressed with something else than gzip",
            Self::Sqlite => "an SQLite database",
            Self::Binary => "binary data",
            Self::Text => "text",
        })
    }
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
        check(b"\x80\x04\x95\x00", LooksLike::Pickle);
        check(b"PK\x03\x04", LooksLike::Zip);
        check(b"\x28\xb5\x2f\xfd\0", LooksLike::OtherCompression);
        check(b"SQLite format 3\0", LooksLike::Sqlite);
        check(b"\x0a\x12\x08\x01\x12\x0c/host:CPU", LooksLike::Binary);
        check(b"{\xa9\x03\xda\x01~\0", LooksLike::Marshal);
        check(b" {\"schema\": \"1.0.1\", \"pid\": 1, \"nodes\": [", LooksLike::ExecutionTrace);
        check(b"{\"rocprofiler-sdk-tool\": [{", LooksLike::Rocprof);
        check(b"{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\"", LooksLike::Speedscope);
        check(b"{\"a\": 1}", LooksLike::Json);
        check(b"[[1, 2]]", LooksLike::JsonList);
        check(b"CMDLINE python train.py\nMEM 1.2", LooksLike::Text);
        check(b"\xff\xfe\xe0 nothing known", LooksLike::Binary);
    }
}
