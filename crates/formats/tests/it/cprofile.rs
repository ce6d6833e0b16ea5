//! Profiles of functions: what Python writes is read as Python reads it, and what is broken costs no more than it must.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};
use stepscope_formats::{Event, FunctionTotals, Limits, TraceSink, Value, Warning, read_trace};
use stepscope_model::Note;
use stepscope_testkit::corpus;

use crate::invariants::check_reader;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cprofile").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(fixture(name)).expect("the fixture is there")
}

/// Functions as `expected.json` has them, and codes of warnings.
#[derive(Default)]
struct Seen {
    functions: Vec<Json>,
    warnings: Vec<String>,
}

impl TraceSink for Seen {
    fn header(&mut self, _: &str, _: &Value<'_>) {}

    fn event(&mut self, event: &Event<'_>) {
        panic!("a profile has no events: {event:?}");
    }

    fn function(&mut self, totals: &FunctionTotals) {
        let name = |function: &stepscope_formats::Function| json!([*function.file, function.line, *function.name]);
        let caller = |caller: &stepscope_formats::CallerTotals| match caller.primitive_calls {
            Some(primitive) => {
                json!([name(&caller.caller), [caller.calls, primitive, caller.tottime_ns, caller.cumtime_ns]])
            }
            None => json!([name(&caller.caller), caller.calls]),
        };
        let callers: Vec<Json> = totals.callers.iter().map(caller).collect();
        let FunctionTotals { calls, primitive_calls, tottime_ns, cumtime_ns, .. } = totals;
        self.functions.push(json!([name(&totals.function), primitive_calls, calls, tottime_ns, cumtime_ns, callers]));
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        self.warnings.push(format!("{} {:?} @{}", warning.code.code, warning.position, warning.offset_bytes));
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

/// Functions and warnings, and the notes or the error.
fn read(bytes: &[u8]) -> (Seen, Result<Vec<Note>, String>) {
    let mut seen = Seen::default();
    let outcome = read_trace(bytes, &Limits::default(), &mut seen);
    let outcome = outcome.map_err(|error| error.to_string()).map(|summary| {
        assert_eq!((summary.format, summary.bytes_plain), ("cprofile", bytes.len() as u64));
        summary.notes
    });
    (seen, outcome)
}

/// What Python read, with its seconds as nanoseconds.
fn expected(name: &str) -> Vec<Json> {
    let expected: Json = serde_json::from_slice(&bytes("expected.json")).expect("the fixture is JSON");
    let mut functions = expected[name].as_array().expect("the profile is listed").clone();
    let to_ns = |value: &mut Json| *value = json!((value.as_f64().expect("seconds") * 1e9).round() as i64);
    for function in &mut functions {
        to_ns(&mut function[3]);
        to_ns(&mut function[4]);
        for caller in function[5].as_array_mut().expect("callers") {
            if caller[1].is_array() {
                to_ns(&mut caller[1][2]);
                to_ns(&mut caller[1][3]);
            }
        }
    }
    functions
}

#[test]
fn profiles_are_read_as_python_reads_them() {
    for name in ["small.prof", "small.v3.prof", "small.v2.prof", "counted.prof", "empty.prof"] {
        let (seen, outcome) = read(&bytes(name));
        assert_eq!(outcome, Ok(vec![]), "{name}");
        assert_eq!(seen.functions, expected(name), "{name}");
        assert_eq!(seen.warnings, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_recursive_function_has_fewer_primitive_calls() {
    let (seen, _) = read(&bytes("small.prof"));
    let found = seen.functions.iter().find(|function| function[0][2] == "fibonacci").expect("it was called");
    assert_eq!((&found[1], &found[2]), (&json!(1), &json!(177)));
    let from_itself = found[5].as_array().unwrap().iter().find(|caller| caller[0][2] == "fibonacci").unwrap();
    assert_eq!((&from_itself[1][0], &from_itself[1][1]), (&json!(176), &json!(2)));
}

#[test]
fn what_is_complete_is_kept_of_a_cut_profile() {
    for name in ["small.prof", "small.v2.prof", "counted.prof"] {
        let whole = bytes(name);
        let all = read(&whole).0.functions;
        let mut kept = 0;
        for length in 1..whole.len() {
            let (seen, outcome) = read(&whole[..length]);
            // One brace may be the beginning of a Chrome trace too.
            if length == 1 && whole[0] == b'{' {
                continue;
            }
            assert_eq!(outcome, Ok(vec![Note::MarshalTruncated]), "{length} bytes of {name}");
            assert!(seen.functions.len() >= kept && all.starts_with(&seen.functions), "{length} bytes of {name}");
            kept = seen.functions.len();
            assert!(seen.warnings.iter().all(|line| line.starts_with(&format!("cut_event Some({kept})"))));
            assert!(seen.warnings.len() <= 1, "{:?}", seen.warnings);
        }
        assert_eq!(kept, all.len(), "all but the last byte of {name} hold every function");
    }
}

/// The bytes of a dict with these entries behind each other.
fn dict(entries: &[&[u8]]) -> Vec<u8> {
    [b"{", entries.concat().as_slice(), b"0"].concat()
}

/// A key, and five figures of which the last is `callers`.
fn function(name: &str, tottime: f64, callers: &[u8]) -> Vec<u8> {
    let float = |value: f64| [b"g".as_slice(), &value.to_le_bytes()].concat();
    let key = [b")\x03z\x01fi\x07\0\0\0z", [name.len() as u8].as_slice(), name.as_bytes()].concat();
    [&key[..], b")\x05i\x01\0\0\0i\x02\0\0\0", &float(tottime), &float(0.5), callers].concat()
}

#[track_caller]
fn check(bytes: &[u8], names: &[&str], warnings: &[&str], notes: Result<Vec<Note>, &str>) {
    let (seen, outcome) = read(bytes);
    let found: Vec<&str> = seen.functions.iter().filter_map(|function| function[0][2].as_str()).collect();
    assert_eq!((found, outcome), (names.to_vec(), notes.map_err(str::to_owned)), "{}", bytes.escape_ascii());
    assert_eq!(seen.warnings, warnings, "{}", bytes.escape_ascii());
}

#[test]
fn what_is_broken_is_counted() {
    let (a, b) = (function("a", 0.25, b"{0"), function("b", 0.25, b"{0"));
    let length = a.len() + 1;
    check(&dict(&[&a, &b]), &["a", "b"], &[], Ok(vec![]));
    // A time that is none costs its function, and nothing more.
    check(&dict(&[&function("a", f64::NAN, b"{0"), &b]), &["b"], &["bad_time Some(0) @1"], Ok(vec![]));
    check(&dict(&[&function("a", 1e10, b"{0"), &b]), &["b"], &["bad_time Some(0) @1"], Ok(vec![]));
    // The time of a caller is null then.
    let infinite = [b")\x04i\x01\0\0\0i\x01\0\0\0g", f64::INFINITY.to_le_bytes().as_slice(), b"i\0\0\0\0"].concat();
    let caller = [b"{)\x03z\x01fi\x07\0\0\0z\x01c", &infinite[..], b"0"].concat();
    check(&dict(&[&function("a", 0.25, &caller)]), &["a"], &["bad_value Some(0) @1"], Ok(vec![]));
    // Nothing says where the next function would begin.
    let broken = vec![Note::MarshalBroken];
    let at_b = format!("broken_event Some(1) @{length}");
    for wrong in [b"N".as_slice(), b"s\x01\0\0\0x", b"i\x01\0\0\0", b"r\x07\0\0\0", b")\x03z\x01fz\x01f", b"c"] {
        check(&dict(&[&a, wrong, &b]), &["a"], &[&at_b], Ok(broken.clone()));
    }
    check(&dict(&[&a, b"u\xff\xff\xff\x7f", &b]), &["a"], &[&format!("event_too_long Some(1) @{length}")], Ok(broken));
    let behind = [dict(&[&a]), b"more".to_vec()].concat();
    check(&behind, &["a"], &[&format!("garbage None @{}", behind.len() - 4)], Ok(vec![]));
    // A name with a lone surrogate, as Python writes it.
    let surrogate = dict(&[b")\x03z\x01fi\x07\0\0\0u\x03\0\0\0\xed\xa0\x80", &a[13..]]);
    check(&surrogate, &["\u{FFFD}\u{FFFD}\u{FFFD}"], &[], Ok(vec![Note::InvalidUtf8]));
}

#[test]
fn other_data_of_marshal_is_refused() {
    let refusal = "not a trace that Stepscope reads: it looks like Python marshal data that is not a Python 3 profile";
    // As Python 2 wrote it.
    check(b"{(\x03\0\0\0s\x01\0\0\0fi\x01\0\0\0s\x01\0\0\0a", &[], &[], Err(refusal));
    check(&dict(&[b")\x03z\x01fi\x07\0\0\0z\x01a", b"i\x01\0\0\0"]), &[], &[], Err(refusal));
    for text in ["this is no trace", "a", "{this}", "{a: 1}"] {
        assert!(read(text.as_bytes()).1.is_err(), "{text}");
    }
    check(b"{0}", &[], &[], Err("not a trace that Stepscope reads: it looks like JSON of another kind"));
}

/// Integers may be of any size, and references may stand for any part of a function.
#[test]
fn long_integers_and_references() {
    let long = b"l\x03\0\0\0\x00\x00\x00\x00\x01\x00".as_slice();
    let minus = b"l\xff\xff\xff\xff\x05\x00".as_slice();
    let figures = [b")\x05\xe9\x01\0\0\0".as_slice(), long, b"g", &0.5_f64.to_le_bytes(), b"i\x02\0\0\0"].concat();
    let bytes = dict(&[
        // Number 0 is the function, 1 the file, 2 the name, 3 the count.
        b"\xa9\x03\xfa\x01f",
        minus,
        b"\xda\x01a",
        &figures,
        b"{r\0\0\0\0r\x03\0\0\x000",
        b")\x03r\x01\0\0\0r\x03\0\0\0r\x02\0\0\0",
        &figures,
        b"{0",
    ]);
    let (seen, outcome) = read(&bytes);
    assert_eq!((outcome, seen.warnings), (Ok(vec![]), vec![]));
    let first = json!([["f", -5, "a"], 1, 1 << 30, 500_000_000, 2_000_000_000, [[["f", -5, "a"], 1]]]);
    assert_eq!(seen.functions, [first, json!([["f", 1, "a"], 1, 1 << 30, 500_000_000, 2_000_000_000, []])]);
    let too_large = dict(&[b")\x03z\x01fl\x06\0\0\0"]);
    assert!(read(&too_large).1.is_err());
}

#[test]
fn any_bytes_keep_the_promises() {
    let whole = bytes("small.prof");
    let length = whole.len();
    let changed = (vec((any::<Index>(), any::<u8>()), 1..8), any::<Index>()).prop_map(move |(changes, end)| {
        let mut bytes = whole.clone();
        for (place, byte) in changes {
            bytes[place.index(length)] = byte;
        }
        bytes.truncate(1 + end.index(length));
        bytes
    });
    let start = prop_oneof![Just(b"\xfb".to_vec()), Just(b"{)\x03z\x01fi\x07\0\0\0z\x01a".to_vec()), Just(vec![])];
    let random = (start, vec(any::<u8>(), 0..300)).prop_map(|(start, rest)| [start, rest].concat());
    let mut runner = TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&prop_oneof![changed, random], |bytes| {
        check_reader(&bytes);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
#[ignore = "needs the corpus"]
fn real_profiles_are_read_whole() {
    let corpus = corpus();
    for (name, functions) in [("equibind_profile", 8300), ("equibind_on_rtx_profile", 8287)] {
        let bytes = fs::read(corpus.trace(&format!("cprofile/{name}.pstats"))).expect("the profile is there");
        let (seen, outcome) = read(&bytes);
        assert_eq!((seen.functions.len(), outcome), (functions, Ok(vec![])), "{name}");
    }
}
