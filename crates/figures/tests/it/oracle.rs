//! Forty series against values of an independent implementation.

use std::fs;

use serde_json::{Value, json};
use stepscope_figures::gate::{Better, Limits, judge};
use stepscope_figures::statistics::{Comparison, benjamini_hochberg, change_points, holm};
use stepscope_testkit::corpus;

#[test]
#[ignore = "needs the corpus"]
fn every_statistic_and_verdict_is_the_oracles() {
    let read = |name: &str| -> Value {
        let path = corpus().answer(&format!("check_values/{name}.json"));
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let (series, expected) = (read("series"), read("oracle"));
    let series = series.as_array().unwrap();
    assert_eq!(series.len(), 40);
    let rows: Vec<Value> = series.iter().map(row).collect();
    for (row, expected) in rows.iter().zip(expected["rows"].as_array().unwrap()) {
        check(row, expected, row["name"].as_str().unwrap());
    }
    let chances: Vec<f64> = rows.iter().filter_map(|row| row["p"].as_f64()).collect();
    check(&json!(holm(&chances)), &expected["holm"], "holm");
    check(&json!(benjamini_hochberg(&chances)), &expected["benjamini_hochberg"], "benjamini_hochberg");
}

/// The row of a series, with the oracle's members.
fn row(series: &Value) -> Value {
    let values = |name: &str| {
        series[name].as_array().map(|values| values.iter().map(|value| value.as_f64().unwrap()).collect::<Vec<f64>>())
    };
    if let Some(history) = values("history") {
        let points = change_points(&history, Limits::default().report_ratio).map(|points| {
            points.iter().map(|point| json!({"at": point.at, "p": point.p, "ratio": point.ratio})).collect::<Vec<_>>()
        });
        return json!({"name": series["name"], "why": series["why"], "change_points": points});
    }
    let found = Comparison::new(&values("a").unwrap(), &values("b").unwrap()).unwrap();
    json!({
        "name": series["name"], "why": series["why"],
        "steps_a": found.count_a, "steps_b": found.count_b, "inflation": found.inflation, "u": found.u,
        "p_slower": found.p_larger, "p_faster": found.p_smaller, "p": found.p, "method": found.method.name(),
        "median_a_ns": found.median_a, "shift_ns": found.shift, "shift_ratio": found.ratio(found.shift),
        "low_ratio": found.interval.and_then(|(low, _)| found.ratio(low)),
        "high_ratio": found.interval.and_then(|(_, high)| found.ratio(high)),
        "verdict": judge(&found, found.p, Better::Lower, None, &Limits::default()).name(),
    })
}

/// Values are equal: integers and words exactly, others to a millionth of their size.
#[track_caller]
fn check(found: &Value, expected: &Value, place: &str) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{place}");
            expected.iter().for_each(|(name, value)| check(&found[name], value, &format!("{place}.{name}")));
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{place}");
            found.iter().zip(expected).for_each(|(found, expected)| check(found, expected, place));
        }
        (Value::Number(found), Value::Number(expected)) if expected.is_f64() => {
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{place}: {found} is not {expected}");
        }
        (found, expected) => assert_eq!(found, expected, "{place}"),
    }
}
