//! What a snapshot says does not depend on how its pickle is written; and what becomes of parts that are not as they
//! should be.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};
use stepscope_formats::{FormatError, Limits, read_trace};

use crate::invariants::check_reader;
use crate::pickler::Pickler;
use crate::snapshot::{Seen, read};

/// As Python's protocol 4 does it.
const USUAL: Pickler =
    Pickler { protocol: 4, is_memoized: true, batch: 1000, is_reversed: false, is_from_inside: false };

/// A snapshot of two devices with `count` events on the first.
fn snapshot(count: i64) -> Json {
    let frames = |line: i64| json!([{"filename": "/app/Δ.py", "line": line, "name": "f"}, {"filename": "??", "line": 0, "name": "c10::x"}]);
    let event = |number: i64| {
        let action = ["alloc", "free_requested", "free_completed", "segment_alloc", "other"][number as usize % 5];
        json!({"action": action, "addr": 1_i64 << 40 | number, "size": 512 + number, "stream": 0, "time_us": 1000 + number,
               "frames": frames(number % 7), "user_metadata": "", "pool_id": [0, number % 2], "category": "input"})
    };
    let block =
        |size: i64, state: &str| json!({"size": size, "state": state, "requested_size": size - 1, "frames": frames(3)});
    let history = |size: i64| json!([{"addr": 0, "real_size": size, "frames": frames(90)}]);
    json!({
        "segments": [
            {"device": 1, "address": 4096, "total_size": 300, "allocated_size": 100, "stream": 3,
             "segment_type": "small", "segment_pool_id": [0, 1], "is_expandable": true, "frames": frames(1),
             "blocks": [block(100, "active_allocated"), block(120, "active_awaiting_free"), block(80, "inactive")]},
            {"device": 0, "address": 8192, "total_size": 50, "stream": 0, "segment_type": "large", "frames": [],
             "blocks": [{"size": 50, "state": "active_allocated", "history": history(40)}]},
            {"device": 0, "address": 9000, "total_size": 7, "blocks": []},
        ],
        "device_traces": [(0..count).map(event).collect::<Vec<_>>(), [{"action": "oom", "device_free": 7, "size": 9}], []],
        "allocator_settings": {"max_split_size": -1, "expandable_segments": true},
        "external_annotations": [
            {"stage": "START", "name": "outer", "device": 0, "time_us": 5},
            {"stage": "START", "name": "inner", "device": 0, "time_us": 6},
            {"stage": "END", "name": "outer", "device": 0, "time_us": 9},
            {"stage": "END", "name": "other", "device": 0, "time_us": 9},
        ],
    })
}

/// What is told, sorted: the order of members is that of the file.
fn told(bytes: &[u8]) -> (Vec<String>, String) {
    let (mut seen, outcome) = read(bytes);
    seen.lines.sort();
    // It is passed on as it is, with its members in the order of the file.
    assert!(seen.headers.remove("allocator_settings").is_some());
    let Seen { headers, annotations, warnings, segments, blocks, changes, frames, stacks, .. } = seen;
    let counts = (segments, blocks, changes, frames.len(), stacks.len());
    (seen.lines, format!("{:?} {headers:?} {annotations:?} {warnings:?} {counts:?}", outcome.expect("it is read")))
}

#[test]
fn the_way_of_writing_does_not_matter() {
    let value = snapshot(40);
    let want = told(&USUAL.pickle(&value));
    assert!(want.1.contains("(3, 4, 41, 9, 8)"), "{}", want.1);
    for protocol in 0..=5 {
        for is_memoized in [true, false] {
            for (batch, is_from_inside) in [(1, false), (2, false), (3, false), (1000, false), (1000, true)] {
                for is_reversed in [true, false] {
                    let how = Pickler { protocol, is_memoized, batch, is_reversed, is_from_inside };
                    assert_eq!(told(&how.pickle(&value)), want, "{how:?}");
                }
            }
        }
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&USUAL.pickle(&value)).unwrap();
    assert_eq!(told(&encoder.finish().unwrap()), want, "compressed");
}

/// A writer that appends all events at once leaves them on the stack; they are handed out before the end.
#[test]
fn long_batches_are_read_as_short_ones() {
    let value = snapshot(5000);
    let want = told(&USUAL.pickle(&value));
    for batch in [1, 1024, 100_000] {
        assert_eq!(told(&Pickler { batch, ..USUAL }.pickle(&value)), want, "{batch}");
    }
}

#[test]
fn what_is_told() {
    let (seen, _) = read(&USUAL.pickle(&snapshot(2)));
    assert_eq!(seen.annotations, [("outer".to_owned(), 5000, 4000), ("inner".to_owned(), 6000, 995_000)]);
    assert_eq!(seen.warnings, BTreeMap::from([("open_end", 1), ("unmatched_end", 1)]));
    let settings = r#"Json("{\"max_split_size\":-1,\"expandable_segments\":true}")"#;
    assert_eq!(seen.headers["allocator_settings"], settings);
    // The last segment has no blocks and so does not add up.
    assert_eq!(seen.headers["segment_totals_differ"], r#"Number("1")"#);
    let has = |part: &str| assert!(seen.lines.iter().any(|line| line.contains(part)), "{part} in {:#?}", seen.lines);
    // Blocks without address follow each other; in old files the first entry of a history has size and stack.
    has("position: 2, device_id: 1, address: 4316, size_bytes: 80, requested_bytes: Some(79), state: Some(Inactive)");
    has(
        "size_bytes: 50, requested_bytes: Some(40), state: Some(Allocated), stack: None } /app/Δ.py:90 f < ??:0 c10::x",
    );
    has(r#"1 0 Some(1001000) Some("free_requested") Some(-513) Some(1099511627777) Some(0) Some("input")"#);
    has(r#"2 1 None Some("oom") Some(9) None None None ["device_free=Number(\"7\")"]"#);
    has(r#"kind: Some("small"), pool: Some("[0,1]"), is_expandable: Some(true)"#);
}

#[track_caller]
fn check(value: &Json, counts: (u64, u64, u64), warnings: &[(&'static str, u64)]) {
    let (seen, outcome) = read(&USUAL.pickle(value));
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!((seen.segments, seen.blocks, seen.changes), counts, "{value}");
    assert_eq!(seen.warnings, warnings.iter().copied().collect(), "{value}");
}

#[test]
fn wrong_types_cost_themselves() {
    check(&json!({"segments": null}), (0, 0, 0), &[]);
    check(&json!({"segments": 7, "device_traces": "x"}), (0, 0, 0), &[("wrong_types", 2)]);
    check(&json!({"segments": [null, {"blocks": [5, {}], "address": -1}]}), (1, 1, 0), &[("wrong_types", 3)]);
    check(&json!({"device_traces": [null, [1, {"size": "x", "action": 5}]]}), (0, 0, 1), &[("wrong_types", 4)]);
    let late = json!({"device_traces": [[{"action": "alloc", "time_us": i64::MAX}]]});
    check(&late, (0, 0, 1), &[("bad_value", 1)]);
    let long = vec![json!({"filename": "a", "line": 1, "name": "b"}); 5000];
    check(&json!({"device_traces": [[{"frames": long}]]}), (0, 0, 1), &[("broken_field", 1)]);
}

#[test]
fn other_pickles_are_refused() {
    for other in [json!({}), json!([]), json!({"a": 1}), json!([{"blocks": []}, {"a": 1}]), json!("segments"), json!(5)]
    {
        let (_, outcome) = read(&Pickler { protocol: 2, ..USUAL }.pickle(&other));
        let error = outcome.expect_err("it is refused").to_string();
        assert_eq!(error, "refused: a Python pickle that is not a memory snapshot", "{other}");
    }
}

/// A few bytes of a file can stand for many of memory, and nothing says how many there will be.
#[test]
fn what_is_held_is_bounded() {
    let segments = b"\x80\x04}\x8c\x08segments](".as_slice();
    let blocks = [segments, b"}\x8c\x06blocks]("].concat();
    let slots: Vec<u8> =
        (0..=1_u32 << 20).flat_map(|slot| [b"r", (2 * slot + 5).to_le_bytes().as_slice()].concat()).collect();
    for (bytes, reason) in [
        ([segments, &b"]".repeat(2_100_000)].concat(), "more than 128 MiB"),
        ([segments, &b"\x8c\x01z".repeat(4_100_000)].concat(), "more than 128 MiB"),
        ([&blocks, b"}".repeat(2_200_000).as_slice()].concat(), "more than 128 MiB"),
        ([b"\x80\x04}", slots.as_slice()].concat(), "more memo slots"),
    ] {
        let error = read(&bytes).1.expect_err("it is refused").to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn reading_stops_when_asked() {
    let mut seen = Seen::default();
    seen.is_stopped = true;
    let bytes = USUAL.pickle(&snapshot(3));
    let outcome = read_trace(bytes.as_slice(), &Limits::default(), &mut seen);
    assert!(matches!(outcome, Err(FormatError::Stopped)), "{outcome:?}");
    assert_eq!(seen.lines, Vec::<String>::new());
}

/// What follows damage may look like anything. Before it, an opcode that is refused costs the file.
#[test]
fn damage_comes_before_what_is_refused() {
    let whole = b"}\x8c\x08segments]s".as_slice();
    let (_, outcome) = read(&[whole, b"h\x09cos\nsystem\n."].concat());
    assert_eq!(outcome.unwrap().into_iter().collect::<Vec<_>>(), ["pickle_broken"]);
    let (seen, outcome) = read(&[whole, b"cos\nsystem\nh\x09."].concat());
    assert!(outcome.unwrap_err().to_string().contains("GLOBAL at byte 13"));
    assert!(seen.headers.is_empty() && seen.lines.is_empty(), "nothing is told of a file that is refused");
}

#[test]
fn any_bytes_keep_the_promises() {
    let pickles = [0, 2, 4].map(|protocol| Pickler { protocol, batch: 3, ..USUAL }.pickle(&snapshot(9)));
    let changed = (0..pickles.len(), vec((any::<Index>(), any::<u8>()), 0..6), any::<Index>()).prop_map(
        move |(which, changes, end)| {
            let mut bytes = pickles[which].clone();
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes.truncate(1 + end.index(bytes.len()));
            bytes
        },
    );
    let random = vec(any::<u8>(), 0..300).prop_map(|rest| [b"\x80\x04}(\x8c\x08segments](".as_slice(), &rest].concat());
    let mut runner = TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&prop_oneof![changed, random], |bytes| {
        check_reader(&bytes);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
