//! Valid documents: roots, headers, fields, values, limits.

use stepscope_formats::Limits;
use stepscope_model::Note;

use crate::dump::{check, check_within};

#[test]
fn roots() {
    check(r#"{"traceEvents": [{"ph": "X"}]}"#, "#0 ph=\"X\"\nnotes:");
    check(r#"[{"ph": "X"}]"#, "#0 ph=\"X\"\nnotes: bare_array");
    check("\u{FEFF} [ ]", "notes: bare_array");
    check(r#"{"traceEvents": []}"#, "notes:");
    check(
        r#"{"traceEvents": [{"ts": 1}], "traceName": "a", "traceEvents": [{"ts": 2}]}"#,
        "#0 ts=1\ntraceName: \"a\"\n#1 ts=2\nnotes:",
    );
}

#[test]
fn only_lists_of_the_root_are_events() {
    // Valid JSON whose header holds the word, before and behind the events, and in a text.
    check(
        r#"{"a": {"traceEvents": [{"ts": 9}]}, "traceEvents": [{"ts": 1}], "b": [{"traceEvents": [{"ts": 8}]}]}"#,
        r#"a: json {"traceEvents": [{"ts": 9}]}
        #0 ts=1
        b: json [{"traceEvents": [{"ts": 8}]}]
        notes:"#,
    );
    check(
        r#"{"a": {"traceEvents": [{"ts": 9}]}}"#,
        r#"a: json {"traceEvents": [{"ts": 9}]}
        error: not a trace: it is JSON without a list `traceEvents`"#,
    );
    // The same over several blocks of the reader.
    let long = "x".repeat(700_000);
    let text = format!(r#"{{"a": {{"traceEvents": [{{"name": "{long}"}}]}}, "traceEvents": [{{"ts": 1}}]}}"#);
    let (dump, summary) = crate::dump::read(text.as_bytes());
    assert_eq!((dump.events, dump.warnings.len()), (vec![" ts=1".to_owned()], 0));
    assert!(summary.unwrap().notes.is_empty());
}

#[test]
fn elements_that_are_no_objects_are_passed_over() {
    check(
        r#"{"traceEvents": [{"ts": 1}, [{"ph": "X", "ts": 9}], {"ts": 2}, [{"ts": 8}]]}"#,
        "#0 ts=1\n! not_an_object #1 @28\n#2 ts=2\n! not_an_object #3 @63\nnotes:",
    );
    check(r#"[[{"ph": "X"}], {"ts": 2}]"#, "! not_an_object #0 @1\n#1 ts=2\nnotes: bare_array");
    // Over several blocks of the reader, and what is no list but a bracket too many.
    let long = "x".repeat(900_000);
    let (dump, summary) =
        crate::dump::read(format!(r#"[{{"ts": 1}}, [{{"name": "{long}"}}], {{"ts": 2}}]"#).as_bytes());
    assert_eq!(
        (dump.events.join(""), dump.warnings.join(" ")),
        (" ts=1 ts=2".to_owned(), "not_an_object #1".to_owned())
    );
    assert_eq!(summary.unwrap().notes, [Note::BareArray]);
    check(
        r#"{"traceEvents": [{"ts": 1},[{"ts": 2}, {"ts": 3}], "b": 1}"#,
        "#0 ts=1\n! garbage @27\n#1 ts=2\n#2 ts=3\nb: 1\nnotes:",
    );
    check(r#"{"traceEvents": [{"ts": 1},[{"ts": 2}, {"ts": 3}]}"#, "#0 ts=1\n! garbage @27\n#1 ts=2\n#2 ts=3\nnotes:");
}

#[test]
fn white_space_is_of_any_length() {
    for length in [10, 5_000, 70_000, 600_000] {
        let space = " \n\t\r".repeat(length / 4);
        for text in [
            format!(r#"{space}{{"traceEvents": [{{"ph": "X"}}]}}"#),
            format!(r#"{{{space}"traceEvents": [{{"ph": "X"}}]}}"#),
            format!(r#"{{"traceEvents"{space}: [{{"ph": "X"}}]}}"#),
            format!(r#"{{"traceEvents":{space}[{{"ph": "X"}}]}}"#),
            format!(r#"{{"traceEvents": [{space}{{"ph": "X"}}{space}]}}"#),
            format!(r#"{{"traceEvents": [{{{space}"ph": "X"}}]{space}}}"#),
            format!(r#"{space}[{{"ph": "X"}}]"#),
            format!(r#"[{space}{{"ph": "X"}}]"#),
            format!(r#"[{{{space}"ph": "X"}}]"#),
        ] {
            let (dump, summary) = crate::dump::read(text.as_bytes());
            let notes = summary.unwrap_or_else(|error| panic!("{length}: {}: {error}", text.trim())).notes;
            assert_eq!(dump.events, [" ph=\"X\""], "{length}: {}", text.trim());
            assert!(dump.warnings.is_empty() && notes.iter().all(|note| *note == Note::BareArray), "{:?}", dump.lines);
        }
    }
}

#[test]
fn the_first_event_of_a_bare_list_may_come_late() {
    let late = |before: &str| format!(r#"[{before}, {{"ph": "X"}}]"#);
    let numbers = vec!["1"; 40_000].join(",");
    let texts = vec![r#""text""#; 12_000].join(",");
    let event = format!(r#"{{"unknown": "{}", "ph": "X"}}"#, "x".repeat(80_000));
    for text in [late(&numbers), late(&texts), format!("[{event}]")] {
        let (dump, summary) = crate::dump::read(text.as_bytes());
        assert_eq!(summary.unwrap().notes, [Note::BareArray]);
        assert_eq!(dump.events, [" ph=\"X\""]);
    }
}

#[test]
fn headers() {
    check(
        r#"{"a": 1.50, "b": "x\n", "c": true, "d": null, "e": [1, {}], "traceEvents": [], "f": {"g": -0}, "f": 2}"#,
        r#"a: 1.50
        b: "x\n"
        c: true
        d: null
        e: json [1, {}]
        f: json {"g": -0}
        f: 2
        notes:"#,
    );
    check(r#"{"traceEvents": [], "a": NaN}"#, "a: null\n! bad_value @20\nnotes:");
}

#[test]
fn fields() {
    check(
        r#"[{"ph": "X", "cat": "c", "name": "n", "ts": 1.250, "dur": 2, "pid": "3", "tid": 4, "id": "0x5", "bp": "e",
            "args": {"a": 1, "b": "two", "c": [1, 2], "d": {"e": null}, "f": false, "a": 7}}]"#,
        r#"#0 ph="X" cat="c" name="n" ts=1.250 dur=2 pid="3" tid=4 id="0x5" [a]=1 [b]="two" [c]=json [1, 2] [d]=json {"e": null} [f]=false [a]=7
        notes: bare_array"#,
    );
    check(r#"[{"ts": 1, "ts": 2, "args": {"a": 1}, "args": {"b": 2}}]"#, "#0 ts=2 [b]=2\nnotes: bare_array");
    check(r#"[{"id2": {"local": "0x1"}}, {"id2": {"global": 2}}]"#, "#0 id=\"0x1\"\n#1 id=2\nnotes: bare_array");
    check(r#"[{"ts": 1, "args": [1]}, {"ts": 2, "args": null}]"#, "#0 ts=1\n#1 ts=2\nnotes: bare_array");
    check(r#"[{"\u0070h": "X", "args": {"\u0061": 1}}, {"ph": 1}]"#, "#0 ph=\"X\" [a]=1\n#1 ph=1\nnotes: bare_array");
    check(r#"{"traceEvents":[{}]}"#, "#0\nnotes:");
}

#[test]
fn numbers_stay_text() {
    check(
        r#"[{"ts": 10159970886766084423, "dur": -0.0, "pid": 1E+400, "tid": 1e-7, "id": 0}]"#,
        "#0 ts=10159970886766084423 dur=-0.0 pid=1E+400 tid=1e-7 id=0\nnotes: bare_array",
    );
}

#[test]
fn strings() {
    check(r#"[{"name": "a\"b\\\/\u00e9\ud83d\ude00"}]"#, "#0 name=\"a\\\"b\\\\/é😀\"\nnotes: bare_array");
    check(r#"[{"name": "\ud83d lone \x"}]"#, "#0 name=\"\u{FFFD} lone \\\\x\"\nnotes: bare_array");
    check("[{\"name\": \"a\nb\u{1}\"}]", "#0 name=\"a\\nb\\u{1}\"\nnotes: bare_array");
    check(b"[{\"name\": \"a\xffb\"}]", "#0 name=\"a\u{FFFD}b\"\nnotes: invalid_utf8 bare_array");
    check("[{\"name\": \"\u{FFFD}\"}]", "#0 name=\"\u{FFFD}\"\nnotes: invalid_utf8 bare_array");
    check(b"[{\"ts\": 1}\xc3", "#0 ts=1\n! garbage @10\nnotes: invalid_utf8 json_truncated bare_array");
}

#[test]
fn bad_values_are_null() {
    for bad in [
        "NaN",
        "nan",
        "-nan",
        "inf",
        "-inf",
        "Infinity",
        "-Infinity",
        "+1",
        ".5",
        "1.",
        "007",
        "-",
        "1e",
        "",
        "nan(ind)",
    ] {
        check(
            format!(r#"[{{"ts": 1, "dur": {bad}, "args": {{"a": {bad}}}}}]"#),
            "#0 ts=1 dur=null [a]=null\n! bad_value #0 @1\nnotes: bare_array",
        );
    }
    check(r#"[{"ts": 1, "args": {"a": 2,},}]"#, "#0 ts=1 [a]=2\n! bad_value #0 @1\nnotes: bare_array");
}

#[test]
fn nested_json_is_made_valid() {
    #[track_caller]
    fn nested(raw: &str, want: &str) {
        check(
            format!(r#"[{{"args": {{"a": {raw}}}}}]"#),
            &format!("#0 [a]=json {want}\n! bad_value #0 @1\nnotes: bare_array"),
        );
    }
    nested("[1, NaN, -inf]", "[1,null,null]");
    nested("[1,,2]", "[1,null,2]");
    nested("[,]", "[null]");
    nested("[1,]", "[1]");
    nested(r#"{"b": , "c": [ ], "d" : {}}"#, r#"{"b":null,"c":[],"d":{}}"#);
    nested(r#"{"b": 1,}"#, r#"{"b":1}"#);
    nested("[+1, \"a\u{1}\n\", \"\\x\\n\\ud800\"]", r#"[null,"a\u0001\n","\\x\n\ufffd"]"#);
    // Valid but for the text: no value is bad.
    check("[{\"args\": {\"a\": [\"\t\"]}}]", "#0 [a]=json [\"\\t\"]\nnotes: bare_array");
    // Valid: handed out as it stands.
    check(r#"[{"args": {"a": [ 1 , "\u00e9" ]}}]"#, "#0 [a]=json [ 1 , \"\\u00e9\" ]\nnotes: bare_array");
}

#[test]
fn limits_cost_one_event() {
    let limits = Limits { max_depth: 3, max_event_bytes: 60, max_string_bytes: 20, ..Limits::default() };
    let long = "x".repeat(21);
    let many = "1,".repeat(40);
    check_within(
        format!(
            r#"[{{"ph": "a"}}, {{"args": {{"a": [[]]}}}}, {{"ph": "b"}}, {{"name": "{long}"}}, {{"ph": "c"}}, {{"v": [{many}1]}}, {{"ph": "d"}},
                {{"args": {{"a": []}}}}, [[[[]]]], {{"ph": "e"}}]"#
        ),
        &limits,
        "#0 ph=\"a\"
        ! event_too_deep #1 @14
        #2 ph=\"b\"
        ! event_too_long #3 @60
        #4 ph=\"c\"
        ! event_too_long #5 @98
        #6 ph=\"d\"
        #7 [a]=json []
        ! event_too_deep #8 @240
        #9 ph=\"e\"
        notes: bare_array",
    );
}

#[test]
fn elements_that_are_no_objects() {
    check(
        r#"{"traceEvents": [1, "a", null, [1, {"b": 2}], true, {"ts": 1}, -2.5]}"#,
        "! not_an_object #0 @17
        ! not_an_object #1 @20
        ! not_an_object #2 @25
        ! not_an_object #3 @31
        ! not_an_object #4 @46
        #5 ts=1
        ! not_an_object #6 @63
        notes:",
    );
}

#[test]
fn stops_when_asked() {
    struct Stop;
    impl stepscope_formats::TraceSink for Stop {
        fn header(&mut self, _: &str, _: &stepscope_formats::Value<'_>) {}
        fn event(&mut self, _: &stepscope_formats::Event<'_>) {}
        fn warning(&mut self, _: &stepscope_formats::Warning<'_>) {}
        fn progress(&mut self, plain_bytes: u64) -> bool {
            plain_bytes < 5 << 20
        }
    }
    let trace = format!("[{}", r#"{"ph": "X"},"#.repeat(1 << 20));
    let outcome = stepscope_formats::read_trace(trace.as_bytes(), &Limits::default(), &mut Stop);
    assert!(matches!(outcome, Err(stepscope_formats::FormatError::Stopped)));
}

#[test]
fn long_headers_are_passed() {
    let long = "[1, \"]\"], ".repeat(2 << 20);
    check(
        format!(r#"{{"long": [{long}0], "traceEvents": [{{"ts": 1}}], "b": 2}}"#),
        "! header_broken @1\n#0 ts=1\nb: 2\nnotes:",
    );
}
