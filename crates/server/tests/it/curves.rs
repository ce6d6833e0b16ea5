//! The curves along a timeline.

use serde_json::{Value, json};
use stepscope_testkit::TraceBuilder;

use crate::harness::{Inside, small_trace};

fn curves(trace: &str, query: &str) -> Vec<Value> {
    let answer = Inside::new(trace).json(&format!("/api/runs/job/timeline/counters?rank=0&window=0{query}"));
    answer["curves"].as_array().unwrap().clone()
}

#[test]
fn a_launch_waits_from_its_call_to_its_kernel() {
    let want = json!({
        "kind": "queue", "name": "launch queue", "place": "stream 7", "device": 0, "unit": "plain", "most": 1.0,
        "points": [[20_000, 1.0], [40_000, 0.0]],
    });
    assert_eq!(curves(&small_trace(), ""), std::slice::from_ref(&want));
    let part = curves(&small_trace(), "&from=30000&to=40000&width=10");
    // The value at the start is that of the change before it.
    assert_eq!((&part[0]["points"], &part[0]["most"]), (&json!([[20_000, 1.0]]), &json!(1.0)));
}

#[test]
fn memory_and_counters_are_curves() {
    let counter = |ts: u32, value: u32| {
        format!(r#"{{"ph":"C","name":"GPU Utilization","pid":0,"ts":{ts},"args":{{"value":{value}}}}}"#)
    };
    let trace = TraceBuilder::new()
        .op("f", 1, "0", "100")
        .memory(1, "5", 100, 1_100)
        .arg("Device Type", "0")
        .memory(1, "25", -100, 1_000)
        .arg("Device Type", "0")
        .event(&counter(10, 30))
        .event(&counter(20, 70));
    let found = curves(&trace.finish(), "");
    let shown: Vec<_> = found.iter().map(|curve| json!([curve["kind"], curve["name"], curve["points"]])).collect();
    assert_eq!(
        shown,
        [
            json!(["memory", "memory allocated", [[5_000, 1_100.0], [25_000, 1_000.0]]]),
            json!(["counter", "GPU Utilization", [[10_000, 30.0], [20_000, 70.0]]]),
        ]
    );
    assert_eq!((&found[0]["place"], &found[0]["unit"]), (&json!("cpu"), &json!("bytes")));
}

#[test]
fn curves_of_one_name_say_where_they_are_from() {
    let counter = |name: &str, process: u32, ts: u32, args: &str| {
        format!(r#"{{"ph":"C","name":"{name}","pid":{process},"ts":{ts},"args":{{{args}}}}}"#)
    };
    let trace = TraceBuilder::new()
        .op("f", 1, "0", "100")
        .event(&counter("alone", 5, 10, r#""value":1"#))
        .event(&counter("series", 5, 10, r#""read":1,"written":2"#))
        .event(&counter("rss", 5, 10, r#""value":1"#))
        .event(&counter("rss", 6, 10, r#""value":2"#));
    let places: Vec<_> = curves(&trace.finish(), "").iter().map(|curve| curve["place"].clone()).collect();
    assert_eq!(places, ["", "process 5", "process 6", "read", "written"]);
}

#[test]
fn counters_that_are_too_many_are_counted_and_the_dull_ones_go_first() {
    let mut trace = TraceBuilder::new().op("f", 1, "0", "100");
    for number in 0..70 {
        for ts in [10, 20] {
            let value = if number < 10 { 1 } else { ts };
            trace = trace
                .event(&format!(r#"{{"ph":"C","name":"c{number:02}","pid":0,"ts":{ts},"args":{{"value":{value}}}}}"#));
        }
    }
    let answer = Inside::new(&trace.finish()).json("/api/runs/job/timeline/counters?rank=0&window=0");
    let drawn = answer["curves"].as_array().unwrap();
    assert_eq!((drawn.len(), &answer["counters_left_out"]), (64, &json!(6)));
    assert_eq!((&drawn[0]["name"], &drawn[63]["name"]), (&json!("c10"), &json!("c03")));
}
