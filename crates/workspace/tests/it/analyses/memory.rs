//! Memory.

use stepscope_model::{Part, Report};
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::Question;

use super::{ask, between, cells, check, each_real, in_step, notes, objects, reason, same, sentence, sum, table};
use crate::harness::open_text;

const OPERATORS: &str = "name device self_increase_bytes total_increase_bytes self_allocations self_allocated_bytes \
                         total_allocations total_allocated_bytes";

/// An event of GPU 0: time, bytes, address and total in use.
fn event(trace: TraceBuilder, ts: &str, bytes: i64, address: i64, total: i64) -> TraceBuilder {
    let trace = trace.memory(1, ts, bytes, total).arg("Addr", &address.to_string());
    trace.arg("Device Type", "1").arg("Device Id", "0")
}

/// f 0–100 encloses g 10–50, which encloses f 20–30.
fn operators() -> TraceBuilder {
    let trace = TraceBuilder::new().op("f", 1, "0", "100").op("g", 1, "10", "40").op("f", 1, "20", "10");
    let trace = event(trace, "5", 100, 16, 1_100);
    let trace = event(event(trace, "15", 50, 32, 1_150), "25", 8, 64, 1_158);
    // Freed by g, not by the operator that allocated it; then outside any operator.
    event(event(trace, "40", -8, 64, 1_150), "200", -100, 16, 1_050).arg("Total Reserved", "4096")
}

fn points(report: &Report, name: &str) -> Vec<(i64, f64)> {
    let series = report.parts.iter().find_map(|part| match part {
        Part::Series(series) if series.name == name => Some(series.points.clone()),
        _ => None,
    });
    series.unwrap_or_default()
}

#[test]
fn what_is_below_an_operator_counts_in_its_total_once() {
    check(
        &operators(),
        "memory",
        &Question::default(),
        OPERATORS,
        "f gpu0 108 150 2 108 3 158
         g gpu0 42 50 1 50 2 58
         (no operator) gpu0 -100 -100 0 0 0 0",
    );
}

#[test]
fn blocks_that_stay_are_listed_with_operator_and_stack() {
    let frame = |trace: TraceBuilder, name: &str| {
        trace.complete("python_function", name, TraceBuilder::HOST_PROCESS, 1, "0", "150")
    };
    let trace = frame(frame(operators(), "main"), "train");
    let report = ask(&open_text(&event(trace, "210", 7, 128, 1_057).finish()), "memory", &Question::default());
    assert_eq!(
        cells(table(&report, "open_allocations"), "size_bytes device from_start_ns operator stack"),
        "50 gpu0 15000 g train;main\n7 gpu0 210000 - -"
    );
    assert_eq!(
        sentence(&report),
        "The memory of gpu0 reaches 1.131 KiB; 2 allocations, 57 B in all, stay allocated to the end of the trace."
    );
}

#[test]
fn what_is_alive_at_the_peak_is_told_by_operator() {
    let report = ask(&open_text(&operators().finish()), "memory", &Question::default());
    let alive = table(&report, "at_peak");
    assert_eq!(cells(alive, "operator outermost_operator allocations size_bytes"), "f - 1 100\ng f 1 50\nf f 1 8");
    assert_eq!(notes(alive), ["3 allocations, 158 B; 1,000 B is older than the trace"]);
    // In a part of the recording, older blocks are known all the same.
    let late = ask(&open_text(&operators().finish()), "memory", &between(39, 100));
    assert_eq!(cells(table(&late, "at_peak"), "operator size_bytes"), "f 100\ng 50");
}

#[test]
#[ignore = "needs the corpus"]
fn the_peak_of_a_real_trace_is_explained() {
    each_real(&["hta/df_index_resolver"], |_, workspace, _| {
        let report = ask(workspace, "memory", &Question::default());
        let alive = table(&report, "at_peak");
        let backward = "autograd::engine::evaluate_function: CompiledFunctionBackward";
        let first = cells(alive, "operator outermost_operator allocations size_bytes");
        assert_eq!(first.lines().next(), Some(format!("aten::mm {backward} 143 1037459456").as_str()));
        assert_eq!(notes(alive), ["725 allocations, 2.359 GiB; 3.815 GiB is older than the trace"]);
    });
}

#[test]
fn only_the_largest_blocks_are_listed() {
    let trace = (0..30).fold(TraceBuilder::new().op("f", 1, "0", "1"), |trace, block| {
        event(trace, &block.to_string(), 10 + block % 7, 16 + block, 100)
    });
    let report = ask(&open_text(&trace.finish()), "memory", &Question::default());
    let blocks = table(&report, "open_allocations");
    assert_eq!((blocks.rows.len(), blocks.left_out), (20, stepscope_model::LeftOut::Rows(10)));
    assert!(cells(blocks, "size_bytes from_start_ns").starts_with("16 6000\n16 13000\n16 20000\n16 27000\n15 5000"));
}

#[test]
fn curves_keep_the_highest_of_each_stretch() {
    let report = ask(&open_text(&operators().finish()), "memory", &Question::default());
    assert_eq!(points(&report, "gpu0_allocated_bytes").len(), 5);
    assert_eq!(points(&report, "gpu0_reserved_bytes"), [(200_000, 4_096.0)]);
    assert_eq!(points(&report, "gpu0_growth_bytes"), []);
    // 1,000 events a microsecond apart: five in each of 200 stretches.
    let many = (0..1_000).fold(TraceBuilder::new().op("f", 1, "0", "1"), |trace, place| {
        event(trace, &place.to_string(), 1, 16, if place == 123 { 5_000 } else { place })
    });
    let points = points(&ask(&open_text(&many.finish()), "memory", &Question::default()), "gpu0_allocated_bytes");
    assert_eq!((points.len(), points[0], points[24]), (200, (4_000, 4.0), (123_000, 5_000.0)));
}

#[test]
fn a_step_holds_what_happens_in_its_time_on_the_host() {
    let trace = operators().annotation("ProfilerStep#1", 1, "0", "20").annotation("ProfilerStep#2", 1, "20", "100");
    let names = "name self_increase_bytes self_allocations";
    check(&trace, "memory", &in_step(1), names, "f 100 1\ng 50 1");
    check(&trace, "memory", &in_step(2), names, "f 8 1\ng -8 0");
    check(&trace, "memory", &between(15, 40), names, "g 50 1\nf 8 1");
    let report = ask(&open_text(&trace.finish()), "memory", &in_step(2));
    // The level goes on from what came before; the block of 8 bytes is freed, so nothing stays.
    let columns = "device events peak_allocated_bytes peak_allocated_from_start_ns peak_delta_bytes net_bytes";
    assert_eq!(cells(table(&report, "devices"), columns), "gpu0 2 1158 25000 158 0");
    assert_eq!(table(&report, "open_allocations").rows.len(), 0);
}

#[test]
fn what_was_not_recorded_is_missing() {
    let old = |ts: i64, bytes: i64| {
        format!(
            r#"{{"ph":"i","name":"[memory]","pid":1000,"tid":1,"ts":{ts},"args":{{"Device Type":0,"Device Id":-1,"Bytes":{bytes}}}}}"#
        )
    };
    let trace = TraceBuilder::new().op("f", 1, "0", "10").event(&old(1, 30)).event(&old(2, -10));
    let report = ask(&open_text(&trace.finish()), "memory", &Question::default());
    let columns = "device peak_allocated_bytes peak_reserved_bytes peak_delta_bytes net_bytes alloc_without_free";
    assert_eq!(cells(table(&report, "devices"), columns), "cpu - - 30 20 -");
    for (column, want) in [
        ("peak_allocated_bytes", "memory totals not recorded"),
        ("peak_reserved_bytes", "memory totals not recorded"),
        ("alloc_without_free", "addresses not recorded"),
    ] {
        assert_eq!(reason(&report, &format!("devices[].{column}")), Some(want));
    }
    assert_eq!(points(&report, "cpu_growth_bytes"), [(1_000, 30.0), (2_000, 20.0)]);
    assert_eq!(sentence(&report), "The memory of cpu grows by up to 30 B; how much was in use before is not recorded.");
    let nothing = ask(&open_text(&TraceBuilder::new().op("a", 1, "0", "5").finish()), "memory", &Question::default());
    assert_eq!(reason(&nothing, "rows"), Some("no memory events"));
    assert_eq!(sentence(&nothing), "No memory events. Record them with profile_memory=True.");
}

#[test]
#[ignore = "needs the corpus"]
fn real_traces_have_the_memory_of_their_metrics() {
    let traces = [
        "kineto/resnet50_num_workers_0",
        "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        "particle_transformer/profiler_trace_single_sample.json",
    ];
    each_real(&traces, |trace, workspace, metrics| {
        let report = ask(workspace, "memory", &Question { window: Some(0), ..Question::default() });
        let rows = objects(table(&report, "rows"));
        let devices = objects(table(&report, "devices"));
        let want = metrics["memory"].as_object().unwrap();
        assert_eq!(devices.len(), want.len(), "{trace}");
        let figures = [
            "events",
            "allocations",
            "allocated_bytes",
            "frees",
            "freed_bytes",
            "net_bytes",
            "peak_delta_bytes",
            "lowest_delta_bytes",
            "peak_allocated_bytes",
            "peak_allocated_time_ns",
            "peak_reserved_bytes",
            "paired",
            "free_without_alloc",
            "alloc_without_free",
        ];
        for device in &devices {
            let name = device["device"].as_str().unwrap();
            same(device, &want[name], &figures, trace);
            let own: Vec<_> = rows.iter().filter(|row| row["device"] == name).cloned().collect();
            for (figure, whole) in [
                ("self_increase_bytes", "net_bytes"),
                ("self_allocations", "allocations"),
                ("self_allocated_bytes", "allocated_bytes"),
            ] {
                assert_eq!(sum(&own, figure), device[whole].as_i64().unwrap(), "{trace}: {figure} of {name}");
            }
            let peak = points(&report, &format!("{name}_allocated_bytes")).into_iter().map(|(_, bytes)| bytes);
            let highest = peak.fold(f64::NEG_INFINITY, f64::max);
            if let Some(want) = device["peak_allocated_bytes"].as_f64() {
                assert!((highest - want).abs() < 0.5, "{trace}: {highest}, not {want}");
            }
        }
    });
}
