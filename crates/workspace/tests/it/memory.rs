//! Allocations, frees and peaks of memory (metrics, section 16).

use stepscope_testkit::TraceBuilder;

use crate::harness::open_text;

/// An event of GPU 0: time, bytes, address and total in use.
fn event(trace: TraceBuilder, ts: &str, bytes: i64, address: i64, total: i64) -> TraceBuilder {
    let trace = trace.memory(1, ts, bytes, total).arg("Addr", &address.to_string());
    trace.arg("Device Type", "1").arg("Device Id", "0")
}

#[track_caller]
fn check(trace: &TraceBuilder, device: &str, figures: &[(&str, i64)]) {
    let metrics = open_text(&trace.finish()).metrics(None, None).unwrap();
    for (figure, want) in figures {
        assert_eq!(metrics["memory"][device][figure], *want, "{figure} of {}", metrics["memory"]);
    }
}

#[test]
fn blocks_are_followed_by_their_address() {
    let trace = event(TraceBuilder::new(), "10", 100, 16, 1_100);
    let trace = event(trace, "20", 50, 32, 1_150).arg("Total Reserved", "4096");
    let trace = event(trace, "30", -100, 16, 1_050);
    // Allocated before the recording; then an address that is allocated again although nobody freed it.
    let trace = event(trace, "40", -8, 64, 1_042);
    let trace = event(trace, "50", 10, 32, 1_052).arg("Total Reserved", "2048");
    let figures = [
        ("events", 5),
        ("allocations", 3),
        ("allocated_bytes", 160),
        ("frees", 2),
        ("freed_bytes", 108),
        ("net_bytes", 52),
        ("peak_delta_bytes", 150),
        ("lowest_delta_bytes", 0),
        ("peak_allocated_bytes", 1_150),
        ("peak_allocated_time_ns", 20_000),
        ("peak_reserved_bytes", 4_096),
        ("paired", 1),
        ("free_without_alloc", 1),
        ("alloc_without_free", 1),
    ];
    check(&trace, "gpu0", &figures);
}

#[test]
fn addresses_have_64_bits_without_a_sign() {
    let wide = |trace: TraceBuilder, ts: &str, bytes: i64, address: &str| {
        trace.memory(1, ts, bytes, 64).arg("Addr", address).arg("Device Type", "1").arg("Device Id", "0")
    };
    let trace = wide(TraceBuilder::new(), "1", 64, "9223372036854775813");
    let trace = wide(wide(trace, "2", 8, "18446744073709551615"), "3", -64, "9223372036854775813");
    check(&trace, "gpu0", &[("paired", 1), ("free_without_alloc", 0), ("alloc_without_free", 1)]);
}

#[test]
fn events_of_one_moment_are_ordered_by_their_index() {
    // In the file the free comes first, and what has no index comes before both. The peak is its first occurrence.
    let trace = event(TraceBuilder::new(), "10", -100, 16, 100).arg("Ev Idx", "2");
    let trace = event(event(trace, "10", 100, 16, 100).arg("Ev Idx", "1"), "10", -7, 32, 0);
    let figures = [("paired", 1), ("free_without_alloc", 1), ("peak_delta_bytes", 93), ("lowest_delta_bytes", -7)];
    check(&trace, "gpu0", &figures);
    check(&trace, "gpu0", &[("peak_allocated_time_ns", 10_000), ("net_bytes", -7)]);
}

#[test]
fn an_event_that_changes_nothing_does_not_end_a_block() {
    let trace = event(event(TraceBuilder::new(), "10", 100, 16, 100), "20", 0, 16, 100);
    let trace = event(trace, "30", -100, 16, 0);
    check(&trace, "gpu0", &[("events", 3), ("paired", 1), ("free_without_alloc", 0), ("alloc_without_free", 0)]);
}

#[test]
fn devices_are_told_apart() {
    let places = [("0", "-1", "cpu"), ("6", "1", "gpu1"), ("20", "3", "type20:3")];
    let mut trace = TraceBuilder::new().memory(1, "5", 8, 8);
    for (kind, id, _) in places {
        // The same address on each: a block belongs to its device.
        trace = trace.memory(1, "10", 8, 8).arg("Addr", "16").arg("Device Type", kind).arg("Device Id", id);
    }
    for (_, _, device) in places {
        check(&trace, device, &[("events", 1), ("alloc_without_free", 1)]);
    }
    check(&trace, "typeNone:None", &[("events", 1)]);
}

#[test]
fn what_was_not_recorded_is_null_with_a_reason() {
    let old = |ts: i64, bytes: i64| {
        format!(
            r#"{{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":{ts},"args":{{"Device Type":0,"Device Id":-1,"Bytes":{bytes}}}}}"#
        )
    };
    let trace = TraceBuilder::new().event(&old(1, -30)).event(&old(2, 10));
    check(&trace, "cpu", &[("net_bytes", -20), ("peak_delta_bytes", 0), ("lowest_delta_bytes", -30)]);
    let metrics = open_text(&trace.finish()).metrics(None, None).unwrap();
    let (cpu, nulls) = (&metrics["memory"]["cpu"], &metrics["nulls"]);
    for figure in ["peak_allocated_bytes", "peak_allocated_time_ns", "peak_reserved_bytes"] {
        assert!(cpu[figure].is_null(), "{figure}");
        assert_eq!(nulls[format!("memory.cpu.{figure}")], "memory totals not recorded");
    }
    for figure in ["paired", "free_without_alloc", "alloc_without_free"] {
        assert!(cpu[figure].is_null(), "{figure}");
        assert_eq!(nulls[format!("memory.cpu.{figure}")], "addresses not recorded");
    }
}

#[test]
fn a_trace_without_memory_events_says_so() {
    let trace = TraceBuilder::new().op("a", 1, "0", "100").finish();
    let metrics = open_text(&trace).metrics(None, None).unwrap();
    assert_eq!(metrics["memory"].to_string(), "{}");
    assert_eq!(metrics["nulls"]["memory"], "no memory events");
}
