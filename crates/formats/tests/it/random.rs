//! Random valid traces: the reader says what `serde_json` says.

use std::env;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value as Json;
use stepscope_formats::{Limits, read_trace};
use stepscope_model::Note;

use crate::json::Seen;

/// A string in its quotes, with escapes of all kinds.
fn any_string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z:_ {}\\[\\],#.0-9]{0,12}",
        1 => Just("é€😀".to_owned()),
        1 => Just("\\n\\t\\\\\\\"\\/".to_owned()),
        1 => Just("\\u00e9\\ud83d\\uDE00".to_owned()),
    ];
    vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn any_number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| format!("{number}.125")),
        (any::<i32>(), -20..20_i32).prop_map(|(number, exponent)| format!("{number}e{exponent}")),
        Just("10159970886766084423".to_owned()),
        Just("-0".to_owned()),
        Just("0.5E+3".to_owned()),
    ]
}

fn any_value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any_string(),
        any_number(),
        Just("true".to_owned()),
        Just("false".to_owned()),
        Just("null".to_owned())
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|values| format!("[{}]", values.join("~,~"))),
            vec((any_string(), inner), 0..4).prop_map(|members| object(&members)),
        ]
    })
}

/// An object whose keys are made distinct by their number. `~` is a space, or none.
fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> =
        members.iter().enumerate().map(|(i, (key, value))| format!("\"{i}{}~:~{value}", &key[1..])).collect();
    format!("{{~{}~}}", members.join("~,~"))
}

fn any_event() -> impl Strategy<Value = String> {
    let keys = ["ph", "cat", "name", "ts", "dur", "pid", "tid", "id", "bp", "s", "sf"];
    let fields = vec((0..keys.len(), prop_oneof![any_string(), any_number(), any_value()]), 0..8);
    let args = proptest::option::of(vec((any_string(), any_value()), 0..5));
    (fields, args).prop_map(move |(mut fields, args)| {
        fields.sort();
        fields.dedup_by_key(|field| field.0);
        let mut members: Vec<String> =
            fields.iter().map(|(key, value)| format!("\"{}\"~:~{value}", keys[*key])).collect();
        // A list of events is recognized by the first key of its first event.
        members.insert(0, "\"ph\"~:~\"X\"".to_owned());
        members.dedup_by_key(|member| member.starts_with("\"ph\""));
        members.extend(args.map(|args| format!("\"args\"~:~{}", object(&args))));
        format!("{{~{}~}}", members.join("~,~"))
    })
}

#[test]
fn agrees_with_serde_json() {
    let cases = env::var("STEPSCOPE_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(1000);
    let headers = vec(any_value(), 0..4);
    let documents = (vec(any_event(), 0..12), headers, 0..3_usize, 0..3_usize);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&documents, |(events, headers, shape, space)| {
        let list = format!("[~{}~]", events.join("~,~"));
        let headers: Vec<String> = headers.iter().enumerate().map(|(i, value)| format!("\"h{i}\":~{value}")).collect();
        let mut members = headers.clone();
        members.insert(if shape == 1 { 0 } else { headers.len() }, format!("\"traceEvents\":~{list}"));
        let text = if shape == 0 { list } else { format!("{{~{}~}}", members.join(",~")) };
        let text = text.replace('~', ["", " ", "\n\t  "][space]);

        let whole: Json = serde_json::from_str(&text).expect("valid JSON");
        let want = Seen::expected(&whole);
        let mut seen = Seen::default();
        let summary = read_trace(text.as_bytes(), &Limits::default(), &mut seen).expect("a trace");
        assert_eq!(seen, want, "{text}");
        assert_eq!(summary.notes, if shape == 0 { vec![Note::BareArray] } else { vec![] });
        assert_eq!(summary.bytes_plain, text.len() as u64);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
