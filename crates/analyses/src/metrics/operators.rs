//! The operators: how often, how long on the host and on devices (metrics, section 10).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;

use serde_json::ser::Formatter;
use serde_json::{Value as Json, json};
use stepscope_model::null_reason::{NO_ROLLUPS, SHAPES_NOT_RECORDED};
use stepscope_model::tables::OP_ROLLUP;
use stepscope_runs::{Frame, RunError};

use super::Measuring;

/// Operators that are listed: so many by device time, and so many by host time.
const LISTED: usize = 50;

/// Pairs of operator and shape that are listed.
const LISTED_SHAPES: usize = 15;

/// Characters of a list of shapes that are shown.
const SHAPE_CHARACTERS: usize = 300;

const SUMS: &str = "
    sum(calls) AS calls,
    sum(spans) AS spans,
    sum(host_self_ns) AS host_self_ns,
    sum(host_total_ns) AS host_total_ns,
    sum(device_self_ns) AS device_self_ns,
    sum(device_total_ns) AS device_total_ns";

/// One row of a table of operators.
struct Row {
    name: String,
    input_dims: Option<String>,
    calls: i64,
    spans: i64,
    host_self_ns: i64,
    host_total_ns: i64,
    device_self_ns: i64,
    device_total_ns: i64,
}

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    if are_left_out(measuring)? {
        measuring.missing("operators", NO_ROLLUPS);
        return Ok(Json::Null);
    }
    let by_name = rows(&measuring.query(&format!(
        "SELECT name, CAST(NULL AS VARCHAR) AS input_dims, {SUMS} FROM op_rollup
         WHERE {{source}} AND name IS NOT NULL GROUP BY name"
    ))?)?;
    let by_shape = rows(&measuring.query(&format!(
        "SELECT name, input_dims, {SUMS} FROM op_rollup
         WHERE {{source}} AND name IS NOT NULL GROUP BY name, input_dims"
    ))?)?;
    let rest = measuring.query(
        "SELECT coalesce(sum(device_events), 0) AS events, coalesce(sum(device_self_ns), 0) AS time_ns FROM op_rollup
         WHERE {source} AND name IS NULL",
    )?;
    let by_shape_rows = by_shape.len();
    let by_shape = listed_shapes(by_shape);
    for (place, _) in by_shape.iter().enumerate().filter(|(_, row)| row["input_dims"].is_null()) {
        measuring.missing(&format!("operators.by_shape[{place}].input_dims"), SHAPES_NOT_RECORDED);
    }
    let sum = |figure: fn(&Row) -> i64| by_name.iter().map(figure).sum::<i64>();
    Ok(json!({
        "summary": {
            "distinct": by_name.len(),
            "calls": sum(|row| row.calls),
            "spans": sum(|row| row.spans),
            "host_self_ns": sum(|row| row.host_self_ns),
            "device_self_ns": sum(|row| row.device_self_ns),
            "no_operator": {
                "device_events": rest.required_i64("events")?.first(),
                "device_time_ns": rest.required_i64("time_ns")?.first(),
            },
            "distinct_name_and_shape": by_shape_rows,
        },
        "rows": listed(by_name).iter().map(Row::json).collect::<Vec<_>>(),
        "by_shape": by_shape,
    }))
}

/// Whether the sums were not made, although there is something to add up.
fn are_left_out(measuring: &Measuring<'_>) -> Result<bool, RunError> {
    if measuring.source.rows.of(&OP_ROLLUP) > 0 {
        return Ok(false);
    }
    let any = measuring.query(
        "SELECT 1 FROM spans WHERE {source} AND kind IN ('op', 'kernel', 'memcpy', 'memset') AND phase = 'X' LIMIT 1",
    )?;
    Ok(any.rows() > 0)
}

/// The operators with most time on devices and those with most on the host, the former first.
fn listed(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| (Reverse(a.host_self_ns), &a.name).cmp(&(Reverse(b.host_self_ns), &b.name)));
    let by_host: BTreeSet<String> = rows.iter().take(LISTED).map(|row| row.name.clone()).collect();
    rows.sort_by(|a, b| a.order().cmp(&b.order()));
    let mut place = 0;
    rows.retain(|row| {
        place += 1;
        place <= LISTED || by_host.contains(&row.name)
    });
    rows
}

fn listed_shapes(mut rows: Vec<Row>) -> Vec<Json> {
    for row in &mut rows {
        row.input_dims = row.input_dims.take().map(|dims| spaced(&dims));
    }
    rows.sort_by(|a, b| {
        let dims = |row: &Row| row.input_dims.clone().unwrap_or_default();
        a.order().cmp(&b.order()).then_with(|| dims(a).cmp(&dims(b)))
    });
    let shape = |row: &Row| {
        let mut object = row.json();
        object["input_dims"] = json!(row.input_dims.as_deref().map(shortened));
        object
    };
    rows.iter().take(LISTED_SHAPES).map(shape).collect()
}

impl Row {
    fn order(&self) -> (Reverse<i64>, Reverse<i64>, &str) {
        (Reverse(self.device_self_ns), Reverse(self.host_self_ns), &self.name)
    }

    fn json(&self) -> Json {
        json!({
            "name": self.name,
            "calls": self.calls,
            "spans": self.spans,
            "host_self_ns": self.host_self_ns,
            "host_total_ns": self.host_total_ns,
            "device_self_ns": self.device_self_ns,
            "device_total_ns": self.device_total_ns,
        })
    }
}

fn rows(frame: &Frame) -> Result<Vec<Row>, RunError> {
    let (names, dims) = (frame.text("name")?, frame.text("input_dims")?);
    let integers = |name: &str| frame.required_i64(name);
    let (calls, spans) = (integers("calls")?, integers("spans")?);
    let (host_self, host_total) = (integers("host_self_ns")?, integers("host_total_ns")?);
    let (device_self, device_total) = (integers("device_self_ns")?, integers("device_total_ns")?);
    let row = |(index, (name, input_dims)): (usize, (Option<String>, Option<String>))| Row {
        name: name.unwrap_or_default(),
        input_dims,
        calls: calls[index],
        spans: spans[index],
        host_self_ns: host_self[index],
        host_total_ns: host_total[index],
        device_self_ns: device_self[index],
        device_total_ns: device_total[index],
    };
    Ok(names.into_iter().zip(dims).enumerate().map(row).collect())
}

/// JSON with a space behind each comma and colon, however the profiler wrote it.
fn spaced(text: &str) -> String {
    let Ok(value) = serde_json::from_str::<Json>(text) else { return text.to_owned() };
    let mut bytes = Vec::with_capacity(text.len());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    match serde::Serialize::serialize(&value, &mut serializer) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => text.to_owned(),
    }
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHAPE_CHARACTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{shortened, spaced};

    #[test]
    fn shapes_read_alike_however_they_were_written() {
        assert_eq!(spaced("[[64,3],[ ],[1,\n2]]"), "[[64, 3], [], [1, 2]]");
        assert_eq!(spaced("{\"a\":[1,2]}"), "{\"a\": [1, 2]}");
        assert_eq!(spaced("no json"), "no json");
    }

    #[test]
    fn long_shapes_are_cut() {
        assert_eq!(shortened("[1]"), "[1]");
        assert_eq!(shortened(&"é".repeat(301)), format!("{}...", "é".repeat(300)));
    }
}
