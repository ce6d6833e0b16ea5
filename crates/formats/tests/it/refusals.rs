//! Inputs that are no traces: refused with what they seem to be and what to do.

use stepscope_formats::FormatError;
use stepscope_model::Hint;

use crate::dump::read;

#[track_caller]
fn check(input: &[u8], want: &str) {
    let (_, outcome) = read(input);
    let error = outcome.expect_err("refused");
    assert_eq!(error.to_string(), want);
    let hint = error.hint().expect("there is a hint");
    assert!(!hint.ends_with('.') && hint.starts_with(|c: char| !c.is_uppercase()), "{hint}");
}

#[test]
fn messages() {
    check(b"", "found an empty file, expected a trace");
    check(b" \n\t", "found an empty file, expected a trace");
    check(b"\x80\x04\x95", "refused: a Python pickle that is not a memory snapshot");
    check(
        b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.",
        "refused: a Python pickle with the opcode GLOBAL at byte 2, which can run code",
    );
    check(
        b"\x80\x04\x8f.",
        "refused: a Python pickle with the opcode EMPTY_SET at byte 2, which no memory snapshot has",
    );
    check(b"\x80\x06N.", "refused: a Python pickle of pickle protocol 6 at byte 0, which is unknown");
    check(b"PK\x03\x04\0\0", "not a trace that Stepscope reads: it looks like a zip archive");
    check(b"\x0a\x00\x01XPlane", "not a trace that Stepscope reads: it looks like binary data");
    // The traces in an archive are not taken for one.
    let mut archive = vec![0; 512];
    archive[257..262].copy_from_slice(b"ustar");
    archive.extend_from_slice(br#"{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}"#);
    check(&archive, "not a trace that Stepscope reads: it looks like a tar archive");
    check(b"hello", "not a trace that Stepscope reads: it looks like text");
    check(
        b"[[1, 2], [3]]",
        "not a trace that Stepscope reads: it looks like a JSON list of something other than events",
    );
    check(
        br#"[{"file": "a"}]"#,
        "not a trace that Stepscope reads: it looks like a JSON list of something other than events",
    );
    let other = "not a trace that Stepscope reads: it looks like a JSON list of something other than events";
    // However long they are, and wherever they are cut.
    check(format!("[{}]", vec!["1"; 70_000].join(",")).as_bytes(), other);
    check(format!("[{}", vec!["[1, 2"; 70_000].join(",")).as_bytes(), other);
    check(format!(r#"[{}{{"file": "a"}}]"#, " ".repeat(70_000)).as_bytes(), other);
    check(format!(r#"[{{"file": "{}"}}, {{"file": "b"}}]"#, "a".repeat(70_000)).as_bytes(), other);
    check(br#"[{"file": "a"#, other);
    check(b"[2026-11-16 08:00:00] INFO started", other);
    check(b"[INFO] started", other);
    check(br#"["a", "b"#, other);
    check(br#"{"a": 1}"#, "not a trace: it is JSON without a list `traceEvents`");
    check(b"{}", "not a trace: it is JSON without a list `traceEvents`");
    check(br#"{"traceEvents": null}"#, "not a trace: it is JSON without a list `traceEvents`");
    check(br#"{"traceEvents": {"a": [1]}}"#, "not a trace: it is JSON without a list `traceEvents`");
    check(br#"{"traceEvents": "[]"}"#, "not a trace: it is JSON without a list `traceEvents`");
    check(br#"{"schemaVersion": 1, "device"#, "not a trace: it is JSON without a list `traceEvents`");
    check(
        br#"{"schema": "1.0.1", "nodes": []}"#,
        "not a trace: it is JSON without a list `traceEvents`; it looks like a PyTorch execution trace",
    );
    check(
        br#"{"rocprofiler-sdk-tool": []}"#,
        "not a trace: it is JSON without a list `traceEvents`; it looks like the JSON output of rocprofv3",
    );
}

#[test]
fn failing_input_is_an_error() {
    struct Failing(usize);
    impl std::io::Read for Failing {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(std::io::Error::other("disk on fire"));
            }
            let text = b"[{\"ts\": 1},";
            let count = text.len().min(self.0).min(out.len());
            out[..count].copy_from_slice(&text[..count]);
            self.0 -= count;
            Ok(count)
        }
    }
    for count in [0, 5, 11] {
        let (_, outcome) = read(std::io::BufReader::new(Failing(count)));
        assert!(matches!(outcome, Err(FormatError::Io(_))), "{count}");
    }
}
