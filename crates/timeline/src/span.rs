//! One span, with what launched it, what it launched, and where in the program it is.

use stepscope_engine::CancelFlag;
use stepscope_model::{Cell, SameName, SourceId, SourceRecord, SpanDetails, SpanRow};
use stepscope_runs::{Frame, OpenRun, RunError, table_of};

use super::{Timelines, condition, zero_of};

/// Device events that are told one by one.
const MOST_KERNELS: usize = 100;

impl Timelines {
    /// A span with everything around it; `None` when the recording has no span of that number.
    pub fn span(&self, id: SourceId, span_id: i64, cancel: &CancelFlag) -> Result<Option<SpanDetails>, RunError> {
        let source = self.run.source(Some(id.rank), Some(id.window))?;
        let around = Around { run: &self.run, source, cancel };
        let Some(span) = around.numbered(Some(span_id))? else { return Ok(None) };
        let launch = around.numbered(integer(&span, "launch_id"))?;
        let kind = text(&span, "kind");
        let operator = around.numbered(integer(&span, "operator_id").or_else(|| integer(&span, "parent_op_id")))?;
        let launcher = match kind {
            "rt" => Some("launch_id"),
            "op" => Some("operator_id"),
            "ann" => Some("owner_id"),
            _ => None,
        };
        let kernels = match launcher {
            Some(column) => around.rows(&format!("{column} = {span_id}"), MOST_KERNELS)?,
            None => Vec::new(),
        };
        let frames = around.stack(launch.as_ref().unwrap_or(&span))?;
        let recorded = || [Some(&span), operator.as_ref()].into_iter().flatten().find_map(call_stack);
        let stack = if frames.is_empty() { recorded().unwrap_or_default() } else { frames };
        Ok(Some(SpanDetails {
            operator,
            kernels,
            forward: around.numbered(integer(&span, "forward_id"))?,
            stack,
            same_name: around.same_name(&span, kind)?,
            launch,
            span,
        }))
    }
}

/// Looks around in the recording of a span.
struct Around<'a> {
    run: &'a OpenRun,
    source: &'a SourceRecord,
    cancel: &'a CancelFlag,
}

impl Around<'_> {
    fn numbered(&self, span_id: Option<i64>) -> Result<Option<SpanRow>, RunError> {
        let Some(span_id) = span_id else { return Ok(None) };
        Ok(self.rows(&format!("span_id = {span_id}"), 1)?.pop())
    }

    fn rows(&self, which: &str, limit: usize) -> Result<Vec<SpanRow>, RunError> {
        let source = condition(self.source);
        let sql = format!("SELECT * FROM spans WHERE {source} AND {which} ORDER BY start_ns, span_id LIMIT {limit}");
        let table = table_of(&self.run.ask(&sql, self.cancel)?)?;
        let zero = zero_of(self.source);
        let row = |cells: Vec<Cell>| {
            let named = table.columns.iter().zip(cells).filter(|(_, cell)| *cell != Cell::Null);
            let since_start = |name: &str, cell: Cell| match cell {
                Cell::Int(time) if name == "start_ns" => Cell::Int(time - zero),
                cell => cell,
            };
            named.map(|(column, cell)| (column.name.clone(), since_start(&column.name, cell))).collect()
        };
        Ok(table.rows.into_iter().map(row).collect())
    }

    /// The Python frames around a span, outermost first.
    fn stack(&self, span: &SpanRow) -> Result<Vec<String>, RunError> {
        let whole = (integer(span, "track_id"), integer(span, "start_ns"), integer(span, "dur_ns"));
        let (Some(track), Some(start), Some(dur)) = whole else { return Ok(Vec::new()) };
        let start = start + zero_of(self.source);
        let sql = format!(
            "SELECT name FROM spans
             WHERE {} AND track_id = {track} AND kind = 'py' AND start_ns <= {start} AND start_ns + dur_ns >= {}
               AND span_id <> {}
             ORDER BY depth, start_ns",
            condition(self.source),
            start + dur,
            integer(span, "span_id").unwrap_or(-1)
        );
        let names = Frame::new(self.run.ask(&sql, self.cancel)?).text("name")?;
        Ok(names.into_iter().flatten().collect())
    }

    fn same_name(&self, span: &SpanRow, kind: &str) -> Result<SameName, RunError> {
        let quoted = |text: &str| text.replace('\'', "''");
        let name = match span.get("name") {
            Some(Cell::Text(name)) => format!("name = '{}'", quoted(name)),
            _ => "name IS NULL".to_owned(),
        };
        let sql = format!(
            "SELECT count(*) AS count, sum(dur_ns) AS total_ns, min(dur_ns) AS min_ns, max(dur_ns) AS max_ns FROM spans
             WHERE {} AND kind = '{}' AND {name}",
            condition(self.source),
            quoted(kind)
        );
        let frame = Frame::new(self.run.ask(&sql, self.cancel)?);
        let figure =
            |name: &str| -> Result<i64, RunError> { Ok(frame.i64(name)?.first().copied().flatten().unwrap_or(0)) };
        Ok(SameName {
            count: figure("count")?,
            total_ns: figure("total_ns")?,
            min_ns: figure("min_ns")?,
            max_ns: figure("max_ns")?,
        })
    }
}

/// The stack that some profilers record with an operator, innermost first, turned round.
fn call_stack(row: &SpanRow) -> Option<Vec<String>> {
    let stack = text(row, "call_stack");
    if stack.is_empty() { None } else { Some(stack.split(';').rev().map(str::to_owned).collect()) }
}

fn integer(row: &SpanRow, name: &str) -> Option<i64> {
    match row.get(name) {
        Some(Cell::Int(value)) => Some(*value),
        _ => None,
    }
}

fn text<'a>(row: &'a SpanRow, name: &str) -> &'a str {
    match row.get(name) {
        Some(Cell::Text(text)) => text,
        _ => "",
    }
}
