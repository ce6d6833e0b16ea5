//! FLOPs of the outermost calls whose shapes are known (metrics, section 15).

use stepscope_testkit::TraceBuilder;

use crate::harness::open_text;

/// An operator with shapes on thread 1.
fn op(trace: TraceBuilder, name: &str, ts: &str, dur: &str, dims: &str) -> TraceBuilder {
    trace.op(name, 1, ts, dur).arg("Input Dims", dims)
}

/// Checks the total, and operators as `name calls flops`.
#[track_caller]
fn check(trace: &TraceBuilder, total: i64, by_op: &[&str]) {
    let flops = &open_text(&trace.finish()).metrics(None, None).unwrap()["flops"];
    assert_eq!(flops["total_flops"], total, "{flops}");
    let rows = flops["by_op"].as_array().unwrap().iter();
    let rows = rows.map(|row| format!("{} {} {}", row["name"].as_str().unwrap(), row["calls"], row["flops"]));
    assert_eq!(rows.collect::<Vec<_>>(), by_op);
}

#[test]
fn work_is_counted_once_where_it_is_known_first() {
    let trace = op(TraceBuilder::new(), "aten::linear", "0", "10", "[[2,3],[5,3],[5]]");
    let trace = op(trace, "aten::addmm", "2", "5", "[[5],[2,3],[3,5],[],[]]");
    // Several operators and a label between the two.
    let trace = op(trace, "aten::scaled_dot_product_attention", "20", "30", "[[1,1,2,3],[1,1,2,3],[1,1,2,3]]");
    let trace =
        op(trace, "aten::_scaled_dot_product_attention_math", "21", "28", "[]").annotation("label", 1, "22", "20");
    let trace = op(op(trace, "aten::matmul", "23", "10", "[]"), "aten::bmm", "24", "5", "[[1,2,3],[1,3,2]]");
    // On its own, and on another thread while the attention runs.
    let trace = op(trace, "aten::bmm", "60", "5", "[[1,2,3],[1,3,2]]");
    let trace = trace.op("aten::bmm", 2, "24", "5").arg("Input dims", "[[1,2,3],[1,3,2]]");
    check(
        &trace,
        60 + 48 + 24 + 24,
        &["aten::linear 1 60", "aten::scaled_dot_product_attention 1 48", "aten::bmm 2 48"],
    );
}

#[test]
fn an_operator_without_a_value_hides_nothing() {
    // No shapes, shapes that do not fit, no work at all, and a convolution without its concrete inputs.
    let outer = ["", "[[2,3,4],[4,5]]", "[[0,3],[3,5]]"];
    let mut trace = TraceBuilder::new();
    for (number, dims) in outer.into_iter().enumerate() {
        let ts = number * 100;
        let name = "aten::mm";
        trace = trace.op(name, 1, &ts.to_string(), "50");
        trace = if dims.is_empty() { trace } else { trace.arg("Input Dims", dims) };
        trace = op(trace, "aten::bmm", &(ts + 10).to_string(), "5", "[[1,2,3],[1,3,5]]");
    }
    let trace = op(trace, "aten::convolution", "500", "50", "[[1,1,4],[1,1,3]]");
    let trace = op(trace, "aten::mm", "510", "5", "[[1,1],[1,1]]");
    check(&trace, 182, &["aten::bmm 3 180", "aten::mm 1 2"]);
}

#[test]
fn an_operator_that_is_crossed_hides_nothing_any_more() {
    let trace = op(TraceBuilder::new(), "aten::mm", "0", "10", "[[1,1],[1,1]]");
    let trace = op(op(trace, "crossing", "5", "10", "[]"), "aten::bmm", "6", "2", "[[1,2,3],[1,3,5]]");
    check(&trace, 62, &["aten::bmm 1 60", "aten::mm 1 2"]);
}

#[test]
fn equal_sums_stand_in_the_order_of_the_file() {
    let trace = op(TraceBuilder::new(), "aten::mm", "50", "5", "[[2,3],[3,5]]");
    let trace = op(trace, "aten::addmm", "0", "5", "[[5],[2,3],[3,5]]");
    check(&trace, 120, &["aten::mm 1 60", "aten::addmm 1 60"]);
}

#[test]
fn a_total_that_is_not_known_is_null_with_a_reason() {
    let trace = |dims: Option<&str>| {
        let trace = TraceBuilder::new().op("aten::add", 1, "0", "5");
        if let Some(dims) = dims { trace.arg("Input Dims", dims) } else { trace }
    };
    for (dims, reason) in [(None, "shapes not recorded"), (Some("[[2],[2]]"), "unsupported event kind")] {
        let metrics = open_text(&trace(dims).finish()).metrics(None, None).unwrap();
        assert_eq!(metrics["flops"].to_string(), r#"{"total_flops":null,"by_op":[]}"#);
        assert_eq!(metrics["nulls"]["flops.total_flops"], reason);
    }
}

#[test]
fn a_sum_beyond_64_bits_is_null_with_a_reason() {
    // 2 × 10^18 and twice 4 × 10^18 FLOPs: each fits, their sum does not.
    let trace = op(TraceBuilder::new(), "aten::mm", "1", "5", "[[1000000,1000000],[1000000,1000000]]");
    let trace = op(trace, "aten::mm", "10", "5", "[[2000000,1000000],[1000000,1000000]]");
    let trace = op(trace, "aten::mm", "20", "5", "[[2000000,1000000],[1000000,1000000]]");
    let trace = op(trace, "aten::bmm", "30", "5", "[[1,2,3],[1,3,5]]");
    let metrics = open_text(&trace.finish()).metrics(None, None).unwrap();
    let (flops, nulls) = (&metrics["flops"], &metrics["nulls"]);
    assert!(flops["total_flops"].is_null() && flops["by_op"][0]["flops"].is_null(), "{flops}");
    assert_eq!((&flops["by_op"][0]["calls"], &flops["by_op"][1]["flops"]), (&3.into(), &60.into()));
    for path in ["flops.total_flops", "flops.by_op[0].flops"] {
        assert_eq!(nulls[path], "beyond 64 bits");
    }
}
