//! The comparison of two runs as JSON (A13).

use serde_json::{Map, Value as Json, json};
use stepscope_figures::statistics::Comparison;
use stepscope_replay::PathClass;

use super::kernels::renamed;
use super::rows::{self, OperatorRow, Steps, Sums, both, operator_rows};
use super::side::Side;
use crate::asking::NO_OPERATOR;

/// Rows of a document at most.
const TOP: usize = 40;

/// The members, in order.
pub(super) const MEMBERS: [&str; 17] = [
    "steps_a",
    "steps_b",
    "step_source_a",
    "step_source_b",
    "step_sum_a_ns",
    "step_sum_b_ns",
    "denominator",
    "difference_numerator",
    "step_test",
    "classes",
    "path_rows",
    "path_top",
    "operators",
    "operator_top",
    "shapes",
    "kernels",
    "renamed",
];

/// Both sides, how their steps differ, and what adds up to the difference.
pub(super) fn document(a: &Side, b: &Side) -> Json {
    let steps = Steps::of(a, b);
    let sums = Sums { a: a.steps_ns.iter().sum(), b: b.steps_ns.iter().sum() };
    json!({
        "steps_a": steps.a,
        "steps_b": steps.b,
        "step_source_a": a.step_source.as_text(),
        "step_source_b": b.step_source.as_text(),
        "step_sum_a_ns": sums.a,
        "step_sum_b_ns": sums.b,
        "denominator": steps.denominator(),
        "difference_numerator": steps.numerator(sums),
        "step_test": step_test(a, b),
        "classes": classes(a, b),
        "path_rows": both(&a.path, &b.path, |row| row.total).len(),
        "path_top": path_top(a, b),
        "operators": operators(a, b),
        "operator_top": operator_top(a, b),
        "shapes": sides_of(&both(&a.shapes, &b.shapes, |spans| *spans)),
        "kernels": sides_of(&both(&a.kernels, &b.kernels, |kernel| kernel.count.total)),
        "renamed": renamed(a, b).iter().map(|pair| json!({
            "operator": pair.operator,
            "a": pair.a.0,
            "b": pair.b.0,
            "count_a": pair.a.1.count.total,
            "count_b": pair.b.1.count.total,
            "total_a_ns": pair.a.1.total_ns.total,
            "total_b_ns": pair.b.1.total_ns.total,
        })).collect::<Json>(),
    })
}

/// The steps of b against those of a.
fn step_test(a: &Side, b: &Side) -> Json {
    let Some(found) = Comparison::new(&a.step_values(), &b.step_values()) else { return Json::Null };
    let bound = |bound: Option<f64>| bound.and_then(|bound| found.ratio(bound));
    json!({
        "steps_a": found.count_a,
        "steps_b": found.count_b,
        "inflation": found.inflation,
        "u": found.u,
        "p_slower": found.p_larger,
        "p_faster": found.p_smaller,
        "p": found.p,
        "method": found.method.name(),
        "median_a_ns": found.median_a,
        "shift_ns": found.shift,
        "shift_ratio": found.ratio(found.shift),
        "low_ratio": bound(found.interval.map(|(low, _)| low)),
        "high_ratio": bound(found.interval.map(|(_, high)| high)),
    })
}

fn classes(a: &Side, b: &Side) -> Json {
    let steps = Steps::of(a, b);
    let member = |(class, sums): (PathClass, Sums)| {
        let value = json!({ "a_ns": sums.a, "b_ns": sums.b, "numerator": steps.numerator(sums) });
        (class.as_text().to_owned(), value)
    };
    Json::Object(rows::classes(a, b).into_iter().map(member).collect::<Map<String, Json>>())
}

/// The rows of the path that differ most.
fn path_top(a: &Side, b: &Side) -> Json {
    let steps = Steps::of(a, b);
    let mut rows = both(&a.path, &b.path, |row| row.total);
    rows.sort_by_cached_key(|((class, name), sums)| (-steps.numerator(*sums).abs(), class.as_text(), name.clone()));
    let row = |((class, name), sums): &(&(PathClass, String), Sums)| {
        let numerator = steps.numerator(*sums);
        json!({ "class": class.as_text(), "name": name, "a_ns": sums.a, "b_ns": sums.b, "numerator": numerator })
    };
    rows.iter().take(TOP).map(row).collect()
}

/// Operators that came and went, and how many run more or less often per step.
fn operators(a: &Side, b: &Side) -> Json {
    let steps = Steps::of(a, b);
    let rows: Vec<OperatorRow> = operator_rows(a, b).into_iter().filter(|row| row.name != NO_OPERATOR).collect();
    let names = |is_meant: &dyn Fn(&Sums) -> bool| {
        rows.iter().filter(|row| is_meant(&row.spans)).map(|row| row.name).collect::<Vec<&str>>()
    };
    let count = |is_meant: &dyn Fn(&Sums) -> bool| names(is_meant).len();
    json!({
        "added": names(&|spans| spans.a == 0),
        "removed": names(&|spans| spans.b == 0),
        "more": count(&|spans| spans.a > 0 && steps.numerator(*spans) > 0),
        "fewer": count(&|spans| spans.b > 0 && steps.numerator(*spans) < 0),
        "same": count(&|spans| steps.numerator(*spans) == 0),
    })
}

/// The operators that differ most: on the device, then on the host.
fn operator_top(a: &Side, b: &Side) -> Json {
    let steps = Steps::of(a, b);
    let mut rows = operator_rows(a, b);
    rows.sort_by_key(|row| {
        (-steps.numerator(row.device_self_ns).abs(), -steps.numerator(row.host_self_ns).abs(), row.name)
    });
    let row = |row: &OperatorRow| {
        json!({
            "name": row.name,
            "spans_a": row.spans.a,
            "spans_b": row.spans.b,
            "host_self_a_ns": row.host_self_ns.a,
            "host_self_b_ns": row.host_self_ns.b,
            "device_self_a_ns": row.device_self_ns.a,
            "device_self_b_ns": row.device_self_ns.b,
        })
    };
    rows.iter().take(TOP).map(row).collect()
}

/// How many are on both sides, and on one.
fn sides_of<Key>(rows: &[(&Key, Sums)]) -> Json {
    let count = |is_meant: fn(&Sums) -> bool| rows.iter().filter(|(_, sums)| is_meant(sums)).count();
    json!({
        "in_both": count(|sums| sums.a > 0 && sums.b > 0),
        "only_a": count(|sums| sums.b == 0),
        "only_b": count(|sums| sums.a == 0),
    })
}
