//! What the writer writes is what the reader and `serde_json` read.

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};
use stepscope_formats::{ChromeEvent, ChromeWriter, Event, JsonValue, Limits, TraceSink, Value, Warning, read_trace};
use stepscope_model::Phase;

use crate::dump::check;
use crate::json::Seen;

/// An event with nothing but what every event has.
fn plain(phase: Phase, name: &str) -> ChromeEvent<'_> {
    ChromeEvent {
        phase,
        category: None,
        name,
        process: JsonValue::Int(1),
        thread: JsonValue::Int(2),
        ts_ns: 0,
        dur_ns: None,
        id: None,
        args: &[],
        more_args: None,
    }
}

fn written(header: &[(&str, JsonValue<'_>)], events: &[ChromeEvent<'_>]) -> String {
    let mut writer = ChromeWriter::begin(Vec::new(), header).unwrap();
    for event in events {
        writer.event(event).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn a_trace_reads_back_as_it_was_meant() {
    let header = [
        ("schemaVersion", JsonValue::Int(1)),
        ("deviceProperties", JsonValue::Json(r#"[{"id": 0}]"#)),
        ("baseTimeNanoseconds", JsonValue::Int(1_767_189_312_000_000_000)),
        ("a \"quoted\" key", JsonValue::Bool(true)),
    ];
    let args = [
        ("External id", JsonValue::Int(-7)),
        ("Input Dims", JsonValue::Json("[[1, 2], []]")),
        ("blocks per SM", JsonValue::Float(0.25)),
        ("warps per SM", JsonValue::Float(f64::NAN)),
        ("kind", JsonValue::Text("a\\b\n")),
    ];
    let events = [
        ChromeEvent {
            category: Some("cpu_op"),
            ts_ns: 1_365_627_949_735_404,
            dur_ns: Some(1),
            args: &args,
            more_args: Some(r#" { "Ev Idx": 5 } "#),
            ..plain(Phase::Complete, "aten::mm \"é\u{1}😀")
        },
        ChromeEvent {
            thread: "stream 7".into(),
            more_args: Some(r#"{"Bytes": 4}"#),
            ..plain(Phase::Instant, "[memory]")
        },
        ChromeEvent { id: Some(JsonValue::Int(3)), more_args: Some("{}"), ..plain(Phase::FlowEnd, "ac2g") },
        ChromeEvent { id: Some("0x3".into()), ts_ns: -1, ..plain(Phase::FlowStart, "") },
    ];
    check(
        written(&header, &events),
        r#"schemaVersion: 1
        deviceProperties: json [{"id": 0}]
        baseTimeNanoseconds: 1767189312000000000
        a "quoted" key: true
        #0 ph="X" cat="cpu_op" name="aten::mm \"é\u{1}😀" ts=1365627949735.404 dur=0.001 pid=1 tid=2 [External id]=-7 [Input Dims]=json [[1, 2], []] [blocks per SM]=0.25 [warps per SM]=null [kind]="a\\b\n" [Ev Idx]=5
        #1 ph="i" name="[memory]" ts=0.000 pid=1 tid="stream 7" [Bytes]=4
        #2 ph="f" name="ac2g" ts=0.000 pid=1 tid=2 id=3
        #3 ph="s" name="" ts=-0.001 pid=1 tid=2 id="0x3"
        notes:"#,
    );
}

#[test]
fn a_viewer_learns_what_an_instant_and_the_end_of_a_flow_belong_to() {
    let trace = written(&[], &[plain(Phase::Instant, "a"), plain(Phase::FlowEnd, "b"), plain(Phase::Complete, "c")]);
    let trace: Json = serde_json::from_str(&trace).unwrap();
    let told = |index: usize| (&trace["traceEvents"][index]["s"], &trace["traceEvents"][index]["bp"]);
    assert_eq!(told(0), (&json!("t"), &Json::Null));
    assert_eq!(told(1), (&Json::Null, &json!("e")));
    assert_eq!(told(2), (&Json::Null, &Json::Null));
}

#[test]
fn a_trace_without_events_is_a_trace() {
    check(written(&[], &[]), "notes:");
    check(written(&[("traceName", "a".into())], &[]), "traceName: \"a\"\nnotes:");
}

/// Start, length, name and arguments.
type AnyEvent = (i64, Option<i64>, String, Vec<(String, String)>);

/// Events as the reader gives them.
#[derive(Debug, Default, PartialEq)]
struct Kept(Vec<AnyEvent>);

impl TraceSink for Kept {
    fn header(&mut self, _: &str, _: &Value<'_>) {}

    fn event(&mut self, event: &Event<'_>) {
        let text = |value: Value<'_>| value.as_text().expect("a text").to_owned();
        let args = event.args.iter().map(|(key, value)| (Cow::into_owned(key), text(value)));
        let name = event.name.as_text().expect("a name").to_owned();
        self.0.push((event.start.ns.expect("a time"), event.dur.ns, name, args.collect()));
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        panic!("written, but: {warning:?}");
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

#[test]
fn any_time_and_any_text_come_back() {
    let text = || prop_oneof![4 => any::<String>(), 1 => Just("\u{1f}\"\\\u{0}/".to_owned())];
    let event = (any::<i64>(), any::<Option<i64>>(), text(), vec((text(), text()), 0..4));
    TestRunner::new(Config::with_cases(200))
        .run(&vec(event.prop_filter("U+FFFD stands for bytes that are not text", is_text), 0..8), |events| {
            let mut writer = ChromeWriter::begin(Vec::new(), &[]).unwrap();
            for (ts_ns, dur_ns, name, args) in &events {
                let args: Vec<_> = args.iter().map(|(key, value)| (key.as_str(), value.as_str().into())).collect();
                let event = ChromeEvent { ts_ns: *ts_ns, dur_ns: *dur_ns, args: &args, ..plain(Phase::Complete, name) };
                writer.event(&event).unwrap();
            }
            let trace = writer.finish().unwrap();
            let mut kept = Kept::default();
            read_trace(trace.as_slice(), &Limits::default(), &mut kept).unwrap();
            assert_eq!(kept.0, events);
            Ok(())
        })
        .unwrap();
}

#[test]
fn serde_json_reads_the_same() {
    let args =
        [("a", JsonValue::Text("\t\u{7f}\u{2028}")), ("b", JsonValue::Float(1e300)), ("c", JsonValue::Float(-0.5))];
    let events = [ChromeEvent { args: &args, ..plain(Phase::Complete, "x") }, plain(Phase::Counter, "y")];
    let trace = written(&[("a", "b".into())], &events);
    let mut seen = Seen::default();
    read_trace(trace.as_bytes(), &Limits::default(), &mut seen).unwrap();
    let whole: Json = serde_json::from_str(&trace).unwrap();
    assert_eq!(seen, Seen::expected(&whole));
    assert_eq!(whole["traceEvents"][0]["args"], json!({"a": "\t\u{7f}\u{2028}", "b": 1e300, "c": -0.5}));
}

fn is_text((_, _, name, args): &AnyEvent) -> bool {
    let mut texts = args.iter().flat_map(|(key, value)| [key, value]).chain([name]);
    texts.all(|text| !text.contains('\u{FFFD}'))
}
