//! Which elements become rows, and what becomes of the others (metrics, sections 1 and 2).

use stepscope_model::health::meaning;
use stepscope_testkit::TraceBuilder;

use crate::harness::{answer, check, op, open_text};

#[test]
fn times_are_exact_decimals_and_move_with_the_base_time() {
    let trace = TraceBuilder::new().header("baseTimeNanoseconds", "1000000000000000000");
    let trace = op(trace, "a", "1.234", "0.0005");
    let trace = op(trace, "b", "2", "3");
    check(
        &trace.finish(),
        "SELECT name, start_ns, dur_ns FROM spans ORDER BY start_ns",
        "a 1000000000000001234 1
         b 1000000000000002000 3000",
    );
}

#[test]
fn a_base_time_behind_the_events_counts_too() {
    let trace = r#"{"traceEvents": [{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":5,"dur":1}], "baseTimeNanoseconds": 7}"#;
    check(trace, "SELECT start_ns FROM spans", "5007");
}

#[test]
fn bad_times_and_negative_durations_are_counted() {
    let trace = op(op(TraceBuilder::new(), "negative", "5", "-1"), "fine", "6", "0");
    let trace = trace
        .event(r#"{"ph":"X","cat":"cpu_op","name":"text","pid":1,"tid":1,"ts":"5","dur":1}"#)
        .event(r#"{"ph":"X","cat":"cpu_op","name":"missing","pid":1,"tid":1,"ts":5}"#)
        .event(r#"{"ph":"X","cat":"cpu_op","name":"huge","pid":1,"tid":1,"ts":1e300,"dur":1}"#)
        .event(r#"{"ph":"C","name":"c","pid":1,"ts":null,"args":{"v":1}}"#)
        .event(r#"{"ph":"i","name":"[memory]","pid":1,"tid":1,"args":{"Bytes":1}}"#)
        .finish();
    let workspace = open_text(&trace);
    assert_eq!(answer(&workspace, "SELECT name FROM spans"), "fine");
    let lost = "SELECT name, value FROM health WHERE name LIKE 'lost%' OR name LIKE 'dropped%' ORDER BY name";
    let want = "dropped_bad_time 4\ndropped_negative_duration 1\nlost.bad_time 4\nlost.bad_time:C 1\nlost.negative_duration 1\nlost_events 6";
    assert_eq!(answer(&workspace, lost), want);
    let names = answer(&workspace, "SELECT name FROM health");
    for name in names.lines() {
        assert!(meaning(name).is_some(), "{name} is not explained");
    }
    let rows = "SELECT code, is_loss, position FROM ingest_warnings ORDER BY position";
    let want = "negative_duration true 0\nbad_time true 2\nbad_time true 3\nbad_time true 4\nbad_time:C true 5\nbad_time true 6";
    assert_eq!(answer(&workspace, rows), want);
}

#[test]
fn kinds_come_from_categories_of_both_generations() {
    let mut trace = TraceBuilder::new();
    for (index, category) in [
        "Operator",
        "cpu_op",
        "user_annotation",
        "Python",
        "Runtime",
        "cuda_driver",
        "Kernel",
        "gpu_memcpy",
        "Memset",
        "gpu_user_annotation",
        "cuda_sync",
        "Trace",
        "mtia_runtime",
        "x",
    ]
    .into_iter()
    .enumerate()
    {
        trace = trace.complete(category, "n", 1, 1, &index.to_string(), "1");
    }
    trace = op(trace, "ProfilerStep#3", "20", "1").complete("Operator", "nccl:all_reduce", 1, 1, "21", "1");
    check(
        &trace.finish(),
        "SELECT category, kind FROM spans ORDER BY start_ns",
        "Operator op
         cpu_op op
         user_annotation ann
         Python py
         Runtime rt
         cuda_driver rt
         Kernel kernel
         gpu_memcpy memcpy
         Memset memset
         gpu_user_annotation gpuann
         cuda_sync sync
         Trace window
         mtia_runtime mtia
         x other
         cpu_op ann
         Operator ann",
    );
}

#[test]
fn ids_that_are_decimal_strings_are_the_integer() {
    let trace = r#"[{"ph":"X","name":"a","pid":"25738","tid":7,"ts":1,"dur":1},{"ph":"X","name":"b","pid":25738,"tid":"7","ts":3,"dur":1},
        {"ph":"X","name":"c","pid":"Spans","tid":"7","ts":3,"dur":1}]"#;
    check(trace, "SELECT process, thread, spans FROM tracks ORDER BY track_id", "25738 7 2\nSpans 7 1");
}

#[test]
fn device_and_stream_fall_back_to_pid_and_tid() {
    let trace = TraceBuilder::new()
        .event(r#"{"ph":"X","cat":"Kernel","name":"k","pid":2,"tid":"stream 7","ts":1,"dur":1}"#)
        .event(r#"{"ph":"X","cat":"kernel","name":"l","pid":0,"tid":9,"ts":1,"dur":1,"args":{"device":3,"stream":20}}"#)
        .finish();
    check(&trace, "SELECT name, device_id, stream_id FROM spans ORDER BY name", "k 2 7\nl 3 20");
}

#[test]
fn begin_and_end_pair_last_in_first_out() {
    let trace = r#"[
        {"ph":"B","name":"outer","pid":1,"tid":1,"ts":0,"args":{"a":1}},
        {"ph":"E","pid":1,"tid":1,"ts":10,"args":{"b":2}},
        {"ph":"B","name":"inner","pid":1,"tid":1,"ts":2},
        {"ph":"E","name":"inner","pid":1,"tid":1,"ts":5},
        {"ph":"E","name":"alone","pid":1,"tid":1,"ts":11},
        {"ph":"B","name":"open","pid":1,"tid":1,"ts":12},
        {"ph":"X","name":"last","pid":1,"tid":1,"ts":13,"dur":7},
        {"ph":"E","name":"other thread","pid":1,"tid":2,"ts":1}]"#;
    let workspace = open_text(trace);
    let spans = "SELECT name, start_ns, dur_ns, phase, flag, args FROM spans ORDER BY start_ns";
    let want = "outer 0 10000 B - {\"a\":1,\"b\":2}\ninner 2000 3000 B - -\nopen 12000 8000 B open_end -\nlast 13000 7000 X - -";
    assert_eq!(answer(&workspace, spans), want);
    assert_eq!(workspace.health_info()["lost"].to_string(), r#"{"unmatched_end":2}"#);
    assert_eq!(workspace.health_info()["absorbed"].to_string(), r#"{"paired_end":2}"#);
}

#[test]
fn async_events_pair_by_category_and_id_on_lanes_of_their_own() {
    let trace = r#"[
        {"ph":"b","cat":"net","id":1,"name":"a","pid":1,"tid":1,"ts":0},
        {"ph":"b","cat":"net","id":"0x2","name":"b","pid":1,"tid":1,"ts":1},
        {"ph":"n","cat":"net","id":1,"name":"tick","pid":1,"tid":1,"ts":2},
        {"ph":"e","cat":"net","id":1,"name":"a","pid":1,"tid":9,"ts":3},
        {"ph":"e","cat":"net","id":"0x2","name":"b","pid":1,"tid":1,"ts":7},
        {"ph":"e","cat":"disk","id":1,"name":"a","pid":1,"tid":1,"ts":8}]"#;
    let workspace = open_text(trace);
    let sql = "SELECT t.type, t.thread, s.name, s.start_ns, s.dur_ns, s.phase, s.flag FROM spans s JOIN tracks t USING (track_id) ORDER BY s.span_id";
    let want = "async net:1 a 0 3000 b -\nasync net:1 tick 2000 0 n instant\nasync net:0x2 b 1000 6000 b -";
    assert_eq!(answer(&workspace, sql), want);
    assert_eq!(workspace.health_info()["lost"].to_string(), r#"{"unmatched_end":1}"#);
}

#[test]
fn counters_flows_memory_instants_and_names() {
    let trace = r#"[
        {"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"python"}},
        {"ph":"M","name":"thread_name","pid":1,"tid":"1","args":{"name":"main"}},
        {"ph":"C","name":"queue","pid":1,"tid":1,"ts":1,"args":{"length":3}},
        {"ph":"C","name":"two","pid":1,"tid":1,"ts":2,"args":{"a":1,"b":2}},
        {"ph":"s","cat":"ac2g","name":"ac2g","id":5,"pid":1,"tid":1,"ts":3},
        {"ph":"f","cat":"ac2g","name":"ac2g","id":"x5","pid":1,"tid":1,"ts":4,"bp":"e"},
        {"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":5,"s":"t","args":{"Bytes":-8,"Addr":16,"Device Type":1,"Device Id":0,"Total Allocated":99,"z":true}},
        {"ph":"I","name":"mark","pid":1,"tid":1,"ts":6},
        {"ph":"P","name":"sample","pid":1,"tid":1,"ts":6},
        {"name":"no phase"}, 5, null]"#;
    let workspace = open_text(trace);
    assert_eq!(
        answer(&workspace, "SELECT name, series, value, args FROM counters ORDER BY ts_ns"),
        "queue length 3 -\ntwo - - {\"a\":1,\"b\":2}"
    );
    assert_eq!(answer(&workspace, "SELECT phase, flow_id, flow_text FROM flows ORDER BY ts_ns"), "s 5 -\nf - x5");
    let memory =
        "SELECT size_bytes, address, device_type, total_allocated_bytes, total_reserved_bytes, args FROM memory_events";
    assert_eq!(answer(&workspace, memory), "-8 16 1 99 - {\"z\":true}");
    assert_eq!(answer(&workspace, "SELECT name, flag, dur_ns FROM spans"), "mark instant 0");
    assert_eq!(answer(&workspace, "SELECT process_name, thread_name FROM tracks"), "python main");
    let health = workspace.health_info();
    assert_eq!(health["lost"].to_string(), r#"{"not_an_object":2,"unsupported_phase:None":1,"unsupported_phase:P":1}"#);
    assert_eq!((health["events_in"].as_u64(), health["rows"].as_u64()), (Some(12), Some(6)));
}

#[test]
fn typed_arguments_leave_the_rest_as_json() {
    let trace = op(TraceBuilder::new(), "a", "0", "1")
        .arg("External id", "3")
        .arg("Input Dims", "[[2, 3], []]")
        .arg("Comms Id", "10159970886766084423")
        .arg("Sequence number", "\"text\"")
        .arg("odd \"key\"", "\"a\\nb\"")
        .finish();
    check(
        &trace,
        "SELECT external_id, input_dims, comms_id, sequence_number, args FROM spans",
        r#"3 [[2, 3], []] 10159970886766084423 - {"Sequence number":"text","odd \"key\"":"a\nb"}"#,
    );
}

#[test]
fn the_last_of_two_equal_keys_wins() {
    let trace = r#"[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":0,"dur":1,"name":"b","args":{"k":1,"correlation":4,"k":2,"correlation":5}}]"#;
    check(trace, "SELECT name, correlation, args FROM spans", r#"b 5 {"k":2}"#);
}
