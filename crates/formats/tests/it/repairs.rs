//! Broken documents: what is kept, what is lost, and how it is counted.

use crate::dump::check;

#[test]
fn cuts() {
    check(r#"[{"ts": 1}"#, "#0 ts=1\nnotes: json_truncated bare_array");
    check(r#"[{"ts": 1},"#, "#0 ts=1\nnotes: json_truncated bare_array");
    check("[{\"ts\": 1},\n ", "#0 ts=1\nnotes: json_truncated bare_array");
    check(r#"[{"ts": 1}, {"ts"#, "#0 ts=1\n! cut_event #1 @12\nnotes: json_truncated bare_array");
    check(r#"[{"ts": 1}, {"ts": 12"#, "#0 ts=1\n! cut_event #1 @12\nnotes: json_truncated bare_array");
    check(r#"[{"ts": 1}, [1"#, "#0 ts=1\n! cut_event #1 @12\nnotes: json_truncated bare_array");
    check("[", "notes: json_truncated bare_array");
    check(r#"{"a": 1, "traceEvents": [{"ts": 1}"#, "a: 1\n#0 ts=1\nnotes: json_truncated");
    check(r#"{"traceEvents": [{"ts": 1}]"#, "#0 ts=1\nnotes: json_truncated");
    check(r#"{"traceEvents": [{"ts": 1}], "traceName": "ab"#, "#0 ts=1\nnotes: json_truncated");
    check(r#"{"traceEvents": [{"ts": 1}], "traceN"#, "#0 ts=1\nnotes: json_truncated");
    check(r#"{"traceEvents": ["#, "notes: json_truncated");
}

#[test]
fn a_broken_event_is_one_loss() {
    check(r#"[{"ts": 1}, {"ts": oops}, {"ts": 3}]"#, "#0 ts=1\n! broken_event #1 @19\n#2 ts=3\nnotes: bare_array");
    check(
        r#"[{"ts": 1, "args": {"a": 1}, {"ts": 2}, {"ts": 3}]"#,
        "! broken_event #0 @29\n#1 ts=2\n#2 ts=3\nnotes: bare_array",
    );
    check(
        r#"{"traceEvents": [{"name": "a}, {"ts": 2}], "traceName": "x"}"#,
        "! broken_event #0 @33\n#1 ts=2\ntraceName: \"x\"\nnotes:",
    );
    check(r#"{"traceEvents": [{"name": "a}], "traceName": "x"}"#, "! broken_event #0 @33\ntraceName: \"x\"\nnotes:");
    check(r#"{"traceEvents": [{"ts": 1}, {"ts" 2}]}"#, "#0 ts=1\n! broken_event #1 @34\nnotes:");
    check(r#"[{"ts": 1,, "dur": 2}, {"ts": 2}]"#, "! broken_event #0 @10\n#1 ts=2\nnotes: bare_array");
}

#[test]
fn an_event_that_lost_its_brace() {
    for brace in ["", "x", "é", "}", "]", "[", "\"", ":", "5", ", "] {
        let text = format!(r#"{{"traceEvents": [{{"ts": 1}}, {brace} "ph": "X", "args": {{"a": 1}}}}, {{"ts": 3}}]}}"#);
        let (dump, summary) = crate::dump::read(text.as_bytes());
        assert_eq!(dump.events, [" ts=1", " ts=3"], "{text}");
        assert_eq!((dump.losses, dump.elements), (1, 3), "{text}: {:?}", dump.lines);
        assert!(summary.unwrap().notes.is_empty(), "{text}");
    }
}

#[test]
fn unescaped_quotes() {
    check(
        r#"[{"name": "say "hi" to", "ts": 1}, {"ts": 2}]"#,
        "! repaired_quotes #0 @16\n#0 name=\"say \\\"hi\\\" to\" ts=1\n#1 ts=2\nnotes: bare_array",
    );
    check(
        r#"[{"ts": 1, "args": {"a": ["b "c" d", 2]}}]"#,
        "! repaired_quotes #0 @30\n#0 ts=1 [a]=json [\"b \\\"c\\\" d\",2]\nnotes: bare_array",
    );
}

#[test]
fn between_events() {
    check(r#"[{"ts": 1} {"ts": 2}]"#, "#0 ts=1\n! garbage @11\n#1 ts=2\nnotes: bare_array");
    check(r#"[{"ts": 1}, , {"ts": 2},]"#, "#0 ts=1\n#1 ts=2\nnotes: bare_array");
    check("[{\"ts\": 1}, \0\0 abc \"x {\"ts\": 2}]", "#0 ts=1\n! garbage @12\n#1 ts=2\nnotes: bare_array");
    for comma in ["]", "}", "[", "{", ":", "\"", "7", "x", "] ,", "\\", "é"] {
        let text = format!("{{\"traceEvents\": [{{\"ts\": 1}}{comma}\n{{\"ts\": 2}}, {{\"ts\": 3}}], \"b\": 1}}");
        let (dump, summary) = crate::dump::read(text.as_bytes());
        assert_eq!(dump.events, [" ts=1", " ts=2", " ts=3"], "{text}: {:?}", dump.lines);
        assert_eq!(dump.headers, ["b: 1"], "{text}");
        assert!(summary.unwrap().notes.is_empty(), "{text}");
    }
}

#[test]
fn a_list_that_lost_its_bracket() {
    for bracket in ["", " ", "}", "[", ",", "x", "\"", ":"] {
        let text = format!("{{\"traceEvents\": [{{\"ts\": 1}}\n{bracket}, \"traceName\": \"a\", \"b\": 2}}");
        let (dump, summary) = crate::dump::read(text.as_bytes());
        assert_eq!(dump.events, [" ts=1"], "{text}");
        assert_eq!(dump.headers, ["traceName: \"a\"", "b: 2"], "{text}: {:?}", dump.lines);
        assert!(summary.unwrap().notes.is_empty(), "{text}");
    }
    for start in [": ", ":x", "; [", " [", ":{"] {
        let text = format!("{{\"a\": 1, \"traceEvents\"{start} {{\"ts\": 1}}, {{\"ts\": 2}}]}}");
        let (dump, summary) = crate::dump::read(text.as_bytes());
        assert_eq!(dump.events, [" ts=1", " ts=2"], "{text}: {:?}", dump.lines);
        assert_eq!(dump.warnings, ["header_broken"], "{text}");
        assert!(summary.unwrap().notes.is_empty(), "{text}");
    }
    check(r#" {{"ts": 1}, {"ts": 2}]"#, "! header_broken @1\n#0 ts=1\n#1 ts=2\nnotes: bare_array");
}

#[test]
fn broken_headers() {
    check(
        r#"{"a": {"b": oops}, "schemaVersion": 1, "traceEvents": [{"ts": 1}]}"#,
        "! header_broken @1\nschemaVersion: 1\n#0 ts=1\nnotes:",
    );
    check(r#"{"a": {"b": 1, "traceEvents": [{"ts": 1}]}"#, "! header_broken @1\n#0 ts=1\nnotes:");
    check(
        r#"{"traceEvents": [{"ts": 1}], "a": {"b" 2}, "traceName": "x"}"#,
        "#0 ts=1\n! header_broken @29\ntraceName: \"x\"\nnotes:",
    );
    check("{\"traceEvents\": [{\"ts\": 1}]}\n\0\0", "#0 ts=1\n! header_broken @29\nnotes:");
    check(r#"[{"ts": 1}] and more"#, "#0 ts=1\n! garbage @12\nnotes: bare_array");
    check(
        r#"{"traceEvents": [{"ts": 1}]}{"traceEvents": [{"ts": 2}]}"#,
        "#0 ts=1\n! header_broken @28\n#1 ts=2\nnotes:",
    );
}
