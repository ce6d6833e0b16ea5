//! How documents are compared.

use serde_json::Value;

/// Adds a line for every value that differs: integers at all, others by more than a billionth.
pub(crate) fn compare(place: &str, got: &Value, want: &Value, differences: &mut Vec<String>) {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => {
            for name in got.keys().chain(want.keys().filter(|name| !got.contains_key(*name))) {
                let missing = Value::Null;
                let [got, want] = [got, want].map(|object| object.get(name).unwrap_or(&missing));
                compare(&format!("{place}.{name}"), got, want, differences);
            }
        }
        (Value::Array(got), Value::Array(want)) if got.len() == want.len() => {
            for (number, (got, want)) in got.iter().zip(want).enumerate() {
                compare(&format!("{place}[{number}]"), got, want, differences);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            if (a - b).abs() > 1e-9 * a.abs().max(b.abs()).max(1e-3) {
                differences.push(format!("{place}: {a} is not {b}"));
            }
        }
        (got, want) if got == want => {}
        (got, want) => differences.push(format!("{place}: {got} is not {want}")),
    }
}
